// What threads handed to each other, as one tree: parts of threads, each with the call that handed it over. `handed.rs` describes the numbers.

const [IS_GUESSED, IS_CUT] = [1, 2];
// The place of a thread that is not on the page.
const NO_THREAD = -2;

// Rows of a call with what it handed over: as the runs of a shape, each with the number of its first call. A few of them have `other` facts:
// which thread they are of, and their depth in it, and their part; or how many of the calls in them belong to the tree, the `limit`.
class Rows {
  constructor(shapes, parts) {
    Object.assign(this, { shapes, parts, callee: [], times: [], number: [], other: new Map() });
  }

  push(shape, times, number, other) {
    if (other) this.other.set(this.callee.length, other);
    this.callee.push(shape);
    this.times.push(times);
    this.number.push(number);
  }

  // Adds consecutive calls of a shape up to the call number `end`. Calls in which something is handed over have rows of their own, and so
  // has one that ends later. Returns the number of the next call.
  addCalls(shape, times, place, number, end, other) {
    const calls = this.shapes.calls[shape];
    if (!calls) this.push(shape, times, number, other);
    while (calls && times > 0 && number < end) {
      const until = Math.min(this.parts.nextGiver(place, number), end);
      const alike = Math.min(times, Math.floor((until - number) / calls));
      if (alike) this.push(shape, alike, number, other);
      else this.push(shape, 1, number, end - number < calls ? { ...other, limit: end - number } : other);
      number += calls * (alike || 1);
      times -= alike || 1;
    }
    return number;
  }
  addRuns({ callee, times }, from, to, place, number, end, other) {
    for (let run = from; run < to && number < end; run++) number = this.addCalls(callee[run], times[run], place, number, end, other);
    return number;
  }

  // Adds the calls of a part. Those of each range are those in it that nothing in it called.
  addPart({ number, place, ranges, isCut }) {
    const { shape } = data.threads[place] ?? {};
    if (shape !== undefined) for (const [from, to] of ranges) this.addRange(shape, from, to, { place, part: number });
    if (shape === undefined || isCut) this.push(this.shapes.count, 1, ranges[0]?.[0] ?? 0, { place, depth: 0, part: number });
  }
  addRange(shape, from, to, of) {
    const { shapes } = this;
    const { first, calls, callee, times } = shapes;
    const around = [];
    for (let [number, depth, inside] = [0, 0, shape]; ; depth++) {
      const before = shapes.before(inside);
      if (!(from - number < before.at(-1))) return;
      const at = lastNotAbove(before, from - number);
      const run = first[inside] + at;
      const skipped = Math.floor((from - number - before[at]) / calls[callee[run]]);
      number += before[at] + skipped * calls[callee[run]];
      around.push({ end: first[inside + 1], run, depth, left: times[run] - skipped - (number < from ? 1 : 0) });
      if (number === from) break;
      number++;
      inside = callee[run];
    }
    // The calls after it, then those after its callers.
    for (let number = from; around.length && number < to; ) {
      const { run, end, depth, left } = around.pop();
      const other = { ...of, depth };
      number = this.addCalls(callee[run], left, of.place, number, to, other);
      number = this.addRuns(shapes, run + 1, end, of.place, number, to, other);
    }
  }
}

class Parts {
  constructor({ parts: flat, more, title }) {
    Object.assign(this, { all: [], more, title });
    const places = new Map(data.threads.map(({ id }, place) => [id, place]));
    // Of each thread the calls that hand something over, and the beginnings of ranges, each with a part, in order.
    const [givers, begins] = [0, 0].map(() => data.threads.map(() => []));
    for (let at = 0; at < flat.length; ) {
      const [id, by, call, flags, count] = flat.slice(at, (at += 5));
      const place = places.get(id) ?? NO_THREAD;
      const part = { number: this.all.length, id, place, ranges: [], isGuessed: (flags & IS_GUESSED) > 0, isCut: (flags & IS_CUT) > 0 };
      part.giver = by < 0 ? null : { place: places.get(by), number: call };
      for (const end = at + 2 * count; at < end; at += 2) part.ranges.push([flat[at], flat[at + 1]]);
      this.all.push(part);
      if (part.giver) givers[part.giver.place].push({ number: call, part });
      if (place >= 0) for (const [number, end] of part.ranges) begins[place].push({ number, end, part });
    }
    const inOrder = (lists) =>
      lists.map((list) => {
        list.sort((one, other) => one.number - other.number || one.part.number - other.part.number);
        return { list, numbers: list.map(({ number }) => number) };
      });
    [this.givers, this.begins] = [inOrder(givers), inOrder(begins)];
    this.weigh();
  }

