// Connects the parts: a choice in one shows in the others.

const flame = new Boxes(data.flame, 0, 0, true);
// Whether libraries are folded away.
let onlyOwn = hasLibraries;
const charts = new Map();
const chart = new Chart(byId("canvas"));
const tree = new Tree(byId("tree"), onCall);
tree.textsOf = ({ place, number }) => callTexts(textsOf(data.threads[place]), number);
const parts = new Parts(data.handed);
// Whether calls are shown thread by thread, without what they handed to others below them.
let isPerThread = false;
const isOneTree = () => parts.isTree && !isPerThread;
// In one tree, what was handed over is below the call that did.
tree.linksOf = (row) => (row.isGroup || tree.shapes.method[row.shape] === ABSENT ? [] : handedLinks(parts, row, goTo, { to: !tree.parts, from: row.part === undefined }));
tree.threadOf = ({ part, place, number }) => {
  if (part === undefined) return [];
  const { giver, isGuessed } = parts.all[part];
  const attributes = { type: "button", class: "link thread", title: "All calls of this thread", tabindex: "-1" };
  if (place >= 0) attributes.onclick = (event) => (event.stopPropagation(), unfold(place, number));
  return [element("button", attributes, `${giver ? "⇢ " : ""}${parts.titleOf(part)}${isGuessed ? ", a guess" : ""}`)];
};
// The thread whose calls are drawn, and how. All threads together have a flame graph only.
let thread = ALL_THREADS;
let view = "timeline";
const is = (name) => view === name;
// What the charts show beside these are panels.
const PANELS = ["methods", "tests", "requests", "merged"];
const isPanel = () => PANELS.includes(view);
// The calls whose values or exceptions are searched for: by thread, in order; null without such a search.
let callsFound = null;
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
  const of = charts.get(key);
  if (!isFlame && isTime && tree.shapes && !of.certain && data.threads[thread]?.shape !== undefined) of.setBounds(tree.shapes, thread);
  return of;
}

// Decodes the calls when there is nothing else to do: they have the bounds of times.
async function loadBounds() {
  try {
    tree.shapes ??= await loadShapes();
  } catch {
    // The tree shows why.
    return;
  }
  if (input.value) find(input.value);
  if (is("timeline")) {
    boxesOf(thread, false);
    byId("what").textContent = caption(chart.boxes, data.threads[thread]);
    if (chart.selected >= 0) showStatus(chart.selected);
  }
  showMarks();
}

// Shows the chosen thread; in a tree, unfolds a call: `{ place, number }`.
function showChart(call) {
  threads.choose(thread);
  for (const tab of tabs) {
    const isShown = tab.id === `tab-${view}`;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
  }
  for (const panel of PANELS) byId(panel).hidden = !is(panel);
  byId("chart").hidden = byId("status").hidden = isPanel();
  byId("chart").setAttribute("aria-labelledby", `tab-${view}`);
  chart.canvas.hidden = byId("zoom").hidden = byId("legend").hidden = is("calls") || isPanel();
  tree.box.hidden = !is("calls");
  byId("tip").hidden = true;
  byId("per-thread").hidden = !is("calls") || !parts.isTree;
  if (is("calls")) return void showTree(call);
  if (isPanel()) return showPanel();
  const isFlame = is("flame");
  const boxes = boxesOf(thread, isFlame);
  byId("what").textContent = caption(boxes, data.threads[thread]);
  chart.canvas.setAttribute("aria-label", isFlame ? "Flame graph" : "Timeline");
  chart.show(boxes, isFlame || !isTime ? null : range);
  showView();
  showStatus(-1);
  showMarks();
}

// Shows a panel in place of a chart.
function showPanel() {
  byId("what").textContent = { methods: "of all threads", merged: "what all threads did, in one order" }[view] ?? "click one to see its calls";
  if (is("merged")) lists.merged.draw();
  byId("range").textContent = "";
  threads.show(null);
  link.follow();
  showMarks();
}

