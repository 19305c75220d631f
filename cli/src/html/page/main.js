// Puts the parts together: what is chosen in one shows in the others.

const flame = new Boxes(data.flame, 0, flameEnd, true);
const timelines = new Map();
const chart = new Chart(byId("canvas"));
let thread = 0;
let isFlame = false;

function timeline(place) {
  if (!timelines.has(place)) {
    const { boxes, begin, end } = data.threads[place] ?? {};
    timelines.set(place, new Boxes(boxes ?? [], begin ?? 0, end ?? 0, false));
  }
  return timelines.get(place);
}

function showChart() {
  const shown = data.threads[thread];
  const boxes = isFlame ? flame : timeline(thread);
  const merged = boxes.hasMore ? "; striped boxes hold several calls" : "";
  byId("what").textContent = isFlame
    ? `all threads: the same path is one box, as wide as ${isTime ? "its time" : "the calls in it"}${merged}`
    : shown ? `${threadTitle(shown)}: ${shown.boxes ? (isTime ? "time" : "calls so far") + " to the right" + merged : "the page has no room for its calls; flow replay shows them"}` : "";
  for (const [id, is] of [["tab-timeline", !isFlame], ["tab-flame", isFlame]]) {
    byId(id).setAttribute("aria-selected", String(is));
    byId(id).tabIndex = is ? 0 : -1;
  }
  byId("chart").setAttribute("aria-labelledby", isFlame ? "tab-flame" : "tab-timeline");
  chart.show(boxes);
  showStatus(-1);
  showMarks();
}

// What is known of a box, as lines.
function describe(boxes, box) {
  const [width, calls] = [boxes.width[box], boxes.calls[box]];
  const share = `${percent(width, boxes.length)} of ${boxes.isFlame ? "all" : "the thread"}`;
  const method = methods[boxes.method[box]];
  const lines = [element("b", {}, boxes.title(box))];
  if (boxes.isMore[box]) {
    const within = isTime ? ` within ${nanos(width)}` : "";
    lines.push(`${share}${within}: too ${boxes.isFlame ? "few" : "short"} to be told apart here${method ? `; the ${isTime ? "longest" : "largest"} of ${method.forms[0]}` : ""}`);
  } else if (boxes.isFlame) {
    lines.push(`called ${grouped(calls)}× on this path, total ${amount(width)}, ${share}, self ${amount(boxes.own(box))}`);
  } else {
    lines.push(isTime ? `${nanos(width)}, ${share}, ${plural(calls, "call")} in it` : `${plural(width, "call")} in it, its own included, ${share}`);
  }
  return lines.map((line) => element("div", {}, line));
}

function showStatus(box) {
  const { boxes } = chart;
  const status = byId("status");
  if (box < 0) {
    status.replaceChildren(element("span", { class: "sub" }, "Click a box, or focus the chart and press an arrow key."));
    return;
  }
  const lines = describe(boxes, box);
  const id = data.threads[thread]?.id;
  if (!boxes.isFlame && !data.is_filtered) {
    const from = boxes.before[box];
    lines.push(element("div", { class: "sub" }, `depth ${boxes.depth[box]}; all of it: `,
      element("code", {}, `flow replay ${data.facts.dir} --thread ${id} --from ${from} --max ${boxes.calls[box]}`)));
  } else {
    lines.push(element("div", { class: "sub" }, `depth ${boxes.depth[box]}`));
  }
  status.replaceChildren(...lines);
}

function chooseThread(place) {
  thread = place;
  isFlame = false;
  threads.choose(place);
  showChart();
}

function chooseMethod(place) {
  table.choose(place);
  chart.chosen = place;
  showMarks();
}

// What was searched for or chosen stands out in the chart, and can be stepped through.
function showMarks() {
  byId("previous").disabled = byId("next").disabled = nextMarked(chart, 1) < 0;
  chart.redraw();
}

function step(by) {
  const box = nextMarked(chart, by);
  if (box < 0) return;
  byId("charts").scrollIntoView({ block: "nearest" });
  chart.select(box);
  chart.enlarge(box);
}

function showHead() {
  const { facts } = data;
  const program = facts.command || facts.dir;
  document.title = `${program.slice(0, 80)} · flow`;
  byId("command").textContent = program;
  const calls = data.threads.reduce((sum, each) => sum + each.calls, 0) + data.more_threads.calls;
  const shown = [
    ["calls", grouped(calls)], ["threads", grouped(data.threads.length + data.more_threads.threads)],
    ["methods", grouped(unnamed + data.more_methods.methods)],
    ["duration", facts.end_ns === null ? "" : nanos(facts.end_ns)], ["started", facts.started], ["end", facts.end],
    ["JVM", facts.jvm], ["process", facts.process], ["recorded", facts.recorded], ["trace", facts.dir],
  ];
  for (const [key, value] of shown.filter(([, value]) => value)) {
    byId("facts").append(element("div", {}, element("dt", {}, key), element("dd", { "data-fact": key }, value)));
  }
  const notes = byId("notes");
  const missing = facts.notes.filter((note) => note.level === "missing");
  notes.hidden = !facts.notes.length;
  notes.open = missing.length > 0;
  notes.classList.toggle("missing", missing.length > 0);
  notes.querySelector("summary").textContent = missing.length ? "Something is missing from this recording" : "What is not shown";
  notes.querySelector("ul").append(...[...missing, ...facts.notes.filter((note) => note.level !== "missing")].map((note) => element("li", {}, note.text)));
}

paint();
showHead();
const threads = new ThreadList(byId("threads"), chooseThread);
const table = new Table(byId("methods"), chooseMethod);
chart.onselect = (box) => {
  showStatus(box);
  if (box >= 0 && !chart.boxes.isMore[box] && chart.boxes.method[box] !== unnamed) {
    table.choose(chart.boxes.method[box]);
  }
};
listen(chart, byId("tip"));
chooseThread(0);

const tabs = [byId("tab-timeline"), byId("tab-flame")];
for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => {
    isFlame = at === 1;
    showChart();
  });
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    tabs[1 - at].focus();
    tabs[1 - at].click();
  });
}
byId("zoom-in").addEventListener("click", () => chart.zoom(0.5));
byId("zoom-out").addEventListener("click", () => chart.zoom(2));
byId("reset").addEventListener("click", () => chart.reset());

byId("next").addEventListener("click", () => step(1));
byId("previous").addEventListener("click", () => step(-1));

const input = byId("search");
input.addEventListener("input", () => {
  chart.found = search(input.value);
  byId("found").textContent = chart.found ? account(chart.found, flame) : "";
  table.filter(chart.found);
  showMarks();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === input) {
    input.value = "";
    input.dispatchEvent(new Event("input"));
  }
  if (event.target.matches("input")) return;
  if (event.key === "/") {
    input.focus();
    event.preventDefault();
  }
  if (event.key === "n") step(1);
  if (event.key === "p") step(-1);
});

new ResizeObserver(() => chart.redraw()).observe(byId("canvas"));
isDark.addEventListener("change", () => {
  paint();
  chart.redraw();
});
// For whoever tests the page.
document.documentElement.dataset.ready = "yes";
