// Other words for a word of the translation. In: a click on a word, or Alt and arrow down at the cursor. Out: a list
// below the word, with the probability of each word and the sentence that follows from it; choosing one changes the
// line.

import { make } from "./dom.js";
import { marked } from "./versions.js";
import { scopeAt, splitWords } from "./words.js";

const WAIT = 250; // milliseconds: a click that starts an edit asks for nothing

export class Alternatives {
  /** `ask(text, translation, word, signal)` gives the list; `take(line, scope, text)` changes the line. */
  constructor(list, pane, lines, ask, take) {
    Object.assign(this, { list, pane, lines, ask, take, running: null, timer: 0 });
    pane.area.addEventListener("click", () => this.later());
    pane.area.addEventListener("input", () => this.close());
    pane.area.addEventListener("keydown", (event) => {
      if (event.altKey && event.key === "ArrowDown") {
        event.preventDefault();
        this.open(true);
      } else if (event.key === "Escape") this.close();
    });
    list.addEventListener("keydown", (event) => this.key(event));
    list.addEventListener("focusout", (event) => !list.contains(event.relatedTarget) && this.close());
    document.addEventListener("pointerdown", (event) => !pane.element.contains(event.target) && this.close());
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(false), WAIT);
  }

  close() {
    clearTimeout(this.timer);
    this.running?.abort();
    const hadFocus = !this.list.hidden && this.list.contains(document.activeElement);
    this.list.hidden = true;
    if (hadFocus) this.pane.area.focus();
  }

  /** Closes the list if its line has changed: its words stood in another text. */
  check() {
    if (!this.list.hidden && this.lines.lines[this.place.line]?.view !== this.view) this.close();
  }

  async open(focus) {
    this.close();
    const place = this.pane.wordAtCaret;
    const line = place && this.lines.lines[place.line];
    if (!line?.fresh || !line.view.text) return;
    const words = splitWords(line.view.text);
    const scope = scopeAt(line.source, line.view.text, words[place.word].start);
    const text = line.view.text.slice(scope.target.start, scope.target.end);
    const number = words.slice(0, place.word).filter((word) => word.start >= scope.target.start).length;
    Object.assign(this, { place, view: line.view, running: new AbortController() });
    const { signal } = this.running;
    this.show(place, [this.message("looking for other words")], focus);
    try {
      const source = line.source.slice(scope.source.start, scope.source.end);
      const found = await this.ask(source, text, number, signal);
      if (signal.aborted) return;
      const options = found.map((one) => this.option(one, text, () => this.choose(place, scope, one.text)));
      const none = this.message("The model has no other word here.");
      this.show(place, options.length ? options : [none], focus);
    } catch (error) {
      if (!signal.aborted) this.show(place, [this.message(error.message)], focus);
    }
  }

  option({ word, probability, text }, old, choose) {
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--share", probability);
    const percent = probability < 0.01 ? "under 1%" : `${Math.round(100 * probability)}%`;
    return make(
      "div",
      { role: "option", tabindex: "-1", class: "option", "aria-selected": String(text === old), click: choose },
      make("bdi", { class: "term" }, word),
      make("span", { class: "quiet figure" }, percent),
      bar,
      make("bdi", { class: "sentence" }, ...marked(old, text)),
    );
  }

  message(text) {
    return make("p", { class: "quiet", role: "option", "aria-disabled": "true" }, text);
  }

  show(place, content, focus) {
    const hadFocus = this.list.contains(document.activeElement);
    this.list.replaceChildren(...content);
    this.list.hidden = false;
    const span = this.pane.find(place.line, place.word);
    if (span) {
      const [word, box] = [span.getBoundingClientRect(), this.pane.element.getBoundingClientRect()];
      const room = Math.max(0, box.width - this.list.offsetWidth);
      this.list.style.setProperty("--left", `${Math.min(Math.max(0, word.left - box.left - 14), room)}px`);
      this.list.style.setProperty("--top", `${word.bottom - box.top + 8}px`);
    }
    if (focus || hadFocus) (this.list.querySelector(".option") ?? this.list).focus();
  }

  choose(place, scope, text) {
    this.close();
    this.take(place.line, scope, text);
    const words = splitWords(this.lines.lines[place.line].view.text);
    this.pane.caret = { line: place.line, place: words[Math.min(place.word, words.length - 1)].end };
  }

  key(event) {
    const options = [...this.list.querySelectorAll(".option")];
    const i = options.indexOf(document.activeElement);
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: options.length - 1 }[event.key];
    if (to !== undefined && options.length) {
      event.preventDefault();
      options[(to + options.length) % options.length].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      options[i]?.click();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      this.close();
    }
  }
}
