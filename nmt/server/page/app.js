// The page: connects the parts. Text flows from the source pane to the lines, from there to the server, and back into
// the target pane, the alignment, the versions and the history. Each part is a module that says what it takes and
// gives.

import { Alignment } from "./alignment.js";
import { Alternatives } from "./alternatives.js";
import * as api from "./api.js";
import { showAttention } from "./attention.js";
import { Corrections } from "./corrections.js";
import { connectDocuments } from "./documents.js";
import { byId, debounce, make } from "./dom.js";
import { Editing } from "./editing.js";
import { GlossaryEditor } from "./glossary.js";
import { History } from "./history.js";
import { Languages, languageName } from "./languages.js";
import { Lines } from "./lines.js";
import { explain, notice, say } from "./notices.js";
import { Pane } from "./pane.js";
import { load, save, startingPoint } from "./state.js";
import { connectTabs } from "./tabs.js";
import { showVersions } from "./versions.js";

const TYPING_PAUSE = 300; // milliseconds
const SAYING_PAUSE = 1000; // milliseconds after which a screen reader speaks the translation
const MOST_SAID = 300; // characters
const SETTLED = 2000; // milliseconds after which a text goes into the history

class Page {
  constructor(models, start) {
    this.panes = { source: new Pane(byId("source-pane"), "source"), target: new Pane(byId("target-pane"), "target") };
    [this.source, this.target] = [this.panes.source.area, this.panes.target.area];
    const failed = (error) => this.failed(error);
    const drawn = () => this.draw();
    const again = () => this.again();
    this.lines = new Lines((texts, signal) => this.ask(texts, {}, signal), drawn, failed);
    this.languages = new Languages(models, start, () => void this.turned());
    const askOne = async (text, options, signal) => (await this.ask([text], options, signal))[0];
    this.editing = new Editing(this.panes.target, this.lines, askOne, drawn, failed);
    this.alignment = new Alignment(this.panes, this.lines);
    const askWords = (text, translation, word, signal) =>
      api.wordAlternatives(text, this.languages.pair, translation, word, signal);
    const take = (line, scope, text) => this.editing.take(line, scope, text);
    this.alternatives = new Alternatives(byId("alternatives"), this.panes.target, this.lines, askWords, take);
    this.glossary = new GlossaryEditor(byId("glossary"), () => this.languages.pair, again);
    this.corrections = new Corrections(byId("corrections"));
    this.history = new History(byId("history"), (entry) => this.show(entry));
    this.remember = debounce(() => {
      const { isFresh, source, text } = this.lines; // a text that is typed meanwhile has no translation yet
      if (isFresh) this.history.add({ ...this.languages.pair, text: source, translation: text });
    }, SETTLED);
    this.sayLater = debounce(() => this.sayTranslation(), SAYING_PAUSE);
    this.translateLater = debounce(() => this.translate(), TYPING_PAUSE);
    this.attentionLater = debounce(() => this.drawAttention(), 200);
    this.line = 0;
    this.chooseView = connectTabs(document.querySelector(".views"));
    connectTabs(document.querySelector("#view-text > .tabs"));
    connectDocuments(
      () => ({ ...this.languages.pair, glossary: this.glossary.name }),
      () => this.chooseView(byId("tab-documents"), false),
    );
    this.connect();
    this.source.value = start.text;
    void this.turned();
  }

  async ask(texts, options, signal) {
    const glossary = this.glossary.name ? { glossary: this.glossary.name } : {};
    const { pair, model } = this.languages;
    const found = await api.translate(texts, pair, { ...glossary, ...options }, signal);
    model.loaded = true;
    notice();
    return found;
  }

