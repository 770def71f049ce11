// Runs the translator of a page in Node: node check.mjs PAGE < {"call": …, "arguments": [[…], …]}. In: the name of a
// method, and its arguments, call by call. Out: the results, as JSON.

import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

const page = readFileSync(process.argv[2], "utf8");
const part = (id) => new RegExp(`<script [^>]*id="${id}"[^>]*>([^]*?)</script>`).exec(page)[1];
runInThisContext(part("engine"));
const translator = runInThisContext("makeTranslator")(JSON.parse(part("settings")), part("weights"));
const owners = {
  translate: translator,
  sentences: translator,
  greedy: translator.model,
  score: translator.model,
  encode: translator.source,
  decode: translator.target,
};
const { call, arguments: calls } = JSON.parse(readFileSync(0, "utf8"));

function result(values) {
  if (call === "encode") return translator.source.encode(translator.source.tidied(...values));
  const made = owners[call][call](...values);
  if (call === "sentences") return [...made];
  if (typeof made?.next !== "function") return made;
  for (;;) {
    const { done, value } = made.next();
    if (done) return value;
  }
}

process.stdout.write(JSON.stringify(calls.map(result)));
