// Connects the parts: a choice in one shows in the others.

const flame = new Boxes(data.flame, 0, 0, true);
// Whether libraries are folded away.
let onlyOwn = hasLibraries;
const charts = new Map();
const chart = new Chart(byId("canvas"));
// The thread whose calls are drawn, and which chart. All threads together have no timeline.
let thread = ALL_THREADS;
let isFlame = false;
// The range of time in view, which stays when another thread is chosen; null for all.
let range = null;

// Decodes the boxes of a chart when it is first shown.
function boxesOf(thread, isFlame) {
  const key = `${thread} ${isFlame} ${onlyOwn}`;
  if (!charts.has(key)) {
    const { boxes, flame: paths, begin = 0, end = 0, marks = [] } = data.threads[thread] ?? {};
    const isWhole = isFlame && (thread === ALL_THREADS || data.threads.length === 1);
    const length = Math.max(end - begin, SHORTEST);
    // Times are those of the whole recording, so that a range means the same in every thread.
    const made = isFlame
      ? isWhole
        ? flame
        : new Boxes(paths ?? [], 0, 0, true)
      : new Boxes(boxes ?? [], 0, isTime ? data.end : end, false, length);
    if (!isFlame) made.marks = marks;
    charts.set(key, onlyOwn ? made.folded() : made);
  }
  return charts.get(key);
}

function showChart() {
  const boxes = boxesOf(thread, isFlame);
  threads.choose(thread);
  byId("what").textContent = caption(boxes, data.threads[thread]);
  for (const [id, is] of [
    ["tab-timeline", !isFlame],
    ["tab-flame", isFlame],
  ]) {
    byId(id).setAttribute("aria-selected", String(is));
    byId(id).tabIndex = is ? 0 : -1;
  }
  byId("chart").setAttribute("aria-labelledby", isFlame ? "tab-flame" : "tab-timeline");
  chart.canvas.setAttribute("aria-label", isFlame ? "Flame graph" : "Timeline");
  chart.show(boxes, isFlame || !isTime ? null : range);
  showView();
  showStatus(-1);
  showMarks();
}

// Shows in the lanes and in numbers which range of time the chart shows.
function showView() {
  const { from, to, boxes } = chart;
  const isPart = to - from < (boxes.end - boxes.begin) * 0.9999;
  if (!isFlame && isTime) range = isPart ? { from, to } : null;
  link.follow();
  threads.show(isFlame ? null : range);
  const step = (to - from) / 1000;
  byId("range").textContent =
    isPart && isTime && !isFlame
      ? `${nanos(to - from)}: ${nanos(from, step)} to ${nanos(to, step)}`
      : "";
}

function showStatus(box) {
  const lines =
    box < 0
      ? [faint("Click a box, or focus the chart and press an arrow key.")]
      : [...describe(chart.boxes, box), place(chart.boxes, box, data.threads[thread])];
  byId("status").replaceChildren(...lines);
}

function chooseThread(place) {
  link.step();
  thread = place;
  isFlame ||= place === ALL_THREADS;
  // The range in view stays, unless it would show nothing.
  if (range && place !== ALL_THREADS && isIdle(place, range)) range = activeRange(place);
  showChart();
}

// Shows a range of time of a thread.
function chooseRange(place, from, to) {
  link.step();
  if (place !== ALL_THREADS) thread = place;
  else if (thread === ALL_THREADS) thread = 0;
  isFlame = false;
  range = { from, to };
  showChart();
}

// Folds libraries away, or shows them.
function showOwn(only) {
  onlyOwn = only && hasLibraries;
  byId("own").setAttribute("aria-pressed", String(onlyOwn));
  chart.ifEmpty = onlyOwn
    ? "No call of the application's own code. “Own code” above shows the libraries, too."
    : "No calls to draw.";
  table.only = onlyOwn ? (method) => method.isOwn : () => true;
  table.draw();
  legend.show(table.only);
}

function chooseChart(flame) {
  link.step();
  isFlame = flame;
  if (!isFlame && thread === ALL_THREADS) thread = 0;
  showChart();
}

function chooseMethod(place) {
  table.choose(place);
  chart.chosen = place;
  showMarks();
  link.follow();
}

// What is searched for or chosen: 1 for each of these methods, else 0; null if there is nothing.
function wanted() {
  if (chart.found || chart.chosen === NO_METHOD) return chart.found;
  return methods.map((method) => (method.place === chart.chosen ? 1 : 0));
}

// Highlights what was searched for or chosen; the buttons step through it.
function showMarks() {
  const found = wanted();
  const isFound = found?.includes(1) ?? false;
  byId("previous").disabled = byId("next").disabled = !isFound;
  if (isFound) byId("found").textContent = account(found, flame);
  else if (found) {
    const names = nearest(input.value).map((name) =>
      element("button", { type: "button", class: "link", onclick: () => searchFor(name) }, name),
    );
    byId("found").replaceChildren("no matches", names.length ? "; the nearest: " : "", ...names);
  } else byId("found").textContent = "";
  chart.redraw();
}

function searchFor(text) {
  input.value = text;
  chart.found = search(text);
  table.filter(chart.found);
  showMarks();
  link.follow();
}

