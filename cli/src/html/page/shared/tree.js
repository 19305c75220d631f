// A tree of calls that is unfolded by the user. Only the rows in view exist as elements, and only unfolded calls as objects:
// so it does not matter how many calls there are.

const TREE_ROW = 20;
// Browsers limit the height of an element.
const TALLEST = 4e6;
// In pixels, for each level; more levels than this are not indented further.
const INDENT = 14;
const INDENTED = 24;
// The most levels that are unfolded at first.
const UNFOLDED = 40;
// Of the callees of a call, these first ones are unfolded as the largest.
const MOST_UNFOLDED = 48;
// A call that is deeper than this below the top of the tree becomes part of a tree of its own.
const LEVELS = 2000;

// What is unfolded: a call, or consecutive calls of libraries, or all that are outermost.
class Unfolded {
  // `runs` is where its rows come from: those from `from` to `to` of `callee` and `times`; with a `number` for each, see `Rows`.
  constructor(parent, entry, runs, from, to, { place, depth }) {
    Object.assign(this, { parent, entry, runs, from, to, place, depth });
    // Of consecutive calls, which one is unfolded.
    this.at = 0;
    // The rows below its own.
    this.rows = 0;
    // The unfolded ones among its rows, in order.
    this.inner = [];
    // Where each row begins among the runs, if some have several runs; and how many calls are before each run.
    this.starts = null;
    this.before = null;
  }

  get length() {
    return this.starts ? this.starts.length : this.to - this.from;
  }
  // The runs of a row.
  runsOf(entry) {
    if (!this.starts) return [this.from + entry, this.from + entry + 1];
    return [this.starts[entry], this.starts[entry + 1] ?? this.to];
  }
  // The place of the thread of a run, its depth there and its part, and how many of the calls in it belong to the tree, if not all.
  of(run) {
    return { place: this.place, depth: this.depth, ...this.runs.other?.get(run) };
  }
}

class Tree {
  constructor(box, onselect) {
    this.box = box;
    this.onselect = onselect;
    this.space = box.querySelector(".space");
    this.list = box.querySelector(".rows");
    this.note = box.querySelector(".note");
    this.shapes = null;
    this.onlyOwn = false;
    // 1 for each method that is searched for; how many of their calls are in each shape.
    this.found = null;
    this.sums = null;
    // Or the numbers of the calls that are searched for, in order, by the place of their thread; null for none.
    this.numbers = null;
    // Whether packages are left out.
    this.isNarrow = false;
    // The values of the call with this number, and the exception that ended it, as far as they are known.
    this.textsOf = () => ({});
    // What threads handed to each other, if that is to be shown as one tree; null for the calls of one thread only.
    this.parts = null;
    // Links from a row to calls of other threads; and from one that was handed over to all calls of its thread.
    this.linksOf = () => [];
    this.threadOf = () => [];
    // A class for the row with a call number, if it has one.
    this.markOf = () => "";
    this.top = 0;
    this.selected = null;
    this.isDrawn = true;
    this.listen();
  }

  // Shows calls: `runs` of shapes, the first of which has this number and depth. `place` is that of the thread.
  show(shapes, whole) {
    this.shapes = shapes;
    this.thread = whole.place;
    this.whole = whole;
    this.setRoot(whole);
  }

  setRoot(shown) {
    const { number, from, to } = shown;
    this.shown = shown;
    this.root = new Unfolded(null, 0, shown, from, to, shown);
    this.number = number;
    this.group(this.root);
    this.root.rows = this.root.length;
    this.selected = null;
    // What is the only call at its level hides nothing when it is unfolded.
    for (let node = this.root; node.length === 1 && (node.level ?? 0) < UNFOLDED; node = node.inner[0])
      this.grow(node, this.open(node, 0).rows);
    this.setTop(0);
  }

  // Shows a text instead of calls.
  showNote(text) {
    this.root = null;
    this.selected = null;
    this.note.textContent = text;
    this.redraw();
  }

  // Searches for methods: 1 for each of these, else 0; or for calls by their numbers; null for none.
  search(found, numbers = null) {
    this.found = found;
    this.numbers = numbers;
    this.sums = found?.includes(1) && this.shapes ? this.shapes.found(found) : null;
    this.redraw();
  }

