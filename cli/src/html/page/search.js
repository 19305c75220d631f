// What is searched for: methods whose names have all the words, in any case.

// Of each method 1 where it is found; null where nothing is searched for.
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const found = new Uint8Array(methods.length);
  methods.forEach((method, place) => {
    found[place] = place !== unnamed && words.every((word) => method.text.includes(word)) ? 1 : 0;
  });
  return found;
}

// How many were found, and how much happened in them.
function account(found, flame) {
  const count = found.reduce((sum, is) => sum + is, 0);
  if (!count) return "nothing found";
  const share = flame.share(found);
  // What was merged may hold more of them.
  const least = flame.hasMore && share < flame.length ? "at least " : "";
  const part = `${least}${percent(share, flame.length)} of all ${isTime ? "time" : "calls"}`;
  return `${plural(count, "method")}, ${part} in them`;
}

// The boxes that stand out, in the order of calls, one after the other; -1 where there is none.
function nextMarked(chart, by) {
  const { boxes } = chart;
  for (let step = 1; step <= boxes.count; step++) {
    const start = chart.selected < 0 && by < 0 ? 0 : chart.selected;
    const box = (((start + by * step) % boxes.count) + boxes.count) % boxes.count;
    if (chart.isMarked(box)) return box;
  }
  return -1;
}
