// All calls of the threads, with equal subtrees stored once. `shapes.rs` describes their bytes.

const RETURNED = 0;
const UNWOUND = 1;
const NOT_LEFT = 2;
const NO_CALL = 3;
// What has this in place of its method is no call.
const GAP = 0;
const PAUSE = 1;
// Calls that the page does not have: the number of shapes, as one more shape.
const ABSENT = 2;

// Reads numbers, seven bits in each byte, the lowest first.
class NumberReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    let byte = this.bytes[this.at++];
    if (byte < 0x80) return byte;
    let number = byte & 0x7f;
    let scale = 0x80;
    do {
      byte = this.bytes[this.at++];
      number += (byte & 0x7f) * scale;
      scale *= 0x80;
    } while (byte >= 0x80);
    return number;
  }

  fill(array) {
    for (let at = 0; at < array.length; at++) array[at] = this.next();
    return array;
  }

  text(length) {
    const bytes = this.bytes.subarray(this.at, (this.at += length));
    return new TextDecoder().decode(bytes);
  }
}

// When some events of a thread happened, in columns.
function readInstants(reader) {
  const count = reader.next();
  const [event, from, by, estimate] = [0, 0, 0, 0].map(() => new Float64Array(count));
  for (let at = 0; at < count; at++) {
    event[at] = (event[at - 1] ?? 0) + reader.next();
    from[at] = (from[at - 1] ?? 0) + reader.next();
    const more = reader.next();
    by[at] = more ? from[at] + more - 1 : Infinity;
    estimate[at] = from[at] + reader.next();
  }
  return { event, from, by, estimate };
}

class Shapes {
  // `threads` is the places of the threads that have shapes, in order: their instants follow the shapes.
  constructor(bytes, threads) {
    const reader = new NumberReader(bytes);
    this.names = JSON.parse(reader.text(reader.next()));
    const [count, runs] = [reader.next(), reader.next()];
    this.count = count;
    this.method = new Int32Array(count + 1).fill(ABSENT);
    this.outcome = new Uint8Array(count + 1).fill(NO_CALL);
    for (let shape = 0; shape < count; shape++) {
      const head = reader.next();
      this.outcome[shape] = head % 4;
      this.method[shape] = Math.floor(head / 4);
    }
    // The runs of a shape are those from `first` of it to that of the next shape.
    this.first = new Uint32Array(count + 2).fill(runs);
    this.first[0] = 0;
    for (let shape = 0; shape < count; shape++) this.first[shape + 1] = this.first[shape] + reader.next();
    this.callee = reader.fill(new Uint32Array(runs));
    for (let shape = 0; shape < count; shape++)
      for (let run = this.first[shape]; run < this.first[shape + 1]; run++) this.callee[run] = shape - this.callee[run] - 1;
    this.times = new Float64Array(runs);
    for (let run = 0; run < runs; run++) this.times[run] = reader.next() + 1;
    // The calls in a call of a shape, itself included.
    this.calls = this.sums((shape) => this.isCall(shape));
    this.instants = new Map(threads.map((place) => [place, readInstants(reader)]));
    this.sumsBefore = new Map();
  }

  // How many calls are before each run of a shape, and in all of them.
  before(shape) {
    if (!this.sumsBefore.has(shape)) {
      const from = this.first[shape];
      const before = new Float64Array(this.first[shape + 1] - from + 1);
      for (let at = 0; at < before.length - 1; at++) before[at + 1] = before[at] + this.calls[this.callee[from + at]] * this.times[from + at];
      this.sumsBefore.set(shape, before);
    }
    return this.sumsBefore.get(shape);
  }

  isCall(shape) {
    return this.outcome[shape] !== NO_CALL;
  }

  // For each shape, how many of the calls in it are wanted, itself included. Callees come before their callers.
  sums(isWanted) {
    const sums = new Float64Array(this.count + 1);
    for (let shape = 0; shape < this.count; shape++) {
      let sum = isWanted(shape) ? 1 : 0;
      for (let run = this.first[shape]; run < this.first[shape + 1]; run++) sum += sums[this.callee[run]] * this.times[run];
      sums[shape] = sum;
    }
    return sums;
  }

