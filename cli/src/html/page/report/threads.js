// The list of threads, the busiest first, each with a lane: when it was active, in the colour of what it ran.

const LONG_LIST = 15;
// In longer lists, threads with equal names but for their numbers are one row.
const FOLD_FROM = 24;
const LANE = 24;
const FULL = 9;
// Chosen in place of one thread, and if there is none to choose.
const ALL_THREADS = -1;

const threadTitle = (thread) =>
  thread.name ? `${thread.id} ${thread.name}` : `thread ${thread.id}`;

// The runs of a lane: where each begins and ends, how active the thread was, and in which method.
function laneRuns(flat) {
  const width = flat[0] ?? 1;
  const runs = [];
  let at = 0;
  for (let next = 1; next < flat.length; next += 3) {
    const [count, level, method] = flat.slice(next, next + 3);
    if (level) runs.push({ from: at, to: at + count * width, level, method });
    at += count * width;
  }
  return runs;
}

// The lane of several threads: how many of them were active.
function sumOfLanes(lanes) {
  const bins = Array.from({ length: 256 }, () => ({ sum: 0, most: 0, method: 0 }));
  const width = data.end / bins.length || 1;
  for (const { from, to, level, method } of lanes.flat()) {
    for (let at = Math.floor(from / width); at < Math.min(to / width, bins.length); at++) {
      const bin = bins[at];
      bin.sum += level;
      if (level > bin.most) Object.assign(bin, { most: level, method });
    }
  }
  const most = bins.reduce((most, bin) => Math.max(most, bin.sum), 1);
  return bins
    .map(({ sum, method }, at) => ({
      from: at * width,
      to: (at + 1) * width,
      level: Math.ceil((FULL * sum) / most),
      method,
    }))
    .filter((run) => run.level);
}

// The part of a thread's time in which it was active; all of it, if that is most of it.
function activeRange(place) {
  const runs = laneRuns(data.threads[place]?.lane ?? []);
  if (!isTime || !runs.length) return null;
  const [from, to] = [runs[0].from, Math.min(runs.at(-1).to, data.end)];
  return to - from > 0.7 * data.end ? null : { from: from - (to - from) / 50, to: to + (to - from) / 50 };
}

// Whether a thread does nothing in a range of time.
function isIdle(place, { from, to }) {
  const { begin, end, lane } = data.threads[place];
  const isIn = (run) => Math.max(run.from, begin) < to && Math.min(run.to, end) > from;
  return !laneRuns(lane).some(isIn);
}

