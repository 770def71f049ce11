// Tabs with the keys of the ARIA pattern: arrows, Home, End. In: a tablist. Out: one panel is shown, the others are
// hidden; the panel gets an event "shown".

export function connectTabs(list) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const choose = (tab, focus) => {
    for (const other of tabs) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
    if (focus) tab.focus();
    document.getElementById(tab.getAttribute("aria-controls")).dispatchEvent(new Event("shown"));
  };
  list.addEventListener("click", (event) => {
    const tab = event.target.closest("[role=tab]");
    if (tab) choose(tab, false);
  });
  list.addEventListener("keydown", (event) => {
    const i = tabs.indexOf(document.activeElement);
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined || i < 0) return;
    event.preventDefault();
    choose(tabs[(to + tabs.length) % tabs.length], true);
  });
  return choose;
}
