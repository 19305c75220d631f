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
  // `runs` is where its rows come from: those from `from` to `to` of `callee` and `times`.
  constructor(parent, entry, runs, from, to, depth) {
    Object.assign(this, { parent, entry, runs, from, to, depth });
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
    // Or the numbers of the calls that are searched for, in order; null for none.
    this.numbers = null;
    // Whether packages are left out.
    this.isNarrow = false;
    // The values of the call with this number, and the exception that ended it, as far as they are known.
    this.textsOf = () => ({});
    // Links from a row to calls of other threads.
    this.linksOf = () => [];
    // A class for the row with a call number, if it has one.
    this.markOf = () => "";
    this.top = 0;
    this.selected = null;
    this.isDrawn = true;
    this.listen();
  }

  // Shows calls: `runs` of shapes, the first of which has this number and depth. `thread` is the place of the thread.
  show(shapes, { callee, times, from, to, number, depth, thread }) {
    this.shapes = shapes;
    this.thread = thread;
    this.whole = { callee, times, from, to, number, depth };
    this.setRoot(this.whole);
  }

  setRoot(shown) {
    const { callee, times, from, to, number, depth } = shown;
    this.shown = shown;
    this.root = new Unfolded(null, 0, { callee, times }, from, to, depth);
    this.number = number;
    this.group(this.root);
    this.root.rows = this.root.length;
    this.selected = null;
    // What is the only call at its level hides nothing when it is unfolded.
    for (let node = this.root; node.length === 1 && node.depth < depth + UNFOLDED; node = node.inner[0])
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
    const number = this.selected ? this.rowOf(this.selected).number : undefined;
    this.setRoot(this.whole);
    if (number !== undefined) this.reveal(number);
  }

  // Makes rows of several runs for an unfolded call.
  group(node) {
    if (!this.onlyOwn) return;
    this.own ??= this.shapes.found(methods.map((method) => (method.isOwn ? 1 : 0)));
    const starts = [];
    let isBefore = false;
    for (let run = node.from; run < node.to; run++) {
      const isLibrary = this.isLibrary(node.runs.callee[run]);
      if (!isLibrary || !isBefore) starts.push(run);
      isBefore = isLibrary;
    }
    node.starts = Uint32Array.from(starts);
  }
  isLibrary(shape) {
    return this.shapes.isCall(shape) && this.own[shape] === 0;
  }

  // How many calls of an unfolded call are before each of its runs.
  before(node) {
    if (node.before) return node.before;
    const before = new Float64Array(node.to - node.from + 1);
    for (let run = node.from; run < node.to; run++)
      before[run - node.from + 1] = before[run - node.from] + this.shapes.calls[node.runs.callee[run]] * node.runs.times[run];
    return (node.before = before);
  }

  // The number of the first call in an unfolded one.
  firstNumber(node) {
    const path = [];
    for (let at = node; at.parent; at = at.parent) path.push(at);
    let number = this.number;
    for (const at of path.reverse()) {
      const [run] = at.parent.runsOf(at.entry);
      number += this.before(at.parent)[run - at.parent.from];
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
    const start = first + before[run - parent.from];
    return {
      parent, entry, node, shape, times, at, isGroup, calls,
      // Of all calls of the row.
      start,
      all: before[end - parent.from] - before[run - parent.from],
      // Of the one that is unfolded.
      number: isGroup ? start : start + at * calls,
      depth: parent.depth,
      hasInner: isGroup || this.shapes.first[shape + 1] > this.shapes.first[shape],
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
    const shape = parent.runs.callee[run];
    const isGroup = end > run + 1;
    const { first, callee, times } = this.shapes;
    const node = isGroup
      ? new Unfolded(parent, entry, parent.runs, run, end, parent.depth)
      : new Unfolded(parent, entry, { callee, times }, first[shape], first[shape + 1], parent.depth + 1);
    node.isGroup = isGroup;
    node.level = (parent.level ?? 0) + 1;
    // What is unfolded of libraries is listed as it is.
    node.isLibrary = isGroup || parent.isLibrary || (this.onlyOwn && this.isLibrary(shape));
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
      const largest = folded.reduce((largest, next, at) => (next.all > folded[largest].all ? at : largest), 0);
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
  reveal(number) {
    if (!this.root || !(number >= 0)) return false;
    const { number: begin } = this.whole;
    const whole = new Unfolded(null, 0, this.whole, this.whole.from, this.whole.to, this.whole.depth);
    const all = this.before(whole).at(-1);
    if (number < begin || number >= begin + all) return false;
    const path = this.pathTo(whole, number - begin);
    // Far below the top, the tree begins in the middle of the path.
    if (path.length - 1 > LEVELS) {
      const top = path.at(-1 - LEVELS / 2);
      this.setRoot({ callee: [top.shape], times: [1], from: 0, to: 1, number: top.number + begin, depth: top.depth });
    } else if (this.isPart) this.setRoot(this.whole);
    let left = number - this.number;
    let node = this.root;
    const opened = [];
    for (;;) {
      const run = this.runAt(node, left);
      let entry = run - node.from;
      if (node.starts) entry = lastNotAbove(node.starts, run);
      const [first] = node.runsOf(entry);
      const row = this.rowOf({ parent: node, entry }, 0);
      left -= this.before(node)[first - node.from];
      if (row.isGroup) {
        const isNew = !row.node;
        node = this.open(node, entry);
        if (isNew) opened.push(node);
        continue;
      }
      const at = Math.floor(left / row.calls);
      left -= at * row.calls;
      if (at > 0 || left > 0 || row.node) {
        // A call without callees can be one of several, too.
        const isNew = !row.node;
        node = this.open(node, entry);
        node.at = at;
        if (isNew) opened.push(node);
      }
      if (left === 0) {
        // Each is in the one before.
        while (opened.length > 1) {
          const node = opened.pop();
          node.parent.rows += node.rows;
        }
        if (opened.length) this.grow(opened[0].parent, opened[0].rows);
        this.select(row);
        return true;
      }
      left--;
    }
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

  // The run of an unfolded call that contains the call before which there are `left` others in it.
  runAt(node, left) {
    return node.from + lastNotAbove(this.before(node), left);
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
      if (event.target.closest(".above")) return this.reveal(this.callerOfTop());
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
    else if (key === "ArrowLeft" && this.isPart) this.reveal(this.callerOfTop());
    else if (key === "u") this.unfoldLargest(row);
    else if (key === "]") this.choose(row, row.at + 1);
    else if (key === "[") this.choose(row, row.at - 1);
    else return false;
    return true;
  }

  // Whether the tree begins in the middle, and then the number of the call around it.
  get isPart() {
    return this.shown !== this.whole;
  }
  callerOfTop() {
    const { callee, times, from, to, number, depth } = this.whole;
    const whole = new Unfolded(null, 0, { callee, times }, from, to, depth);
    return this.pathTo(whole, this.number - number).at(-2).number + number;
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
    const name = element("span", { class: "call" });
    if (row.isGroup) name.append(element("span", { class: "faint" }, `… ${plural(row.all, "call")} in libraries`));
    else name.append(...this.nameOf(row.shape));
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
    const { values, exception } = this.textsOf(row.number);
    const first = row.times > 1 && !row.node && (values || exception) ? "the first: " : "";
    const end = exception ? `! ${withoutPackage(exception)}` : outcomeText(this.shapes.outcome[row.shape]);
    // A row may be too short for both.
    const parts = [
      ["outcome", exception ? first + end : end],
      ["values", values ? (exception ? "" : first) + values : ""],
    ];
    return parts.filter(([, text]) => text).map(([name, text]) => element("span", { class: name }, text));
  }

  nameOf(shape) {
    const method = this.shapes.method[shape];
    if (!this.shapes.isCall(shape)) {
      const text = method === GAP ? "(events are missing)" : method === PAUSE ? "(recording was suspended)" : "(all calls)";
      return [element("span", { class: "faint" }, text)];
    }
    const { className, simpleName, label, forms } = methods[method] ?? methods[unnamed];
    if (!label) return [element("bdi", {}, forms[0])];
    const shown = this.isNarrow ? simpleName : className;
    return [element("bdi", {}, element("span", { class: "class" }, shown ? `${shown}.` : ""), label)];
  }

  // How many of the calls in a row are searched for, without itself.
  matchesIn(row) {
    if (this.numbers) return this.numbersIn(row.start, row.all) - (this.isNumbered(row) ? 1 : 0);
    const [run, end] = row.parent.runsOf(row.entry);
    let sum = 0;
    for (let at = run; at < end; at++) sum += this.sums[row.parent.runs.callee[at]] * row.parent.runs.times[at];
    const isFound = !row.isGroup && this.found[this.shapes.method[row.shape]] === 1 && this.shapes.isCall(row.shape);
    return sum - (isFound ? row.times : 0);
  }

  // How many of the calls that are searched for are among some; and whether a row is one of them.
  numbersIn(from, calls) {
    return lastNotAbove(this.numbers, from + calls - 1) - lastNotAbove(this.numbers, from - 1);
  }
  isNumbered(row) {
    return this.numbers !== null && this.numbersIn(row.number, 1) === 1;
  }

  // How long all calls of a row took.
  timeOf(row) {
    const hasEnd = !this.shapes.isCall(row.shape) || this.shapes.outcome[row.shape] !== NOT_LEFT || row.isGroup;
    const span = row.all && this.span(row.start, row.depth, row.all);
    return span ? bounded(span.from, hasEnd ? span.by : Infinity) : "";
  }
  span(number, depth, calls) {
    return this.thread === undefined ? undefined : this.shapes.span(this.thread, number, depth, calls);
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
