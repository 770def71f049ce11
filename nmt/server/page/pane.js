// A text area with a layer below it that shows the same text, word by word. In: lines of text, and how each
// word looks. Out: the layer, the word under the pointer or at the cursor, and places of words on the screen.
// The layer has the same type and width, so its words stand exactly where those of the text area stand.

import { make } from "./dom.js";
import { splitWords, wordAt } from "./words.js";

export class Pane {
  constructor(element, side) {
    const [area, mirror] = ["textarea", ".mirror"].map((one) => element.querySelector(one));
    Object.assign(this, { element, side, area, mirror, drawn: [] });
  }

  /**
   * `look(line, number, word)` gives {doubt, isProposal} of a word, or null. A line is drawn again if its text or its
   * key (what its look depends on) changed: a key stroke in a long text touches one line.
   */
  render(lines, look = () => null, keys = lines) {
    lines.forEach((text, line) => {
      const [row, old] = [this.mirror.children[line], this.drawn[line]];
      if (row && old?.text === text && old.key === keys[line]) return;
      const made = this.row(text, line, look);
      if (row) row.replaceWith(made);
      else this.mirror.append(made);
    });
    while (this.mirror.children.length > lines.length) this.mirror.lastElementChild.remove();
    this.drawn = lines.map((text, line) => ({ text, key: keys[line] }));
    this.element.dataset.length = this.area.value.length > 400 ? "long" : "short";
  }

  row(text, line, look) {
    const row = make("div", { class: "line", dir: "auto" });
    let place = 0;
    splitWords(text).forEach((word, number) => {
      row.append(text.slice(place, word.start), this.span(word, line, number, look(line, number, word)));
      place = word.end;
    });
    row.append(text.slice(place));
    if (!row.textContent) row.append(make("br"));
    return row;
  }

  span(word, line, number, look) {
    const span = make("span", { class: "word", "data-line": line, "data-word": number }, word.text);
    if (look?.doubt > 0.02) {
      span.style.setProperty("--doubt", look.doubt.toFixed(3));
      span.classList.add("doubted");
      span.classList.toggle("very", look.doubt > 0.6);
    }
    span.classList.toggle("proposal", Boolean(look?.isProposal));
    return span;
  }

  find(line, word) {
    return this.mirror.children[line]?.querySelector(`[data-word="${word}"]`);
  }

  /** The word under a point of the screen: {side, line, word}, or null. */
  at(x, y) {
    const span = document.elementsFromPoint(x, y).find((one) => one.matches?.(".word") && this.mirror.contains(one));
    return span ? { side: this.side, line: Number(span.dataset.line), word: Number(span.dataset.word) } : null;
  }

  /** Line and place in it of the cursor; null if text is selected. */
  get caret() {
    const { value, selectionStart, selectionEnd } = this.area;
    if (selectionStart !== selectionEnd) return null;
    const before = value.slice(0, selectionStart).split("\n");
    return { line: before.length - 1, place: before.at(-1).length };
  }

  set caret({ line, place }) {
    const before = this.area.value.split("\n").slice(0, line);
    const start = before.reduce((sum, text) => sum + text.length + 1, 0) + place;
    this.area.setSelectionRange(start, start);
  }

  /** The word at the cursor, as `at` gives it. */
  get wordAtCaret() {
    const caret = this.caret;
    if (!caret) return null;
    const word = wordAt(splitWords(this.area.value.split("\n")[caret.line]), caret.place);
    return word < 0 ? null : { side: this.side, line: caret.line, word };
  }
}
