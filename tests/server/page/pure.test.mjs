// What the page computes without a browser: words, links, lines, files of corrected pairs, contrast of
// colours.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { Corrections } from "../../../nmt/server/page/corrections.js";
import { freeName } from "../../../nmt/server/page/glossary.js";
import { History } from "../../../nmt/server/page/history.js";
import { Lines, fitted, renewLines } from "../../../nmt/server/page/lines.js";
import { toTmx, toTsv } from "../../../nmt/server/page/tmx.js";
import { EMPTY, group, partners, viewOf, withPart, withText } from "../../../nmt/server/page/view.js";
import * as words from "../../../nmt/server/page/words.js";

const token = (piece, probability, text = piece.replaceAll("▁", "")) => ({
  piece,
  text,
  log_probability: Math.log(probability),
});
/** Pairs of numbers of words: "0-0 2-1". */
const pairs = (text) => text.split(" ").map((pair) => pair.split("-").map(Number));
const shown = (text, links, measured) => ({ ...EMPTY, text, links: pairs(links), measured });
const answer = (text, more = {}) => ({
  text,
  score: -0.5,
  confidence: 0.7,
  flags: [],
  flag_texts: [],
  alternatives: [],
  ...more,
});

test("the pieces of a word multiply to its probability", () => {
  const measured = words.measureWords("A raincoat.", [
    token("▁A", 0.5),
    token("▁rain", 0.8),
    token("coat", 0.5),
    token(".", 0.5),
    token("</s>", 0.1, ""),
  ]);
  assert.equal(measured.length, 2);
  assert.ok(Math.abs(measured[1].probability - 0.2) < 1e-9);
  assert.deepEqual(
    measured[1].pieces.map(({ piece }) => piece),
    ["▁rain", "coat", "."],
  );
});

test("pieces that are not in the text are passed over", () => {
  const measured = words.measureWords("See https://a.example now", [
    token("▁See", 0.9),
    token("▁⟦1⟧", 0.3),
    token("▁now", 0.6),
  ]);
  assert.deepEqual(
    measured.map((one) => one && Number(one.probability.toFixed(2))),
    [0.9, null, 0.6],
  );
});

test("a character that is spelled as bytes belongs to the word before it", () => {
  const tokens = [token("▁na", 0.9), token("<0xC3>", 0.5, ""), token("<0xAF>", 0.5, "ï"), token("ve", 0.9)];
  assert.equal(words.measureWords("naïve", tokens)[0].pieces.length, 4);
});

test("a word is inside or before another one as letters say", () => {
  assert.ok(words.isInsideWord("hte dog", 1));
  assert.ok(!words.isInsideWord("the dog", 3));
  assert.ok(words.isBeforeWord("a swhite dog", 3, "s"));
  assert.ok(!words.isBeforeWord("whsite", 3, "s"));
});

test("a sentence is decoded anew alone if both sides have as many", () => {
  const scope = words.scopeAt("Er kommt. Sie geht.", "He comes. She goes.", 12);
  assert.deepEqual(scope, { source: { start: 10, end: 19 }, target: { start: 10, end: 19 } });
  assert.equal(words.scopeAt("Er kommt, sie geht.", "He comes. She goes.", 12).target.end, 19);
  assert.equal(words.scopeAt("Er kommt, sie geht.", "He comes. She goes.", 12).target.start, 0);
});

test("words that an edit did not touch keep their numbers", () => {
  assert.deepEqual(words.sameWords("a small dog runs", "a very small dog"), [0, -1, -1, -1]);
  assert.deepEqual(words.sameWords("a small dog runs", "a tiny black dog runs"), [0, -1, -1, 2, 3]);
  assert.deepEqual(words.sameWords("a a a", "a a"), [0, 1]);
});

test("what differs from the best version is found", () => {
  assert.deepEqual([...words.changedWords("a dog runs on grass", "a dog is running on grass")], [2, 3]);
  assert.deepEqual([...words.changedWords("same", "same")], []);
});

const view = shown("a small dog", "0-0 1-1 3-2", ["A", "B", "C"]);

test("links follow words that an edit moved", () => {
  const edited = withText(view, "a very small dog");
  assert.deepEqual(edited.links, pairs("0-0 1-2 3-3"));
  assert.deepEqual(edited.measured, ["A", null, "B", "C"]);
});

