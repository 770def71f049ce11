// The n-best list of the line at the cursor. In: a line. Out: a list of translations with scores; words that differ
// from the best one are marked, and a click takes one.

import { make } from "./dom.js";
import { changedWords, splitWords } from "./words.js";

export function showVersions(panel, title, line, take) {
  const best = line?.machine;
  const all = best?.text ? [best, ...best.alternatives.filter(({ text }) => text !== best.text)] : [];
  if (!all.length) {
    panel.replaceChildren(
      make(
        "p",
        { class: "empty" },
        "Point at a word to see what it translates. Click a word of the translation for other words, or edit " +
          "the translation: the model continues what you write. Other versions of the line appear here.",
      ),
    );
    return;
  }
  const items = all.map((one, i) => {
    const changed = i ? changedWords(best.text, one.text) : new Set();
    const words = splitWords(one.text).flatMap((word, n) => [
      n ? " " : "",
      changed.has(n) ? make("b", {}, word.text) : word.text,
    ]);
    const isTaken = one.text === line.view.text;
    const figures = `${one.score.toFixed(2).replace("-", "−")} · ${Math.round(100 * one.confidence)}% sure`;
    return make(
      "li",
      {},
      make(
        "button",
        { class: "version", "aria-pressed": String(isTaken), click: () => take(one.text) },
        make("bdi", { class: "sentence", dir: "auto" }, ...words),
        make("span", { class: "quiet figure" }, figures),
      ),
    );
  });
  const note = "The score is the mean logarithm of the probability of a piece: nearer to 0 is better.";
  panel.replaceChildren(
    title && make("p", { class: "note" }, title),
    make("ol", { class: "versions" }, ...items),
    make("p", { class: "note" }, note),
  );
}
