// What the page tells the user. In: sentences. Out: a bar that stays until the problem is gone, or words that only a
// screen reader speaks.

import { button, byId, make } from "./dom.js";
import { save } from "./state.js";

/** Shows a problem, with a button for what helps, or hides it (no text). `field`: what the user fills in before. */
export function notice(text = "", label = "", action = null, field = null) {
  const bar = byId("notice");
  bar.hidden = !text;
  const help = label ? button(label, action, { class: "plain strong" }) : null;
  bar.replaceChildren(...(text ? [make("span", {}, text), field, help].filter(Boolean) : []));
}

/** Shows why the server did not do what it was asked; `again()` asks once more, with the key if that was missing. */
export function explain(error, again) {
  if (error.status !== 401 && error.status !== 403) {
    notice(error.message, "Try again", again);
    return;
  }
  const field = make("input", { class: "field key", type: "password", autocomplete: "off", "aria-label": "Key" });
  const use = () => {
    save("key", field.value.trim());
    again();
  };
  notice(error.message, "Use this key", use, field);
}

/** Says something to screen readers. */
export function say(text) {
  byId("said").textContent = "";
  setTimeout(() => (byId("said").textContent = text), 50);
}