  // Folds calls of libraries that call nothing of the application into one row for consecutive ones.
  foldLibraries(onlyOwn) {
    if (onlyOwn === this.onlyOwn) return;
    this.onlyOwn = onlyOwn;
    if (!this.root) return;
    const row = this.selected && this.rowOf(this.selected);
    this.setRoot(this.whole);
    if (row) this.reveal(row.number, row.place);
  }

  // Makes rows of several runs for an unfolded call.
  group(node) {
    if (!this.onlyOwn) return;
    this.own ??= this.shapes.found(methods.map((method) => (method.isOwn ? 1 : 0)));
    const starts = [];
    let isBefore = false;
    for (let run = node.from; run < node.to; run++) {
      const isLibrary = this.isLibrary(node.runs.callee[run]) && !this.handsOver(node, run);
      if (!isLibrary || !isBefore || !this.follows(node, run)) starts.push(run);
      isBefore = isLibrary;
    }
    node.starts = Uint32Array.from(starts);
  }
  // Whether something is handed over in a run, and whether a run comes right after the one before, in the same thread and part.
  handsOver(node, run) {
    const { number } = node.runs;
    if (!this.parts || !Array.isArray(number)) return false;
    const [from, to] = [run, run + 1].map((at) => this.before(node)[at - node.from]);
    return this.parts.nextGiver(node.of(run).place, number[run]) < number[run] + to - from;
  }
  follows(node, run) {
    const { number } = node.runs;
    if (!Array.isArray(number)) return true;
    const [is, was] = [node.of(run), node.of(run - 1)];
    const [from, to] = [run - 1, run].map((at) => this.before(node)[at - node.from]);
    return is.place === was.place && is.depth === was.depth && is.part === was.part && number[run] === number[run - 1] + to - from;
  }
  isLibrary(shape) {
    return this.shapes.isCall(shape) && this.own[shape] === 0;
  }

  // How many calls of an unfolded call are before each of its runs.
  before(node) {
    if (node.before) return node.before;
    const before = new Float64Array(node.to - node.from + 1);
    const { callee, times, other } = node.runs;
    for (let run = node.from; run < node.to; run++)
      before[run - node.from + 1] = before[run - node.from] + (other?.get(run)?.limit ?? this.shapes.calls[callee[run]] * times[run]);
    return (node.before = before);
  }

  // The number of the first call in an unfolded one.
  firstNumber(node) {
    const path = [];
    for (let at = node; at.parent && !Array.isArray(at.runs.number); at = at.parent) path.push(at);
    let { number } = this;
    for (const at of path.reverse()) {
      const [run] = at.parent.runsOf(at.entry);
      number = at.parent.runs.number?.[run] ?? number + this.before(at.parent)[run - at.parent.from];
      if (!at.isGroup) number += at.at * this.shapes.calls[at.parent.runs.callee[run]] + 1;
    }
    return number;
  }

  // What is in a row of an unfolded call.
  rowOf({ parent, entry }, first = this.firstNumber(parent)) {
    const [run, end] = parent.runsOf(entry);
    const before = this.before(parent);
    const node = parent.inner.find((inner) => inner.entry === entry);
    const shape = parent.runs.callee[run];
    const calls = this.shapes.calls[shape];
    const isGroup = end > run + 1;
    const times = parent.runs.times[run];
    const at = node?.at ?? 0;
    const start = parent.runs.number?.[run] ?? first + before[run - parent.from];
    const of = parent.of(run);
    const number = isGroup ? start : start + at * calls;
    const isGiver = !isGroup && this.parts?.givenBy(of.place, number).length > 0;
    return {
      ...of,
      parent, entry, node, shape, times, at, isGroup, calls, number,
      // Of all calls of the row.
      start,
      all: before[end - parent.from] - before[run - parent.from],
      hasInner: isGroup || isGiver || ((of.limit ?? 2) > 1 && this.shapes.first[shape + 1] > this.shapes.first[shape]),
    };
  }

