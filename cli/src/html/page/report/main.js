// Connects the parts: a choice in one shows in the others.

const flame = new Boxes(data.flame, 0, 0, true);
// Whether libraries are folded away.
let onlyOwn = hasLibraries;
const charts = new Map();
const chart = new Chart(byId("canvas"));
const tree = new Tree(byId("tree"), onCall);
tree.textsOf = (number) => callTexts(textsOf(data.threads[tree.thread]), number);
// The thread whose calls are drawn, and how. All threads together have a flame graph only.
let thread = ALL_THREADS;
let isFlame = false;
let isTree = false;
// The range of time in view, which stays when another thread is chosen; null for all.
let range = null;

// Decodes the boxes of a chart when it is first shown.
function boxesOf(thread, isFlame) {
  const key = `${thread} ${isFlame} ${onlyOwn}`;
  if (!charts.has(key)) {
    const { boxes, flame: paths, begin = 0, end = 0 } = data.threads[thread] ?? {};
    const { marks = [] } = data.threads[thread] ?? {};
    const isWhole = isFlame && (thread === ALL_THREADS || data.threads.length === 1);
    const length = Math.max(end - begin, SHORTEST);
    // Times are those of the whole recording, so that a range means the same in every thread.
    const made = isFlame
      ? isWhole
        ? flame
        : new Boxes(paths ?? [], 0, 0, true)
      : new Boxes(boxes ?? [], 0, isTime ? data.end : end, false, length);
    if (!isFlame) {
      made.marks = marks;
      made.texts = textsOf(data.threads[thread]);
    }
    charts.set(key, onlyOwn ? made.folded() : made);
  }
  return charts.get(key);
}

// Shows the chosen thread; in a tree, unfolds the call with this number.
function showChart(number) {
  threads.choose(thread);
  const shown = isTree ? "calls" : isFlame ? "flame" : "timeline";
  for (const tab of tabs) {
    const is = tab.id === `tab-${shown}`;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
  }
  byId("chart").setAttribute("aria-labelledby", `tab-${shown}`);
  chart.canvas.hidden = byId("zoom").hidden = isTree;
  tree.box.hidden = !isTree;
  byId("tip").hidden = true;
  if (isTree) return void showTree(number);
  const boxes = boxesOf(thread, isFlame);
  byId("what").textContent = caption(boxes, data.threads[thread]);
  chart.canvas.setAttribute("aria-label", isFlame ? "Flame graph" : "Timeline");
  chart.show(boxes, isFlame || !isTime ? null : range);
  showView();
  showStatus(-1);
  showMarks();
}

// Shows the calls of a thread as a tree, and unfolds one of them.
async function showTree(number) {
  const place = thread;
  const of = data.threads[place];
  byId("what").textContent = of ? `${threadTitle(of)}: all ${plural(of.calls, "call")}, to unfold` : "";
  byId("range").textContent = "";
  threads.show(null);
  link.follow();
  if (of?.shape === undefined || !of.calls) {
    tree.thread = undefined;
    tree.showNote(of?.calls ? whyNoCalls(of) : "There are no calls.");
    byId("status").replaceChildren();
    return showMarks();
  }
  if (tree.thread !== place) tree.showNote("Reading the calls …");
  let shapes;
  try {
    shapes = await loadShapes();
  } catch (error) {
    return tree.showNote(`This browser cannot read the calls: ${error.message}`);
  }
  if (!isTree || thread !== place) return;
  // The calls have names of further methods.
  if (chart.found && chart.found.length < methods.length) chart.found = search(input.value);
  if (tree.thread !== place || !tree.root) tree.show(shapes, callsOf(shapes, place));
  showMarks();
  if (number === undefined || !tree.reveal(number)) onCall(tree.selected && tree.rowOf(tree.selected));
  tree.box.dataset.thread = place;
}

// Shows what is known about a row of the tree.
function onCall(row) {
  link.follow();
  if (!row) return byId("status").replaceChildren(faint("Click a call, or focus the tree and press an arrow key."));
  const { shapes } = tree;
  if (shapes.isCall(row.shape) && !row.isGroup && shapes.method[row.shape] < unnamed) table.choose(shapes.method[row.shape]);
  // The calls that did the same, to be stepped through.
  if (tree.sameAs !== row.shape) Object.assign(tree, { sameAs: row.shape, same: shapes.sums((shape) => shape === row.shape) });
  const occurrences = tree.same[data.threads[thread].shape];
  const button = (text, onclick) => element("button", { type: "button", class: "link", onclick }, text);
  const go = (by) => {
    const same = nextWanted(shapes, tree.same, thread, row.number, by);
    if (same) unfold(same.place, same.number);
  };
  const buttons = [];
  const isFound = tree.sums && shapes.isCall(row.shape) && tree.found[shapes.method[row.shape]] === 1;
  if (isFound && !row.isGroup) {
    const { shape } = data.threads[thread];
    const rank = shapes.wantedBefore(tree.sums, shape, row.number) + 1;
    buttons.push(`match ${grouped(rank)} of ${grouped(tree.sums[shape])} in this thread `);
  }
  if (occurrences > 1) buttons.push(button("‹ previous", () => go(-1)), button("next ›", () => go(1)));
  if (data.threads[thread].boxes) buttons.push(button("Show in the timeline", () => showInTimeline(row.number)));
  byId("status").replaceChildren(...describeCall(tree, row, occurrences, buttons));
}

