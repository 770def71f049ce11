// The translator: a line in; its translation out, word by word: how sure the model is of each word, and which words of
// the line it translates. Runs in a Web Worker, in the page where the browser has none, and in Node.

const LOOK_AHEAD = 8; // characters of a text that may be missing in its pieces
const [FAINT, UNLISTED] = [1e-9, 0.1]; // weights of links, as in nmt.decode.shortlist
const MARKS = ".!?…。！？｡．؟۔।॥։።";
const UNSPACED_MARKS = /[。！？｡．।॥።]/u;
const LAST_MARKS = new RegExp(`(?<!\\.[\\p{L}\\p{N}_])\\s?[${MARKS}]+$`, "u");
const END = new RegExp(`(?<![${MARKS}])([${MARKS}]+)([\\p{Pe}\\p{Pf}"'“]*)(\\s*)(?=[^\\s${MARKS}])`, "gu");
// Words: what stands between blanks, and each character of the scripts that put none between words.
const UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}";
const WORD = new RegExp(`[${UNSPACED}]|[^\\s${UNSPACED}]+`, "gu");
const ENDS_ITEM = /(?:\d\s?\S{1,4}|\/\/\S*|www\.\S*|@\S*|[%$:]\w+)$/u; // addresses and the like take no full stop

class Translator {
  constructor({ model, tokenizers, languages, longest, sentences, finalMark, abbreviations, shortlist }, weights) {
    Object.assign(this, { languages, longest, most: sentences, finalMark, shortlist });
    this.model = new Model(model, weights);
    this.abbreviations = new Set(abbreviations);
    this.source = new Tokenizer(tokenizers[0]);
    this.target = tokenizers[1] ? new Tokenizer(tokenizers[1]) : this.source;
  }

  /** {text, words}: each word has {text, start, probability, source: the number of a word of the line, or -1}. Pauses.
   * Cells between tabs are translated alone. */
  *translate(line) {
    const words = [];
    let [text, before] = ["", 0]; // before: words of the cells before this one
    for (const part of line.trim().split(/(\s*\t\s*)/)) {
      const found = part.includes("\t") ? { text: part, words: [] } : yield* this.translateCell(part);
      for (const word of found.words)
        words.push({ ...word, start: word.start + text.length, source: word.source < 0 ? -1 : word.source + before });
      [text, before] = [text + found.text, before + wordsOf(part).length];
    }
    return { text, words };
  }

  *translateCell(line) {
    const text = this.source.tidied(line);
    const adds = this.finalMark && /\p{L}$/u.test(text) && !ENDS_ITEM.test(text);
    const spans = [...this.spans(adds ? text + this.finalMark : text)];
    const found = { source: [], target: [], weights: [], logProbs: [], text: "" };
    for (const { ids, blank } of spans) {
      const { ids: written, logProbs, attention } = yield* this.model.greedy(ids);
      const before = found.source.length;
      const wanted = this.target.decode(written);
      found.text += wanted + (/[\u2e80-\u312f\u3190-\u9fff\uff00-\uff9f]$/u.test(wanted) ? "" : blank || " ");
      found.weights.push(
        ...attention.map((weights, n) => ({ before, weights: this.weighted(weights, ids, written[n]) })),
      );
      found.source.push(...this.source.surfaces(ids));
      found.target.push(...this.target.surfaces(written));
      found.logProbs.push(...logProbs.slice(0, -1));
    }
    const result = adds ? found.text.trim().replace(LAST_MARKS, "") : found.text.trim();
    // A model that has learned placeholders may invent some.
    const clean = result.replace(/ ?([\ue000-\ue00d])/g, (whole, mark) => (line.includes(mark) ? whole : "")).trim();
    return this.aligned(line, clean, found);
  }

  /** The parts of a text that are translated alone, as ids, each with the blank after it. */
  *spans(text) {
    const whole = this.source.encode(text);
    const parts = [...this.sentences(text)];
    const together = whole.length <= this.longest ? parts.length <= this.most : parts.length < 2;
    for (const { part, blank } of together ? [{ part: text, blank: "" }] : parts) {
      const ids = together ? whole : this.source.encode(part);
      const limit = this.model.longest[0];
      for (let start = 0; start < ids.length;) {
        let end = Math.min(start + limit, ids.length);
        const isInside = (n) => n < ids.length && !this.source.pieces[ids[n]].startsWith(SPACE);
        while (end > start && isInside(end)) end -= 1;
        if (end === start) end = start + limit; // a word without an end
        yield { ids: ids.slice(start, end), blank: end < ids.length ? "" : blank };
        start = end;
      }
    }
  }

  /** The sentences of a text, where they surely end: the rules of nmt.text.sentences that do not look at quotes. */
  *sentences(text) {
    const isCased = text !== text.toLowerCase();
    let start = 0;
    for (const match of text.matchAll(END)) {
      const [whole, marks, closers, blank] = match;
      const end = match.index + whole.length;
      const part = text.slice(start, match.index);
      const isOpen = part.split(/[([（【]/u).length > (part + closers).split(/[)\]）】]/u).length;
      if (isOpen || !this.isEnd(part, marks, closers, blank, text.slice(end, end + 20), isCased)) continue;
      yield { part: text.slice(start, end - blank.length), blank };
      start = end;
    }
    yield { part: text.slice(start), blank: "" };
  }

