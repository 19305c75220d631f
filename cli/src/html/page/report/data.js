// The boxes of the charts, and who calls whom. `data.rs` describes the lists of numbers.

// A width in the unit of the charts: with its unit, and for a table.
const amount = (number) => (isTime ? nanos(number) : plural(number, "call"));
const cell = (number) => (isTime ? nanos(number) : grouped(number));

// The narrowest range that can be in view: one call, or one nanosecond.
const SHORTEST = 1;

// What is known about the calls of a thread: texts by the number of the call.
const NO_TEXTS = { values: new Map(), exceptions: new Map() };
function textsOf(thread) {
  if (!thread) return NO_TEXTS;
  const decoded = (flat = []) => {
    const texts = new Map();
    for (let [at, number] = [0, 0]; at < flat.length; at += 2) texts.set((number += flat[at]), data.texts[flat[at + 1]]);
    return texts;
  };
  return (thread.texts ??= { values: decoded(thread.values), exceptions: decoded(thread.exceptions) });
}

// Those of one call.
const callTexts = ({ values, exceptions }, number) => ({ values: values.get(number), exception: exceptions.get(number) });

// The boxes of one chart, in columns. A box comes after the one it is in.
class Boxes {
  // The boxes of a thread, in a chart from `begin` to `end`; `length` is the part of it that the thread lasts.
  constructor(flat, begin, end, isFlame, length) {
    const count = flat.length / 5;
    this.count = count;
    this.isFlame = isFlame;
    this.at = new Float64Array(count);
    this.width = new Float64Array(count);
    this.calls = new Float64Array(count);
    // The number of calls of the thread before this one.
    this.before = new Float64Array(count);
    this.method = new Int32Array(count);
    this.isMore = new Uint8Array(count);
    this.depth = new Int32Array(count);
    this.parent = new Int32Array(count);
    // The depth of a call among all of the thread, also where those of libraries are folded away.
    this.frames = this.depth;
    // When each box had begun for certain, and until when it had not ended; null if that is not known.
    this.certain = null;
    // For each depth, its boxes from left to right.
    this.rows = [];
    this.hasMore = false;
    // Notes, tests, gaps and pauses.
    this.marks = [];
    // What is known about calls of the thread: see `textsOf`.
    this.texts = NO_TEXTS;
    const open = [];
    for (let box = 0; box < count; box++) {
      const first = 5 * box;
      const [up, method, gap] = [flat[first], flat[first + 1], flat[first + 2]];
      const width = flat[first + 3];
      const depth = open.length - up;
      const beside = up > 0 ? open[depth] : -1;
      const parent = depth > 0 ? open[depth - 1] : -1;
      open.length = depth;
      open.push(box);
      const begin =
        beside >= 0 ? this.at[beside] + this.width[beside] : parent >= 0 ? this.at[parent] : 0;
      const before =
        beside >= 0
          ? this.before[beside] + this.calls[beside]
          : parent >= 0
            ? this.before[parent] + 1
            : 0;
      this.at[box] = begin + gap;
      this.width[box] = width;
      this.calls[box] = flat[first + 4] || width;
      this.before[box] = before;
      this.isMore[box] = method < 0 ? 1 : 0;
      this.method[box] = method < 0 ? -2 - method : method;
      this.depth[box] = depth;
      this.parent[box] = parent;
      this.hasMore ||= method < 0;
      (this.rows[depth] ??= []).push(box);
    }
    // The range of the whole chart; at least one call, or one nanosecond.
    const last = this.rows[0]?.at(-1);
    this.begin = begin;
    this.end = isFlame && count ? this.at[last] + this.width[last] : end;
    this.end = Math.max(this.end, begin + SHORTEST);
    this.length = length ?? this.end - this.begin;
  }

  // The values of the call of a box, and the exception that ended it, as far as they are known.
  textsOf(box) {
    return this.isMore[box] ? {} : callTexts(this.texts, this.before[box]);
  }

  // Sets the bounds of times, from the shapes: the thread has this place.
  setBounds(shapes, place) {
    this.bounds = (box) => shapes.span(place, this.before[box], this.frames[box], this.calls[box]);
    this.certain = { from: new Float64Array(this.count), to: new Float64Array(this.count) };
    for (let box = 0; box < this.count; box++) {
      const span = this.bounds(box);
      this.certain.from[box] = span ? span.start.by : this.at[box];
      this.certain.to[box] = span ? span.endsFrom : this.at[box] + this.width[box];
    }
  }

