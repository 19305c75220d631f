// Reads sequence diagrams with Mermaid's own parser, and prints how many participants and messages each has.
// Arguments: node_modules, then the files.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(modules, "x")));
const { JSDOM } = require("jsdom");
const { window } = new JSDOM("");
Object.assign(globalThis, { window, document: window.document });
const load = (name, file) => import(pathToFileURL(join(modules, name, file)));
const { default: mermaid } = await load("mermaid", "dist/mermaid.core.mjs");
mermaid.initialize({ startOnLoad: false });
for (const file of files) {
  const text = readFileSync(file, "utf8");
  if (text.length > 50_000) throw new Error(`${file}: too long for Mermaid`);
  await mermaid.parse(text);
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
  const actors = [...db.getActors().values()];
  // Entities are encoded while Mermaid parses.
  const shown = (text) => text.replace(/ﬂ°°(\d+)¶ß/g, (_, code) => String.fromCodePoint(code));
  console.log(`${file}: ${actors.length} participants, ${db.getMessages().length} lines`);
  if (process.env.SHOW) {
    actors.forEach((actor) => console.log(`  ${actor.type} ${shown(actor.description)}`));
    for (const { from, to, message } of db.getMessages()) {
      if (typeof message === "string") console.log(`  ${from} ${to} ${shown(message)}`);
    }
  }
}
