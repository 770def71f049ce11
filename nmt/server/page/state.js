// What this device remembers, and what the address tells. In: names and values. Out: the same values after a reload.
// Nothing here leaves the browser. Storage may be switched off: then the page works and forgets.

const PREFIX = "nmt.";

export function load(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function save(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Calls `changed` with what another tab has saved under this name, whenever it does. */
export function follow(name, otherwise, changed) {
  addEventListener("storage", ({ key }) => key === PREFIX + name && changed(load(name, otherwise)));
}

/** The languages of the address (?source=de&target=en), else those of the last visit; and the text of #text=… */
export function startingPoint() {
  const asked = new URLSearchParams(location.search);
  const last = load("languages", {});
  return {
    source: asked.get("source") ?? last.source,
    target: asked.get("target") ?? last.target,
    text: new URLSearchParams(location.hash.slice(1)).get("text") ?? load("text", ""),
  };
}

export function rememberLanguages(source, target) {
  save("languages", { source, target });
  const asked = new URLSearchParams(location.search);
  asked.set("source", source);
  asked.set("target", target);
  history.replaceState(null, "", `${location.pathname}?${asked}`);
}
