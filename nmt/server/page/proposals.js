// What the rest of a translation could be. In: a text, the beginning that the user wrote, a way to ask the server. Out:
// the view of a whole translation that begins exactly so, or null.
// The server continues a beginning after its last piece, so a word that is only begun is not finished well. Therefore
// the words before it are sent first, and an answer that has the begun word by itself is taken.

import { endsInWord } from "./words.js";
import { viewOf } from "./view.js";

const BEGUN_WORD = /[\p{L}\p{N}\p{M}]+$/u;

/** `ask(prefix)` gives the answer of the server for the text with this prefix. */
export async function continuation(prefix, ask) {
  if (endsInWord(prefix)) {
    const answer = await ask(prefix.replace(BEGUN_WORD, ""));
    if (answer.text.startsWith(prefix)) return viewOf(answer);
    const other = (answer.alternatives ?? []).find(({ text }) => text.startsWith(prefix));
    if (other) return fitting(other.text, await ask(other.text));
  }
  const view = fitting(prefix, await ask(prefix));
  return view && endsInWord(prefix) && BEGUN_WORD.test(view.text.slice(prefix.length)[0] ?? "") ? null : view;
}

/** The view of an answer, or null if it does not begin as it should. */
function fitting(prefix, answer) {
  return answer.text.startsWith(prefix) ? viewOf(answer) : null;
}
