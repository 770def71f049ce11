// The page: text flows from the text area, line by line, to the translator, and back into the pane beside it.

const MOST_CHARACTERS = 10_000;
const TYPING_PAUSE = 250; // milliseconds
const [DOUBTED, VERY] = [0.5, 0.2]; // probabilities of a word below which it is shaded, and underlined

const byId = (id) => document.getElementById(id);
const taken = (id) => {
  const { textContent } = byId(id);
  byId(id).remove(); // the text of the weights takes memory
  return textContent;
};
const settings = JSON.parse(taken("settings"));
const samples = JSON.parse(taken("samples"));
const [source, target] = [byId("source"), byId("target")];
const known = new Map(); // results by line
let [job, ask, shown, waiting, checks, drawing, began] = [0, null, null, null, null, 0, 0];

const name = (code) => {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code.replaceAll("_", "-"));
  } catch {
    return code;
  }
};

function notice(text = "") {
  byId("notice").textContent = text;
  byId("notice").hidden = !text;
}

/** Starts the translator: in a worker or, where a page from a file may have none, here, in short steps. */
function start() {
  const [program, weights] = [byId("engine").textContent, taken("weights")];
  const here = () => {
    try {
      ready(answering(makeTranslator(settings, weights), receive, 12));
    } catch (error) {
      failed(error.message);
    }
  };
  try {
    const worker = new Worker(URL.createObjectURL(new Blob([`${program};work();`], { type: "text/javascript" })));
    worker.onmessage = ({ data }) => {
      if (!data.isReady) return void receive(data);
      worker.onerror = (error) => failed(error.message);
      ready((message) => worker.postMessage(message));
    };
    worker.onerror = () => setTimeout(here);
    worker.postMessage({ settings, weights });
  } catch {
    setTimeout(here);
  }
}

function ready(send) {
  ask = send;
  source.disabled = false;
  byId("state").textContent = "";
  translate();
  compare();
}

function failed(message) {
  job += 1;
  byId("stop").disabled = true;
  byId("state").textContent = "";
  notice(`The translator failed: ${message}. Reload the page.`);
}

function receive(message) {
  if (message.job !== job) return;
  if (message.error) return void failed(message.error);
  if (message.result) known.set(message.line, message.result);
  if (checks) return void compared(!message.result);
  if (!message.result) done();
  drawing ||= requestAnimationFrame(draw); // once for all lines that come meanwhile
}

function lines() {
  return source.value.split(/\r\n|[\n\v\f\r\x85\u2028\u2029]/);
}

function translate() {
  clearTimeout(waiting);
  if (!ask) return;
  const all = new Set(lines());
  for (const line of known.keys()) if (!all.has(line)) known.delete(line);
  const wanted = [...all].filter((line) => line.trim() && !known.has(line));
  if (checks) byId("checked").textContent = "Interrupted";
  [job, checks] = [job + 1, null];
  ask({ job, lines: wanted });
  byId("stop").disabled = !wanted.length;
  byId("state").textContent = wanted.length ? "Translating" : "";
  draw();
}

function done() {
  byId("stop").disabled = true;
  byId("state").textContent = source.value.trim() ? "Translated" : "";
}

/** Draws a line as words; `number` of the line; `words` have {text, start} and perhaps {probability}. */
function row(text, number, words) {
  const element = document.createElement("div");
  [element.className, element.dir] = ["line", "auto"];
  let place = 0;
  for (const [n, word] of words.entries()) {
    const span = document.createElement("span");
    span.className = `word${word.probability < DOUBTED ? " doubted" : ""}${word.probability < VERY ? " very" : ""}`;
    [span.textContent, span.dataset.line, span.dataset.word] = [word.text, number, n];
    element.append(text.slice(place, word.start), span);
    place = word.start + word.text.length;
  }
  element.append(text.slice(place), text.length ? "" : document.createElement("br"));
  return element;
}

function draw() {
  drawing = 0;
  const all = lines();
  put(byId("source-words"), all, (line, n) => row(line, n, wordsOf(line)));
  put(
    target,
    all.map((line) => known.get(line) ?? ""),
    (result, n) => row(result.text ?? "", n, result.words ?? []),
  );
  light(null);
}

/** Makes the rows that are new. */
function put(parent, values, make) {
  values.forEach((value, n) => {
    const old = parent.children[n];
    if (old && old.value === value) return;
    const made = Object.assign(make(value, n), { value });
    if (old) old.replaceWith(made);
    else parent.append(made);
  });
  while (parent.children.length > values.length) parent.lastChild.remove();
}