// What the tree of calls shows.
function treeCaption(of) {
  const below = isOneTree() ? ", with what they handed to other threads below" : "";
  if (of) return `${threadTitle(of)}: all ${plural(of.calls, "call")}, to unfold${below}`;
  const more = parts.more ? `; ${plural(parts.more, "further part")} of threads left out` : "";
  return `${parts.title ?? "all threads"}: one tree, to unfold${more}`;
}

// Shows the calls of a thread as a tree, or those of all threads, and unfolds one of them.
async function showTree(call) {
  const place = thread;
  const of = data.threads[place];
  byId("what").textContent = treeCaption(of);
  byId("range").textContent = "";
  threads.show(null);
  link.follow();
  if (place !== ALL_THREADS && (of?.shape === undefined || !of.calls)) {
    tree.key = undefined;
    tree.showNote(of?.calls ? whyNoCalls(of) : "There are no calls.");
    byId("status").replaceChildren();
    return showMarks();
  }
  const key = `${place} ${isPerThread}`;
  if (tree.key !== key) tree.showNote("Reading the calls …");
  let shapes;
  try {
    shapes = await loadShapes();
  } catch (error) {
    return tree.showNote(`This browser cannot read the calls: ${error.message}`);
  }
  if (!is("calls") || thread !== place || key !== `${place} ${isPerThread}`) return;
  // The calls have names of further methods.
  if (chart.found && chart.found.length < methods.length) find(input.value);
  if (tree.key !== key || !tree.root) {
    tree.parts = isOneTree() ? parts : null;
    tree.show(shapes, tree.parts?.treeOf(shapes, place) ?? callsOf(shapes, place));
    tree.key = key;
  }
  showMarks();
  if (!call || !tree.reveal(call.number, call.place)) onCall(tree.selected && tree.rowOf(tree.selected));
  tree.box.dataset.thread = place;
}

// Shows what is known about a row of the tree.
function onCall(row) {
  link.follow();
  if (!row) return byId("status").replaceChildren(faint("Click a call, or focus the tree and press an arrow key."));
  const { shapes } = tree;
  const { place } = row;
  if (shapes.isCall(row.shape) && !row.isGroup && shapes.method[row.shape] < unnamed) table.choose(shapes.method[row.shape]);
  // The calls that did the same, to be stepped through.
  if (tree.sameAs !== row.shape) Object.assign(tree, { sameAs: row.shape, same: shapes.sums((shape) => shape === row.shape) });
  const shape = data.threads[place]?.shape;
  const occurrences = tree.same[shape];
  const button = (text, onclick) => element("button", { type: "button", class: "link", onclick }, text);
  const go = (by) => {
    const same = nextWanted(shapes, tree.same, place, row.number, by);
    if (same) goTo(same.place, same.number);
  };
  const buttons = [];
  const isFound = tree.sums && shapes.isCall(row.shape) && tree.found[shapes.method[row.shape]] === 1;
  if (isFound && !row.isGroup) {
    const rank = shapes.wantedBefore(tree.sums, shape, row.number) + 1;
    buttons.push(`match ${grouped(rank)} of ${grouped(tree.sums[shape])} in this thread `);
  }
  if (occurrences > 1) buttons.push(button("‹ previous", () => go(-1)), button("next ›", () => go(1)));
  if (data.threads[place]?.boxes) buttons.push(button("Show in the timeline", () => showInTimeline(place, row.number)));
  const links = shapes.isCall(row.shape) && !row.isGroup ? handedLinks(parts, row, goTo) : [];
  byId("status").replaceChildren(...describeCall(tree, row, occurrences, buttons, links));
}

// Unfolds a call of a thread.
function unfold(place, number) {
  link.step();
  [thread, view] = [place, "calls"];
  showChart({ place, number });
}
// The same in the tree that is shown, if that has the call.
function goTo(place, number) {
  if (!is("calls") || !tree.reveal(number, place)) unfold(place, number);
}