// What the page shows, as the pairs of its address.
function state() {
  const { selected, boxes } = chart;
  const isCall = selected >= 0 && !isFlame;
  return {
    thread: threadKey(thread),
    chart: isFlame ? "flame" : undefined,
    from: range && !isFlame ? Math.round(range.from) : undefined,
    to: range && !isFlame ? Math.round(range.to) : undefined,
    call: isCall ? `${boxes.before[selected]}.${boxes.depth[selected]}` : undefined,
    own: hasLibraries && !onlyOwn ? 0 : undefined,
    search: input.value,
    method: chart.chosen === NO_METHOD ? undefined : methodKey(methods[chart.chosen]),
  };
}

// Shows what an address says. Without one, the page opens where the application is: with the busiest thread, and the
// time in which it was active.
function apply({ thread: key, chart: kind, from, to, call, own, search: text = "", method = "" }) {
  showOwn(own !== "0");
  const busiest = data.threads.findIndex((thread) => thread.boxes);
  thread = threadAt(key) ?? busiest;
  isFlame = kind === "flame" || thread === ALL_THREADS;
  const times = [Number(from), Number(to)];
  if (key === undefined) range = activeRange(thread);
  else range = times[0] < times[1] ? { from: times[0], to: times[1] } : null;
  showChart();
  input.value = text;
  chart.found = search(text);
  table.filter(chart.found);
  chart.chosen = methodAt(method);
  table.choose(chart.chosen);
  showMarks();
  const { boxes } = chart;
  const [before, depth] = (call ?? "").split(".").map(Number);
  const box = isFlame ? -1 : (boxes.rows[depth]?.find((box) => boxes.before[box] === before) ?? -1);
  if (box >= 0) chart.select(box);
}

// Shows the next highlighted box, or the one before: in a flame graph of the same one, else in any thread.
function step(by) {
  const found = wanted();
  if (!found?.includes(1)) return;
  byId("charts").scrollIntoView({ block: "nearest" });
  let box = isFlame ? nextMarked(chart, by) : -1;
  if (box < 0) {
    const next = () => nextHit(Math.max(thread, 0), isFlame ? -1 : chart.selected, by, found);
    let hit = next();
    if (!hit && onlyOwn) {
      // What is searched for is in a library.
      showOwn(false);
      showChart();
      hit = next();
    }
    if (!hit) return;
    box = hit.box;
    if (isFlame || hit.thread !== thread) {
      [thread, isFlame] = [hit.thread, false];
      showChart();
    }
  }
  chart.select(box);
  chart.enlarge(box);
}

const input = byId("search");
paint();
showHead();
// Shallow stacks need no high chart.
const frames = data.threads.reduce((most, thread) => Math.max(most, thread.frames), 0);
byId("chart").classList.toggle("shallow", frames < 9);
const threads = new ThreadList(byId("threads"), chooseThread, chooseRange);
const table = new Table(byId("methods"), chooseMethod);
chart.onselect = (box) => {
  link.follow();
  showStatus(box);
  if (box >= 0 && !chart.boxes.isMore[box] && chart.boxes.method[box] !== unnamed) {
    table.choose(chart.boxes.method[box]);
  }
};
chart.onview = showView;
listen(chart, byId("tip"), (from, to) => {
  link.step();
  chart.glide(from, to);
});
const legend = new Legend(byId("legend"), (name) => {
  chart.group = threads.group = name;
  chart.redraw();
  threads.redraw();
});
byId("own").hidden = !hasLibraries;
byId("own").addEventListener("click", () => {
  link.step();
  showOwn(!onlyOwn);
  showChart();
});
const link = new Link(state, apply);
apply(link.read());

const tabs = [byId("tab-timeline"), byId("tab-flame")];
for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => {
    chooseChart(at === 1);
  });
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    tabs[1 - at].focus();
    tabs[1 - at].click();
  });
}
byId("zoom-in").addEventListener("click", () => chart.zoom(0.5));
byId("zoom-out").addEventListener("click", () => chart.zoom(2));
function showAll() {
  link.step();
  chart.reset();
}
byId("reset").addEventListener("click", showAll);

byId("tall").addEventListener("click", () => {
  const isTall = byId("tall").getAttribute("aria-pressed") === "true";
  byId("tall").setAttribute("aria-pressed", String(!isTall));
  byId("chart").style.height = isTall ? "" : `${chart.wholeHeight()}px`;
});
byId("next").addEventListener("click", () => step(1));
byId("previous").addEventListener("click", () => step(-1));

input.addEventListener("input", () => searchFor(input.value));
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter") step(event.shiftKey ? -1 : 1);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === input) {
    searchFor("");
  }
  if (event.target.matches("input")) return;
  if (event.key === "/") {
    input.focus();
    event.preventDefault();
  }
  if (event.key === "Escape") {
    // One thing after another: a range that is being dragged, the selected box, the highlighted package, the range in view.
    if (chart.drag) chart.drag = null;
    else if (chart.selected >= 0) chart.select(-1);
    else if (legend.chosen !== null) legend.choose(null);
    else showAll();
  }
  if (event.key === "n") step(1);
  if (event.key === "p") step(-1);
});

new ResizeObserver(() => chart.move(0, 0)).observe(byId("canvas"));
isDark.addEventListener("change", () => {
  paint();
  legend.show(table.only);
  threads.redraw();
  chart.redraw();
});
// Tests of the page wait for this.
document.documentElement.dataset.ready = "yes";
