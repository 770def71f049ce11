// What the page tells the user. In: sentences. Out: a bar that stays until the problem is gone, or words that only a
// screen reader speaks.

import { byId, make } from "./dom.js";

/** Shows a problem, with a button for what helps, or hides it (no text). */
export function notice(text = "", label = "", action = null) {
  const bar = byId("notice");
  bar.hidden = !text;
  const button = label ? make("button", { class: "plain strong", click: action }, label) : null;
  bar.replaceChildren(...(text ? [make("span", {}, text), button].filter(Boolean) : []));
}

/** Says something to screen readers. */
export function say(text) {
  byId("said").textContent = "";
  setTimeout(() => (byId("said").textContent = text), 50);
}