  // The row at a place in the whole tree.
  rowAt(place) {
    let node = this.root;
    for (;;) {
      let shift = 0;
      let next = null;
      for (const inner of node.inner) {
        const own = inner.entry + shift;
        if (place <= own) break;
        if (place <= own + inner.rows) {
          next = inner;
          place -= own + 1;
          break;
        }
        shift += inner.rows;
      }
      if (!next) return { parent: node, entry: place - shift };
      node = next;
    }
  }

  // The place of a row in the whole tree.
  placeOf({ parent, entry }) {
    let place = entry;
    for (;;) {
      for (const inner of parent.inner) {
        if (inner.entry >= entry) break;
        place += inner.rows;
      }
      if (!parent.parent) return place;
      place += parent.entry + 1;
      ({ entry, parent } = parent);
    }
  }

  // Unfolds a row, without counting its rows in those around it.
  open(parent, entry) {
    const is = parent.inner.find((inner) => inner.entry === entry);
    if (is) return is;
    const [run, end] = parent.runsOf(entry);
    const row = this.rowOf({ parent, entry });
    const { shape, isGroup, part } = row;
    const { first, callee, times } = this.shapes;
    const rows = isGroup ? null : this.parts?.inside(this.shapes, row);
    const inside = { place: row.place, depth: row.depth + 1 };
    const node = isGroup
      ? new Unfolded(parent, entry, parent.runs, run, end, row)
      : rows
        ? new Unfolded(parent, entry, rows, 0, rows.callee.length, inside)
        : new Unfolded(parent, entry, { callee, times }, first[shape], first[shape + 1], inside);
    node.isGroup = isGroup;
    node.level = (parent.level ?? 0) + 1;
    // What is unfolded of libraries is listed as it is, but not what these handed over.
    node.isLibrary = isGroup || (parent.isLibrary && part === undefined) || (this.onlyOwn && this.isLibrary(shape));
    if (!node.isLibrary) this.group(node);
    node.rows = node.length;
    const place = parent.inner.findIndex((inner) => inner.entry > entry);
    parent.inner.splice(place < 0 ? parent.inner.length : place, 0, node);
    return node;
  }

  grow(node, rows) {
    for (; node; node = node.parent) node.rows += rows;
  }

  toggle(row) {
    if (!row.hasInner) return;
    const node = row.parent.inner.find((inner) => inner.entry === row.entry);
    if (node) {
      row.parent.inner.splice(row.parent.inner.indexOf(node), 1);
      this.grow(row.parent, -node.rows);
    } else this.grow(row.parent, this.open(row.parent, row.entry).rows);
    this.redraw();
  }

  // Shows what is in the call of a row, the largest calls first, in as many rows as are in view if its callees have no more.
  unfoldLargest(row) {
    if (!row.hasInner) return;
    if (row.node) this.toggle(row);
    let room = Math.floor(this.rowsInView()) - 1;
    const folded = [row];
    while (folded.length) {
      const largest = folded.reduce((largest, next, at) => (this.weight(next) > this.weight(folded[largest]) ? at : largest), 0);
      const [{ parent, entry }] = folded.splice(largest, 1);
      const node = this.open(parent, entry);
      if (node.length > room && parent !== row.parent) {
        parent.inner.splice(parent.inner.indexOf(node), 1);
        continue;
      }
      room -= node.length;
      this.grow(parent, node.rows);
      const first = this.firstNumber(node);
      for (let inner = 0; inner < Math.min(node.length, MOST_UNFOLDED); inner++) {
        const next = this.rowOf({ parent: node, entry: inner }, first);
        if (next.hasInner && !next.isGroup) folded.push(next);
      }
    }
    this.setTop(this.placeOf(row));
  }

  // How many calls are in a row and in what they handed over.
  weight({ place, start, all }) {
    return all + (this.parts?.callsFrom(place, start, start + all) ?? 0);
  }

  // Unfolds another one of consecutive calls.
  choose(row, at) {
    at = Math.max(0, Math.min(at, row.times - 1));
    if (at === row.at || row.isGroup) return;
    let { node } = row;
    if (!node) {
      node = this.open(row.parent, row.entry);
      this.grow(row.parent, node.rows);
    }
    node.at = at;
    this.select(row);
  }

