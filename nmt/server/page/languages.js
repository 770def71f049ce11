// The two lists of languages. In: the directions that the server can translate. Out: a direction that exists, with the
// languages' names; swapping where there is a model for the way back.

import { byId, make } from "./dom.js";
import { rememberLanguages } from "./state.js";

const names = new Intl.DisplayNames(["en"], { type: "language" });

export function languageName(code) {
  try {
    return names.of(code.replaceAll("_", "-"));
  } catch {
    return code;
  }
}

export class Languages {
  constructor(models, { source, target }, changed) {
    Object.assign(this, { models, changed, from: byId("from"), to: byId("to") });
    this.choose(source, target);
    this.from.addEventListener("change", () => this.choose(this.from.value, this.to.value, true));
    this.to.addEventListener("change", () => this.choose(this.from.value, this.to.value, true));
  }

  get pair() {
    return { source: this.from.value, target: this.to.value };
  }

  get model() {
    return this.find(this.from.value, this.to.value);
  }

  find(source, target) {
    return this.models.find((model) => model.source === source && model.target === target);
  }

  get canSwap() {
    return Boolean(this.find(this.to.value, this.from.value));
  }

  swap() {
    this.choose(this.to.value, this.from.value, true);
  }

  /** Takes the nearest direction that a model has. */
  choose(source, target, tell = false) {
    const model = this.find(source, target) ?? this.models.find((one) => one.source === source) ?? this.models[0];
    const { source: from, target: to } = model;
    const ways = this.models.filter((one) => one.source === from);
    this.fill(this.from, new Set(this.models.map((one) => one.source)), from);
    this.fill(this.to, new Set(ways.map((one) => one.target)), to);
    const swap = byId("swap");
    swap.setAttribute("aria-disabled", String(!this.canSwap));
    swap.title = this.canSwap ? "Swap the languages" : this.whyNot;
    rememberLanguages(from, to);
    if (tell) this.changed();
  }

  get whyNot() {
    return `No model here translates ${languageName(this.to.value)} into ${languageName(this.from.value)}.`;
  }

  fill(list, codes, chosen) {
    const sorted = [...codes].sort((a, b) => languageName(a).localeCompare(languageName(b)));
    list.replaceChildren(
      ...sorted.map((code) => make("option", { value: code, selected: code === chosen }, languageName(code))),
    );
  }
}
