// The lines of the text and their translations. In: the text of the source pane, the languages, the glossary. Out:
// lines {source, view, machine, fresh}: `machine` is the view before edits, and `fresh` is false while an older view is
// shown. Only lines that changed are asked for, in groups; the newest text wins, and older requests are aborted.

import { EMPTY, viewOf } from "./view.js";
import { sharedEnds } from "./words.js";

const GROUP = 16; // lines in a request

/** Lines for new texts: those with an equal source keep their view, the others show the old view of their place. */
export function renewLines(old, texts) {
  const known = new Map(texts.map((source) => [source, []]));
  for (const line of [...old].reverse()) known.get(line.source)?.push(line);
  return texts.map((source, i) => {
    const line = known.get(source).pop();
    if (line) return line;
    const view = source.trim() ? (old[i]?.view ?? EMPTY) : EMPTY;
    return { source, view, machine: view, fresh: !source.trim() };
  });
}

/**
 * As many texts as before a deletion or a paste that joined or split lines, and the place of the caret in them: lines
 * that it left as they were stay at their places, and too many lines become one, with blanks between them.
 */
export function fitted(texts, old, { line, place }) {
  let [head, tail] = sharedEnds(old, texts);
  if (head + tail === old.length && texts.length > old.length) [head, tail] = head ? [head - 1, tail] : [0, tail - 1];
  const last = old.length - tail - 1; // of the lines that changed
  const end = texts.length - tail;
  const joined = texts.slice(last, end);
  const made = Array.from({ length: last + 1 }, (_, i) => (i < end ? texts[i] : ""));
  if (joined.length) made[last] = joined.join(" ");
  made.push(...texts.slice(end));
  if (line >= end) return { texts: made, caret: { line: line - texts.length + old.length, place } };
  const before = texts.slice(last, line).reduce((sum, text) => sum + text.length + 1, 0);
  return { texts: made, caret: { line: Math.min(line, last), place: before + place } };
}

export class Lines {
  /** `ask(texts, signal)` gives the translations of lines; `changed()` and `failed(error)` tell the page. */
  constructor(ask, changed, failed) {
    Object.assign(this, { ask, changed, failed, lines: renewLines([], [""]), running: null });
  }

  get text() {
    return this.lines.map((line) => line.view.text).join("\n");
  }

  get source() {
    return this.lines.map((line) => line.source).join("\n");
  }

  get isFresh() {
    return this.lines.every((line) => line.fresh);
  }

  /** Whether the user changed the translation of a line. */
  isEdited(line) {
    return line.fresh && line.view.text !== line.machine.text;
  }

  /** Forget all translations, because the languages or the glossary changed. */
  forget() {
    this.running?.abort();
    this.lines = this.lines.map((line) => ({ ...line, fresh: !line.source.trim() }));
  }

  async update(text) {
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    this.lines = renewLines(this.lines, text.split("\n"));
    const waiting = this.lines.filter((line) => !line.fresh);
    this.changed();
    try {
      for (let i = 0; i < waiting.length; i += GROUP) {
        const some = waiting.slice(i, i + GROUP);
        const found = await this.ask(
          some.map((line) => line.source),
          running.signal,
        );
        if (running.signal.aborted) return;
        some.forEach((line, n) => {
          const view = viewOf(found[n]);
          Object.assign(line, { view, machine: view, fresh: true });
        });
        this.changed();
      }
    } catch (error) {
      if (!running.signal.aborted) this.failed(error);
    } finally {
      if (this.running === running) this.running = null;
      this.changed();
    }
  }
}