  connect() {
    this.source.addEventListener("input", () => {
      this.drawSource();
      this.history.hold(this.source.value);
      this.translateLater();
    });
    byId("clear").addEventListener("click", () => {
      this.write("");
      void this.translate();
    });
    byId("swap").addEventListener("click", () => this.swap());
    byId("copy").addEventListener("click", () => this.copy());
    byId("keep").addEventListener("click", () => this.keep());
    byId("undo-edits").addEventListener("click", () => this.dropEdits());
    byId("attention").addEventListener("shown", () => this.drawAttention());
    addEventListener("online", () => this.translate());
    // A bookmark of this page with a text, which loads nothing if the page is open.
    addEventListener("hashchange", () => location.hash.startsWith("#text=") && this.show(startingPoint()));
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.alignment.show(this.alignment.shown));
    for (const pane of Object.values(this.panes)) {
      pane.element.addEventListener("pointermove", (event) => this.point(pane.at(event.clientX, event.clientY)));
      pane.element.addEventListener("pointerleave", () => this.point(null));
    }
    document.addEventListener("selectionchange", () => this.follow());
  }

  key(event) {
    const isMain = event.ctrlKey || event.metaKey;
    const inTarget = document.activeElement === this.target;
    if (isMain && event.key === "Enter") {
      event.preventDefault();
      void (inTarget ? this.editing.propose() : this.translate());
    } else if (event.altKey && event.key === "ArrowUp" && (inTarget || document.activeElement === this.source)) {
      event.preventDefault();
      say(byId("reading").textContent || "No word is linked here.");
    }
  }

  /** The pointer is over a word. */
  point(place) {
    const shown = this.alignment.shown;
    if (place?.side !== shown?.side || place?.line !== shown?.line || place?.word !== shown?.word)
      this.alignment.show(place);
  }

  /** The cursor moved: its word is shown, and its line in the panels. */
  follow() {
    const pane = Object.values(this.panes).find((one) => one.area === document.activeElement);
    if (!pane) return;
    this.point(pane.wordAtCaret);
    const line = pane.caret?.line ?? this.line;
    if (line === this.line) return;
    this.line = line;
    this.drawLine();
  }

  sayTranslation() {
    const { text } = this.lines;
    const shown = text.length > MOST_SAID ? `${text.slice(0, MOST_SAID)} and so on` : text;
    const flags = this.lines.lines.flatMap((line) => line.view.flagTexts);
    if (text !== this.said) say([`Translated: ${shown}`, ...new Set(flags)].join("\n"));
    this.said = text;
  }

  /** Other languages. */
  async turned() {
    this.lines.forget(); // at once: the history takes no translation into other languages
    const { source, target } = this.languages.pair;
    document.title = `nmt · ${languageName(source)} to ${languageName(target)}`;
    this.panes.source.element.lang = source;
    this.panes.target.element.lang = target;
    const { name, parameters } = this.languages.model;
    byId("model").textContent = [name, parameters && `${(parameters / 1e6).toFixed(1)} M parameters`]
      .filter(Boolean)
      .join(" · ");
    this.drawSource();
    await this.glossary.renew();
    this.again();
  }

  swap() {
    if (!this.languages.canSwap) return void notice(this.languages.whyNot);
    const text = this.lines.text;
    if (text.trim()) this.write(text);
    this.languages.swap();
  }

  write(text) {
    this.source.value = text;
    this.history.hold(text);
    this.drawSource();
    this.source.focus();
  }

  show({ source, target, text }) {
    this.write(text);
    this.languages.choose(source, target, true);
  }

  /** Translates everything anew. */
  again() {
    this.lines.forget();
    void this.translate();
  }

  translate() {
    this.translateLater.cancel();
    notice();
    return this.lines.update(this.source.value);
  }

  failed(error) {
    this.draw();
    explain(error, () => this.translate());
  }

  drawSource() {
    const { value } = this.source;
    this.panes.source.render(value.split("\n"));
    byId("source-count").textContent = value ? `${[...value].length.toLocaleString("en")} characters` : "";
    byId("clear").hidden = !value;
  }

  draw() {
    const { lines, text, isFresh } = this.lines;
    if (this.target.value !== text) {
      const caret = document.activeElement === this.target ? this.panes.target.caret : null;
      this.target.value = text;
      if (caret) this.panes.target.caret = caret;
    }
    const { proposal } = this.editing;
    const keys = lines.map((line, number) => (proposal?.line === number ? proposal : line.view));
    this.panes.target.render(
      lines.map((line) => line.view.text),
      (number, i, word) => {
        const measured = lines[number].view.measured[i];
        const isProposal = proposal?.line === number && word.end > proposal.start && word.start < proposal.end;
        return { doubt: measured && !isProposal ? doubt(measured.probability) : 0, isProposal };
      },
      keys,
    );
    this.panes.target.element.classList.toggle("stale", !isFresh);
    this.panes.target.element.classList.toggle("waiting", Boolean(this.editing.waiting));
    byId("busy").textContent = this.languages.model.loaded ? "translating" : "loading the model";
    byId("busy").hidden = !this.lines.running || isFresh;
    this.drawStrip();
    this.drawLine();
    this.alignment.show(this.alignment.shown);
    this.alternatives.check();
    if (!isFresh || !text) return;
    this.remember();
    if (document.activeElement === this.source) this.sayLater();
  }

  drawStrip() {
    const lines = this.lines.lines.filter((line) => line.fresh && line.view.text);
    const least = Math.min(...lines.map((line) => line.view.confidence));
    byId("confidence").hidden = !lines.length;
    if (lines.length) {
      byId("bar").style.setProperty("--share", least);
      byId("confidence-text").textContent = `${Math.round(100 * least)}% sure`;
      byId("confidence").title = "The mean probability of a piece, for the line that the model doubts most";
    }
    const all = this.lines.lines;
    const place = (line) => (all.length > 1 ? `Line ${all.indexOf(line) + 1}: ` : "");
    const sentences = lines.flatMap((line) => line.view.flagTexts.map((text) => `${place(line)}${text}`));
    byId("flags").replaceChildren(...sentences.map((text) => make("li", {}, text)));
    const isEdited = this.lines.lines.some((line) => this.lines.isEdited(line));
    byId("keep").hidden = byId("undo-edits").hidden = !isEdited;
    byId("copy").hidden = !this.lines.text;
  }

  /** The line at the cursor, or the last one. */
  get current() {
    const { lines } = this.lines;
    return lines[Math.min(this.line, lines.length - 1)];
  }

  drawLine() {
    const line = this.current;
    const number = this.lines.lines.indexOf(line);
    const title = this.lines.lines.length > 1 ? `Line ${number + 1}` : "";
    showVersions(byId("versions"), title, line, (text) => this.editing.replace(number, text));
    this.attentionLater();
  }

  async drawAttention() {
    const panel = byId("attention");
    const line = this.current;
    if (panel.hidden) return;
    if (!line.fresh || !line.view.text) return void showAttention(panel, null);
    const { view } = line;
    const options = { attention: true, prefix: this.lines.isEdited(line) ? view.text : "" };
    const [found] = await this.ask([line.source], options).catch((error) => [{ problem: error.message }]);
    if (this.current === line && line.view === view) showAttention(panel, found.attention, found.problem);
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.lines.text);
      say("Copied.");
    } catch {
      this.target.select(); // only pages that come by https or from this machine may write to the clipboard
      document.execCommand("copy");
    }
    byId("copy").textContent = "Copied";
    setTimeout(() => (byId("copy").textContent = "Copy"), 1500);
  }

  keep() {
    const edited = this.lines.lines.filter((line) => this.lines.isEdited(line) && line.view.text.trim());
    const pair = this.languages.pair;
    this.corrections.keep(
      edited.map(({ source, view, machine }) => ({
        ...pair,
        text: source,
        translation: view.text,
        machine: machine.text,
      })),
    );
    byId("keep").textContent = "Kept";
    setTimeout(() => (byId("keep").textContent = "Keep as corrected"), 1500);
  }

  dropEdits() {
    this.editing.remember();
    for (const line of this.lines.lines) line.view = line.fresh ? line.machine : line.view;
    this.editing.accept();
    this.target.focus();
  }
}

/** How strongly a word is shaded: none from 75% on, fully below 5%. */
function doubt(probability) {
  return Math.min(1, Math.max(0, (0.75 - probability) / 0.7));
}

function connectTheme() {
  const choice = byId("theme");
  choice.value = load("theme", "auto");
  choice.addEventListener("change", () => {
    save("theme", choice.value);
    if (choice.value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice.value;
  });
}

async function begin() {
  const waiting = "The server is busy: it is asked again";
  api.onWait((seconds) => notice(seconds ? `${waiting} in ${seconds} ${seconds === 1 ? "second" : "seconds"}.` : ""));
  try {
    notice();
    const models = await api.models();
    if (models.length) new Page(models, startingPoint());
    else notice("The server has no model: start it with one.");
  } catch (error) {
    explain(error, begin);
  }
}

connectTheme();
void begin();
