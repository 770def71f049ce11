// Edits of the translation. In: what the user types, deletes and accepts in the target pane. Out: new views of the
// lines, and a proposal {line, start, end, kept}: the rest of a sentence, decoded anew from what stands before the
// cursor. The proposal is part of the text: moving the cursor past a word accepts the word, Tab accepts all, Escape
// brings the kept words back. Deleting words asks for nothing, since the model would write them again.

import { debounce } from "./dom.js";
import { say } from "./notices.js";
import { fitted } from "./lines.js";
import { viewOf, withPart, withText } from "./view.js";
import { endsInWord, isBeforeWord, isInsideWord, scopeAt } from "./words.js";

const PAUSE = 180; // milliseconds without typing before the server is asked
const MOST_STEPS = 200; // of undo
const MOST_BEFORE = 2000; // characters that the server continues
const LETTERS = /^[\p{L}\p{N}\p{M}]+/u;

export class Editing {
  /**
   * `ask(text, options, signal)` gives the server's answer for a sentence; `changed()` draws; `failed(error)` tells.
   */
  constructor(pane, lines, ask, changed, failed) {
    Object.assign(this, { pane, lines, ask, changed, failed, proposal: null, past: [], running: null });
    this.later = debounce(() => this.propose(), PAUSE);
    const { area } = pane;
    area.addEventListener("beforeinput", (event) => this.before(event));
    area.addEventListener("input", (event) =>
      this.input(event.isComposing ? "composing" : event.inputType, event.data ?? ""),
    );
    area.addEventListener("compositionend", (event) => this.input("insertText", event.data));
    area.addEventListener("keydown", (event) => this.key(event));
    area.addEventListener("blur", () => this.accept());
    document.addEventListener("selectionchange", () => this.moved());
  }

  before(event) {
    const caret = this.pane.caret;
    if (event.inputType.startsWith("history")) {
      event.preventDefault();
      if (event.inputType === "historyUndo") this.undo();
    } else if (event.inputType === "insertLineBreak" || event.inputType === "insertParagraph") {
      event.preventDefault();
      say("Line breaks come from the text to translate.");
    } else if (event.inputType === "insertText" && this.isAtProposal(caret)) {
      const ahead = this.lines.lines[caret.line].view.text.slice(caret.place, this.proposal.end);
      if (!ahead.startsWith(event.data)) return;
      event.preventDefault(); // the user types what is proposed
      this.pane.caret = { line: caret.line, place: caret.place + event.data.length };
    }
  }

  input(kind, typed) {
    this.running?.abort();
    this.remember();
    const { lines } = this.lines;
    const written = this.pane.area.value.split("\n");
    const old = lines.map((line) => line.view.text);
    const end = { line: written.length - 1, place: written.at(-1).length };
    const { texts, caret } = fitted(written, old, this.pane.caret ?? end);
    const before = this.proposal;
    const isProposed = before?.line === caret.line && before.start === caret.place - typed.length;
    const kept = isProposed ? before.kept : texts[caret.line].slice(caret.place);
    const isOver = isProposed || (kind === "insertText" && isBeforeWord(texts[caret.line], caret.place, typed));
    if (isOver) texts[caret.line] = this.withoutNextWord(texts[caret.line], caret.place, typed);
    lines.forEach((one, i) => {
      if (one.view.text !== texts[i]) one.view = withText(one.view, texts[i]);
    });
    const { text } = lines[caret.line].view;
    const asks = kind.startsWith("insert") && (isOver || !isInsideWord(text, caret.place));
    const until = scopeAt(lines[caret.line].source, text, caret.place).target.end;
    this.proposal = asks && isOver ? { line: caret.line, start: caret.place, end: until, kept } : null;
    this.waiting = asks ? { ...caret, kept } : null;
    this.changed();
    if (written.length !== texts.length) this.pane.caret = caret;
    if (asks) this.later();
    else this.later.cancel();
  }

  /**
   * Where the user types a word before or over another one, the other one goes: the model brings it back if need be.
   */
  withoutNextWord(text, place, typed) {
    return LETTERS.test(typed) ? text.slice(0, place) + text.slice(place).replace(LETTERS, "") : text;
  }

