// Connects the parts of the page that compares two runs.

const SIDES = ["before", "after"];
const input = byId("search");
const { sides, differences, pairs, values } = data;
// What is shown: a difference of calls, or the first difference of a value, by its place and its list.
let chosen = -1;
let chosenValue = -1;
const current = () => values[chosenValue] ?? differences[chosen];
let found = null;
let shapes = null;
let list = null;

const about = (side) => byId(`tree-${SIDES[side]}`).closest(".side").querySelector(".about");
const trees = SIDES.map((name, side) => new Tree(byId(`tree-${name}`), (row) => describeRow(side, row)));

function showHead() {
  document.title = `${sides[0].title} → ${sides[1].title}`.slice(0, 120);
  byId("title").textContent = "What changed";
  const summary = [
    `${grouped(pairs.length)} of ${plural(pairs.length + data.same, "thread")} ${pairs.length === 1 ? "differs" : "differ"}`,
    `${plural(sides[0].calls, "call")} before, ${grouped(sides[1].calls)} after`,
  ];
  if (values.length) summary.push(`values differ in calls that both made`);
  const compared = data.compared_values === null ? "" : `, with the same ${plural(data.compared_values, "value")}`;
  byId("summary").textContent = pairs.length ? summary.join("; ") : `No difference: the same calls in the same order${compared}, in ${plural(data.same, "thread")}.`;
  byId("difference-count").textContent = grouped(differences.length) + (data.is_cut ? " and more" : "");
  for (const [side, name] of SIDES.entries()) byId(`title-${name}`).textContent = `${name}: ${sides[side].title}`;
  if (data.is_cut) byId("differences").querySelector(".rest").textContent = "Further differences are left out; --max 0 finds more.";
}

// Lists the values that differ.
function showValues() {
  const section = byId("values");
  section.hidden = !values.length;
  const count = values.reduce((sum, { count }) => sum + count, 0);
  byId("value-count").textContent = `${grouped(count)} of ${grouped(data.compared_values ?? 0)}; the first of each kind is shown`;
  section.querySelector("tbody").replaceChildren(...values.map((value, place) => valueRow(value, place, chooseValue)));
  if (data.more_values) section.querySelector(".rest").textContent = `${plural(data.more_values, "further kind")} of values left out; --max 0 shows all.`;
}

// Shows a call of a row in words.
function describeRow(side, row) {
  const tree = trees[side];
  if (!row || row.isGroup || !shapes.isCall(row.shape)) return about(side).replaceChildren();
  const facts = [
    `${grouped(row.number)} calls before it`,
    `depth ${grouped(row.depth)}`,
    `${plural(row.calls, "call")} in it, itself included`,
    outcomeText(shapes.outcome[row.shape]),
  ];
  about(side).replaceChildren(element("b", {}, (methods[shapes.method[row.shape]] ?? methods[unnamed]).forms[0]), ` ${facts.filter(Boolean).join(", ")}`);
}

// The class of a row: whether only this side has the calls, or whether it is the call that differs.
function markOf(side, row) {
  if (!current()) return "";
  const { numbers, depth, shifts = [], stack } = current();
  const level = stack.length ? depth : -1;
  if (row.depth === level && row.number === numbers[side]) return "differs";
  const isIn = ({ is_added: isAdded, number, shape }) =>
    isAdded === (side === 1) && shape === row.shape && number >= row.start && number <= row.start + row.all;
  return row.depth === level + 1 && shifts.some(isIn) ? (side ? "added" : "removed") : "";
}

// Shows one side of a difference: all calls of the thread, or if these are not on the page, the call that differs.
function showSide(side) {
  const { pair, numbers, stack, depth, shapes: of = [null, null], shifts = [] } = current();
  const tree = trees[side];
  const whole = pairs[pair].shapes[side];
  const key = whole !== null ? `thread ${pair}` : `difference ${chosen}`;
  const { first, callee, times } = shapes;
  if (tree.key === key && tree.root) tree.setRoot(tree.whole);
  else {
    if (whole !== null) tree.show(shapes, { callee, times, from: first[whole], to: first[whole + 1], number: data.first_calls[side], depth: 0 });
    else if (of[side] !== null) tree.show(shapes, { callee: [of[side]], times: [1], from: 0, to: 1, number: numbers[side], depth });
    else tree.showNote("The calls of this side are not on this page: it would be too large.");
    tree.key = key;
    tree.search(found);
  }
  // What differs, unfolded: the first call that only this side has, or the call itself.
  const own = shifts.find((shift) => shift.is_added === (side === 1));
  if (stack.length) tree.reveal(numbers[side]);
  if (stack.length && tree.selected) {
    const row = tree.rowOf(tree.selected);
    if (row.hasInner && !row.node) tree.toggle(row);
  }
  if (own) tree.reveal(own.number);
  tree.redraw();
}

