// Search: for methods by a pattern, as on the command line, or by words in their names.

const ANY = "**";
const ANY_WITHIN_PACKAGE = "*";
const ANY_ONE = "?";

// A pattern as a list of its characters and wildcards.
const patternTokens = (text) => text.match(/\*\*+|[^]/g)?.map((token) => (token.length > 1 ? ANY : token)) ?? [];

// Matches by the set of places in the pattern that are reached: linear in the text, whatever the wildcards.
function matchesAll(tokens, text) {
  const isWild = (token) => token === ANY || token === ANY_WITHIN_PACKAGE;
  const skip = (reached) => {
    tokens.forEach((token, at) => {
      if (reached[at] && isWild(token)) reached[at + 1] = true;
    });
    return reached;
  };
  let reached = skip([true]);
  for (const c of text) {
    const next = [];
    tokens.forEach((token, at) => {
      if (!reached[at]) return;
      if (token === ANY || (token === ANY_WITHIN_PACKAGE && c !== ".")) next[at] = true;
      else if (token === c || (token === ANY_ONE && c !== ".")) next[at + 1] = true;
    });
    if (!next.length) return false;
    reached = skip(next);
  }
  return reached[tokens.length] === true;
}

// Returns a function that says whether a method matches a pattern: `pkg.Class`, `pkg.Class#method`, without the package,
// with wildcards; or a name as it is shown. Upper and lower case are equal.
function pattern(text) {
  const plain = text.toLowerCase();
  const [classText, ...rest] = plain.split("#");
  const [ofClass, ofMethod] = [patternTokens(classText), rest.length ? patternTokens(rest.join("#")) : null];
  const isSimple = classText && !/\.|\*\*/.test(classText) && (ofMethod || classText !== "*");
  // Parameters as names separate them.
  const withBlanks = (text) => patternTokens(text.replaceAll(/,\s*/g, ", "));
  const whole = withBlanks(plain);
  const withParameters = withBlanks(rest.join("#"));
  return (method) => {
    const [className, name] = [method.className.toLowerCase(), method.name.toLowerCase()];
    const ends = isSimple ? [className, className.split(".").at(-1), className.split("$").at(-1)] : [className];
    if (ends.some((end) => matchesAll(ofClass, end)) && (!ofMethod || matchesAll(ofMethod, name))) return true;
    const simple = className.split(".").at(-1);
    const forms = [className, simple, className.split("$").at(-1)];
    if (forms.some((form) => plain === `${form}.${name}`)) return true;
    if (!plain.includes("(")) return false;
    const isOfClass = ofMethod && ends.some((end) => matchesAll(ofClass, end));
    const withoutClass = (form) => form.slice(className ? className.length + 1 : 0);
    return method.text
      .split("\n")
      .some(
        (form) =>
          matchesAll(whole, form) ||
          matchesAll(whole, form.slice(className.length - simple.length)) ||
          (isOfClass && matchesAll(withParameters, withoutClass(form))),
      );
  };
}