  isEnd(before, marks, closers, blank, after, isCased) {
    if (!blank) return UNSPACED_MARKS.test(marks) && !closers && !(marks === "．" && /^\d/.test(after));
    const next = /^["'„“‚‘«»‹›([「『（【《¿¡–—*-]*\s?([\p{L}\p{N}{])/u.exec(after)?.[1];
    const isSmall = /\p{Ll}/u.test(next ?? "");
    if (!next || (isSmall && isCased)) return false;
    if (/[^.…．]/u.test(marks)) return true;
    if (marks.length > 1 || marks === "…") return /\S$/u.test(before) && !isSmall;
    const word = /[^\s"„“‚‘«»([/]*$/u.exec(before)[0];
    const part = word.split(/['’-]/u).at(-1);
    const isShort = /^(?:\d{1,3}|\d{1,2}\.\d{1,2}|\d+000|[IVX]+|\p{L}|(?:\p{L}{1,3}\.)+\p{L}{1,3})$/u.test(part);
    const hasNoVowel = /^(?=..)[B-DF-HJ-NP-TV-XZ]?[b-df-hj-np-tv-xz]{1,4}$/u.test(part);
    if (isShort || hasNoVowel || this.abbreviations.has(part) || this.abbreviations.has(part.toLowerCase()))
      return false;
    return !(isSmall || /\d/.test(next)) || word.length >= 5;
  }

  /** The attention of a target piece to source pieces, times what is known of their translations (nmt.decode.shortlist). */
  weighted(weights, ids, written) {
    weights = weights.subarray(0, ids.length); // without the end of the source
    if (!this.shortlist) return weights;
    const { candidates, common, isJoint } = this.shortlist;
    const isCommon = common.includes(written);
    return weights.map((weight, s) => {
      const rank = candidates[ids[s]]?.indexOf(written) ?? -1;
      const best = isJoint && ids[s] === written ? 1 : rank < 0 ? 0 : 1 / (rank + 1);
      return weight * (isCommon && best < 1 ? FAINT : best + (isCommon ? 0 : UNLISTED));
    });
  }

  /** The words of a translation. A word gets the attention of its pieces, and belongs to the source word that gets most. */
  aligned(line, text, { source, target, weights, logProbs }) {
    const [from, to] = [wordsOf(line), wordsOf(text)];
    const [sources, targets] = [wordNumbers(source, line, from), wordNumbers(target, text, to)];
    const words = to.map((word) => ({ ...word, probability: 1, source: -1 }));
    const sums = to.map(() => new Float64Array(from.length));
    for (const [n, number] of targets.entries()) {
      if (number < 0) continue;
      words[number].probability *= Math.exp(logProbs[n]);
      const { before, weights: row } = weights[n];
      row.forEach((weight, s) => (sums[number][sources[before + s]] += weight));
    }
    for (const [n, word] of words.entries()) {
      const most = Math.max(...sums[n]);
      if (most > 0) word.source = sums[n].indexOf(most);
    }
    return { text, words };
  }
}

const wordsOf = (text) => Array.from(text.matchAll(WORD), (match) => ({ text: match[0], start: match.index }));

/** For each piece the number of its word in the text, -1 before the first one. */
function wordNumbers(surfaces, text, words) {
  const visible = Array.from(text.matchAll(/\S/gu), (match) => ({ character: match[0], place: match.index }));
  let [position, word] = [0, words.length ? 0 : -1];
  return surfaces.map((surface) => {
    let own = -1;
    for (const character of surface.replace(/\s/gu, "")) {
      const ahead = visible.slice(position, position + LOOK_AHEAD).findIndex((other) => other.character === character);
      if (ahead < 0) continue;
      position += ahead + 1;
      while (words[word + 1]?.start <= visible[position - 1].place) word += 1;
      if (own < 0 || !/[\p{L}\p{N}]/u.test(text.slice(words[own].start, visible[position - 1].place))) own = word;
    }
    return own < 0 ? word : own;
  });
}

/** A translator from the settings and the weights (base64) of the page. */
function makeTranslator(settings, base64) {
  const binary = atob(base64.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return new Translator(settings, tensorsOf(settings.tensors, bytes.buffer));
}

/** Takes steps for so many milliseconds at a time, so that messages can come; undefined once `isOld()`. */
async function inSlices(steps, milliseconds, isOld) {
  for (;;) {
    const until = performance.now() + milliseconds;
    while (performance.now() < until) {
      const { done, value } = steps.next();
      if (done) return value;
    }
    await new Promise((resolve) => setTimeout(resolve));
    if (isOld()) return undefined;
  }
}

/** Answers jobs {job, lines}: {job, line, result} for each line, then {job}; or {job, error}. A new job ends the old one. */
function answering(translator, send, milliseconds) {
  let newest = 0;
  return async ({ job, lines }) => {
    newest = job;
    try {
      for (const line of lines) {
        const result = await inSlices(translator.translate(line), milliseconds, () => job !== newest);
        if (job !== newest) return;
        send({ job, line, result });
      }
      send({ job });
    } catch (error) {
      send({ job, error: error.message });
    }
  };
}

/** In a worker: the first message has the settings and the weights, others are jobs. */
function work() {
  onmessage = ({ data }) => {
    onmessage = undefined;
    const answer = answering(makeTranslator(data.settings, data.weights), postMessage, 50);
    onmessage = (message) => answer(message.data);
    postMessage({ isReady: true });
  };
}