function showInTimeline(place, number) {
  thread = place;
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
  if (is("timeline") && isTime) range = isPart ? { from, to } : null;
  link.follow();
  threads.show(is("flame") ? null : range);
  const step = (to - from) / 1000;
  byId("range").textContent =
    isPart && isTime && is("timeline")
      ? `${nanos(to - from)}: ${nanos(from, step)} to ${nanos(to, step)}`
      : "";
}

function showStatus(box) {
  const lines =
    box < 0
      ? [faint("Click a box, or focus the chart and press an arrow key.")]
      : [...describe(chart.boxes, box), place(chart.boxes, box, data.threads[thread]), ...unfoldButton(box), ...methodButton(box)];
  byId("status").replaceChildren(...lines);
}

// To see the callers and callees of the method of a box.
function methodButton(box) {
  const place = chart.boxes.method[box];
  if (chart.boxes.isMore[box] || place === unnamed) return [];
  const onclick = () => {
    table.choose(place);
    chooseChart("methods");
  };
  return [element("button", { type: "button", class: "link", onclick }, "Callers and callees")];
}

// To unfold the call of a box.
function unfoldButton(box) {
  if (is("flame") || data.threads[thread].shape === undefined) return [];
  const { before, isMore } = chart.boxes;
  const text = isMore[box] ? "Unfold these calls" : "Unfold this call";
  return [element("button", { type: "button", class: "link", onclick: () => unfold(thread, before[box]) }, text)];
}

function chooseThread(place) {
  link.step();
  thread = place;
  if (place === ALL_THREADS) view = is("calls") && isOneTree() ? "calls" : "flame";
  else if (isPanel()) view = "calls";
  // The range in view stays, unless it would show nothing.
  if (range && place !== ALL_THREADS && isIdle(place, range)) range = activeRange(place);
  showChart();
}

// Shows a range of time of a thread.
function chooseRange(place, from, to) {
  link.step();
  if (place !== ALL_THREADS) thread = place;
  else if (thread === ALL_THREADS) thread = 0;
  view = "timeline";
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
  view = shown;
  if ((is("timeline") || (is("calls") && !isOneTree())) && thread === ALL_THREADS) thread = 0;
  showChart();
}

// Shows calls thread by thread, or as one tree.
function showPerThread(is) {
  isPerThread = is;
  byId("per-thread").setAttribute("aria-pressed", String(is));
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
  const numbers = callsFound?.get(thread) ?? (callsFound ? [] : null);
  tree.search(found, callsFound);
  chart.numbers = numbers && new Set(numbers);
  const isFound = Boolean(callsFound) || (found?.includes(1) ?? false);
  byId("previous").disabled = byId("next").disabled = !isFound;
  const parts = [];
  if (callsFound) parts.push(`${countOf(callsFound)} with such values or exceptions`);
  else if (isFound) parts.push(account(found, flame, tree.sums));
  parts.push(...elsewhere());
  const names = !parts.length && found ? nearest(input.value).map((name) => textButton(name, () => searchFor(name))) : [];
  if (!parts.length && found) parts.push(names.length ? "no matches; the nearest: " : "no matches");
  byId("found").replaceChildren(...parts.flatMap((part, at) => (at ? ["; ", part] : [part])), ...names);
  chart.redraw();
}

const textButton = (text, onclick) => element("button", { type: "button", class: "link", onclick }, text);
const countOf = (found) => plural([...found.values()].reduce((sum, numbers) => sum + numbers.length, 0), "call");

// Where else the words of a search are: in values, if methods have them too, in tests and in requests.
function elsewhere() {
  const words = wordsOf(input.value);
  if (!words.length) return [];
  const inValues = callsFound ? new Map() : callsWith(words);
  const links = inValues.size ? [textButton(`in values of ${countOf(inValues)}`, () => searchFor(`"${words.join(" ")}"`))] : [];
  for (const [name, list] of Object.entries(lists)) {
    const found = list.found(words).length;
    const noun = name === "merged" ? "merged row" : name.slice(0, -1);
    if (found) links.push(textButton(plural(found, noun), () => chooseChart(name)));
  }
  return links;
}

