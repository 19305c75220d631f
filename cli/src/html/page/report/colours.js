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

// Hue, saturation and lightness. The colours of each list differ from each other, the first ones most, and from those of matches and
// of methods that are not on the page.
const PALETTES = {
  light: "210 80 66, 60 80 72, 0 80 66, 282 80 66, 126 35 66, 180 80 72, 120 80 66, 12 50 78, 312 35 66, 246 80 84, 42 80 66, 192 65 66, 318 80 66, 120 65 78, 18 65 66, 252 65 72",
  dark: "222 55 34, 354 55 45, 120 55 28, 300 55 40, 354 55 28, 270 55 40, 48 55 28, 240 55 28, 288 25 40, 288 40 28, 222 55 45, 204 40 34, 240 55 45, 108 25 28, 24 55 28, 12 40 40",
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

// The place of each package in the palette, by time: the packages of the application and all of them in turn.
let places = null;
function placeOf(name) {
  if (!places) {
    const [own, all] = [packagesOf((method) => method.isOwn), packagesOf(() => true)];
    const names = all.flatMap((next, at) => [...own.slice(at, at + 1), next]).map(([name]) => name);
    places = new Map([...new Set(names)].map((name, place) => [name, place]));
  }
  return (places.get(name) ?? hash(name)) % PALETTES.light.split(",").length;
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