  // The width of a box without those directly inside it.
  selfWidth(box) {
    let inside = 0;
    for (let next = box + 1; next < this.count && this.depth[next] > this.depth[box]; next++) {
      if (this.parent[next] === box) inside += this.width[next];
    }
    return this.width[box] - inside;
  }

  // The place in a row of the first box that ends after a time.
  firstBehind(row, place) {
    let low = 0;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at[row[middle]] + this.width[row[middle]] > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The deepest box at a time, or the one after it; -1 if there is none.
  deepestAt(time) {
    let found = -1;
    for (const row of this.rows) {
      const box = row[this.firstBehind(row, time)];
      const isIn = box !== undefined && (this.at[box] <= time || found < 0);
      if (!isIn || this.parent[box] !== found) break;
      found = box;
    }
    return found;
  }

  // The width of the boxes of a set of methods; a box inside another counts once.
  share(isIn) {
    let sum = 0;
    for (let box = 0; box < this.count;) {
      const depth = this.depth[box];
      const found = !this.isMore[box] && isIn[this.method[box]];
      if (found) sum += this.width[box];
      box++;
      while (found && box < this.count && this.depth[box] > depth) box++;
    }
    return sum;
  }

  // The same without the boxes of libraries: what these called moves up to the application's box around it.
  folded() {
    return this.isFlame ? this.foldedFlame() : this.foldedTimeline();
  }

  foldedTimeline() {
    const kept = [];
    const [parents, depths] = [[], []];
    // For each box the kept box that it is in, or that it is.
    const around = new Int32Array(this.count);
    for (let box = 0; box < this.count; box++) {
      const outer = this.parent[box] < 0 ? -1 : around[this.parent[box]];
      around[box] = outer;
      if (!methods[this.method[box]]?.isOwn) continue;
      around[box] = kept.length;
      kept.push(box);
      parents.push(outer);
      depths.push(outer < 0 ? 0 : depths[outer] + 1);
    }
    const made = Object.assign(Object.create(Boxes.prototype), this);
    for (const column of ["at", "width", "calls", "before", "method", "isMore", "frames"])
      made[column] = this[column].constructor.from(kept, (box) => this[column][box]);
    made.count = kept.length;
    made.parent = Int32Array.from(parents);
    made.depth = Int32Array.from(depths);
    made.rows = [];
    depths.forEach((depth, box) => (made.rows[depth] ??= []).push(box));
    made.hasMore = made.isMore.includes(1);
    return made;
  }

  // Paths that are equal without the libraries become one.
  foldedFlame() {
    const root = { inside: new Map() };
    const paths = [];
    for (let box = 0; box < this.count; box++) {
      const outer = this.parent[box] < 0 ? root : paths[this.parent[box]];
      const method = this.method[box];
      paths[box] = outer;
      if (this.isMore[box] || !methods[method]?.isOwn) continue;
      if (!outer.inside.has(method))
        outer.inside.set(method, { method, width: 0, calls: 0, inside: new Map() });
      const path = outer.inside.get(method);
      path.width += this.width[box];
      path.calls += this.calls[box];
      paths[box] = path;
    }
    const flat = [];
    let last = -1;
    const toDo = [];
    const push = (paths, depth) =>
      toDo.push(...[...paths.values()].sort((a, b) => a.width - b.width).map((path) => ({ path, depth })));
    push(root.inside, 0);
    while (toDo.length) {
      const { path, depth } = toDo.pop();
      flat.push(last + 1 - depth, path.method, 0, path.width, path.calls);
      last = depth;
      push(path.inside, depth + 1);
    }
    return new Boxes(flat, 0, 0, true);
  }

  title(box) {
    const method = this.method[box];
    if (!this.isMore[box]) return methods[method].forms[0];
    return `… ${plural(this.calls[box], "more call")}`;
  }
}

// The callers and the callees of each method.
const callers = new Map();
const callees = new Map();
for (let at = 0; at < data.edges.length; at += 3) {
  const [caller, callee, calls] = data.edges.slice(at, at + 3);
  const add = (map, key, other) => {
    if (!map.has(key)) map.set(key, []);
    map.get(key).push({ method: other, calls });
  };
  if (callee !== NO_METHOD) add(callers, callee, caller);
  if (caller !== NO_METHOD) add(callees, caller, callee);
}

const flameEnd = data.flame_end;
