// Formats numbers and times, and creates elements.

const grouped = (number) => number.toLocaleString("en-US");

const plural = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;

// 0.04 % is not shown as nothing, nor 99.96 % as all.
function percent(part, whole) {
  if (!whole) return "";
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return "<0.1%";
  return `${(share > 99.9 && share < 100 ? 99.9 : share).toFixed(1)}%`;
}

// A time with enough digits to distinguish it from one that is `step` away.
function nanos(ns, step = ns / 1000) {
  const [name, size] = unitOf(ns);
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / Math.max(step, 1e-9)))));
  const number = Number((ns / size).toFixed(digits));
  return `${number.toLocaleString("en-US", { maximumFractionDigits: 9 })} ${name}`;
}

// A duration as precisely as it is known, as flow prints it: `12.3 ms ± 0.1`; `≤ 90 µs` if it may be zero; `≥ 2.00 s` if
// its end is unknown.
function bounded(from, by) {
  const rounded = (ns) => {
    const [name, size] = unitOf(ns);
    const whole = ns / size;
    return `${fixed(whole, size === 1 ? 0 : whole < 10 ? 2 : whole < 100 ? 1 : 0)} ${name}`;
  };
  if (by === Infinity) return from ? `≥ ${rounded(from)}` : "";
  if (from === by) return rounded(from);
  if (!from) return `≤ ${rounded(by)}`;
  const [middle, error] = [(from + by) / 2, (by - from) / 2];
  const [name, size] = unitOf(middle);
  // The fewest decimals that show the error, which is rounded up.
  const shows = (decimals) => error * 10 ** decimals >= size;
  const decimals = size === 1 ? 0 : ([0, 1, 2].find(shows) ?? 3);
  const step = size / 10 ** decimals;
  return `${fixed(middle / size, decimals)} ${name} ± ${fixed((Math.ceil(error / step) * step) / size, decimals)}`;
}

const TIME_UNITS = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];
const unitOf = (ns) => TIME_UNITS.find(([, size]) => ns >= size) ?? TIME_UNITS.at(-1);
const fixed = (number, decimals) =>
  number.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });

// `1.2M`, for the axis of a chart.
function short(number) {
  const units = [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e3],
  ];
  const unit = units.find(([, size]) => number >= size);
  return unit ? `${Number((number / unit[1]).toFixed(6))}${unit[0]}` : String(number);
}

// Creates an element. Names become text nodes only, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
