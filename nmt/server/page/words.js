// Words and sentences of a text, without a page. In: strings, and the pieces that the server tells. Out: places of
// words. The server numbers words as Python's str.split() does, so the same blanks separate words here.

const WORD = /[^\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
const LOOK_AHEAD = 100; // characters that may have no piece: items such as addresses, which are put back afterwards

const MOST_COMPARED = 100_000; // pairs of words: longer texts are not compared, which would take too long

/** The words of a text: [{text, start, end}], with places in UTF-16 units. */
export function splitWords(text) {
  return Array.from(text.matchAll(WORD), (match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** The number of the word that stands at a place (its end counts), or -1. */
export function wordAt(words, place) {
  return words.findIndex((word) => word.start <= place && place <= word.end);
}

/** Whether a place is inside a word: a letter or digit before it, and one after it. */
export function isInsideWord(text, place) {
  return endsInWord(text.slice(0, place)) && LETTER.test([...text.slice(place)][0] ?? "");
}

/** Whether letters that were typed before a place stand directly before a word, with no letter before them. */
export function isBeforeWord(text, place, typed) {
  return LETTER.test(typed) && !endsInWord(text.slice(0, place - typed.length)) && isInsideWord(text, place);
}

/** Whether a text ends in the middle of a word, or at its end: more letters would continue the word. */
export const endsInWord = (text) => LETTER.test([...text].at(-1) ?? "");

/**
 * For each word of a text its pieces and their joint probability: {probability, pieces}; null where no piece is known.
 */
export function measureWords(text, tokens) {
  const words = splitWords(text);
  const measured = words.map(() => null);
  let place = 0;
  let current = 0;
  for (const { piece, text: written, log_probability: logProbability } of tokens) {
    if (piece === "</s>") continue;
    const surface = written.replaceAll("▁", " ").trim();
    const found = surface ? text.indexOf(surface, place) : -1;
    if (surface && (found < 0 || found > place + LOOK_AHEAD)) continue;
    if (surface) {
      current = words.findIndex((word) => found < word.end);
      place = found + surface.length;
    }
    if (current < 0 || current >= words.length) continue;
    measured[current] ??= { probability: 1, pieces: [] };
    measured[current].probability *= Math.exp(logProbability);
    measured[current].pieces.push({ piece, probability: Math.exp(logProbability) });
  }
  return measured;
}

/** The sentences of a text: [{start, end}], from the first letter to the last sign, without the blanks between. */
function sentences(text) {
  if (!globalThis.Intl?.Segmenter) return [{ start: 0, end: text.length }];
  const parts = new Intl.Segmenter(undefined, { granularity: "sentence" }).segment(text);
  return Array.from(parts, ({ segment, index }) => ({ start: index, end: index + segment.trimEnd().length })).filter(
    ({ start, end }) => end > start,
  );
}

/**
 * The part of a line that is decoded anew when its translation changes at a place: the sentence, if source and
 * translation have equally many, else the whole line. {source: {start, end}, target: {start, end}}
 */
export function scopeAt(source, target, place) {
  const [from, to] = [sentences(source), sentences(target)];
  const whole = { source: { start: 0, end: source.length }, target: { start: 0, end: target.length } };
  if (from.length !== to.length || from.length < 2) return whole;
  const number = to.findIndex(({ start, end }) => start <= place && place <= end);
  return number < 0 ? whole : { source: from[number], target: to[number] };
}

/** How many items two lists share at their beginnings, and how many of the others at their ends. */
export function sharedEnds(old, now) {
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  return [head, tail];
}

/** For each word of the new text the number of the same word in the old one, or -1: equal beginnings and ends count. */
export function sameWords(before, after) {
  const [old, now] = [before, after].map((text) => splitWords(text).map((word) => word.text));
  const [head, tail] = sharedEnds(old, now);
  return now.map((_, i) => (i < head ? i : i >= now.length - tail ? i - now.length + old.length : -1));
}

/** The numbers of the words of `other` that `best` does not have in this order (longest common subsequence); none for
 * very long texts. */
export function changedWords(best, other) {
  const [a, b] = [best, other].map((text) => splitWords(text).map((word) => word.text));
  if (a.length * b.length > MOST_COMPARED) return new Set();
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const changed = new Set(b.keys());
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      changed.delete(j);
      i += 1;
      j += 1;
    } else if (common[i + 1][j] >= common[i][j + 1]) i += 1;
    else j += 1;
  }
  return changed;
}
