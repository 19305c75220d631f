// Boxes and charts in words.

// What a chart shows, of which thread.
function caption(boxes, thread) {
  const merged = boxes.hasMore ? "; striped boxes hold several calls" : "";
  const name = thread ? threadTitle(thread) : "all threads";
  if (thread && !thread.boxes) {
    return `${name}: the page has no room for its calls; flow replay shows them`;
  }
  if (boxes.isFlame) {
    const width = isTime ? "its time" : "the calls in it";
    return `${name}: the same path is one box, as wide as ${width}${merged}`;
  }
  return `${name}: ${isTime ? "time" : "calls so far"} to the right${merged}`;
}

// What is known of a box, as lines.
function describe(boxes, box) {
  const lines = [element("b", {}, boxes.title(box)), fact(boxes, box)];
  return lines.map((line) => element("div", {}, line));
}

function fact(boxes, box) {
  const width = boxes.width[box];
  const calls = boxes.calls[box];
  const share = `${percent(width, boxes.length)} of ${boxes === flame ? "all" : "the thread"}`;
  if (boxes.isMore[box]) {
    const within = isTime ? ` within ${nanos(width)}` : "";
    const why = `too ${boxes.isFlame ? "few" : "short"} to be told apart here`;
    const method = methods[boxes.method[box]];
    const widest = method ? `; the ${isTime ? "longest" : "largest"} of ${method.forms[0]}` : "";
    return `${share}${within}: ${why}${widest}`;
  }
  if (boxes.isFlame) {
    const sums = `total ${amount(width)}, ${share}, self ${amount(boxes.own(box))}`;
    return `called ${grouped(calls)}× on this path, ${sums}`;
  }
  if (isTime) return `${nanos(width)}, ${share}, ${plural(calls, "call")} in it`;
  return `${plural(width, "call")} in it, its own included, ${share}`;
}

const faint = (...children) => element("div", { class: "sub" }, ...children);

// How deep a box is, and the command that shows all of it.
function place(boxes, box, thread) {
  const depth = `depth ${boxes.depth[box]}`;
  // Of calls that were left out, nobody knows how many there were.
  if (boxes.isFlame || data.is_filtered) return faint(depth);
  const range = `--from ${boxes.before[box]} --max ${boxes.calls[box]}`;
  const command = `flow replay ${data.facts.dir} --thread ${thread.id} ${range}`;
  return faint(`${depth}; all of it: `, element("code", {}, command));
}