test("a sentence that is decoded anew leaves the others as they were", () => {
  const line = "Er kommt. Sie geht. Ja.";
  const old = shown("He comes. She goes. Yes.", "0-0 1-1 2-2 3-3 4-4", [1, 2, 3, 4, 5]);
  const scope = words.scopeAt(line, old.text, 12);
  const part = shown("She is leaving.", "0-0 1-1 1-2", [6, 7, 8]);
  const made = withPart(old, line, scope, part);
  assert.equal(made.text, "He comes. She is leaving. Yes.");
  assert.deepEqual(made.links, pairs("0-0 1-1 2-2 3-3 3-4 4-5"));
  assert.deepEqual(made.measured, [1, 2, 6, 7, 8, 5]);
});

test("a word lights up with its partners and theirs", () => {
  const links = pairs("0-0 2-1 2-2");
  assert.deepEqual(partners(links, "source", 2), [1, 2]);
  const { source, target } = group(links, "target", 1);
  assert.deepEqual([[...source], [...target]], [[2], [1, 2]]);
  assert.equal(group(links, "source", 1).target.size, 0);
});

test("lines that did not change keep their translations", async () => {
  const asked = [];
  const ask = async (texts) => (asked.push(texts), texts.map((text) => answer(text.toUpperCase())));
  const lines = new Lines(ask, () => {}, assert.fail);
  await lines.update("one\n\ntwo");
  assert.equal(lines.text, "ONE\n\nTWO");
  lines.lines[2].view = withText(lines.lines[2].view, "MY TWO");
  await lines.update("zero\none\n\ntwo");
  assert.equal(lines.text, "ZERO\nONE\n\nMY TWO");
  assert.deepEqual(asked, [["one", "two"], ["zero"]]);
  assert.ok(lines.isEdited(lines.lines[3]) && !lines.isEdited(lines.lines[1]));
});

test("the newest text wins, and the older request is aborted", async () => {
  const waiting = [];
  const ask = (texts, signal) => new Promise((resolve) => waiting.push({ texts, signal, resolve }));
  const lines = new Lines(ask, () => {}, assert.fail);
  const [first, second] = [lines.update("on"), lines.update("one")];
  assert.ok(waiting[0].signal.aborted);
  const third = lines.update("one");
  waiting[2].resolve([answer("ONE")]);
  await third;
  waiting[1].resolve([answer("OLD")]);
  waiting[0].resolve([answer("ON")]);
  await Promise.all([first, second]);
  assert.equal(lines.text, "ONE");
});

test("a line that waits shows the old translation of its place", () => {
  const old = [{ source: "on", view, machine: view, fresh: true }];
  const [line, blank] = renewLines(old, ["one", ""]);
  assert.deepEqual([line.view.text, line.fresh, blank.view.text, blank.fresh], ["a small dog", false, "", true]);
  const blanks = new Array(200_000).fill("");
  assert.equal(renewLines(renewLines([], blanks), blanks).length, blanks.length); // in no time
});

for (const [what, old, written, texts, caret] of [
  ["a line that is joined with the next", "A/B/C", "A|B/C", "AB//C", [0, 1]],
  ["two lines that are joined in the middle", "A/B/C/D", "A/B|C/D", "A/BC//D", [1, 1]],
  ["a break that is pasted into the first line", "A/B/C", "Ax/y|/B/C", "Ax y/B/C", [0, 4]],
  ["lines that are pasted over one", "A/B/C", "A/x/yy/z|/C", "A/x yy z/C", [1, 6]],
  ["a line that is pasted between others", "A/B", "A/x|/B", "A x/B", [0, 3]],
  ["a line that is pasted before all", "A/B", "x|/A/B", "x A/B", [0, 1]],
  ["a line that is deleted", "A/B/C", "A|/C", "A//C", [0, 1]],
  ["a line that is deleted, with the caret below", "A/B/C", "A/|C", "A//C", [2, 0]],
  ["all lines pasted over", "A B/C D", "X/Y/Z|", "X/Y Z", [1, 3]],
  ["all deleted", "A/B", "|", "/", [0, 0]],
  ["no break more or less", "A/B/C", "A/x/y|", "A/x/y", [2, 1]],
])
  test(`as many lines stay: ${what}`, () => {
    const before = written.split("|")[0].split("/");
    const at = { line: before.length - 1, place: before.at(-1).length };
    const found = fitted(written.replace("|", "").split("/"), old.split("/"), at);
    assert.equal(found.texts.join("/"), texts);
    assert.deepEqual([found.caret.line, found.caret.place], caret);
  });

