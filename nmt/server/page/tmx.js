// Corrected pairs as files. In: pairs {source, target, text, translation, machine, time}. Out: the text of a TMX 1.4b
// file, or of a TSV file whose columns are the languages of the first pair. Both can train a model: docs/page.md.

const NOT_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

const escaped = (text) => text.replace(NOT_XML, "").replace(/[&<>"]/g, (sign) => SIGNS[sign]);
const stamp = (time) =>
  new Date(time)
    .toISOString()
    .replace(/\.\d+Z/, "Z")
    .replace(/[-:]/g, "");

export function toTmx(pairs) {
  const source = escaped(pairs[0]?.source ?? "*all*");
  const one = pairs.every((pair) => pair.source === pairs[0].source);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<tmx version="1.4">',
    '  <header creationtool="nmt" creationtoolversion="1" segtype="sentence" o-tmf="nmt" adminlang="en"' +
      ` srclang="${one ? source : "*all*"}" datatype="plaintext"/>`,
    "  <body>",
    ...pairs.map(unit),
    "  </body>",
    "</tmx>",
    "",
  ].join("\n");
}

function unit(pair) {
  const side = (language, text) => `      <tuv xml:lang="${escaped(language)}"><seg>${escaped(text)}</seg></tuv>`;
  return [
    `    <tu creationdate="${stamp(pair.time)}">`,
    `      <prop type="x-machine-translation">${escaped(pair.machine)}</prop>`,
    side(pair.source, pair.text),
    side(pair.target, pair.translation),
    "    </tu>",
  ].join("\n");
}

export function toTsv(pairs) {
  const cell = (text) => text.replace(/\s+/gu, " ").trim();
  return pairs.map((pair) => `${cell(pair.text)}\t${cell(pair.translation)}\n`).join("");
}
