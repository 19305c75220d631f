// The tree of all calls of a thread: where it comes from, and what is known about its rows.

// The calls of a thread, to be shown as a tree.
function callsOf(shapes, place) {
  const { shape } = data.threads[place];
  const { first, callee, times } = shapes;
  return { callee, times, from: first[shape], to: first[shape + 1], number: 0, depth: 0, place };
}

// Why the calls of a thread cannot be unfolded.
function whyNoCalls({ id, no_shape: why }) {
  const command = `flow replay ${data.facts.dir} --thread ${id}`;
  return `The calls of this thread are not on this page: ${why}. ${command} shows them.`;
}

// What is known about a row, as lines. `occurrences` is how many calls of the thread did the same.
function describeCall(tree, row, occurrences, buttons, links) {
  const { shapes } = tree;
  const thread = data.threads[row.place];
  if (row.isGroup) return [element("div", {}, `${plural(row.all, "call")} of libraries, which call nothing of the application's own code`)];
  const name = element("b", {}, ...tree.nameOf(row.shape, row.part));
  if (!shapes.isCall(row.shape)) return [element("div", {}, name)];
  const { values, exception } = tree.textsOf(row);
  const outcome = outcomeText(shapes.outcome[row.shape], exception);
  const of = row.place === tree.thread ? "the thread" : threadTitle(thread);
  const facts = [`call ${grouped(row.number)} of ${of}`, `depth ${grouped(row.depth)}`, `${plural(row.calls, "call")} in it, itself included`, outcome, ...timesOf(tree, row), ...describePart(tree, row)];
  const same = occurrences > 1 ? `${grouped(occurrences)} calls of the thread did the same` : "no other call of the thread did the same";
  const run = row.times > 1 ? `; number ${grouped(row.at + 1)} of ${grouped(row.times)} consecutive ones` : "";
  const range = data.is_filtered ? [] : [replayCommand(thread, row.number, row.calls)];
  return [
    element("div", {}, name),
    ...codeOf(values).map((line) => element("div", {}, line)),
    element("div", {}, facts.filter(Boolean).join(", ")),
    element("div", {}, same, run, "; ", ...buttons),
    element("div", {}, ...links),
    element("div", { class: "sub" }, ...range),
  ];
}

// The hand-overs of a call as links: `go` shows a call. `has` says which of the two are wanted.
function handedLinks(parts, { place, number }, go, has = { to: true, from: true }) {
  const link = (sign, title, other) => {
    const onclick = (event) => {
      // The row that it is in is not chosen.
      event.stopPropagation();
      go(other.place, other.number);
    };
    const text = `${sign} ${threadTitle(data.threads[other.place])}`;
    return element("button", { type: "button", class: "link handed", title, tabindex: "-1", onclick }, text);
  };
  const given = has.to ? parts.givenBy(place, number).filter((part) => part.ranges.length) : [];
  const part = has.from ? parts.partOf(place, number) : undefined;
  const isTaken = part?.giver && part.ranges[0][0] === number;
  return [
    ...given.map((part) => link("⇢", "What it handed to another thread", { place: part.place, number: part.ranges[0][0] })),
    ...(isTaken ? [link("⇠", "The call that handed it over", part.giver)] : []),
  ];
}

// Who handed over the part of a row, and how long before.
function describePart(tree, { part: number }) {
  const { giver, isGuessed, place, ranges } = tree.parts?.all[number] ?? {};
  if (!giver) return [];
  const when = ({ place, number }) => tree.shapes.when(place, 2 * number - tree.pathTo(tree.wholeOf(place), number).at(-1).depth);
  const [given, taken] = ranges.length ? [when(giver), when({ place, number: ranges[0][0] })] : [];
  const isKnown = given?.estimate !== undefined && taken?.estimate !== undefined;
  const later = isKnown ? bounded(Math.max(0, taken.from - given.by), taken.by - given.from) : "";
  return [
    `handed over by call ${grouped(giver.number)} of ${threadTitle(data.threads[giver.place])}${later ? `, began ${later} later` : ""}`,
    isGuessed ? "a guess: another call may have handed it over" : "",
  ];
}

// When a call began, and how long it took, as far as it is known.
function timesOf(tree, row) {
  const span = tree.span(row, row.number, row.calls);
  if (!span) return [];
  const { estimate, from, by } = span.start;
  const step = Math.max(1, by - from);
  const by_ = tree.shapes.outcome[row.shape] === NOT_LEFT ? Infinity : span.by;
  return [`began at ~${nanos(estimate, Number.isFinite(step) ? step / 10 : undefined)}`, bounded(span.from, by_)];
}

// The next call that is wanted after the selected one, or the one before, in any thread: `{ place, number }`.
function nextWanted(shapes, sums, place, number, by) {
  const places = data.threads.map((_, place) => place).filter((place) => data.threads[place].shape !== undefined);
  const shapeOf = (place) => data.threads[place].shape;
  const count = (place) => sums[shapeOf(place)];
  if (!places.some((place) => count(place) > 0)) return undefined;
  let at = Math.max(0, places.indexOf(place));
  let rank = -1;
  if (number === undefined) rank = by > 0 ? 0 : -1;
  else {
    const before = shapes.wantedBefore(sums, shapeOf(place), number);
    const isWanted = before < count(place) && shapes.wantedAt(sums, shapeOf(place), before) === number;
    rank = by > 0 ? before + (isWanted ? 1 : 0) : before - 1;
  }
  while (rank < 0 || rank >= count(places[at])) {
    at = (at + by + places.length) % places.length;
    rank = by > 0 ? 0 : count(places[at]) - 1;
  }
  return { place: places[at], number: shapes.wantedAt(sums, shapeOf(places[at]), rank) };
}

// The calls of all threads whose values or exceptions have all of these words: by the place of the thread their numbers, in order.
function callsWith(words) {
  const found = new Map();
  if (!words.length) return found;
  const is = data.texts.map((text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  });
  if (!is.includes(true)) return found;
  data.threads.forEach(({ values = [], exceptions = [] }, place) => {
    const numbers = new Set();
    for (const flat of [values, exceptions])
      for (let [at, number] = [0, 0]; at < flat.length; at += 2) {
        number += flat[at];
        if (is[flat[at + 1]]) numbers.add(number);
      }
    if (numbers.size) found.set(place, [...numbers].sort((a, b) => a - b));
  });
  return found;
}

// The next of such calls after a call of a thread, or the one before: `{ place, number }`.
function nextWith(found, place, number, by) {
  const count = data.threads.length;
  for (let step = 0; step <= count; step++) {
    const at = (((Math.max(place, 0) + by * step) % count) + count) % count;
    const numbers = found.get(at) ?? [];
    const isAfter = (other) => step > 0 || number === undefined || (other - number) * by > 0;
    const next = by > 0 ? numbers.find(isAfter) : numbers.findLast(isAfter);
    if (next !== undefined) return { place: at, number: next };
  }
}

// The deepest box of a timeline that contains a call; -1 if there is none.
function boxOfCall(boxes, number) {
  let found = -1;
  for (let box = 0; box < boxes.count; box++)
    if (boxes.before[box] <= number && number < boxes.before[box] + boxes.calls[box]) found = box;
  return found;
}
