// Everything that is asked of the server. In: plain values. Out: promises of the server's answers, or an ApiError whose
// message is a sentence for the user. A busy server (429, 503) is asked again after the time that it tells.

import { load } from "./state.js";

const ATTEMPTS = 6;
const LONGEST_WAIT = 60; // seconds

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const waits = new EventTarget();

/** Calls `listener` with the seconds that a busy server asks to wait, and with 0 when it has answered. */
export function onWait(listener) {
  waits.addEventListener("wait", (event) => listener(event.detail));
}

async function call(path, { method = "GET", body, signal } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(path, method, body, signal);
    const isBusy = response.status === 429 || response.status === 503;
    if (isBusy && attempt < ATTEMPTS) {
      const asked = Number(response.headers.get("Retry-After")) || attempt;
      await pause(Math.min(asked, LONGEST_WAIT), signal);
      continue;
    }
    if (attempt > 1) tell(0);
    if (!response.ok) throw await problemOf(response);
    return response.status === 204
      ? null
      : response.json().catch(() => {
          throw new ApiError("The server answered with something else than JSON. Is there a proxy in between?");
        });
  }
}

async function send(path, method, body, signal) {
  const key = load("key", "");
  const isForm = body instanceof FormData;
  const headers = {
    ...(key && { Authorization: `Bearer ${key}` }),
    ...(body && !isForm && { "Content-Type": "application/json" }),
  };
  try {
    return await fetch(path, { method, headers, signal, body: body && !isForm ? JSON.stringify(body) : body });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(
      navigator.onLine
        ? "The server does not answer. Is it running? Your text stays here; press Ctrl+Enter to try again."
        : "You are offline. Your text stays here, and it is translated when the connection is back.",
    );
  }
}

async function problemOf(response) {
  const told = (await response.json().catch(() => null))?.error;
  return new ApiError(told?.message ?? `The server answered with status ${response.status}.`, response.status);
}

const tell = (seconds) => waits.dispatchEvent(new CustomEvent("wait", { detail: seconds }));

function pause(seconds, signal) {
  tell(seconds);
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      tell(0);
      reject(new DOMException("aborted", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

export const models = async () => (await call("/v1/models")).models;

/** Translations of texts. `options`: members of the request, prefix, glossary and attention. */
export async function translate(texts, { source, target }, options, signal) {
  const search = { beam_size: 5, n_best: 5, ...(options.prefix && { samples: 0 }) }; // samples continue no text
  const body = { text: texts, source, target, alignments: true, tokens: true, search, ...options };
  return (await call("/v1/translate", { method: "POST", body, signal })).translations;
}

/** What else could stand in place of a word of a translation: [{word, probability, text}]. */
export async function wordAlternatives(text, { source, target }, translation, word, signal) {
  const body = { text, source, target, translation, word };
  return (await call("/v1/word_alternatives", { method: "POST", body, signal })).alternatives;
}

export const glossaries = async () => (await call("/v1/glossaries")).glossaries;
const glossaryPath = (name) => `/v1/glossaries/${encodeURIComponent(name)}`;
export const glossary = (name, pair) => call(`${glossaryPath(name)}?${new URLSearchParams(pair)}`);
export const saveGlossary = (name, body) => call(glossaryPath(name), { method: "PUT", body });
export const deleteGlossary = (name, pair) =>
  call(`${glossaryPath(name)}?${new URLSearchParams(pair)}`, { method: "DELETE" });

export function sendDocument(file, fields) {
  const body = new FormData();
  body.append("file", file);
  for (const [name, value] of Object.entries(fields)) if (value) body.append(name, value);
  return call("/v1/documents", { method: "POST", body });
}
const documentPath = ({ id, token }, end) =>
  `/v1/documents/${encodeURIComponent(id)}${end}?token=${encodeURIComponent(token)}`;
export const documentState = (job) => call(documentPath(job, ""));
export const documentFile = (job) => documentPath(job, "/file");
