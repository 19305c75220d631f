// The list of differences, and what one of them is in words.

const DIFFERENCES_AT_ONCE = 200;
const SHIFTS_SHOWN = 6;
const OUTCOMES = ["returned", "left by an exception", "not left before recording ended or was suspended"];

// What one side has more: `+ com.app.Cache.miss() ×2  12 calls`.
function shiftLine(shapes, { shape, count, is_added: isAdded, is_moved: isMoved }) {
  const isCall = shape !== null && shapes.isCall(shape);
  const method = isCall ? (methods[shapes.method[shape]] ?? methods[unnamed]) : null;
  const calls = isCall ? shapes.calls[shape] * count : 0;
  const line = element("div", { class: isAdded ? "added" : "removed" }, `${isAdded ? "+" : "−"} `);
  line.append(element("bdi", {}, method ? method.forms[0] : "(events are missing)"));
  if (count > 1) line.append(` ×${grouped(count)}`);
  if (calls > count) line.append(element("span", { class: "sub" }, `  ${plural(calls, "call")}`));
  if (isMoved) line.append(element("span", { class: "sub" }, "  moved"));
  return line;
}

// A difference, as an item of the list.
function differenceItem(shapes, difference, place, onchoose) {
  const { stack, shifts, more_shifts: more, outcomes, times, pair } = difference;
  const name = stack.length ? (methods[stack.at(-1)] ?? methods[unnamed]).forms[0] : "the thread itself";
  const facts = [data.pairs[pair].title, times > 1 ? `${grouped(times)} times` : ""];
  const lines = shifts.slice(0, SHIFTS_SHOWN).map((shift) => shiftLine(shapes, shift));
  const left = shifts.length - lines.length + more;
  if (left > 0) lines.push(element("div", { class: "sub" }, `… ${plural(left, "more call")}`));
  if (outcomes) lines.push(element("div", {}, `${OUTCOMES[outcomes[0]]}; after: ${OUTCOMES[outcomes[1]]}`));
  const button = element(
    "button",
    { type: "button", "data-place": place, onclick: () => onchoose(place) },
    element("div", { class: "name" }, element("bdi", {}, name)),
    element("div", { class: "sub" }, facts.filter(Boolean).join(", ")),
    ...lines,
  );
  return element("li", {}, button);
}

// A value that differs, as a row: its first difference, and how many of its kind there are.
function valueRow(value, place, onchoose) {
  const { first, texts, arguments: given, count, compared, method } = value;
  const code = (text, name) => element("td", { class: name }, element("code", {}, text));
  const name = (methods[method] ?? methods[unnamed]).forms[0];
  const button = element("button", { type: "button", onclick: () => onchoose(place) }, element("bdi", {}, first));
  return element(
    "tr",
    { "data-value": place, onclick: () => onchoose(place) },
    element("td", {}, button, given ? element("div", { class: "sub" }, given) : ""),
    code(texts[0], "removed"),
    code(texts[1], "added"),
    element("td", { class: "number" }, `${grouped(count)} of ${grouped(compared)}`),
    element("td", {}, element("bdi", {}, name)),
  );
}

class DifferenceList {
  constructor(section, shapes, onchoose) {
    this.list = section.querySelector("ol");
    this.more = byId("more-differences");
    this.shapes = shapes;
    this.onchoose = onchoose;
    this.shown = 0;
    this.more.addEventListener("click", () => this.extend(this.shown + DIFFERENCES_AT_ONCE));
    this.extend(DIFFERENCES_AT_ONCE);
  }

  // Lists the first `count` differences.
  extend(count) {
    const { differences } = data;
    const end = Math.min(differences.length, count);
    for (; this.shown < end; this.shown++)
      this.list.append(differenceItem(this.shapes, differences[this.shown], this.shown, this.onchoose));
    this.more.hidden = this.shown === differences.length;
    this.more.textContent = `Show more (${plural(differences.length - this.shown, "difference")} left)`;
  }

  choose(place) {
    if (place >= this.shown) this.extend(place + 1);
    for (const button of this.list.querySelectorAll("button")) {
      const is = Number(button.dataset.place) === place;
      button.setAttribute("aria-current", String(is));
      if (is) button.scrollIntoView({ block: "nearest" });
    }
  }
}
