// The glossary editor. In: the glossaries of the server for the chosen languages. Out: the name of the glossary in use,
// and entries that are stored on the server. A translation must then contain the target of each term of its source.

import { button, byId, make } from "./dom.js";
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
    this.problem = "";
    try {
      this.names = await this.known();
    } catch (error) {
      this.names = [];
      this.problem = error.message;
    }
    const last = load("glossaries", {})[this.pair] ?? "";
    await this.choose(this.names.includes(last) ? last : "", false);
  }

  async choose(name, isChange = true) {
    this.name = name;
    save("glossaries", { ...load("glossaries", {}), [this.pair]: name });
    this.rows = [];
    try {
      if (name) this.rows = Object.entries((await glossary(name, this.languages())).entries);
    } catch (error) {
      this.problem = error.message;
    }
    this.draw();
    if (isChange) this.changed();
  }

  async store() {
    const { source, target } = this.languages();
    const written = byId("glossary-name")?.value.trim() || this.pair;
    const entries = Object.fromEntries(
      this.rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row[0] && row[1]),
    );
    await this.attempt(async () => {
      const name = this.name || freeName(written, await this.known()); // a new one replaces no other
      await saveGlossary(name, { source, target, entries });
      this.names = [...new Set([...this.names, name])];
      await this.choose(name);
      say(`The glossary is saved as ${name}.`);
    });
  }

  async remove() {
    await this.attempt(async () => {
      await deleteGlossary(this.name, this.languages());
      this.names = this.names.filter((name) => name !== this.name);
      await this.choose("");
      byId("glossary-choice").focus();
    });
  }

  async attempt(action) {
    this.problem = "";
    try {
      await action();
    } catch (error) {
      this.problem = error.message;
      this.draw();
    }
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
    this.panel.replaceChildren(
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
