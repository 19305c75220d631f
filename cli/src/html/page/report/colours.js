// Colours of boxes: a hue for each package, nearby hues for its classes, and a shade for each method, the same on every
// page.

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

const hueOf = (group) => hash(group) % 360;
const packageColour = (name) =>
  isDark.matches ? `hsl(${hueOf(name)} 38% 34%)` : `hsl(${hueOf(name)} 62% 76%)`;

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
  colours.shade = dark ? "#0009" : "#aab2bd4d";
  colours.onMark = "#fff";
  colours.none = dark ? "#3a3f47" : "#dcdfe4";
  methods.forEach((method, place) => {
    const hue = hueOf(packageOf(method)) + (hash(method.className) % 41) - 20;
    const shade = hash(method.forms[0]) % 9;
    colours.boxes[place] = dark
      ? `hsl(${hue} 38% ${27 + shade}%)`
      : `hsl(${hue} 62% ${76 + shade}%)`;
    colours.faded[place] = dark
      ? `hsl(${hue} 12% ${19 + shade / 2}%)`
      : `hsl(${hue} 22% ${90 + shade / 2}%)`;
  });
}
