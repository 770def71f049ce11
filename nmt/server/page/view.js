// What the page knows of the translation of a line, as values that are never changed in place. In: answers of the
// server and edits of the user. Out: views {text, links, measured, score, confidence, flagTexts, alternatives}:
// `links` are pairs (word of the source, word of the text), `measured` has an entry for each word (see measureWords).

import { measureWords, sameWords, splitWords } from "./words.js";

/** The view of a translation as the server tells it. */
export function viewOf(translation) {
  return {
    text: translation.text,
    links: translation.alignments ?? [],
    measured: measureWords(translation.text, translation.tokens ?? []),
    score: translation.score,
    confidence: translation.confidence,
    flagTexts: translation.flag_texts,
    alternatives: translation.alternatives,
  };
}

export const EMPTY = Object.freeze(viewOf({ text: "", score: 0, confidence: 1, flag_texts: [], alternatives: [] }));

/** A view after the user changed its text: words that stayed keep what is known of them. */
export function withText(view, text) {
  const same = sameWords(view.text, text);
  const places = new Map(same.map((old, now) => [old, now]));
  const links = view.links.filter(([, word]) => places.has(word)).map(([from, word]) => [from, places.get(word)]);
  return { ...view, text, links, measured: same.map((old) => (old < 0 ? null : (view.measured[old] ?? null))) };
}

/**
 * A view where one part was decoded anew. `scope`: where the part is in the line and in the old text (see scopeAt);
 * `part`: the view of the new part. Words before and after it keep what is known of them.
 */
export function withPart(view, line, scope, part) {
  const count = (text) => splitWords(text).length;
  const [first, last] = [count(view.text.slice(0, scope.target.start)), count(view.text.slice(0, scope.target.end))];
  const firstSource = count(line.slice(0, scope.source.start));
  const text = view.text.slice(0, scope.target.start) + part.text + view.text.slice(scope.target.end);
  const moved = part.measured.length - (last - first);
  const links = [
    ...view.links.filter(([, word]) => word < first),
    ...part.links.map(([from, word]) => [from + firstSource, word + first]),
    ...view.links.filter(([, word]) => word >= last).map(([from, word]) => [from, word + moved]),
  ];
  const measured = [...view.measured.slice(0, first), ...part.measured, ...view.measured.slice(last)];
  const isWhole = scope.target.start === 0 && scope.target.end === view.text.length;
  return isWhole ? { ...part, text, links, measured } : { ...view, text, links, measured };
}

/** The words that a word is linked with, on the other side. `side`: "source" or "target", that of the word. */
export function partners(links, side, word) {
  const [own, other] = side === "source" ? [0, 1] : [1, 0];
  return links.filter((link) => link[own] === word).map((link) => link[other]);
}

/** All words that belong to a word: itself, its partners, and the words of its side that share them. */
export function group(links, side, word) {
  const far = new Set(partners(links, side, word));
  const back = side === "source" ? "target" : "source";
  const near = new Set([word, ...[...far].flatMap((other) => partners(links, back, other))]);
  return side === "source" ? { source: near, target: far } : { source: far, target: near };
}
