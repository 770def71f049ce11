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

/** A button that looks like a link. */
export function button(text, click, attributes = {}) {
  return make("button", { class: "plain", click, ...attributes }, text);
}

/** Calls `action` once, when no call has come for `delay` milliseconds; `.now()` calls at once, `.cancel()` never. */
export function debounce(action, delay) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), delay);
  };
  later.cancel = () => clearTimeout(timer);
  later.now = (...values) => {
    clearTimeout(timer);
    return action(...values);
  };
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
