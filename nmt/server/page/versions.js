// The n-best list of the line at the cursor. In: a line. Out: a list of translations with scores; words that differ
// from the best one are marked, and a click takes one.

import { make, refill } from "./dom.js";
import { changedWords, splitWords } from "./words.js";

const NONE =
  "Point at a word to see what it translates. Click a word of the translation for other words, or edit the " +
  "translation: the model continues what you write. Other versions of the line appear here.";
const NOTE = "The score is the mean logarithm of the probability of a piece: nearer to 0 is better.";

/** The words of a text, with those marked that differ from the best one. */
export function marked(best, text) {
  const changed = changedWords(best, text);
  return splitWords(text).flatMap((word, n) => [n ? " " : "", changed.has(n) ? make("b", {}, word.text) : word.text]);
}

export function showVersions(panel, title, line, take) {
  const best = line?.machine;
  const all = best?.text ? [best, ...best.alternatives.filter(({ text }) => text !== best.text)] : [];
  if (!all.length) {
    panel.replaceChildren(make("p", { class: "empty" }, NONE));
    return;
  }
  const items = all.map((one) => {
    const isTaken = one.text === line.view.text;
    const figures = `${one.score.toFixed(2).replace("-", "−")} · ${Math.round(100 * one.confidence)}% sure`;
    const version = make(
      "button",
      { class: "version", "aria-pressed": String(isTaken), click: () => take(one.text) },
      make("bdi", { class: "sentence", dir: "auto" }, ...marked(best.text, one.text)),
      make("span", { class: "quiet figure" }, figures),
    );
    return make("li", {}, version);
  });
  refill(
    panel,
    title && make("p", { class: "note" }, title),
    make("ol", { class: "versions" }, ...items),
    make("p", { class: "note" }, NOTE),
  );
}
