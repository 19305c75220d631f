// Checks a file against speedscope's published schema, and loads files with the importers of the released
// viewer, without its screen. A trace of Chrome in which calls start at the same time is not loaded, only checked
// to be nested.
//
// Usage: read_speedscope.mjs MODULES FILE…, where MODULES is the node_modules folder that has speedscope and ajv.

import fs from "node:fs";
import path from "node:path";
import {createRequire} from "node:module";

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "here.js"));
const release = path.join(modules, "speedscope/dist/release");

/** Anything a page may want of its browser. */
function anything() {
  return new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : key === "then" ? undefined : anything()),
    apply: () => anything(),
    construct: () => anything(),
    set: () => true,
  });
}

/** The viewer's module of importers: its program, stopped where it would begin to draw. */
async function importers() {
  const [name] = fs.readdirSync(release).filter((name) => /^speedscope-.*\.js$/.test(name));
  const program = fs.readFileSync(path.join(release, name), "utf8");
  const [, promise] = program.match(/\(await ([\w$]+)\)\.importProfileGroupFromText/);
  const start = program.lastIndexOf("console.log(`speedscope v");
  if (start < 0) throw new Error("this release of speedscope begins otherwise");
  const stopped = `${program.slice(0, start)}globalThis.importers=${promise};})();`;
  const location = {hash: "", protocol: "file:"};
  const page = {document: anything(), location, window: {location}, matchMedia: anything()};
  new Function(...Object.keys(page), stopped)(...Object.values(page));
  return await globalThis.importers;
}

/**
 * Checks that the calls of a trace of Chrome are nested and in order. Returns whether each starts at a time of its own.
 *
 * Viewers keep the order of events with the same time. The importer of speedscope sorts starts and ends apart, and so
 * loses it.
 */
function startsDiffer(events) {
  const threads = new Map();
  let differ = true;
  for (const {ph, tid, ts, name} of events) {
    if (ph !== "B" && ph !== "E") continue;
    if (!threads.has(tid)) threads.set(tid, {open: [], start: -1, last: 0});
    const thread = threads.get(tid);
    if (ts < thread.last) throw new Error(`thread ${tid} goes back at ${ts}`);
    thread.last = ts;
    if (ph === "B") {
      differ &&= ts > thread.start;
      thread.start = ts;
      thread.open.push(name);
    } else {
      const begun = thread.open.pop();
      if (begun !== name) throw new Error(`${begun} ends as ${name} at ${ts}`);
    }
  }
  return differ;
}

const {importProfileGroupFromText} = await importers();
for (const file of files) {
  const text = fs.readFileSync(file, "utf8");
  if (file.endsWith(".trace.json")) {
    const events = JSON.parse(text).traceEvents;
    if (!startsDiffer(events)) {
      console.log(`  ${path.basename(file)}: ${events.length} events in order; not imported, because calls start at the same time`);
      continue;
    }
  }
  if (file.endsWith(".speedscope.json")) {
    const Ajv = require("ajv");
    const schema = JSON.parse(fs.readFileSync(path.join(release, "file-format-schema.json"), "utf8"));
    const validate = new Ajv({strict: false}).compile(schema);
    if (!validate(JSON.parse(text))) throw new Error(JSON.stringify(validate.errors.slice(0, 3)));
  }
  const group = await importProfileGroupFromText(path.basename(file), text);
  if (!group) throw new Error(`${file}: not recognised`);
  console.log(`  ${path.basename(file)}:`);
  for (const profile of group.profiles) {
    let frames = 0;
    profile.forEachCall(() => frames++, () => {});
    console.log(`    ${profile.getName()}: ${frames} frames, weight ${profile.getTotalWeight()}`);
  }
}
