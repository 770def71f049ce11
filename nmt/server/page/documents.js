// Documents. In: files that are dropped or chosen. Out: they are sent to the server, and a list shows how far each is,
// then a link to its translation, or a sentence that says what went wrong.

import { documentFile, documentState, sendDocument } from "./api.js";
import { byId, make } from "./dom.js";
import { say } from "./notices.js";

const PAUSE = 700; // milliseconds between questions

/** `fields()` gives {source, target, glossary}; `shown()` brings the list into view. */
export function connectDocuments(fields, shown) {
  const [drop, file] = [byId("drop"), byId("file")];
  file.addEventListener("change", () => {
    for (const one of file.files) void start(one, fields());
    file.value = "";
  });
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    document.addEventListener(name, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop.classList.toggle("over", name === "dragenter" || name === "dragover");
      if (name === "dragenter") shown();
      if (name === "drop") for (const one of event.dataTransfer.files) void start(one, fields());
    });
  }
}

async function start(file, fields) {
  const state = make("span", { class: "quiet" }, "sending");
  const progress = make("progress", { max: 1, "aria-label": `Progress of ${file.name}` });
  const languages = make("span", { class: "quiet figure" }, ` ${fields.source} → ${fields.target}`);
  const title = make("span", { class: "job-title" }, make("bdi", {}, file.name), languages);
  const job = make("li", { class: "job" }, title, progress, state);
  byId("jobs").prepend(job);
  try {
    const sent = await sendDocument(file, fields);
    const { notes } = await follow(sent, state, progress);
    const name = translatedName(file.name, fields.target);
    progress.remove();
    state.replaceWith(
      make("a", { class: "plain strong", href: documentFile(sent), download: name }, `Download ${name}`),
    );
    job.append(...notes.map((note) => make("span", { class: "quiet note" }, note)));
    say([`${file.name} is translated.`, ...notes].join(" "));
  } catch (error) {
    progress.remove();
    state.className = "problem";
    state.textContent = error.message;
    say(error.message);
  }
}

/** Waits until a document is translated, and returns remarks on it; raises an error that says why it can't be. Without
 * a connection, or while the server fails, it is asked again. */
async function follow(sent, state, progress) {
  for (;;) {
    const { state: name, done, of, message, notes } = await documentState(sent).catch((error) => {
      if (error.status < 500) throw error;
      return { state: "waiting for the server" };
    });
    if (name === "error") throw new Error(message || "The document could not be translated.");
    if (name === "done") return { notes };
    if (of) progress.value = done / of;
    state.textContent = of ? `${done} of ${of} texts` : name;
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

export function translatedName(name, target) {
  const dot = name.lastIndexOf(".");
  return dot > 0 ? `${name.slice(0, dot)}.${target}${name.slice(dot)}` : `${name}.${target}`;
}