function choose(place) {
  if (!(place >= 0 && place < differences.length)) return;
  [chosen, chosenValue] = [place, -1];
  list.choose(place);
  show();
  byId("previous").disabled = place === 0;
  byId("next").disabled = place === differences.length - 1;
}

// Shows the call in which a value first differs.
function chooseValue(place) {
  if (!values[place]) return;
  [chosen, chosenValue] = [-1, place];
  list.choose(-1);
  show();
  byId("previous").disabled = true;
  byId("next").disabled = !differences.length;
}

// Shows what is chosen, on both sides.
function show() {
  const { stack, pair, depth } = current();
  for (const row of byId("values").querySelectorAll("tbody tr")) row.classList.toggle("chosen", Number(row.dataset.value) === chosenValue);
  const names = stack.map((method) => (methods[method] ?? methods[unnamed]).forms[1]);
  // Of a deep stack, the page has the two ends.
  const half = names.length / 2;
  const left = depth + 1 - names.length;
  const shown = stack.length && left > 0 ? [...names.slice(0, half), `… ${grouped(left)} more …`, ...names.slice(half)] : names;
  byId("where").textContent = `${pairs[pair].title}: ${shown.join(" › ")}`;
  for (const side of [0, 1]) showSide(side);
  link.follow();
}

function searchFor(text) {
  input.value = text;
  found = search(text);
  for (const tree of trees) tree.search(found);
  const counts = [0, 1].map((side) => {
    if (!trees[side].sums) return 0;
    const all = pairs.map(({ shapes: of }) => of[side]).filter((shape) => shape !== null);
    return all.reduce((sum, shape) => sum + trees[side].sums[shape], 0);
  });
  const where = pairs.every(({ shapes: of }) => !of.includes(null)) ? "in the threads that differ" : "among the calls on this page";
  const isFound = found?.includes(1);
  byId("found").textContent = !found ? "" : isFound ? `${plural(counts[0], "call")} before, ${grouped(counts[1])} after, ${where}` : "no matches";
  link.follow();
}

const link = new Link(
  () => ({ difference: chosen < 0 ? undefined : chosen + 1, value: chosenValue < 0 ? undefined : chosenValue + 1, search: input.value }),
  apply,
);

function apply({ difference, value, search: text = "" }) {
  const place = Number(difference ?? 1) - 1;
  // What comes first may be why the rest differs.
  const isValue = difference === undefined && (values[0]?.is_before_calls || !differences.length);
  if (values[Number(value) - 1] || isValue) chooseValue(value === undefined ? 0 : Number(value) - 1);
  else choose(differences[place] ? place : 0);
  searchFor(text);
}

showHead();
byId("next").addEventListener("click", () => choose(chosen + 1));
byId("previous").addEventListener("click", () => choose(chosen - 1));
input.addEventListener("input", () => searchFor(input.value));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === input) searchFor("");
  if (event.target.matches("input")) return;
  if (event.key === "/") {
    input.focus();
    event.preventDefault();
  }
  if (event.key === "n") choose(chosen + 1);
  if (event.key === "p") choose(chosen - 1);
});
try {
  shapes = await loadShapes();
  showValues();
  list = new DifferenceList(byId("differences"), shapes, choose);
  for (const [side, tree] of trees.entries()) {
    tree.shapes = shapes;
    tree.isNarrow = true;
    tree.markOf = (row) => markOf(side, row);
    if (!pairs.length) tree.showNote("Nothing differs.");
  }
  apply(link.read());
} catch (error) {
  for (const tree of trees) tree.showNote(`This browser cannot read the calls: ${error.message}`);
}
// Tests of the page wait for this.
document.documentElement.dataset.ready = "yes";
