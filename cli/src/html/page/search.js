// Search: for methods whose names contain all the words, in any case.

// Returns 1 for each method that matches, else 0; null without words.
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return null;
  const found = new Uint8Array(methods.length);
  methods.forEach((method, place) => {
    found[place] = place !== unnamed && words.every((word) => method.text.includes(word)) ? 1 : 0;
  });
  return found;
}

// How many methods match, and their share of the whole.
function account(found, flame) {
  const count = found.reduce((sum, is) => sum + is, 0);
  if (!count) return "no matches";
  const share = flame.share(found);
  // Merged boxes may contain more of their calls.
  const least = flame.hasMore && share < flame.length ? "at least " : "";
  const part = `${least}${percent(share, flame.length)} of all ${isTime ? "time" : "calls"}`;
  return `${plural(count, "method")} with ${part}`;
}

// The next highlighted box in the order of calls, or the previous one; -1 if there is none.
function nextMarked(chart, by) {
  const { boxes } = chart;
  for (let step = 1; step <= boxes.count; step++) {
    const start = chart.selected < 0 && by < 0 ? 0 : chart.selected;
    const box = (((start + by * step) % boxes.count) + boxes.count) % boxes.count;
    if (chart.isMarked(box)) return box;
  }
  return -1;
}