class ThreadList {
  // `onchoose` is called with the place of a thread, `onrange` with a range of time too.
  constructor(section, onchoose, onrange) {
    this.section = section;
    this.list = section.querySelector("ul");
    this.scroller = byId("lanes");
    this.canvas = byId("lanes-canvas");
    this.axis = byId("lanes-axis");
    this.onchoose = onchoose;
    this.onrange = onrange;
    this.chosen = ALL_THREADS;
    // The range that the chart shows, and the one that is being dragged.
    this.view = null;
    this.drag = null;
    this.open = new Set();
    // The package that is highlighted.
    this.group = null;
    this.groups = this.fold();
    this.isDrawn = true;
    const { threads, calls, lane } = data.more_threads;
    this.more = threads
      ? { name: plural(threads, "more thread"), calls, runs: laneRuns(lane) }
      : null;
    section.querySelector(".rest").textContent = threads
      ? "The last lane adds up the threads that are not listed; flow info --max 0 lists all."
      : "";
    const filter = byId("thread-filter");
    filter.hidden = data.threads.length <= LONG_LIST;
    filter.addEventListener("input", () => this.build());
    this.scroller.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.redraw()).observe(this.scroller);
    this.listen();
    this.build();
  }

  // Threads with equal names but for their numbers, if there are very many threads.
  fold() {
    const groups = new Map();
    if (data.threads.length < FOLD_FROM) return groups;
    data.threads.forEach((thread, place) => {
      const stem = `${thread.kind}:${thread.name.replace(/\d+/g, "#")}`;
      if (!groups.has(stem)) groups.set(stem, []);
      groups.get(stem).push(place);
    });
    for (const [stem, places] of groups) if (places.length < 3) groups.delete(stem);
    return groups;
  }

  // Makes the rows that the filter and the folded groups leave.
  build() {
    const text = byId("thread-filter").value.toLowerCase();
    const groupOf = new Map();
    for (const [stem, places] of this.groups) for (const place of places) groupOf.set(place, stem);
    const done = new Set();
    this.rows = [];
    if (data.threads.length > 1) this.rows.push({ place: ALL_THREADS });
    data.threads.forEach((thread, place) => {
      if (!threadTitle(thread).toLowerCase().includes(text)) return;
      const stem = text ? undefined : groupOf.get(place);
      if (stem !== undefined && !done.has(stem)) {
        done.add(stem);
        const places = this.groups.get(stem);
        this.rows.push({ stem, places });
        // Of a folded row, only the chosen thread is listed.
        const listed = places.filter((place) => this.open.has(stem) || place === this.chosen);
        this.rows.push(...listed.map((place) => ({ place, isInner: true })));
      }
      if (stem === undefined) this.rows.push({ place });
    });
    if (this.more && !text) this.rows.push({ more: this.more });
    this.list.replaceChildren(...this.rows.map((row) => this.item(row)));
    this.mark();
    this.redraw();
  }

  item(row) {
    if (row.more) return this.row({ name: row.more.name, sub: grouped(row.more.calls), isStill: true });
    if (row.places) {
      const thread = data.threads[row.places[0]];
      const calls = row.places.reduce((sum, place) => sum + data.threads[place].calls, 0);
      const name = thread.name.replace(/\d+/g, "*") || `${thread.kind} threads`;
      const sign = this.open.has(row.stem) ? "▾" : "▸";
      return this.row({
        name: `${sign} ${name} (${grouped(row.places.length)})`,
        sub: grouped(calls),
        title: `${plural(row.places.length, "thread")} with ${plural(calls, "call")}; click to list them`,
        onclick: () => {
          if (!this.open.delete(row.stem)) this.open.add(row.stem);
          this.build();
        },
      });
    }
    if (row.place === ALL_THREADS) {
      const count = plural(data.threads.length + data.more_threads.threads, "thread");
      return this.row({ name: "All threads", sub: parts.isTree ? "tree, flame graph" : "flame graph", title: count, place: ALL_THREADS });
    }
    const thread = data.threads[row.place];
    const facts = [
      plural(thread.calls, "call"),
      `up to ${plural(thread.frames, "frame")}`,
      thread.kind,
      thread.state,
      thread.boxes ? "" : "numbers only",
    ];
    return this.row({
      name: (row.isInner ? "    " : "") + threadTitle(thread),
      sub: grouped(thread.calls),
      bad: ["damaged", "truncated"].includes(thread.state) ? thread.state : "",
      title: `${threadTitle(thread)}: ${facts.filter(Boolean).join(", ")}`,
      place: row.place,
    });
  }

  row({ name, sub, bad, title, place, onclick, isStill }) {
    const parts = [element("span", { class: "name" }, name), element("span", { class: "sub" }, sub)];
    if (bad) parts[0].append(" ", element("span", { class: "bad" }, bad));
    const attributes = { type: "button", title, "data-thread": place };
    attributes.onclick = onclick ?? (() => place !== undefined && this.onchoose(place));
    return element("li", {}, element("button", isStill ? { ...attributes, disabled: "" } : attributes, ...parts));
  }

  choose(place) {
    const isInGroup = (of) => [...this.groups.values()].some((places) => places.includes(of));
    const rebuilds = place !== this.chosen && (isInGroup(place) || isInGroup(this.chosen));
    this.chosen = place;
    if (rebuilds) this.build();
    else this.mark();
    this.reveal(place);
  }

  mark() {
    for (const button of this.list.querySelectorAll("button")) {
      const isChosen = Number(button.dataset.thread ?? NaN) === this.chosen;
      button.setAttribute("aria-current", String(isChosen));
    }
  }

  // Scrolls the list until a thread is in view.
  reveal(place) {
    const at = this.rows.findIndex((row) => row.place === place);
    const { scrollTop, clientHeight } = this.scroller;
    if (at < 0 || !clientHeight) return;
    const top = at * LANE;
    if (top < scrollTop || top + LANE > scrollTop + clientHeight)
      this.scroller.scrollTop = top - clientHeight / 2;
  }

  // Marks the range that the chart shows.
  show(view) {
    this.view = view;
    this.redraw();
  }

  // Where the lanes begin, and the time at a place on them.
  get left() {
    return parseFloat(getComputedStyle(this.section).getPropertyValue("--names"));
  }
  toX(time) {
    return this.left + (time / data.end) * (this.scroller.clientWidth - this.left);
  }
  toTime(x) {
    const time = ((x - this.left) / (this.scroller.clientWidth - this.left)) * data.end;
    return Math.max(0, Math.min(time, data.end));
  }

  // Dragging over lanes selects a range of time; arrow keys move between rows.
  listen() {
    const place = (event) => event.clientX - this.scroller.getBoundingClientRect().left;
    this.list.addEventListener("pointerdown", (event) => {
      const button = event.target.closest("button");
      if (!isTime || event.button !== 0 || event.pointerType === "touch") return;
      if (place(event) < this.left || !button) return;
      this.start = { x: place(event), thread: button.dataset.thread };
    });
    addEventListener("pointermove", (event) => {
      if (!this.start || Math.abs(place(event) - this.start.x) < 4) return;
      const times = [this.toTime(this.start.x), this.toTime(place(event))].sort((a, b) => a - b);
      this.drag = { from: times[0], to: times[1], thread: this.start.thread };
      this.redraw();
    });
    addEventListener("pointerup", () => {
      const { drag } = this;
      this.start = this.drag = null;
      if (!drag) return;
      // The click that follows would choose a thread again.
      const stop = (event) => event.stopPropagation();
      addEventListener("click", stop, { capture: true });
      setTimeout(() => {
        removeEventListener("click", stop, { capture: true });
        this.onrange(Number(drag.thread ?? this.chosen), drag.from, drag.to);
      });
    });
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
      const next = step && event.target.closest("li")?.[step]?.querySelector("button");
      if (!next) return;
      next.focus();
      event.preventDefault();
    });
  }

  redraw() {
    if (!this.isDrawn) return;
    this.isDrawn = false;
    requestAnimationFrame(() => {
      this.isDrawn = true;
      this.draw();
    });
  }

  runs(row) {
    if (row.more) return row.more.runs;
    if (row.places) return (row.runs ??= sumOfLanes(row.places.map((place) => this.runs({ place }))));
    if (row.place === ALL_THREADS)
      return (this.all ??= sumOfLanes(data.threads.map((_, place) => this.runs({ place }))));
    return (data.threads[row.place].runs ??= laneRuns(data.threads[row.place].lane));
  }

  draw() {
    const { clientWidth: width, clientHeight: height, scrollTop } = this.scroller;
    const context = fitted(this.canvas, width, height);
    const first = Math.floor(scrollTop / LANE);
    for (let at = first; at * LANE < scrollTop + height && at < this.rows.length; at++)
      this.drawLane(context, this.rows[at], at * LANE - scrollTop, width);
    const range = this.drag ?? this.view;
    if (range && isTime) {
      const [from, to] = [this.toX(Math.max(0, range.from)), this.toX(Math.min(range.to, data.end))];
      context.fillStyle = colours.shade;
      context.fillRect(this.left, 0, from - this.left, height);
      context.fillRect(to, 0, width - to, height);
      context.fillStyle = colours.link;
      context.fillRect(from, 0, 1, height);
      context.fillRect(to - 1, 0, 1, height);
    }
    const axis = fitted(this.axis, width, AXIS);
    axis.fillStyle = colours.faint;
    axis.font = FONT;
    axis.textBaseline = "middle";
    if (this.drag) {
      const { from, to } = this.drag;
      return axis.fillText(nanos(to - from), Math.min(this.toX(from) + 4, width - 80), AXIS / 2);
    }
    drawTicks(axis, 0, data.end, width - this.left, (time) => this.toX(time));
  }

  drawLane(context, row, y, width) {
    const bottom = y + LANE - 2;
    const pixel = data.end / (width - this.left);
    const thread = data.threads[row.place];
    if (thread) {
      context.fillStyle = colours.line;
      const from = this.toX(isTime ? thread.begin : 0);
      context.fillRect(from, bottom - 1, Math.max(this.toX(thread.end) - from, 1), 1);
    }
    for (const { kind, at, end } of thread?.marks ?? []) {
      if (kind === "samples") continue;
      context.fillStyle = markColour(kind);
      context.fillRect(this.toX(at), y, Math.max((end - at) / pixel, 1), 3);
    }
    for (const { from, to, level, method } of this.runs(row)) {
      const high = Math.max(2, Math.round((level / FULL) * (LANE - 5)));
      const end = Math.min(to, thread?.end ?? data.end);
      const start = Math.max(from, isTime ? (thread?.begin ?? 0) : 0);
      const isOther = this.group !== null && packageOf(methods[method]) !== this.group;
      context.fillStyle = colours[isOther ? "faded" : "boxes"][method] ?? colours.none;
      const x = this.toX(start);
      context.fillRect(x, bottom - high, Math.max((end - start) / pixel, 1), high);
    }
  }
}