// Returns 1 for each method that matches, else 0; null without a text.
function search(text) {
  const wanted = text.trim();
  if (!wanted) return null;
  const found = new Uint8Array(methods.length);
  const mark = (matches) => {
    methods.forEach((method, place) => {
      found[place] = place !== unnamed && matches(method) ? 1 : 0;
    });
    return found.includes(1);
  };
  if (/[#*?(]/.test(wanted) || /^[^\s]*\.[^\s]*$/.test(wanted)) {
    if (mark(pattern(wanted))) return found;
  }
  // A pattern that is still being typed.
  const words = wanted.toLowerCase().replaceAll("#", ".").split(/\s+/);
  mark((method) => words.every((word) => method.text.includes(word)));
  return found;
}

// The methods that a thread called: how often each, and when first.
function calledBy(thread) {
  if (thread.calledMap) return thread.calledMap;
  thread.calledMap = new Map();
  let first = 0;
  for (let at = 0; at < thread.called.length; at += 3) {
    const [method, calls, since] = thread.called.slice(at, at + 3);
    first += since;
    thread.calledMap.set(method, { calls, first });
  }
  return thread.calledMap;
}

const calls = (thread, found) => [...calledBy(thread)].filter(([method]) => found[method]);

// How many calls match, in how many threads, and their share of the whole. `sums` counts them in each shape, once the
// shapes are known.
function account(found, flame, sums) {
  const matching = methods.filter((method) => found[method.place]);
  const isIn = ({ shape }) => sums !== null && shape !== undefined && sums[shape] > 0;
  const threads = data.threads.filter((thread) => isIn(thread) || calls(thread, found).length);
  // A thread names the methods of the application first, so those are complete if it names others.
  const isOwn = data.knows_own && matching.every((method) => method.isOwn);
  const isKnown = (thread) =>
    thread.is_complete ||
    (sums !== null && thread.shape !== undefined) ||
    threads.includes(thread) ||
    (isOwn && [...calledBy(thread).keys()].some((method) => !methods[method].isOwn));
  const mayBeMore = data.more_threads.threads > 0 || !data.threads.every(isKnown);
  const share = flame.share(found);
  // Merged boxes may contain more of their calls.
  const least = flame.hasMore && share < flame.length ? "at least " : "";
  const part = `${least}${percent(share, flame.length)} of all ${isTime ? "time" : "calls"}`;
  const sum = matching.reduce((sum, method) => sum + method.calls, 0);
  const where = `in ${mayBeMore ? "at least " : ""}${plural(threads.length, "thread")}`;
  const what = matching.length > 1 ? `${plural(matching.length, "method")}: ` : "";
  return `${what}${plural(sum, "call")} ${where}, ${part}`;
}

// The boxes of a thread that match, in order. Where all of them are merged with others, the box with the first of them.
function hits(place, found) {
  const thread = data.threads[place];
  const of = thread.boxes ? calls(thread, found) : [];
  if (!of.length) return [];
  const boxes = boxesOf(place, false);
  const marked = [];
  for (let box = 0; box < boxes.count; box++)
    if (!boxes.isMore[box] && found[boxes.method[box]]) marked.push(box);
  if (marked.length) return marked;
  const first = of.reduce((least, [, { first }]) => Math.min(least, first), Infinity);
  const box = boxes.deepestAt(first);
  return box < 0 ? [] : [box];
}

// The next hit after a box of a thread, or the one before: its thread and its box; undefined if there is none.
function nextHit(place, selected, by, found) {
  const count = data.threads.length;
  for (let step = 0; step <= count; step++) {
    const thread = (((place + by * step) % count) + count) % count;
    const of = hits(thread, found);
    if (by < 0) of.reverse();
    const isAfter = (box) => selected < 0 || (box - selected) * by > 0;
    const box = step ? of[0] : of.find(isAfter);
    if (box !== undefined) return { thread, box };
  }
}

// The next highlighted box of a flame graph, or the previous one; -1 if there is none.
function nextMarked(chart, by) {
  const { boxes } = chart;
  for (let step = 1; step <= boxes.count; step++) {
    const start = chart.selected < 0 && by < 0 ? 0 : chart.selected;
    const box = (((start + by * step) % boxes.count) + boxes.count) % boxes.count;
    if (chart.isMarked(box)) return box;
  }
  return -1;
}

// How similar two texts are, from 0 to 1: the measure of Jaro and Winkler.
function similarity(one, other) {
  const reach = Math.max(0, Math.floor(Math.max(one.length, other.length) / 2) - 1);
  const taken = [];
  const common = [...one].filter((c, at) => {
    for (let to = Math.max(0, at - reach); to <= Math.min(other.length - 1, at + reach); to++)
      if (!taken[to] && other[to] === c) return (taken[to] = true);
    return false;
  });
  if (!common.length) return 0;
  const order = [...other].filter((_, at) => taken[at]);
  const moved = common.filter((c, at) => c !== order[at]).length / 2;
  const count = common.length;
  const jaro = (count / one.length + count / other.length + (count - moved) / count) / 3;
  let prefix = 0;
  while (prefix < 4 && prefix < one.length && one[prefix] === other[prefix]) prefix++;
  return jaro + 0.1 * prefix * (1 - jaro);
}

// The names that are most similar to a text that matches nothing.
function nearest(text) {
  const wanted = text.toLowerCase().replaceAll("#", ".").replaceAll("*", "").trim();
  const names = new Map();
  for (const method of methods.slice(0, unnamed)) {
    const [name, simple] = [method.name.toLowerCase(), method.className.split(/[.$]/).at(-1).toLowerCase()];
    const forms = [name, simple, `${simple}.${name}`, `${method.className.toLowerCase()}.${name}`];
    const like = Math.max(...forms.map((form) => similarity(form, wanted)));
    if (like >= 0.85) names.set(`${method.className}#${method.name}`, like);
  }
  return [...names].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([name]) => name);
}
