// What was translated here before. In: finished texts. Out: a list on this device only; a click shows a text again.

import { button, make, refill } from "./dom.js";
import { follow, load, save } from "./state.js";

const MOST = 100;

export class History {
  /** `show(entry)` puts {source, target, text, translation} back into the panes. */
  constructor(panel, show) {
    Object.assign(this, { panel, show, entries: load("history", []), isOn: load("history.on", true) });
    follow("history", [], (entries) => this.draw({ entries }));
    follow("history.on", true, (isOn) => this.draw({ isOn }));
    this.draw();
  }

  /** Adds a text; one that was only typed on replaces its beginning. */
  add(entry) {
    if (!this.isOn || !entry.text.trim()) return;
    const isSame = (old) =>
      old.source === entry.source &&
      old.target === entry.target &&
      (entry.text.startsWith(old.text) || old.text === entry.text);
    const others = this.entries.length && isSame(this.entries[0]) ? this.entries.slice(1) : this.entries;
    this.put(
      [
        { ...entry, time: Date.now() },
        ...others.filter((old) => old.text !== entry.text || old.target !== entry.target),
      ].slice(0, MOST),
    );
  }

  /** Keeps the text that is translated now, unless nothing may be remembered. */
  hold(text) {
    save("text", this.isOn ? text : "");
  }

  turn(isOn) {
    this.isOn = isOn;
    save("history.on", isOn);
    if (!isOn) this.hold("");
  }

  put(entries) {
    save("history", entries);
    this.draw({ entries });
  }

  draw(changes = {}) {
    Object.assign(this, changes);
    const items = this.entries.map((entry) => {
      const about = `${entry.source} → ${entry.target}, ${new Date(entry.time).toLocaleString()}`;
      const shown = make(
        "button",
        { class: "version", click: () => this.show(entry) },
        make("bdi", { class: "sentence", lang: entry.source }, entry.text),
        make("bdi", { class: "sentence", lang: entry.target }, entry.translation),
        make("span", { class: "quiet figure" }, about),
      );
      return make("li", {}, shown);
    });
    const turn = (event) => this.turn(event.target.checked);
    const box = make("input", { type: "checkbox", checked: this.isOn, change: turn });
    const choice = make("label", {}, box, " Remember what I translate, on this device only");
    refill(
      this.panel,
      make("p", { class: "row" }, choice, items.length ? button("Remove all", () => this.put([])) : null),
      items.length ? make("ul", { class: "versions" }, ...items) : make("p", { class: "empty" }, "Nothing yet."),
    );
  }
}
