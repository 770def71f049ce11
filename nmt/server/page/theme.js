// Light or dark, before anything is drawn (a plain script, so that the page does not flash). In: what this device
// remembers. Out: data-theme on <html>; without it the style sheet follows the system.
(() => {
  let theme = "auto";
  try {
    theme = JSON.parse(localStorage.getItem("nmt.theme")) ?? "auto";
  } catch {
    // Storage is switched off: the system decides.
  }
  if (theme !== "auto") document.documentElement.dataset.theme = theme;
})();
