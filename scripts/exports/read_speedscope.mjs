// Checks a file against speedscope's published schema, and loads files with the importers of the released
// viewer, without its screen.
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

const {importProfileGroupFromText} = await importers();
for (const file of files) {
  const text = fs.readFileSync(file, "utf8");
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
