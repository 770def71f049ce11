// The tokenizer: text in, ids of pieces out, and back, as SentencePiece and nmt have it. Text is first tidied, and takes
// the nearest characters that have pieces, by rules that nmt wrote. Then it is divided: by the most probable pieces
// (unigram), or by merging pairs of pieces, the best pair first (BPE).

const [UNK, BOS, EOS] = [0, 1, 2];
const [NORMAL, USER_DEFINED] = [1, 4]; // kinds of pieces in SentencePiece; only these two are found in text
const SPACE = "▁";
const STAND_IN = "\ufdd0"; // for a ▁ in the text, which is no space: a character that never has a piece
const UNKNOWN_PENALTY = 10;
const BYTE = /^<0x([0-9A-F]{2})>$/;

class Tokenizer {
  /** `rules`: replacements [pattern, text], or a pattern alone to compose to NFC; `pieces`: [text, score, kind] by id. */
  constructor({ rules, isBpe, pieces }) {
    this.rules = rules.map(([pattern, text]) => (pattern ? [new RegExp(pattern, "gu"), text] : null));
    this.ofAnyText = this.rules.slice(0, this.rules.indexOf(null) + 1);
    this.pieces = pieces.map(([text]) => text);
    this.isBpe = isBpe;
    const all = pieces.map(([text, score, kind], id) => ({ text, score, kind, id }));
    const [normal, symbols] = [NORMAL, USER_DEFINED].map((kind) => all.filter((piece) => piece.kind === kind));
    this.known = new Map([...normal, ...symbols].map((piece) => [piece.text, piece]));
    this.longest = Math.max(...[...this.known.keys()].map((text) => text.length));
    const scores = normal.map(({ score }) => score);
    [this.least, this.most] = [Math.min(...scores), Math.max(...scores)];
    this.symbols = symbols.map(({ text }) => text).sort((a, b) => b.length - a.length);
    this.bytes = new Map(
      all.filter(({ text }) => BYTE.test(text)).map(({ text, id }) => [parseInt(text.slice(3, 5), 16), id]),
    );
  }

  /** The text as the model reads it; with the rules `ofAnyText`, as nmt tidies any text. */
  tidied(text, rules = this.rules) {
    for (const rule of rules) text = rule ? text.replace(...rule) : text.normalize("NFC");
    return text.trim();
  }

  /** The ids of a tidied text. */
  encode(text) {
    const isMarked = text.includes(SPACE);
    if (isMarked) text = text.replaceAll(STAND_IN, "\ufffd").replaceAll(SPACE, STAND_IN);
    text = text.replace(/ +/g, " ").replace(/^ | $/g, "");
    if (!text) return [];
    const ids = [];
    let wasKnown = true;
    for (const part of (this.isBpe ? this.merged : this.mostProbable).call(this, SPACE + text.replaceAll(" ", SPACE))) {
      const piece = this.known.get(part);
      if (piece) ids.push(piece.id);
      else if (this.bytes.size)
        ids.push(...utf8(isMarked && part === STAND_IN ? SPACE : part).map((byte) => this.bytes.get(byte)));
      else if (wasKnown) ids.push(UNK); // a run of characters without a piece is one unknown piece
      wasKnown = Boolean(piece);
    }
    return ids;
  }

  /** The parts of a text with the largest sum of scores (Viterbi); characters without a piece are parts of their own. */
  mostProbable(text) {
    const [best, from] = [new Float32Array(text.length + 1).fill(-Infinity), new Int32Array(text.length + 1)];
    best[0] = 0;
    const extend = (start, end, score) => {
      if (best[start] + score <= best[end]) return;
      best[end] = best[start] + score;
      from[end] = start;
    };
    for (let start = 0; start < text.length;) {
      const next = start + (text.codePointAt(start) > 0xffff ? 2 : 1);
      let hasOwn = false;
      for (let end = next; end <= Math.min(text.length, start + this.longest); end += 1) {
        const piece = this.known.get(text.slice(start, end));
        if (!piece) continue;
        const isSymbol = piece.kind === USER_DEFINED; // always taken
        extend(start, end, isSymbol ? utf8(piece.text).length * this.most - 0.1 : piece.score);
        hasOwn ||= end === next;
      }
      if (!hasOwn) extend(start, next, this.least - UNKNOWN_PENALTY);
      start = next;
    }
    const parts = [];
    for (let end = text.length; end > 0; end = from[end]) parts.push(text.slice(from[end], end));
    return parts.reverse();
  }

  /** The parts of a text after all merges. No piece has a ▁ after its first character, so words are merged alone. */
  *merged(text) {
    const escaped = this.symbols.map((symbol) => symbol.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"));
    const parts = text.split(escaped.length ? new RegExp(`(${escaped.join("|")})`, "u") : /(?!)/);
    for (const [n, part] of parts.entries())
      if (n % 2) yield part;
      else for (const word of part.split(/(?=▁)/)) yield* this.mergedWord([...word]);
  }

  mergedWord(parts) {
    const score = (n) => {
      const piece = n < parts.length - 1 ? this.known.get(parts[n] + parts[n + 1]) : undefined;
      return piece?.kind === NORMAL ? piece.score : -Infinity;
    };
    const scores = parts.map((_, n) => score(n)); // of each part with the next one
    for (;;) {
      let best = 0;
      for (let n = 1; n < scores.length; n += 1) if (scores[n] > scores[best]) best = n;
      if (!(scores[best] > -Infinity)) return parts;
      parts.splice(best, 2, parts[best] + parts[best + 1]);
      scores.splice(best, 1);
      scores[best] = score(best);
      if (best) scores[best - 1] = score(best - 1);
    }
  }

  /** What each piece writes; a character that is spelled in bytes belongs to its first byte. */
  surfaces(ids) {
    const found = ids.map((id) => (id === UNK ? " ⁇ " : id > EOS + 1 ? this.pieces[id].replaceAll(SPACE, " ") : ""));
    const byte = (n) => parseInt(BYTE.exec(this.pieces[ids[n]])?.[1], 16); // NaN if it is none
    for (let n = 0; n < ids.length; n += 1) {
      if (Number.isNaN(byte(n))) continue;
      const size = byte(n) < 0xc0 ? 1 : byte(n) < 0xe0 ? 2 : byte(n) < 0xf0 ? 3 : 4;
      const character = fromUtf8(Array.from({ length: size }, (_, k) => byte(n + k)));
      found[n] = character ?? "\ufffd";
      if (character) for (let k = 1; k < size; k += 1) found[(n += 1)] = "";
    }
    return found;
  }

  /** The text of ids. */
  decode(ids) {
    return this.tidied(this.surfaces(ids).join(""), this.ofAnyText);
  }
}

const utf8 = (text) => [...new TextEncoder().encode(text)];

/** The text that bytes spell; null if they aren't UTF-8. NaN, for what is no byte, never continues a character. */
function fromUtf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(bytes));
  } catch {
    return null;
  }
}
