// Corrected pairs, kept on this device. In: lines whose translation the user changed. Out: a list, and files for
// training: TMX 1.4b or TSV (docs/page.md shows the way from there to a better model).

import { button, byId, download, make, refill } from "./dom.js";
import { follow, load, save } from "./state.js";
import { say } from "./notices.js";
import { toTmx, toTsv } from "./tmx.js";

const NONE =
  "Change a translation, then keep it as a corrected pair. The pairs stay on this device until you export them; a " +
  "model learns from them by fine-tuning.";

const direction = (pair) => `${pair.source}-${pair.target}`;

export class Corrections {
  constructor(panel) {
    this.panel = panel;
    follow("corrections", [], (pairs) => this.draw(pairs));
    this.draw(load("corrections", []));
  }

  /** Keeps pairs {source, target, text, translation, machine}; a newer pair replaces one with the same text. */
  keep(pairs) {
    const key = (pair) => JSON.stringify([pair.source, pair.target, pair.text]);
    const now = pairs.map((pair) => ({ ...pair, time: Date.now() }));
    const replaced = new Set(now.map(key));
    const isSaved = this.put([...now, ...this.pairs.filter((pair) => !replaced.has(key(pair)))]);
    say(
      isSaved
        ? `Kept. There are ${this.pairs.length} corrected pairs.`
        : "This browser keeps nothing: export the pairs before you leave.",
    );
  }

  put(pairs) {
    this.draw(pairs);
    return save("corrections", pairs);
  }

  draw(pairs) {
    this.pairs = pairs;
    byId("corrections-number").textContent = this.pairs.length ? ` ${this.pairs.length}` : "";
    if (!this.pairs.length) {
      refill(this.panel, make("p", { class: "empty" }, NONE));
      return;
    }
    const items = this.pairs.map((pair, i) =>
      make(
        "li",
        { class: "pair" },
        make("span", { class: "quiet figure" }, `${pair.source} → ${pair.target}`),
        make("bdi", { lang: pair.source }, pair.text),
        make("bdi", { lang: pair.target }, pair.translation),
        button("×", () => this.put(this.pairs.filter((other) => other !== pair)), {
          "aria-label": `Remove the pair ${i + 1}`,
        }),
      ),
    );
    const all = () => download("corrections.tmx", "application/xml", toTmx(this.pairs));
    const some = (name) => {
      const pairs = this.pairs.filter((pair) => direction(pair) === name);
      download(`corrections.${name}.tsv`, "text/tab-separated-values", toTsv(pairs));
    };
    const names = [...new Set(this.pairs.map(direction))];
    const buttons = [
      button("Export as TMX", all, { class: "plain strong" }),
      ...names.map((name) => button(`Export ${name} as TSV`, () => some(name))),
      button("Remove all", () => this.put([])),
    ];
    refill(
      this.panel,
      make("p", { class: "row" }, ...buttons),
      make("ul", { class: "pairs" }, ...items),
    );
  }
}