  // Sums up how many calls are in what is handed over before each of these calls of a thread, with all that follows.
  weigh() {
    for (const part of this.all) part.calls = part.ranges.reduce((sum, [from, to]) => sum + to - from, 0);
    for (const { giver, calls } of [...this.all].reverse()) {
      const around = giver && this.partOf(giver.place, giver.number);
      if (around) around.calls += calls;
    }
    for (const of of this.givers) {
      of.sums = [0];
      for (const { part } of of.list) of.sums.push(of.sums.at(-1) + part.calls);
    }
  }
  callsFrom(place, from, to) {
    const { numbers, sums } = this.givers[place] ?? { numbers: [], sums: [0] };
    return sums[lastNotAbove(numbers, to - 1) + 1] - sums[lastNotAbove(numbers, from - 1) + 1];
  }

  // Whether there is more than one tree of a thread.
  get isTree() {
    return this.all.length > 1;
  }
  // The number of the first call of a thread from this one on that handed something over.
  nextGiver(place, number) {
    const { numbers } = this.givers[place];
    return numbers[lastNotAbove(numbers, number - 1) + 1] ?? Infinity;
  }
  // What a call handed over.
  givenBy(place, number) {
    const { numbers, list } = this.givers[place] ?? { numbers: [] };
    const given = [];
    for (let at = lastNotAbove(numbers, number - 1) + 1; numbers[at] === number; at++) given.push(list[at].part);
    return given;
  }
  // The part that a call belongs to.
  partOf(place, number) {
    const { numbers, list } = this.begins[place];
    const begun = list[lastNotAbove(numbers, number)];
    return begun && number < begun.end ? begun.part : undefined;
  }

  // The calls that lead to a call in the tree of a thread, or in that of all threads, itself last; null if it is not in that tree.
  wayTo(place, number, thread) {
    if (data.threads[place]?.shape === undefined) return null;
    const way = [];
    // Not more steps than parts, whatever the page has.
    for (const _ of [...this.all, null]) {
      if (place === thread) return [{ place, number }, ...way];
      const part = this.partOf(place, number);
      if (!part) return null;
      way.unshift({ place, number, part: part.number });
      if (!part.giver) return thread === ALL_THREADS ? way : null;
      ({ place, number } = part.giver);
    }
    return null;
  }

  // What a call handed over and called; null if that is what its shape has.
  inside(shapes, { place, number, shape, limit, depth }) {
    const end = number + (limit ?? shapes.calls[shape]);
    if (limit === undefined && this.nextGiver(place, number) >= end) return null;
    const rows = new Rows(shapes, this);
    for (const part of this.givenBy(place, number)) rows.addPart(part);
    rows.addRuns(shapes, shapes.first[shape], shapes.first[shape + 1], place, number + 1, limit === undefined ? Infinity : end);
    return rows;
  }
  // What a thread called, or all threads: to be shown as a tree.
  treeOf(shapes, place) {
    const rows = new Rows(shapes, this);
    if (place === ALL_THREADS) for (const part of this.all) part.giver || rows.addPart(part);
    else {
      const { callee, times, from, to } = callsOf(shapes, place);
      rows.addRuns({ callee, times }, from, to, place, 0, Infinity);
    }
    return Object.assign(rows, { from: 0, to: rows.callee.length, depth: 0, place });
  }
  wholeOf(shapes, place) {
    return callsOf(shapes, place);
  }
  // How many of the wanted calls are among some calls of a thread.
  wantedIn(shapes, sums, place, from, to) {
    const [before, by] = [from, to].map((number) => shapes.wantedBefore(sums, data.threads[place].shape, number));
    return by - before;
  }

  // The thread of a part, and why it has no further rows.
  titleOf(part) {
    const { id, place } = this.all[part];
    let { name = "" } = data.threads[place] ?? {};
    // Each thread of a request has the name of that after its own.
    if (this.title && name.endsWith(this.title)) name = name.slice(0, -this.title.length).replace(/, $/, "");
    return threadTitle({ id, name });
  }
  noteOf(part) {
    const { place, id } = this.all[part];
    const why = data.threads[place]?.no_shape ?? "there are too many";
    return `(calls that are not on this page: ${why}; flow replay --thread ${id} shows them)`;
  }
}