  // Unfolds all that is around a call, selects it, and scrolls to it. Returns whether there is such a call.
  reveal(number, place = this.thread) {
    if (!this.root || !(number >= 0)) return false;
    const way = this.parts ? this.parts.wayTo(place, number, this.thread) : place === this.thread && [{ place, number }];
    if (!way) return false;
    const whole = this.wholeOf(place);
    const left = number - whole.number;
    if (left < 0 || left >= this.before(whole).at(-1)) return false;
    const path = this.pathTo(whole, left);
    // Far below the top, the tree begins in the middle of the path.
    const isFar = path.length - 1 > LEVELS;
    if (isFar) {
      const top = path.at(-1 - LEVELS / 2);
      this.setRoot({ callee: [top.shape], times: [1], from: 0, to: 1, number: top.number + whole.number, depth: top.depth, place });
    } else if (this.isPart) this.setRoot(this.whole);
    let node = this.root;
    let row;
    for (const call of isFar ? [{ place, number }] : way) {
      if (row) node = this.unfolded(row);
      row = this.rowInside(node, call);
      if (!row) return false;
    }
    this.select(row);
    return true;
  }

  // Unfolds what is around a call in an unfolded one, and returns its row.
  rowInside(node, { place, number, part }) {
    for (;;) {
      const run = this.runAt(node, number, place, part);
      if (run < 0) return null;
      const row = this.rowOf({ parent: node, entry: node.starts ? lastNotAbove(node.starts, run) : run - node.from });
      const at = row.isGroup ? 0 : Math.floor((number - row.start) / row.calls);
      const isIt = !row.isGroup && number === row.start + at * row.calls;
      // A call without callees can be one of several, too.
      if (isIt && at === 0 && !row.node) return row;
      node = this.unfolded(row);
      node.at = at;
      if (isIt) return row;
      if (!row.isGroup) part = undefined;
    }
  }

  // Unfolds a row.
  unfolded({ parent, entry, node }) {
    if (node) return node;
    const opened = this.open(parent, entry);
    this.grow(parent, opened.rows);
    return opened;
  }

  // All calls of a thread, as one unfolded call.
  wholeOf(place) {
    const whole = this.parts?.wholeOf(this.shapes, place) ?? this.whole;
    return Object.assign(new Unfolded(null, 0, whole, whole.from, whole.to, whole), { number: whole.number });
  }

  // The calls around a call and itself, each with the number of calls before it and its depth.
  pathTo(node, left) {
    const path = [];
    const { first, callee, times, calls } = this.shapes;
    let number = 0;
    let [from, to, of, depth] = [node.from, node.to, node.runs, node.depth];
    for (;;) {
      let run = from;
      for (; run < to; run++) {
        const all = calls[of.callee[run]] * of.times[run];
        if (left < all) break;
        left -= all;
        number += all;
      }
      const shape = of.callee[run];
      const at = Math.floor(left / calls[shape]);
      left -= at * calls[shape];
      number += at * calls[shape];
      path.push({ shape, number, depth });
      if (left === 0) return path;
      [left, number, depth] = [left - 1, number + 1, depth + 1];
      [from, to, of] = [first[shape], first[shape + 1], { callee, times }];
    }
  }

  // The run of an unfolded call that has a call of a thread and part; -1 if there is none.
  runAt(node, number, place, part) {
    const before = this.before(node);
    const { number: numbers } = node.runs;
    if (Array.isArray(numbers)) {
      for (let run = node.from; run < node.to; run++) {
        const left = number - numbers[run];
        if (left < 0 || left >= before[run - node.from + 1] - before[run - node.from]) continue;
        const of = node.of(run);
        if (of.place === place && of.part === part) return run;
      }
      return -1;
    }
    const left = number - this.firstNumber(node);
    return left < 0 || left >= before.at(-1) || node.place !== place ? -1 : node.from + lastNotAbove(before, left);
  }

  select(row) {
    this.selected = { parent: row.parent, entry: row.entry };
    const place = this.placeOf(row);
    const last = this.rowsInView() - 2;
    if (place < this.top) this.setTop(place - 2);
    else if (place > this.top + last) this.setTop(place - Math.floor(last / 2));
    this.redraw();
    this.onselect(this.rowOf(this.selected));
  }

