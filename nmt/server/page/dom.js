// Making and finding elements. In: tag names, attributes and children (strings become text nodes, so nothing that is
// translated is ever read as HTML). Out: elements.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An element. Attributes: a function listens to the event of that name, true and false set or leave out. */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Puts others in place of the children of a panel. If one of them had the focus, the one at its place gets it, or else
 * the tab of the panel. */
export function refill(panel, ...children) {
  const places = () => [...panel.querySelectorAll("button, input, select")];
  const focused = places().indexOf(document.activeElement);
  panel.replaceChildren(...children);
  if (focused >= 0) (places()[focused] ?? places().at(-1) ?? byId(panel.getAttribute("aria-labelledby"))).focus();
}

/** A button that looks like a link. */
export function button(text, click, attributes = {}) {
  return make("button", { class: "plain", click, ...attributes }, text);
}

/** Calls `action` once, when no call has come for `delay` milliseconds; not after `.cancel()`. */
export function debounce(action, delay) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(action, delay);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Offers a text as a file to save. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
