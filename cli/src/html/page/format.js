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
  const units = [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
    ["ns", 1],
  ];
  const [name, size] = units.find(([, size]) => ns >= size) ?? units.at(-1);
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / Math.max(step, 1e-9)))));
  const number = Number((ns / size).toFixed(digits));
  return `${number.toLocaleString("en-US", { maximumFractionDigits: 9 })} ${name}`;
}

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
