// Linked words light up. In: a word that is pointed at, and the links of its line. Out: words of both panes are marked,
// threads are drawn between them where the panes stand side by side, and the line below tells it in words.

import { byId, draw, make } from "./dom.js";
import { splitWords } from "./words.js";
import { group, partners } from "./view.js";

const low = (box) => box.bottom - 0.09 * box.height; // where the mark of a word ends (see .word in style.css)
const percent = (probability) => `${Math.round(100 * probability)}%`;

export class Alignment {
  constructor(panes, lines) {
    Object.assign(this, { panes, lines, shown: null });
  }

  /** Shows the links of {side, line, word}; null hides them. */
  show(place) {
    this.shown = place;
    for (const marked of document.querySelectorAll(".linked")) marked.classList.remove("linked");
    byId("threads").replaceChildren();
    const line = place && this.lines.lines[place.line];
    byId("reading").replaceChildren(...(line ? this.describe(line, place) : []));
    if (!line) return;
    const words = group(line.view.links, place.side, place.word);
    const spans = {};
    for (const side of ["source", "target"]) {
      const found = [...words[side]].map((word) => [word, this.panes[side].find(place.line, word)]);
      spans[side] = new Map(found.filter(([, span]) => span));
      spans[side].forEach((span) => span.classList.add("linked"));
    }
    const own = line.view.links.filter(([from, to]) => words.source.has(from) && words.target.has(to));
    for (const [from, to] of own) this.thread(spans.source.get(from), spans.target.get(to));
  }

  /** A thread from below a word, through the gap between the panes, to below its partner. */
  thread(from, to) {
    const sheets = byId("pages").getBoundingClientRect();
    const [left, right] = ["source", "target"].map((side) =>
      this.panes[side].element.parentElement.getBoundingClientRect(),
    );
    if (!from || !to || right.left < left.right) return; // the panes stand one above the other
    const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
    const [x1, x2] = [left.right - sheets.left, right.left - sheets.left];
    const [y1, y2] = [low(a) - sheets.top, low(b) - sheets.top];
    const middle = (x1 + x2) / 2;
    const [start, end] = [a.left - sheets.left, b.right - sheets.left];
    const curve = `M${start} ${y1}H${x1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}H${end}`;
    byId("threads").append(draw("path", { d: curve }));
  }

  /** The same in words: the word, its partners, how sure the model is, its pieces. */
  describe(line, { side, word }) {
    const other = side === "source" ? "target" : "source";
    const texts = { source: splitWords(line.source), target: splitWords(line.view.text) };
    const own = texts[side][word]?.text ?? "";
    const linked = partners(line.view.links, side, word).map((number) => texts[other][number]?.text ?? "");
    const arrow = side === "source" ? "→" : "←";
    const parts = [make("bdi", { class: "term" }, own)];
    if (linked.length) parts.push(` ${arrow} `, make("bdi", { class: "term" }, linked.join(" ")));
    const measured = side === "target" ? line.view.measured[word] : null;
    const quiet = (text) => make("span", { class: "quiet" }, ` · ${text}`);
    if (measured) parts.push(quiet(`the model gives it ${percent(measured.probability)}`));
    if (measured?.pieces.length > 1) {
      const share = ({ piece, probability }) => `${piece.replaceAll("▁", "")} ${percent(probability)}`;
      parts.push(quiet(`in pieces: ${measured.pieces.map(share).join(", ")}`));
    }
    return parts;
  }
}