// Unfolds a call of a thread.
function unfold(place, number) {
  link.step();
  [thread, isTree] = [place, true];
  showChart(number);
}

function showInTimeline(number) {
  chooseChart("timeline");
  const box = boxOfCall(chart.boxes, number);
  if (box < 0) return;
  chart.select(box);
  chart.enlarge(box);
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
      : [...describe(chart.boxes, box), place(chart.boxes, box, data.threads[thread]), ...unfoldButton(box)];
  byId("status").replaceChildren(...lines);
}

// To unfold the call of a box.
function unfoldButton(box) {
  if (isFlame || data.threads[thread].shape === undefined) return [];
  const { before, isMore } = chart.boxes;
  const text = isMore[box] ? "Unfold these calls" : "Unfold this call";
  return [element("button", { type: "button", class: "link", onclick: () => unfold(thread, before[box]) }, text)];
}

function chooseThread(place) {
  link.step();
  thread = place;
  if (place === ALL_THREADS) [isFlame, isTree] = [true, false];
  // The range in view stays, unless it would show nothing.
  if (range && place !== ALL_THREADS && isIdle(place, range)) range = activeRange(place);
  showChart();
}

// Shows a range of time of a thread.
function chooseRange(place, from, to) {
  link.step();
  if (place !== ALL_THREADS) thread = place;
  else if (thread === ALL_THREADS) thread = 0;
  isFlame = isTree = false;
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
  tree.foldLibraries(onlyOwn);
  table.only = onlyOwn ? (method) => method.isOwn : () => true;
  table.draw();
  legend.show(table.only);
}

function chooseChart(shown) {
  link.step();
  [isFlame, isTree] = [shown === "flame", shown === "calls"];
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
  tree.search(found);
  const isFound = found?.includes(1) ?? false;
  byId("previous").disabled = byId("next").disabled = !isFound;
  if (isFound) byId("found").textContent = account(found, flame, tree.sums);
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
  if (text && !tree.shapes) countAll(text);
}

// Counts what is searched for in all calls, which are decoded first.
async function countAll(text) {
  try {
    tree.shapes ??= await loadShapes();
  } catch {
    // The tree shows why.
    return;
  }
  if (input.value !== text) return;
  chart.found = search(text);
  showMarks();
}

// What the page shows, as the pairs of its address.
function state() {
  const { selected, boxes } = chart;
  const isTimeline = !isFlame && !isTree;
  const isCall = selected >= 0 && isTimeline;
  const number = isTree && tree.selected ? tree.rowOf(tree.selected).number : undefined;
  return {
    thread: threadKey(thread),
    chart: isTree ? "calls" : isFlame ? "flame" : undefined,
    from: range && isTimeline ? Math.round(range.from) : undefined,
    to: range && isTimeline ? Math.round(range.to) : undefined,
    call: isCall ? `${boxes.before[selected]}.${boxes.depth[selected]}` : number,
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
  isTree = kind === "calls" && !isFlame;
  const times = [Number(from), Number(to)];
  if (key === undefined) range = activeRange(thread);
  else range = times[0] < times[1] ? { from: times[0], to: times[1] } : null;
  const [before, depth] = (call ?? "").split(".").map(Number);
  showChart(call && Number.isFinite(before) ? before : undefined);
  input.value = text;
  chart.found = search(text);
  table.filter(chart.found);
  chart.chosen = methodAt(method);
  table.choose(chart.chosen);
  showMarks();
  const { boxes } = chart;
  const box = isFlame || isTree ? -1 : (boxes.rows[depth]?.find((box) => boxes.before[box] === before) ?? -1);
  if (box >= 0) chart.select(box);
}

// Unfolds the next call that is searched for, or the one before, in any thread.
function stepInTree(by) {
  const { sums, shapes, selected } = tree;
  if (!sums) return;
  const next = nextWanted(shapes, sums, thread, selected ? tree.rowOf(selected).number : undefined, by);
  if (next && next.place !== thread) unfold(next.place, next.number);
  else if (next) tree.reveal(next.number);
}

// Shows the next highlighted box, or the one before: in a flame graph of the same one, else in any thread.
function step(by) {
  const found = wanted();
  if (!found?.includes(1)) return;
  byId("charts").scrollIntoView({ block: "nearest" });
  if (isTree) return stepInTree(by);
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
const tabs = ["timeline", "calls", "flame"].map((shown) => byId(`tab-${shown}`));
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

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => chooseChart(tab.id.slice("tab-".length)));
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = by && tabs.at((at + by) % tabs.length);
    next?.focus();
    next?.click();
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
    else if (isTree) return;
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