  rowsInView() {
    return Math.max(1, this.box.clientHeight / TREE_ROW);
  }

  // Scrolls so that this row comes first.
  setTop(top) {
    this.redraw();
    const most = Math.max(0, (this.root?.rows ?? 0) - Math.floor(this.rowsInView()));
    this.top = Math.max(0, Math.min(top, most));
    this.scroll();
  }

  // Where the scroll bar is follows from the first row.
  scroll() {
    this.space.style.height = `${this.heightOf(this.root?.rows ?? 0)}px`;
    this.expected = this.top * this.pixels();
    if (Math.abs(this.box.scrollTop - this.expected) > 1) this.box.scrollTop = this.expected;
    this.expected = this.box.scrollTop;
  }
  heightOf(rows) {
    return Math.min(TALLEST, rows * TREE_ROW);
  }
  // By how many pixels the scroll bar moves for a row.
  pixels() {
    const rows = this.root?.rows ?? 0;
    if (rows * TREE_ROW <= TALLEST) return TREE_ROW;
    const view = this.box.clientHeight;
    return (TALLEST - view) / (rows - view / TREE_ROW);
  }

  listen() {
    const { box } = this;
    box.addEventListener("scroll", () => {
      if (Math.abs(box.scrollTop - this.expected) <= 1) return;
      this.expected = box.scrollTop;
      this.top = box.scrollTop / this.pixels();
      this.redraw();
    });
    box.addEventListener(
      "wheel",
      (event) => {
        // The scroll bar of a very long tree is too coarse.
        if (!this.root || this.pixels() === TREE_ROW || event.ctrlKey) return;
        event.preventDefault();
        this.setTop(this.top + (event.deltaMode === 1 ? event.deltaY : event.deltaY / TREE_ROW));
      },
      { passive: false },
    );
    box.addEventListener("click", (event) => {
      const shown = event.target.closest(".row");
      if (!shown) return;
      const row = this.rowOf(this.drawn[Number(shown.dataset.at)]);
      const step = event.target.closest("[data-step]")?.dataset.step;
      if (step) return this.choose(row, row.at + Number(step));
      if (event.target.closest(".above")) return this.reveal(...this.callerOfTop());
      this.select(row);
      if (event.target.closest(".twist")) this.toggle(row);
    });
    box.addEventListener("dblclick", (event) => {
      const shown = event.target.closest(".row");
      if (shown && !event.target.closest(".twist, [data-step]")) this.toggle(this.rowOf(this.drawn[Number(shown.dataset.at)]));
    });
    box.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.root?.rows) return;
      if (!this.press(event.key)) return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.redraw()).observe(box);
  }

  // Handles a key. Returns whether it means something.
  press(key) {
    const { rows } = this.root;
    const row = this.selected ? this.rowOf(this.selected) : null;
    const place = row ? this.placeOf(row) : -1;
    const page = Math.floor(this.rowsInView()) - 1;
    const to = { ArrowDown: place + 1, ArrowUp: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: rows - 1 }[key];
    if (to !== undefined) this.select(this.rowAt(Math.max(0, Math.min(to, rows - 1))));
    else if (!row) return false;
    else if (key === "Enter" || key === " ") this.toggle(row);
    else if (key === "ArrowRight" && !row.node) this.toggle(row);
    else if (key === "ArrowRight" && row.node.rows) this.select(this.rowAt(place + 1));
    else if (key === "ArrowLeft" && row.node) this.toggle(row);
    else if (key === "ArrowLeft" && row.parent.parent) this.select({ parent: row.parent.parent, entry: row.parent.entry });
    else if (key === "ArrowLeft" && this.isPart) this.reveal(...this.callerOfTop());
    else if (key === "u") this.unfoldLargest(row);
    else if (key === "]") this.choose(row, row.at + 1);
    else if (key === "[") this.choose(row, row.at - 1);
    else return false;
    return true;
  }

  // Whether the tree begins in the middle, and then the number of the call around it, and the place of its thread.
  get isPart() {
    return this.shown !== this.whole;
  }
  callerOfTop() {
    const { place } = this.root;
    const whole = this.wholeOf(place);
    return [this.pathTo(whole, this.number - whole.number).at(-2).number + whole.number, place];
  }

  redraw() {
    if (!this.isDrawn) return;
    this.isDrawn = false;
    requestAnimationFrame(() => {
      this.isDrawn = true;
      this.draw();
    });
  }

  draw() {
    const rows = this.root?.rows ?? 0;
    this.note.hidden = this.root !== null;
    if (!this.root) {
      this.space.style.height = "0";
      return this.list.replaceChildren();
    }
    const most = Math.max(0, rows - Math.floor(this.rowsInView()));
    this.top = Math.min(this.top, most);
    this.scroll();
    const first = Math.floor(this.top);
    const end = Math.min(rows, first + Math.ceil(this.rowsInView()) + 1);
    this.drawn = [];
    for (let place = first; place < end; place++) this.drawn.push(this.rowAt(place));
    const levels = this.drawn.map(({ parent }) => parent.level ?? 0);
    // Of a deep part of the tree, what its rows have in common is not indented.
    const least = Math.max(...levels) > INDENTED ? Math.min(...levels) : 0;
    this.list.style.top = `${-(this.top - first) * TREE_ROW}px`;
    let known = null;
    const elements = this.drawn.map((place, at) => {
      if (known?.parent !== place.parent) known = { parent: place.parent, number: this.firstNumber(place.parent) };
      return this.element(this.rowOf(place, known.number), at, Math.min(levels[at] - least, INDENTED));
    });
    this.list.replaceChildren(...elements);
    const active = this.list.querySelector("[aria-selected=true]");
    if (active) this.box.setAttribute("aria-activedescendant", active.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  element(row, at, level) {
    const { shapes } = this;
    const isSelected = this.selected?.parent === row.parent && this.selected?.entry === row.entry;
    const isCall = shapes.isCall(row.shape) && !row.isGroup;
    const twist = element("span", { class: "twist", "aria-hidden": "true" }, row.hasInner ? (row.node ? "▾" : "▸") : "");
    twist.style.marginLeft = `${level * INDENT}px`;
    const name = element("span", { class: "call" }, ...this.threadOf(row));
    if (row.isGroup) name.append(element("span", { class: "faint" }, `… ${plural(row.all, "call")} in libraries`));
    else name.append(...this.nameOf(row.shape, row.part));
    if (isCall && row.times > 1) name.append(this.repeats(row));
    if (isCall) name.append(...this.linksOf(row), ...this.endOf(row));
    if (this.isPart && row.parent === this.root)
      name.append(element("button", { type: "button", class: "link above", tabindex: "-1" }, `in ${plural(row.depth, "call")} above (←)`));
    const matches = (this.sums || this.numbers) && !row.node ? this.matchesIn(row) : 0;
    const isFound = isCall && (this.found?.[shapes.method[row.shape]] === 1 || this.isNumbered(row));
    if (matches) name.append(element("span", { class: "matches" }, `${grouped(matches)} ${matches === 1 ? "match" : "matches"} inside`));
    const isOwn = isCall && methods[shapes.method[row.shape]]?.isOwn;
    const classes = ["row", isFound ? "found" : "", isOwn || !hasLibraries ? "" : "library", this.markOf(row)];
    const attributes = {
      class: classes.filter(Boolean).join(" "),
      role: "treeitem",
      id: `${this.box.id}-${at}`,
      "data-at": at,
      "aria-level": (row.parent.level ?? 0) + 1,
      "aria-selected": String(isSelected),
      "aria-expanded": row.hasInner ? String(Boolean(row.node)) : undefined,
    };
    const inner = isCall || row.isGroup ? row.all : 0;
    return element(
      "div",
      attributes,
      element("span", { class: "number", title: "The number of calls of the thread before it" }, isCall || row.isGroup ? grouped(row.number) : ""),
      twist,
      name,
      element("span", { class: "calls", title: "Calls, with all that are called in them" }, inner > 1 ? grouped(inner) : ""),
      element("span", { class: "time" }, this.timeOf(row)),
    );
  }

  // Of consecutive calls that did the same: how many, and which one is unfolded.
  repeats(row) {
    const text = `×${grouped(row.times)} the same`;
    if (!row.node) return element("span", { class: "times" }, text);
    const button = (by, sign, what) =>
      element("button", { type: "button", "data-step": by, tabindex: "-1", title: `${what} of them`, "aria-label": `${what} of them` }, sign);
    return element("span", { class: "times" }, text, button(-1, "‹", "Previous"), `${grouped(row.at + 1)}.`, button(1, "›", "Next"));
  }

  // The values of the call of a row, and how it ended. Of several, those of the first one, until another one is chosen.
  endOf(row) {
    const { values, exception } = this.textsOf(row);
    const first = row.times > 1 && !row.node && (values || exception) ? "the first: " : "";
    const end = exception ? `! ${withoutPackage(exception)}` : outcomeText(this.shapes.outcome[row.shape]);
    // A row may be too short for both.
    const parts = [
      ["outcome", exception ? first + end : end],
      ["values", values ? (exception ? "" : first) + values : ""],
    ];
    return parts.filter(([, text]) => text).map(([name, text]) => element("span", { class: name }, text));
  }

  nameOf(shape, part) {
    const method = this.shapes.method[shape];
    if (!this.shapes.isCall(shape)) {
      const texts = ["(events are missing)", "(recording was suspended)", part === undefined ? "(all calls)" : this.parts.noteOf(part)];
      const text = texts[method];
      return [element("span", { class: "faint" }, text)];
    }
    const { className, simpleName, label, forms } = methods[method] ?? methods[unnamed];
    if (!label) return [element("bdi", {}, forms[0])];
    const shown = this.isNarrow ? simpleName : className;
    return [element("bdi", {}, element("span", { class: "class" }, shown ? `${shown}.` : ""), label)];
  }

  // How many of the calls in a row are searched for, without itself.
  matchesIn(row) {
    if (this.numbers) return this.numbersIn(row, row.start, row.all) - (this.isNumbered(row) ? 1 : 0);
    const [run, end] = row.parent.runsOf(row.entry);
    let sum = 0;
    for (let at = run; at < end; at++) {
      const { place, limit } = row.parent.of(at);
      const number = row.parent.runs.number?.[at];
      if (limit === undefined) sum += this.sums[row.parent.runs.callee[at]] * row.parent.runs.times[at];
      else sum += this.parts.wantedIn(this.shapes, this.sums, place, number, number + limit);
    }
    const isFound = !row.isGroup && this.found[this.shapes.method[row.shape]] === 1 && this.shapes.isCall(row.shape);
    return sum - (isFound ? row.times : 0);
  }

  // How many of the calls that are searched for are among some; and whether a row is one of them.
  numbersIn({ place }, from, calls) {
    const numbers = this.numbers.get(place) ?? [];
    return lastNotAbove(numbers, from + calls - 1) - lastNotAbove(numbers, from - 1);
  }
  isNumbered(row) {
    return this.numbers !== null && this.numbersIn(row, row.number, 1) === 1;
  }

  // How long all calls of a row took.
  timeOf(row) {
    const hasEnd = !this.shapes.isCall(row.shape) || this.shapes.outcome[row.shape] !== NOT_LEFT || row.isGroup;
    const span = row.all && this.span(row, row.start, row.limit === undefined ? row.all : row.calls);
    return span ? bounded(span.from, hasEnd ? span.by : Infinity) : "";
  }
  span({ place, depth }, number, calls) {
    return place === undefined ? undefined : this.shapes.span(place, number, depth, calls);
  }
}

// The place of the last number in an ascending list that is not above another.
function lastNotAbove(list, number) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= number) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// How a call ended: `exception` is the class and the message, if they are known.
const outcomeText = (outcome, exception = "an exception") =>
  outcome === UNWOUND ? `left by ${exception}` : outcome === NOT_LEFT ? "not left" : "";

// `Denied: "no"` of `com.app.Denied: "no"`.
const withoutPackage = (exception) => exception.replace(/^[^:\s]*\./, "");