// Finds methods; or in quotes, and if no method matches, calls with such values or exceptions.
function find(text) {
  const isQuoted = text.trim().startsWith('"');
  const found = isQuoted ? null : search(text);
  const calls = !isQuoted && (!found || found.includes(1)) ? null : callsWith(wordsOf(text));
  callsFound = calls?.size ? calls : null;
  chart.found = callsFound ? null : isQuoted && wordsOf(text).length ? new Uint8Array(methods.length) : found;
  if (callsFound) chart.chosen = NO_METHOD;
}

function searchFor(text) {
  input.value = text;
  find(text);
  table.filter(chart.found);
  for (const list of Object.values(lists)) list.filter(text);
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
  find(text);
  showMarks();
}

// What the page shows, as the pairs of its address.
function state() {
  const { selected, boxes } = chart;
  const isTimeline = is("timeline");
  const isCall = selected >= 0 && isTimeline;
  const row = is("calls") && tree.selected ? tree.rowOf(tree.selected) : null;
  const number = row && row.place !== thread ? `${threadKey(row.place)}:${row.number}` : row?.number;
  return {
    thread: threadKey(thread),
    chart: isTimeline ? undefined : view,
    from: range && isTimeline ? Math.round(range.from) : undefined,
    to: range && isTimeline ? Math.round(range.to) : undefined,
    call: isCall ? `${boxes.before[selected]}.${boxes.depth[selected]}` : number,
    own: hasLibraries && !onlyOwn ? 0 : undefined,
    tree: isPerThread ? "thread" : undefined,
    search: input.value,
    method: chart.chosen === NO_METHOD ? undefined : methodKey(methods[chart.chosen]),
  };
}

// Shows what an address says. Without one, the page opens where the application is: with the busiest thread, and the
// time in which it was active.
function apply({ thread: key, chart: kind, from, to, call, own, tree: how, search: text = "", method = "" }) {
  showOwn(own !== "0");
  showPerThread(how === "thread");
  const busiest = data.threads.findIndex((thread) => thread.boxes);
  // A request is shown as its tree.
  const isRequest = key === undefined && parts.title !== null;
  thread = threadAt(key) ?? (isRequest && isOneTree() ? ALL_THREADS : busiest);
  view = tabs.some((tab) => tab.id === `tab-${kind}` && !tab.hidden) ? kind : isRequest ? "calls" : "timeline";
  if (thread === ALL_THREADS && !isPanel() && !(is("calls") && isOneTree())) view = "flame";
  const times = [Number(from), Number(to)];
  if (key === undefined) range = activeRange(thread);
  else range = times[0] < times[1] ? { from: times[0], to: times[1] } : null;
  // A call of another thread has that before its number.
  const [, other, rest] = /^(?:(.*):)?(.*)$/.exec(call ?? "");
  const [before, depth] = rest.split(".").map(Number);
  const of = { place: threadAt(other) ?? thread, number: before };
  showChart(rest && Number.isFinite(before) ? of : undefined);
  chart.chosen = methodAt(method);
  input.value = text;
  find(text);
  table.filter(chart.found);
  for (const list of Object.values(lists)) list.filter(text);
  table.choose(chart.chosen);
  showMarks();
  const { boxes } = chart;
  const box = !is("timeline") ? -1 : (boxes.rows[depth]?.find((box) => boxes.before[box] === before) ?? -1);
  if (box >= 0) chart.select(box);
}

// Unfolds the next call that is searched for, or the one before, in any thread.
function stepInTree(by) {
  const { sums, shapes, selected } = tree;
  if (!sums) return;
  const { place = thread, number } = selected ? tree.rowOf(selected) : {};
  const next = nextWanted(shapes, sums, place, number, by);
  if (next) goTo(next.place, next.number);
}

