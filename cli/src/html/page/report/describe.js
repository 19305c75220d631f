// Describes charts and boxes in words.

// What a chart shows, and of which thread.
function caption(boxes, thread) {
  const merged = boxes.hasMore ? "; striped boxes combine several calls" : "";
  const name = thread ? threadTitle(thread) : "all threads, added up";
  if (thread && !thread.boxes) {
    return `${name}: its calls are not on this page; flow replay shows them`;
  }
  if (boxes.isFlame) {
    const width = data.has_cpu ? "its CPU time" : isTime ? "its time" : "the number of calls in it";
    return `${name}: one box for each path, as wide as ${width}${merged}`;
  }
  const faded = boxes.certain ? "; faded where a call may not have begun yet, or have ended" : "";
  return `${name}: ${isTime ? "time" : "number of calls"} from left to right${faded}${merged}`;
}

// What is known about a box, as lines.
function describe(boxes, box) {
  const { values, exception } = boxes.textsOf(box);
  const end = exception ? `left by ${exception}` : "";
  const lines = [element("b", {}, boxes.title(box)), ...codeOf(values), [fact(boxes, box), end].filter(Boolean).join(", ")];
  return lines.map((line) => element("div", {}, line));
}

// The values of a call, if there are any.
const codeOf = (values) => (values ? [element("code", {}, values)] : []);

function fact(boxes, box) {
  const width = boxes.width[box];
  const calls = boxes.calls[box];
  const share = `${percent(width, boxes.length)} of ${boxes === flame ? "all" : "the thread"}`;
  if (boxes.isMore[box]) {
    const within = isTime ? ` within ${nanos(width)}` : "";
    const why = `too ${boxes.isFlame ? "few" : "short"} to be shown separately`;
    const method = methods[boxes.method[box]];
    const widest = method ? `; the ${isTime ? "longest" : "largest"} of ${method.forms[0]}` : "";
    return `${share}${within}: ${why}${widest}`;
  }
  if (boxes.isFlame) {
    const sums = `${data.has_cpu ? "CPU time" : "total"} ${amount(width)}, ${share}, self ${amount(boxes.selfWidth(box))}`;
    return `called ${grouped(calls)}× on this path, ${sums}`;
  }
  const span = boxes.bounds?.(box);
  if (isTime) return `${(span && bounded(span.from, span.by)) || nanos(width)}, ${share}, ${plural(calls, "call")} in it`;
  return `${plural(width, "call")} in it, itself included, ${share}`;
}

// The label of a mark; a test without its package.
const OTHER_MARKS = ["note", "gap", "pause", "samples"];
const markLabel = (kind, text) => {
  if (OTHER_MARKS.includes(kind)) return text;
  const [name] = text.split(/[([]/);
  const rest = text.slice(name.length);
  return name.split(".").slice(-2).join(".") + rest;
};

// What is known about a mark, as lines.
function describeMark({ kind, at, end, text }) {
  const isTest = !OTHER_MARKS.includes(kind);
  const when = isTime ? `at ${nanos(at, 1e3)}` : `after ${plural(at, "call")}`;
  const facts = [isTest ? `test, ${kind}` : kind, when, end > at ? amount(end - at) : ""];
  const lines = [element("b", {}, text), facts.filter(Boolean).join(", ")];
  return lines.map((line) => element("div", {}, line));
}

const faint = (...children) => element("div", { class: "sub" }, ...children);

// How deep a box is, and the command that shows all of it.
function place(boxes, box, thread) {
  const depth = `depth ${boxes.depth[box]}`;
  // If calls were left out, the numbers here are not those that `flow replay` counts by.
  if (boxes.isFlame || data.is_filtered) return faint(depth);
  return faint(`${depth}; all of it: `, replayCommand(thread, boxes.before[box], boxes.calls[box]));
}

// The command that shows calls of a thread from one on.
function replayCommand({ id }, from, calls) {
  const start = from ? ` --from ${from}` : "";
  return element("code", {}, `flow replay ${data.facts.dir} --thread ${id}${start} --max ${calls}`);
}