  /** Decodes the rest of the sentence anew from what stands before the cursor. */
  async propose(asked = this.waiting ?? this.fromCaret()) {
    const line = asked && this.lines.lines[asked.line];
    if (!line?.source.trim()) return;
    this.running?.abort();
    this.running = new AbortController();
    const { signal } = this.running;
    const { text } = line.view;
    const scope = scopeAt(line.source, text, asked.place);
    const source = line.source.slice(scope.source.start, scope.source.end);
    const prefix = text.slice(scope.target.start, asked.place);
    if (prefix.length > MOST_BEFORE) return void say("The sentence is too long for a proposal.");
    try {
      const answer = await this.ask(source, { prefix }, signal);
      if (signal.aborted || line.view.text !== text || !answer.text.startsWith(prefix)) return;
      const view = withPart(line.view, line.source, scope, viewOf(answer));
      this.offer(line, asked, view, scope.target.start + answer.text.length);
    } catch (error) {
      if (!signal.aborted) this.failed(error);
    }
  }

  fromCaret() {
    const caret = this.pane.caret;
    return caret && { ...caret, kept: this.lines.lines[caret.line].view.text.slice(caret.place) };
  }

  offer(line, { line: number, place, kept }, view, end) {
    const isNew = view.text.slice(place) !== kept;
    line.view = view;
    this.waiting = null;
    this.proposal = isNew && end > place ? { line: number, start: place, end, kept } : null;
    const caret = this.pane.caret;
    this.changed();
    if (caret) this.pane.caret = caret;
    if (this.proposal) say(`Proposal: ${view.text.slice(place, end)}`);
  }

  isAtProposal(caret) {
    return caret && caret.line === this.proposal?.line && caret.place === this.proposal.start;
  }

  /** The cursor moved: what is before it is accepted; elsewhere, all is. */
  moved() {
    const caret = this.proposal && document.activeElement === this.pane.area ? this.pane.caret : null;
    if (!caret || this.isAtProposal(caret)) return;
    const isInside =
      caret.line === this.proposal.line && caret.place > this.proposal.start && caret.place < this.proposal.end;
    this.proposal = isInside ? { ...this.proposal, start: caret.place } : null;
    this.changed();
  }

  accept() {
    this.later.cancel();
    this.running?.abort();
    Object.assign(this, { proposal: null, waiting: null });
    this.changed();
  }

  key(event) {
    if (event.key === "Tab" && !event.shiftKey && this.proposal) {
      event.preventDefault();
      const { line, end } = this.proposal;
      this.accept();
      this.pane.caret = { line, place: end };
    } else if (event.key === "Escape" && (this.proposal || this.waiting)) {
      const { line, start, place = start, kept } = this.proposal ?? this.waiting;
      const written = this.lines.lines[line].view.text.slice(0, place);
      this.replace(line, written + (endsInWord(written) && LETTERS.test(kept) ? " " : "") + kept);
      this.pane.caret = { line, place };
    } else if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z") {
      event.preventDefault();
      this.undo();
    }
  }

  /** Puts another text in a line. */
  replace(number, text) {
    this.remember();
    const line = this.lines.lines[number];
    line.view = withText(line.view, text);
    this.accept();
  }

  /** Puts a text in the place of a sentence, and asks where its words come from. */
  async take(number, scope, text) {
    const line = this.lines.lines[number];
    const source = line.source.slice(scope.source.start, scope.source.end);
    const { text: old } = line.view;
    this.replace(number, old.slice(0, scope.target.start) + text + old.slice(scope.target.end));
    const taken = line.view;
    const end = { source: scope.source, target: { start: scope.target.start, end: scope.target.start + text.length } };
    const answer = await this.ask(source, { prefix: text }).catch(() => null);
    if (answer?.text !== text || line.view !== taken) return;
    line.view = withPart(taken, line.source, end, viewOf(answer));
    this.changed();
  }

  remember() {
    this.past.push(this.lines.lines.map((line) => [line, line.view]));
    if (this.past.length > MOST_STEPS) this.past.shift();
  }

  undo() {
    const step = this.past.pop();
    if (!step) return;
    for (const [line, view] of step) line.view = view;
    const caret = this.pane.caret;
    this.accept();
    if (caret) this.pane.caret = caret;
  }
}