// Shows the next call with a value that is searched for, or the one before, in any thread.
function stepInValues(by) {
  const { selected, boxes } = chart;
  const row = is("calls") && tree.selected ? tree.rowOf(tree.selected) : { place: thread };
  const number = is("timeline") && selected >= 0 ? boxes.before[selected] : row.number;
  const next = nextWith(callsFound, row.place, number, by);
  const box = is("timeline") && next.place === thread ? boxOfCall(boxes, next.number) : -1;
  // A call without a box of its own is in the tree.
  if (box < 0 || boxes.isMore[box] || !boxes.width[box] || boxes.before[box] !== next.number) return goTo(next.place, next.number);
  chart.select(box);
  chart.enlarge(box);
}

// Shows the next highlighted box, or the one before: in a flame graph of the same one, else in any thread.
function step(by) {
  if (callsFound) return stepInValues(by);
  const found = wanted();
  if (!found?.includes(1)) return;
  if (isPanel()) chooseChart("calls");
  if (is("calls")) return stepInTree(by);
  const isFlame = is("flame");
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
      [thread, view] = [hit.thread, "timeline"];
      showChart();
    }
  }
  chart.select(box);
  chart.enlarge(box);
}

// Shows the calls of a test: marks them in the tree, from the first one on, and its time in the timeline.
function chooseTest({ name, thread: id, within }) {
  const place = placeOfThread(id);
  if (place < 0) return;
  const mark = data.threads[place].marks?.find((mark) => mark.text === name && mark.end > mark.at);
  if (mark && isTime) range = { from: mark.at - (mark.end - mark.at) / 50, to: mark.end + (mark.end - mark.at) / 50 };
  const isOf = ({ place: of, number }) => within && of === place && number >= within[0] && number < within[1];
  tree.markOf = (row) => (isOf(row) ? "chosen" : "");
  if (within && data.threads[place].shape !== undefined) return unfold(place, within[0]);
  link.step();
  [thread, view] = [place, "timeline"];
  showChart();
}

const input = byId("search");
const tabs = ["timeline", "calls", "flame", ...PANELS].map((shown) => byId(`tab-${shown}`));
paint();
showHead();
const threads = new ThreadList(byId("threads"), chooseThread, chooseRange);
const table = new Table(byId("methods"), chooseMethod);
const lists = {};
for (const [name, made] of [
  ["tests", testList(chooseTest)],
  ["requests", requestList(({ thread: id, call }) => placeOfThread(id) >= 0 && unfold(placeOfThread(id), call))],
]) {
  const { rows, more } = data[name];
  if (!rows.length) continue;
  lists[name] = new List(byId(name), data[name], made);
  lists[name].draw();
  const bad = rows.filter(made.isBad).length;
  const tab = byId(`tab-${name}`);
  tab.hidden = false;
  tab.append(` ${grouped(rows.length + more)}`, ...(bad ? [element("span", { class: "bad" }, `, ${grouped(bad)} failed`)] : []));
}
if (data.merged.rows.length) {
  lists.merged = new Merged(byId("merged"), data.merged, { onchoose: unfold, range: () => range });
  lists.merged.draw();
  byId("tab-merged").hidden = false;
}
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
byId("per-thread").addEventListener("click", () => {
  link.step();
  const row = tree.selected && tree.rowOf(tree.selected);
  showPerThread(!isPerThread);
  if (isPerThread && thread === ALL_THREADS) thread = Math.max(0, row?.place ?? 0);
  showChart(row?.place >= 0 ? { place: row.place, number: row.number } : undefined);
});
const link = new Link(state, apply);
apply(link.read());

for (const tab of tabs) {
  tab.addEventListener("click", () => chooseChart(tab.id.slice("tab-".length)));
  tab.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const shown = tabs.filter((tab) => !tab.hidden);
    const next = by && shown.at((shown.indexOf(tab) + by) % shown.length);
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
  byId("chart").style.flexBasis = isTall ? "" : `${chart.wholeHeight()}px`;
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
    else if (is("calls") || isPanel()) return;
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
if (isTime) (globalThis.requestIdleCallback ?? setTimeout)(loadBounds);
// Tests of the page wait for this.
document.documentElement.dataset.ready = "yes";