test("a new glossary takes no name of another one", () => {
  assert.equal(freeName("de-en", []), "de-en");
  assert.equal(freeName("de-en", ["de-en", "de-en 2", "x"]), "de-en 3");
});

test("where nothing may be remembered, the text is not stored", () => {
  const stored = {};
  globalThis.localStorage = { setItem: (name, value) => (stored[name] = JSON.parse(value)) };
  const history = Object.assign(Object.create(History.prototype), { isOn: true });
  history.hold("secret");
  assert.equal(stored["nmt.text"], "secret");
  history.turn(false);
  assert.deepEqual(stored, { "nmt.text": "", "nmt.history.on": false });
  history.hold("secret");
  assert.equal(stored["nmt.text"], "");
});

test("an answer without details is still a view", () => {
  assert.deepEqual(viewOf({ text: "a b", score: 0, confidence: 1 }).links, []);
});

const pair = {
  source: "de",
  target: "en",
  text: "<b>Müll & \u0001",
  translation: 'a "b"\tc\nd',
  machine: "x",
  time: 0,
};

test("two tabs keep the corrected pairs and the history of each other", () => {
  const stored = {};
  const listeners = [];
  const names = ["append", "replaceChildren", "setAttribute", "toggleAttribute", "addEventListener"];
  const element = Object.fromEntries(names.map((name) => [name, () => {}]));
  element.querySelectorAll = () => [];
  globalThis.document = { createElement: () => element, getElementById: () => element };
  globalThis.addEventListener = (_, listener) => listeners.push(listener);
  globalThis.localStorage = {
    getItem: (name) => stored[name] ?? null,
    setItem(name, value) {
      stored[name] = value;
      for (const listener of listeners) listener({ key: name });
    },
  };
  const kept = [new Corrections(element), new Corrections(element)];
  kept.forEach((one, i) => one.keep([{ ...pair, text: `${i}` }]));
  assert.deepEqual(
    JSON.parse(stored["nmt.corrections"]).map(({ text }) => text),
    ["1", "0"],
  );
  const histories = [new History(element), new History(element)];
  histories.forEach((one, i) => one.add({ ...pair, text: `${i}` }));
  assert.equal(JSON.parse(stored["nmt.history"]).length, 2);
  histories[0].turn(false);
  histories[1].hold("secret");
  assert.equal(stored["nmt.text"], '""');
});

test("corrected pairs become TMX", () => {
  const made = toTmx([pair]);
  assert.match(made, /<tmx version="1.4">/);
  assert.match(made, /<seg>&lt;b&gt;Müll &amp; <\/seg>/);
  assert.match(made, /creationdate="19700101T000000Z"/);
  assert.match(made, /srclang="de"/);
  assert.match(toTmx([pair, { ...pair, source: "fr" }]), /srclang="\*all\*"/);
});

test("corrected pairs become lines of TSV", () => {
  assert.equal(toTsv([pair]), '<b>Müll & \u0001\ta "b" c d\n');
});

/** The colours of a theme, light (0) or dark (1): the variables of the first rule. */
function colours(theme) {
  const css = readFileSync(new URL("../../../nmt/server/page/style.css", import.meta.url), "utf8");
  const start = css.indexOf(":root {");
  const rule = css.slice(start, css.indexOf("}", start));
  const found = rule.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);/g);
  return Object.fromEntries(Array.from(found, ([, name, ...values]) => [name, values[theme]]));
}

function luminance(colour) {
  const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
  const [r, g, b] = parts.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

for (const [number, name] of ["light", "dark"].entries())
  test(`text and edges of the ${name} theme have the contrast of WCAG AA`, () => {
    const theme = colours(number);
    for (const text of ["ink", "soft", "link", "wrong", "doubt-ink"])
      for (const ground of ["ground", "sheet"])
        assert.ok(
          contrast(theme[text], theme[ground]) >= 4.5,
          `${text} on ${ground}: ${contrast(theme[text], theme[ground])}`,
        );
    assert.ok(contrast(theme.ink, theme["link-wash"]) >= 4.5);
    assert.ok(contrast(theme.ink, theme["wrong-wash"]) >= 4.5);
    for (const ground of ["ground", "sheet"]) assert.ok(contrast(theme.edge, theme[ground]) >= 3);
  });
