// Connects the parts: a choice in one shows in the others.

const flame = new Boxes(data.flame, 0, 0, true);
const charts = new Map();
const chart = new Chart(byId("canvas"));
// The thread whose calls are drawn, and which chart. All threads together have no timeline.
let thread = ALL_THREADS;
let isFlame = false;

// Decodes the boxes of a chart when it is first shown.
function boxesOf(thread, isFlame) {
  const key = `${thread} ${isFlame}`;
  if (!charts.has(key)) {
    const { boxes, flame: paths, begin = 0, end = 0 } = data.threads[thread] ?? {};
    const made = isFlame
      ? new Boxes(paths ?? [], 0, 0, true)
      : new Boxes(boxes ?? [], begin, end, false);
    charts.set(key, made);
  }
  return charts.get(key);
}

function showChart() {
  const isWhole = thread === ALL_THREADS || data.threads.length === 1;
  const boxes = isFlame && isWhole ? flame : boxesOf(thread, isFlame);
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
  chart.show(boxes);
  showStatus(-1);
  showMarks();
}

function showStatus(box) {
  const lines =
    box < 0
      ? [faint("Click a box, or focus the chart and press an arrow key.")]
      : [...describe(chart.boxes, box), place(chart.boxes, box, data.threads[thread])];
  byId("status").replaceChildren(...lines);
}

function chooseThread(place) {
  thread = place;
  isFlame ||= place === ALL_THREADS;
  showChart();
}

function chooseChart(flame) {
  isFlame = flame;
  if (!isFlame && thread === ALL_THREADS) thread = 0;
  showChart();
}

function chooseMethod(place) {
  table.choose(place);
  chart.chosen = place;
  showMarks();
}

// Highlights what was searched for or chosen; the buttons step through it.
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
chooseThread(data.threads.findIndex((thread) => thread.boxes));

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
byId("reset").addEventListener("click", () => chart.reset());

byId("tall").addEventListener("click", () => {
  const isTall = byId("tall").getAttribute("aria-pressed") === "true";
  byId("tall").setAttribute("aria-pressed", String(!isTall));
  byId("chart").style.height = isTall ? "" : `${chart.wholeHeight()}px`;
});
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

new ResizeObserver(() => chart.move(0, 0)).observe(byId("canvas"));
isDark.addEventListener("change", () => {
  paint();
  chart.redraw();
});
// Tests of the page wait for this.
document.documentElement.dataset.ready = "yes";
