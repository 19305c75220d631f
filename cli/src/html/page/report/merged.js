// What all threads did, in one order: a column for each thread, a row for each thing it did.

const MERGED_AT_ONCE = 500;
const MERGED_INDENT = 12;
// The most levels by which a row is indented: columns are narrow.
const MERGED_LEVELS = 8;
// The least widths of the column of times, and of that of a thread.
const MERGED_TIMES = 110;
const MERGED_WIDTH = 230;

class Merged {
  // `onchoose` gets the thread and the number of a call; `range` returns the range of time in the timeline.
  constructor(panel, { threads, rows, texts, rest_ns, has_rest, is_reduced, is_damaged }, { onchoose, range }) {
    Object.assign(this, { panel, threads, restNs: rest_ns, hasRest: has_rest, isReduced: is_reduced, isDamaged: is_damaged, onchoose, range });
    const text = (place) => (place < 0 ? "" : texts[place]);
    this.rows = rows.map(([column, depth, at, method, shown, call, exits, thrown, kind, isUncertain]) => {
      return { column, depth, at, method, text: text(shown), call, exits, isThrown: thrown >= 0, thrown: text(thrown), kind, isUncertain };
    });
    this.places = threads.map(placeOfThread);
    this.limit = MERGED_AT_ONCE;
    this.words = [];
    this.isInRange = false;
    this.field = null;
  }

  filter(text) {
    this.words = wordsOf(text);
    this.limit = MERGED_AT_ONCE;
    this.draw();
  }

  // The rows that have all of some words.
  found(words) {
    const has = (row) => {
      const searched = `${formsOf(row)[0]}\n${row.text}\n${row.thrown}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    };
    return words.length ? this.rows.filter(has) : this.rows;
  }

  // The rows that are listed, with those that are between them on the page only as a count.
  listed() {
    const range = this.isInRange ? this.range() : null;
    const isIn = ({ at }) => !range || (at >= range.from && at <= range.to);
    const found = this.found(this.words);
    // Without a match, all are listed: what is searched for is something else.
    const matches = new Set(found.length ? found : this.rows);
    // What is left out in between remains visible.
    return this.rows.filter((row) => isIn(row) && (matches.has(row) || row.kind === "alone"));
  }

  draw() {
    const listed = this.listed();
    const shown = listed.slice(0, this.limit);
    const left = listed.length - shown.length;
    // Only threads that have a row here have a column.
    const columns = [...new Set(listed.map(({ column }) => column))].sort((a, b) => a - b);
    const title = (column) => threadTitle(data.threads[this.places[column]] ?? { id: this.threads[column], name: "" });
    const heads = columns.map((column) => element("th", { scope: "col" }, title(column)));
    const more = left ? [element("button", { type: "button", onclick: () => this.extend() }, `Show more (${grouped(left)} left)`)] : [];
    const table = element(
      "table",
      {},
      element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "number" }, "time"), ...heads)),
      element("tbody", {}, ...shown.map((row, place) => this.row(row, shown[place - 1], columns))),
    );
    table.style.minWidth = `${MERGED_TIMES + MERGED_WIDTH * columns.length}px`;
    const lines = this.notes(listed).map((line) => element("p", { class: "rest" }, ...line));
    this.panel.replaceChildren(element("div", { class: "scroll" }, lines[0], table, ...more, ...lines.slice(1)));
  }

  // What a reader has to know: first what is above the rows, then what is below.
  notes(listed) {
    const isPart = listed.length < this.rows.length;
    const range = this.range();
    const toggle = () => {
      this.isInRange = !this.isInRange;
      this.limit = MERGED_AT_ONCE;
      this.draw();
    };
    const head = [
      `${grouped(listed.length)}${isPart ? ` of ${plural(this.rows.length, "row")}` : ` row${listed.length === 1 ? "" : "s"}`}. ↩ the call returns; ! an exception leaves it; ~ may have happened before what is above it. Click a call to unfold it, an access to mark all accesses to the same place. `,
      ...(isTime && (range || this.isInRange)
        ? [element("button", { type: "button", "aria-pressed": String(this.isInRange), onclick: toggle }, "Only the range in the timeline")]
        : []),
    ];
    const notes = [head];
    if (this.isReduced) notes.push(["Where a thread did much while no other did anything, only the beginning and the end are on this page (…)."]);
    if (this.isDamaged) notes.push(["Some events could not be read, and are not here."]);
    if (this.hasRest) {
      const from = this.restNs === null ? "" : `${(this.restNs / 1e9).toFixed(6)}s`;
      notes.push([`Not on this page: what happened ${from ? `after ${nanos(this.restNs, 1e3)}` : "later"}. ${from ? `flow report --html FILE --time ${from}.. begins there; ` : ""}flow replay --merged shows all.`]);
    }
    return notes;
  }

  row(row, before, columns) {
    const { column, at, isUncertain } = row;
    const place = columns.indexOf(column);
    const cells = [element("td", { class: "number" }, isUncertain ? "~ " : "", at < 0 || at === before?.at ? "" : nanos(at, 1e3))];
    const gap = (count) => (count ? [element("td", { colspan: String(count) })] : []);
    cells.push(...gap(place), this.cell(row), ...gap(columns.length - place - 1));
    return element("tr", { class: before && before.column !== column ? "turn" : undefined }, ...cells);
  }

  cell(row) {
    const { depth, text, exits, isThrown, thrown, kind } = row;
    const [full, name] = formsOf(row);
    const field = fieldOf(row);
    const button = (text, title) => element("button", { type: "button", title }, text);
    const parts = [];
    if (kind === "alone") parts.push(`… ${plural(exits, "more row")}, while no other thread did anything`);
    else {
      if (kind === "leave") parts.push(isThrown ? "! " : "↩ ");
      if (name) parts.push(button(name, full));
      if (text) parts.push(element("span", { class: "text" }, name ? " " : "", field === null ? text : button(text)));
      const ends = exits > 1 ? ` ×${grouped(exits)}` : "";
      if (exits && isThrown) parts.push(element("span", { class: "bad" }, `${kind === "leave" ? "" : " !"}${ends} ${thrown}`));
      else if (exits) parts.push(kind === "leave" ? ends : ` ↩${ends}`);
    }
    const isChosen = field !== null && field === this.field;
    const classes = [kind, isChosen ? "chosen" : ""].filter(Boolean).join(" ");
    // Among matches of a search, depths say nothing.
    const indent = this.words.length ? "0" : `${Math.min(depth, MERGED_LEVELS) * MERGED_INDENT}px`;
    const made = element("td", { class: classes, onclick: () => this.choose(row) }, element("div", {}, ...parts));
    made.firstChild.style.paddingLeft = indent;
    return made;
  }

  // Unfolds a call, or marks the accesses to a field.
  choose(row) {
    const field = fieldOf(row);
    if (field !== null) {
      this.field = this.field === field ? null : field;
      return this.draw();
    }
    if (row.call >= 0 && this.places[row.column] >= 0) this.onchoose(this.places[row.column], row.call);
  }

  extend() {
    this.limit *= 4;
    this.draw();
  }
}

// The forms of the name of the method of a row, the longest first. Some names come with the shapes.
const formsOf = ({ method }) => (method < 0 ? ["", ""] : (methods[method] ?? methods[unnamed]).forms);

// Which field or element a row accesses; null if it is no access.
function fieldOf({ kind, text }) {
  if (kind !== "read" && kind !== "write") return null;
  return text.slice(kind.length).split(" = ")[0].trim();
}
