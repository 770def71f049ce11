// The glossary editor. In: the glossaries of the server for the chosen languages. Out: the name of the glossary in use,
// and entries that are stored on the server. A translation must then contain the target of each term of its source.

import { button, byId, make, refill } from "./dom.js";
import { deleteGlossary, glossaries, glossary, saveGlossary } from "./api.js";
import { load, save } from "./state.js";
import { say } from "./notices.js";

const NOTE =
  "A term in lower case matches any case, * stands for any ending, and | separates allowed translations: " +
  "station|stop. Glossaries are stored on the server.";

/** The name itself or, if it is taken, the name with the first number that is free. */
export function freeName(name, taken) {
  let free = name;
  for (let n = 2; taken.includes(free); n += 1) free = `${name} ${n}`;
  return free;
}

const TWICE = "A term is there twice: write its translations in one row, with | between them.";

export class GlossaryEditor {
  /** `changed()` is called when other terms hold. */
  constructor(panel, languages, changed) {
    Object.assign(this, { panel, languages, changed, names: [], name: "", rows: [], problem: "" });
  }

  get pair() {
    return `${this.languages().source}-${this.languages().target}`;
  }

  /** The names of the glossaries for the chosen languages. */
  async known() {
    const { source, target } = this.languages();
    const all = await glossaries();
    return all.filter((one) => one.source === source && one.target === target).map((one) => one.name);
  }

  /** Reads the glossaries for the chosen languages, and takes the one of the last visit. */
  async renew() {
    Object.assign(this, { names: [], name: "", rows: [] });
    await this.attempt(async (isOld) => {
      const names = await this.known();
      if (isOld()) return;
      this.names = names;
      const last = load("glossaries", {})[this.pair] ?? "";
      await this.take(names.includes(last) ? last : "");
    });
  }

  /** Takes a glossary, and remembers it. */
  async choose(name) {
    save("glossaries", { ...load("glossaries", {}), [this.pair]: name });
    await this.take(name);
    this.changed();
  }

  async take(name) {
    Object.assign(this, { name, rows: [] });
    await this.attempt(async (isOld) => {
      const { entries } = name ? await glossary(name, this.languages()) : { entries: {} };
      if (!isOld()) this.rows = Object.entries(entries);
    });
  }

  async store() {
    const { source, target } = this.languages();
    const written = byId("glossary-name")?.value.trim() || this.pair;
    const rows = this.rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row[0] && row[1]);
    const entries = Object.fromEntries(rows);
    await this.attempt(async (isOld) => {
      if (Object.keys(entries).length < rows.length) throw new Error(TWICE);
      const name = this.name || freeName(written, await this.known()); // a new one replaces no other
      await saveGlossary(name, { source, target, entries });
      say(`The glossary is saved as ${name}.`);
      if (isOld()) return;
      this.names = [...new Set([...this.names, name])];
      await this.choose(name);
    });
  }

  async remove() {
    const { name } = this;
    await this.attempt(async (isOld) => {
      await deleteGlossary(name, this.languages());
      if (isOld()) return;
      this.names = this.names.filter((other) => other !== name);
      await this.choose("");
    });
  }

  /** Asks the server, and draws what it says, or what is wrong. `action` gets a function that tells whether the user has
   * other languages, or another glossary, since then. */
  async attempt(action) {
    const { pair, name } = this;
    const isOld = () => pair !== this.pair || name !== this.name;
    this.problem = "";
    try {
      await action(isOld);
    } catch (error) {
      if (!isOld()) this.problem = error.message;
    }
    this.draw();
  }

  draw() {
    const choices = ["", ...this.names].map((name) =>
      make("option", { value: name, selected: name === this.name }, name || "none"),
    );
    const choose = (event) => this.choose(event.target.value);
    const choice = make("select", { id: "glossary-choice", change: choose }, ...choices);
    const name = make("input", { id: "glossary-name", class: "field", placeholder: this.pair, autocomplete: "off" });
    this.body = make("tbody", {}, ...[...this.rows, ["", ""]].map((row) => this.row(row)));
    const titles = ["Term", "Translation"].map((title) => make("th", { scope: "col" }, title));
    const head = make("tr", {}, ...titles, make("th", {}, make("span", { class: "unseen" }, "Remove")));
    const buttons = [button("Save and use", () => this.store(), { class: "plain strong" })];
    if (this.name) buttons.push(button(`Delete ${this.name}`, () => this.remove()));
    const used = make("label", {}, "Glossary in use ", choice);
    refill(
      this.panel,
      make("p", { class: "row" }, used, this.name ? null : make("label", {}, "Name of a new one ", name)),
      this.problem ? make("p", { class: "problem", role: "alert" }, this.problem) : "",
      make("table", { class: "terms" }, make("thead", {}, head), this.body),
      make("p", { class: "row" }, ...buttons),
      make("p", { class: "note" }, NOTE),
    );
  }

  row(cells) {
    const input = (i, label) =>
      make("input", {
        class: "field",
        value: cells[i],
        dir: "auto",
        autocomplete: "off",
        "aria-label": label,
        input: (event) => edit(event.target.value),
      });
    const edit = (value) => {
      this.rows = [...this.body.rows].map((one) => [...one.querySelectorAll("input")].map((field) => field.value));
      if (line === this.body.lastElementChild && value) this.body.append(this.row(["", ""]));
    };
    const drop = () => {
      const next = line.nextElementSibling ?? line.previousElementSibling;
      if (line !== this.body.lastElementChild) line.remove(); // else there is none for a new term
      edit("");
      next?.querySelector("input").focus();
    };
    const last = button("×", drop, { "aria-label": `Remove ${cells[0] || "this term"}` });
    const fields = [input(0, "Term"), input(1, "Translation"), last];
    const line = make("tr", {}, ...fields.map((field) => make("td", {}, field)));
    return line;
  }
}