/** Marks a word {side, line, word} and those that belong to it, and says so in words. */
function light(place) {
  if (JSON.stringify(place) === JSON.stringify(shown)) return;
  shown = place;
  document.querySelectorAll(".linked").forEach((element) => element.classList.remove("linked"));
  const result = place && known.get(lines()[place.line]);
  byId("reading").textContent = "";
  if (!result) return;
  const from = place.side === "source" ? place.word : result.words[place.word].source;
  const to = result.words.flatMap((word, n) =>
    (from >= 0 && word.source === from) || (place.side === "target" && n === place.word) ? [n] : [],
  );
  const marked = (side, word) => byId(side).children[place.line]?.querySelector(`[data-word="${word}"]`);
  const found = [[marked("source-words", from)], to.map((n) => marked("target", n))].map((row) => row.filter(Boolean));
  found.flat().forEach((element) => element.classList.add("linked"));
  const [left, right] = found.map((row) => row.map((element) => element.textContent).join(" "));
  const sure = to.map((n) => `${Math.round(result.words[n].probability * 100)}%`).join(", ");
  byId("reading").textContent = right && `${left || "–"} → ${right} (probability ${sure})`;
}

function at(event) {
  const word = document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.dataset?.word);
  const side = word && (target.contains(word) ? "target" : "source");
  return word ? { side, line: Number(word.dataset.line), word: Number(word.dataset.word) } : null;
}

/** Arrow keys move through the words of the translation. */
function move(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const words = [...target.querySelectorAll(".word")];
  if (!step || !words.length) return;
  event.preventDefault();
  const current = words.findIndex(
    ({ dataset }) => shown?.line === Number(dataset.line) && shown?.word === Number(dataset.word),
  );
  const { dataset } = words[(current + step + words.length) % words.length];
  light({ side: "target", line: Number(dataset.line), word: Number(dataset.word) });
  target.querySelector(".linked")?.scrollIntoView({ block: "nearest" });
}

/** Compares a few lines with what nmt made of them. */
function compare() {
  if (!ask || !byId("check").open) return;
  [job, checks] = [job + 1, samples];
  for (const [line] of samples) known.delete(line);
  byId("checked").textContent = "Comparing";
  began = performance.now();
  ask({ job, lines: samples.map(([line]) => line) });
}

function compared(isDone) {
  if (!isDone) return;
  const equal = checks.filter(([line, text]) => known.get(line)?.text === text).length;
  const words = checks.reduce((sum, [line]) => sum + wordsOf(line).length, 0);
  const speed = Math.round((words * 1000) / (performance.now() - began));
  const found = `${equal} of ${checks.length} lines are translated as nmt did it (greedy search, no guard)`;
  translate();
  byId("checked").textContent = `${found}, ${speed} words a second.`;
}

const limited = () => `A text may have ${MOST_CHARACTERS.toLocaleString("en")} characters. The rest was left out.`;
source.maxLength = MOST_CHARACTERS;
source.addEventListener("input", () => {
  const isFull = source.value.length >= MOST_CHARACTERS;
  if (source.value.length > MOST_CHARACTERS) source.value = source.value.slice(0, MOST_CHARACTERS);
  notice(isFull ? limited() : "");
  draw();
  clearTimeout(waiting);
  waiting = setTimeout(translate, TYPING_PAUSE);
});
byId("stop").addEventListener("click", () => {
  job += 1;
  ask({ job: 0, lines: [] });
  done();
  byId("state").textContent = "Stopped";
});
byId("copy").addEventListener("click", async () => {
  const text = lines()
    .map((line) => known.get(line)?.text ?? "")
    .join("\n");
  try {
    await navigator.clipboard.writeText(text);
    byId("state").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(target); // the browser forbids it: the user copies what is selected
  }
});
byId("check").addEventListener("toggle", compare);
for (const pane of [byId("source-pane"), byId("target-pane")]) {
  pane.addEventListener("pointermove", (event) => light(at(event)));
  pane.addEventListener("pointerleave", () => light(null));
}
target.addEventListener("keydown", move);

const [from, to] = settings.languages.map(name);
document.title = `${from} → ${to} · nmt`;
byId("title").textContent = `${from} → ${to}`;
byId("about").append(` ${(settings.parameters / 1e6).toFixed(1)} million parameters; it works without a network.`);
[byId("source-name").textContent, byId("target-name").textContent] = [from, to];
[source.lang, target.lang] = settings.languages;
start();