  // The same for calls of some methods: 1 for each of these, else 0.
  found(methods) {
    return this.sums((shape) => this.isCall(shape) && methods[this.method[shape]] === 1);
  }

  // The number of the call that is wanted after `before` others of them, in a thread. `sums` counts the wanted ones.
  wantedAt(sums, thread, before) {
    let [shape, number] = [thread, 0];
    for (;;) {
      if (this.isCall(shape)) {
        const isWanted = sums[shape] - this.inner(sums, shape);
        if (isWanted && before === 0) return number;
        before -= isWanted;
        number++;
      }
      let run = this.first[shape];
      for (; run < this.first[shape + 1]; run++) {
        const all = sums[this.callee[run]] * this.times[run];
        if (before < all) break;
        before -= all;
        number += this.calls[this.callee[run]] * this.times[run];
      }
      if (run === this.first[shape + 1]) return undefined;
      shape = this.callee[run];
      const skipped = Math.floor(before / sums[shape]);
      before -= skipped * sums[shape];
      number += skipped * this.calls[shape];
    }
  }

  inner(sums, shape) {
    let sum = 0;
    for (let run = this.first[shape]; run < this.first[shape + 1]; run++) sum += sums[this.callee[run]] * this.times[run];
    return sum;
  }

  // How many of the wanted calls come before the call with this number.
  wantedBefore(sums, thread, number) {
    let [shape, found] = [thread, 0];
    for (;;) {
      if (this.isCall(shape)) {
        if (number === 0) return found;
        found += sums[shape] - this.inner(sums, shape);
        number--;
      }
      let run = this.first[shape];
      for (; run < this.first[shape + 1]; run++) {
        const all = this.calls[this.callee[run]] * this.times[run];
        if (number < all) break;
        number -= all;
        found += sums[this.callee[run]] * this.times[run];
      }
      if (run === this.first[shape + 1]) return found;
      shape = this.callee[run];
      const skipped = Math.floor(number / this.calls[shape]);
      number -= skipped * this.calls[shape];
      found += skipped * sums[shape];
    }
  }

  // When an event of a thread happened: bounds and, if known, an estimate; undefined if nothing is known. Events are
  // entries and exits.
  when(thread, event) {
    const instants = this.instants.get(thread);
    if (!instants?.event.length) return undefined;
    const { event: events, from, by, estimate } = instants;
    let [low, high] = [0, events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle] < event) low = middle + 1;
      else high = middle;
    }
    if (events[low] === event) return { from: from[low], by: by[low], estimate: estimate[low] };
    const before = low - 1;
    const bounds = { from: from[before] ?? 0, by: by[low] ?? Infinity };
    if (before < 0 || low === events.length) return { ...bounds, estimate: undefined };
    const part = (event - events[before]) / (events[low] - events[before]);
    return { ...bounds, estimate: estimate[before] + (estimate[low] - estimate[before]) * part };
  }

  // The start and the duration of consecutive calls of a thread; undefined if nothing is known. Before the entry of a call
  // all earlier calls were entered, and left but for the frames below it.
  span(thread, number, depth, calls) {
    const start = this.when(thread, 2 * number - depth);
    if (!start || start.estimate === undefined) return undefined;
    const end = this.when(thread, 2 * (number + calls) - depth - 1);
    return { start, endsFrom: end.from, from: Math.max(0, end.from - start.by), by: end.by - start.from };
  }
}

// Decodes the shapes of the page when they are first needed.
let shapesLoading;
function loadShapes() {
  shapesLoading ??= (async () => {
    const text = byId("shapes").textContent;
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const whole = new Uint8Array(await new Response(stream).arrayBuffer());
    const places = data.threads.map((_, place) => place);
    const shapes = new Shapes(whole, places.filter((place) => data.threads[place].shape !== undefined));
    byId("shapes").textContent = "";
    addMethods(shapes.names);
    return shapes;
  })();
  return shapesLoading;
}
