// Colours of boxes: one for each package, and a shade of it for each method. The packages in which most time was spent have colours
// that differ clearly; a test computes by how much.

const isDark = matchMedia("(prefers-color-scheme: dark)");

function hash(text) {
  let sum = 2166136261;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619);
  return (sum ^ (sum >>> 15)) >>> 0;
}

// The package of a method.
function packageOf(method) {
  const dot = method.className.lastIndexOf(".");
  return dot > 0 ? method.className.slice(0, dot) : "";
}

// Hue, saturation and lightness. The colours of each list differ from each other, and from those of matches and of methods that
// are not on the page.
const PALETTES = {
  light: "6 55 80, 6 85 62, 30 85 62, 42 85 74, 72 85 62, 120 85 62, 126 40 62, 138 85 80, 186 85 62, 204 40 62, 216 85 62, 240 85 84, 270 70 68, 300 85 62, 330 85 62, 348 40 68",
  dark: "0 55 26, 12 70 38, 36 40 30, 120 55 26, 174 40 30, 216 70 30, 222 70 42, 228 25 42, 240 70 26, 240 70 42, 264 70 42, 276 40 42, 288 70 26, 288 70 42, 324 70 42, 336 25 42",
};
// A shade is lighter or darker by at most this, in percent.
const SHADE = 2;

// The packages of some methods with their sums, those with the most self time first.
function packagesOf(isShown) {
  const sums = new Map();
  for (const method of methods.filter((method) => method.place < unnamed && isShown(method))) {
    const sum = sums.get(packageOf(method)) ?? { self: 0, calls: 0 };
    sum.self += method.self;
    sum.calls += method.calls;
    sums.set(packageOf(method), sum);
  }
  return [...sums].sort(([, a], [, b]) => b.self - a.self || b.calls - a.calls);
}

// The place of each package in the palette. Packages with much time choose first, those of the application and all of them in turn:
// each its own place, as long as there are any, the same on every page if it is free.
let places = null;
function placeOf(name) {
  const count = PALETTES.light.split(",").length;
  if (!places) {
    places = new Map();
    const [own, all] = [packagesOf((method) => method.isOwn), packagesOf(() => true)];
    const taken = new Set();
    for (const [name] of all.flatMap((next, at) => [...own.slice(at, at + 1), next])) {
      if (places.has(name) || taken.size === count) continue;
      let place = hash(name) % count;
      while (taken.has(place)) place = (place + 1) % count;
      taken.add(place);
      places.set(name, place);
    }
  }
  return places.get(name) ?? hash(name) % count;
}

// The colour of a package as hue, saturation and lightness.
const toneOf = (name) => PALETTES[isDark.matches ? "dark" : "light"].split(", ")[placeOf(name)].split(" ").map(Number);
function packageColour(name) {
  const [hue, saturation, lightness] = toneOf(name);
  return `hsl(${hue} ${saturation}% ${lightness}%)`;
}

const colours = { boxes: [], faded: [] };

// The colours of marks by kind: the results of tests, and others.
function markColour(kind) {
  const dark = isDark.matches;
  const of = {
    passed: dark ? "#2f7d4f" : "#3d9a63",
    failed: dark ? "#b23a3a" : "#cf3b3b",
    note: colours.link,
    samples: dark ? "#c98a2b" : "#b06f12",
    gap: dark ? "#b23a3a" : "#cf3b3b",
  };
  return of[kind] ?? (dark ? "#6b7280" : "#7d8794");
}

function paint() {
  const dark = isDark.matches;
  const css = getComputedStyle(document.documentElement);
  const named = (name) => css.getPropertyValue(`--${name}`).trim();
  colours.back = named("back");
  colours.panel = named("panel");
  colours.line = named("line");
  colours.faint = named("faint");
  colours.mark = named("mark");
  colours.link = named("link");
  colours.text = dark ? "#f1f3f5" : "#16181c";
  colours.marked = dark ? "#8a1f5c" : "#ff9bd6";
  colours.stripe = dark ? "#ffffff2e" : "#00000026";
  // Over the parts of boxes that are uncertain, and next to what is certain.
  colours.unsure = dark ? "#16181caa" : "#ffffffa6";
  colours.sure = dark ? "#16181c00" : "#ffffff00";
  colours.shade = dark ? "#0009" : "#aab2bd4d";
  colours.onMark = "#fff";
  colours.none = dark ? "#3a3f47" : "#dcdfe4";
  methods.forEach((method, place) => {
    const [hue, saturation, lightness] = toneOf(packageOf(method));
    const shade = (hash(method.forms[0]) % (2 * SHADE + 1)) - SHADE;
    colours.boxes[place] = `hsl(${hue} ${saturation}% ${lightness + shade}%)`;
    colours.faded[place] = dark ? `hsl(${hue} 12% ${20 + shade}%)` : `hsl(${hue} 22% ${92 + shade}%)`;
  });
}
