// A chart: draws the boxes that are in view on a canvas. Depth increases downwards, time to the right.

const ROW = 19;
const AXIS = 24;
// The band of marks, if the thread has any.
const BAND = 18;
// In pixels. Browsers limit the size of a canvas.
const HIGHEST = 6000;
const FONT = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";

// A canvas with as many pixels as the screen has for it; returns its context, which counts in CSS pixels.
function fitted(canvas, width, height) {
  const scale = devicePixelRatio || 1;
  const pixels = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1])
    Object.assign(canvas, { width: pixels[0], height: pixels[1] });
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

// Draws the numbers of an axis from one value to another, in this many pixels.
function drawTicks(context, from, to, width, toX) {
  const wanted = Math.max(2, width / 110);
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(SHORTEST, [1, 2, 5, 10].find((digit) => digit * power >= rough) * power);
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    const x = toX(tick);
    context.fillRect(x, AXIS - 6, 1, 6);
    const text = isTime ? nanos(tick, step) : short(Math.round(tick));
    context.fillText(tick ? text : "0", x + 4, AXIS / 2);
  }
}

class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.boxes = new Boxes([], 0, 0, false);
    // The range in view, and how far it is scrolled down, in pixels.
    this.from = 0;
    this.to = 1;
    this.down = 0;
    this.selected = -1;
    this.hovered = -1;
    // 1 for each method that matches the search, else 0; null without a search.
    this.found = null;
    // Or the numbers of the calls that match; null without such a search.
    this.numbers = null;
    // The method that is chosen in the table.
    this.chosen = NO_METHOD;
    // The package that is highlighted, and the range that is being dragged.
    this.group = null;
    this.ifEmpty = "";
    this.drag = null;
    this.isDrawn = true;
    this.onselect = () => {};
    this.onview = () => {};
  }

  // Shows boxes: a range of them, or all.
  show(boxes, range) {
    this.boxes = boxes;
    this.selected = this.hovered = -1;
    this.down = 0;
    this.target = null;
    this.set(range?.from ?? boxes.begin, range?.to ?? boxes.end);
    this.redraw();
  }

  // Where the rows begin.
  get top() {
    return AXIS + (this.boxes.marks.length ? BAND : 0);
  }
  get width() {
    return this.canvas.clientWidth;
  }
  get height() {
    return this.canvas.clientHeight;
  }
  toX(time) {
    return ((time - this.from) / (this.to - this.from)) * this.width;
  }
  toTime(x) {
    return this.from + (x / this.width) * (this.to - this.from);
  }

  redraw() {
    if (!this.isDrawn) return;
    this.isDrawn = false;
    requestAnimationFrame((now) => {
      this.isDrawn = true;
      this.step(now);
      this.draw();
    });
  }

  // Shows a range at once.
  view(from, to) {
    this.target = null;
    this.set(from, to);
    this.redraw();
  }

  // Moves to a range in a few frames, so that the eye can follow.
  glide(from, to) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.view(from, to);
    this.target = { from, to, start: null, before: [this.from, this.to] };
    this.redraw();
  }

  step(now) {
    const target = this.target;
    if (!target) return;
    target.start ??= now;
    const part = Math.min(1, (now - target.start) / 160);
    const eased = 1 - (1 - part) ** 3;
    const between = (a, b) => a + (b - a) * eased;
    this.set(between(target.before[0], target.from), between(target.before[1], target.to));
    if (part < 1) this.redraw();
    else this.target = null;
  }

  set(from, to) {
    const { begin, end } = this.boxes;
    const length = Math.min(end - begin, Math.max(to - from, SHORTEST));
    this.from = Math.max(begin, Math.min(from, end - length));
    this.to = this.from + length;
    this.onview();
  }

  zoom(factor, x = this.width / 2) {
    const time = this.toTime(x);
    this.view(time - (time - this.from) * factor, time + (this.to - time) * factor);
  }

  // Moves the view to the right and down, in pixels.
  move(x, y) {
    const shift = (x / this.width) * (this.to - this.from);
    this.setDown(this.down + y);
    this.view(this.from + shift, this.to + shift);
  }

  // The height at which all rows are in view, up to a limit.
  wholeHeight() {
    const border = 2;
    return Math.min(HIGHEST, Math.max(this.boxes.rows.length, 8) * ROW + this.top + 8 + border);
  }

  setDown(down) {
    const most = Math.max(0, this.boxes.rows.length * ROW + this.top + 8 - this.height);
    this.down = Math.max(0, Math.min(down, most));
  }

  reset() {
    this.setDown(0);
    this.glide(this.boxes.begin, this.boxes.end);
  }

  zoomTo(box) {
    const { at, width } = this.boxes;
    const margin = this.boxes.parent[box] < 0 ? 0 : width[box] * 0.02;
    this.reveal(box);
    this.glide(at[box] - margin, at[box] + width[box] + margin);
  }

  // Zooms in until a box is wide enough to be distinguished from its neighbours.
  enlarge(box) {
    const { at, width } = this.boxes;
    // What has no width by the estimates is no wider for being near.
    if (!width[box] || (width[box] / (this.to - this.from)) * this.width > 4) return;
    this.glide(at[box] - 20 * width[box], at[box] + 21 * width[box]);
  }

  // Scrolls until a box is in view.
  reveal(box) {
    const y = this.boxes.depth[box] * ROW;
    if (y < this.down) this.setDown(y - ROW);
    if (y > this.down + this.height - this.top - 2 * ROW)
      this.setDown(y - this.height + this.top + 3 * ROW);
    const [left, right] = [this.boxes.at[box], this.boxes.at[box] + this.boxes.width[box]];
    if (right <= this.from || left >= this.to) {
      const half = (this.to - this.from) / 2;
      this.glide((left + right) / 2 - half, (left + right) / 2 + half);
    }
    this.redraw();
  }

  select(box) {
    this.selected = box;
    if (box >= 0) this.reveal(box);
    this.redraw();
    this.onselect(box);
  }

  // The box at a point of the canvas, or -1. A box narrower than a pixel is found at the pixel it is drawn on.
  at(x, y) {
    if (y < this.top) return -1;
    const row = this.boxes.rows[Math.floor((y - this.top + this.down) / ROW)];
    if (!row) return -1;
    const time = this.toTime(x);
    const box = row[this.boxes.firstBehind(row, time)] ?? row.at(-1);
    const slack = (this.to - this.from) / this.width;
    return this.boxes.at[box] <= time + slack &&
      this.boxes.at[box] + this.boxes.width[box] >= time - slack
      ? box
      : -1;
  }

  // The innermost mark at a point of the canvas.
  markAt(x, y) {
    if (y < AXIS || y >= this.top) return undefined;
    const time = this.toTime(x);
    const slack = (5 * (this.to - this.from)) / this.width;
    return this.boxes.marks.findLast(({ at, end }) => at <= time + slack && end >= time - slack);
  }

  draw() {
    const { context } = this;
    fitted(this.canvas, this.width, this.height);
    context.fillStyle = colours.back;
    context.fillRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    this.letter = context.measureText("m").width;
    if (!this.boxes.count) {
      context.fillStyle = colours.faint;
      context.fillText(this.ifEmpty, 12, this.height / 2);
      this.drawAxis();
      return this.drawMarks();
    }
    const first = Math.floor(this.down / ROW);
    const last = Math.min(
      this.boxes.rows.length,
      Math.ceil((this.down + this.height - this.top) / ROW),
    );
    for (let depth = first; depth < last; depth++) this.drawRow(depth);
    this.drawAxis();
    this.drawMarks();
    this.drawBars();
    if (this.drag) this.drawDrag();
  }

  // Draws the range that is being dragged, and its length.
  drawDrag() {
    const { context } = this;
    const [from, to] = [this.toX(this.drag.from), this.toX(this.drag.to)];
    context.fillStyle = colours.shade;
    context.fillRect(0, 0, from, this.height);
    context.fillRect(to, 0, this.width - to, this.height);
    context.fillStyle = colours.link;
    context.fillRect(from, 0, 1, this.height);
    context.fillRect(to - 1, 0, 1, this.height);
    const text = amount(Math.round(this.drag.to - this.drag.from));
    const width = context.measureText(text).width + 12;
    const x = Math.max(0, Math.min((from + to - width) / 2, this.width - width));
    context.fillRect(x, 2, width, AXIS - 6);
    context.fillStyle = colours.back;
    context.fillText(text, x + 6, AXIS / 2 - 1);
  }

  drawRow(depth) {
    const { boxes, context } = this;
    const row = boxes.rows[depth];
    const y = this.top + depth * ROW - this.down;
    // A box on a pixel that is already painted is skipped.
    let painted = -1;
    for (let place = boxes.firstBehind(row, this.from); place < row.length; place++) {
      const box = row[place];
      if (boxes.at[box] >= this.to) break;
      const left = Math.max(this.toX(boxes.at[box]), -1);
      const right = Math.min(this.toX(boxes.at[box] + boxes.width[box]), this.width + 1);
      const isNoted = this.isMarked(box) || box === this.selected;
      if (right - painted < 0.5 && !isNoted) continue;
      const drawn = Math.max(right - left - (right - left > 3 ? 1 : 0), 0.8);
      this.drawBox(box, left, y, drawn);
      painted = left + drawn;
    }
  }

  isMarked(box) {
    if (this.boxes.isMore[box]) return false;
    if (this.numbers && !this.boxes.isFlame) return this.numbers.has(this.boxes.before[box]);
    return this.found?.[this.boxes.method[box]] === 1 || this.boxes.method[box] === this.chosen;
  }

  drawBox(box, left, y, width) {
    const { boxes, context } = this;
    const method = boxes.method[box];
    const marked = this.isMarked(box);
    const isOther = this.group !== null && packageOf(methods[method] ?? methods[unnamed]) !== this.group;
    const faded = ((this.found || this.numbers || this.chosen !== NO_METHOD) && !marked) || (isOther && !marked);
    const colour = faded ? colours.faded[method] : colours.boxes[method];
    context.fillStyle = marked ? colours.marked : (colour ?? colours.none);
    context.fillRect(left, y, width, ROW - 1);
    if (boxes.certain && !marked) this.drawUncertain(box, left, y, width);
    if (boxes.isMore[box] && width > 2) this.drawStripes(left, y, width);
    if (box === this.selected || (box === this.hovered && width > 2)) {
      context.strokeStyle = box === this.selected ? colours.text : colours.faint;
      context.lineWidth = box === this.selected ? 2 : 1;
      context.strokeRect(left + 1, y + 1, Math.max(width - 2, 1), ROW - 3);
    }
    const letters = Math.floor(
      (Math.min(left + width, this.width) - Math.max(left, 0) - 6) / this.letter,
    );
    if (letters < 3) return;
    context.fillStyle = colours.text;
    context.fillText(this.label(box, letters), Math.max(left, 0) + 3, y + ROW / 2);
  }

  // Fades the parts of a box in which it may not have begun yet, or may have ended already.
  drawUncertain(box, left, y, width) {
    const { context } = this;
    const { from, to } = this.boxes.certain;
    const right = left + width;
    const [begun, ended] = [Math.min(this.toX(from[box]), right), Math.max(this.toX(to[box]), left)];
    const fade = (start, end, isStart) => {
      if (end - start < 2) return;
      const tone = context.createLinearGradient(start, 0, end, 0);
      tone.addColorStop(isStart ? 0 : 1, colours.unsure);
      tone.addColorStop(isStart ? 1 : 0, colours.sure);
      context.fillStyle = tone;
      context.fillRect(start, y, end - start, ROW - 1);
    };
    if (begun < ended) {
      fade(left, begun, true);
      fade(ended, right, false);
    } else if (width > 2) {
      // It may have lasted no time at all.
      context.fillStyle = colours.unsure;
      context.fillRect(left, y, width, ROW - 1);
    }
  }

  drawStripes(left, y, width) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(
      Math.max(left, 0),
      y,
      Math.min(left + width, this.width) - Math.max(left, 0),
      ROW - 1,
    );
    context.clip();
    context.strokeStyle = colours.stripe;
    context.lineWidth = 3;
    context.beginPath();
    // Only within the canvas: a box far wider than the canvas costs no more.
    const start = Math.floor((Math.max(left, 0) - ROW) / 8) * 8;
    for (let x = start; x < Math.min(left + width, this.width); x += 8) {
      context.moveTo(x, y + ROW);
      context.lineTo(x + ROW, y);
    }
    context.stroke();
    context.restore();
  }

  label(box, letters) {
    const { boxes } = this;
    const method = methods[boxes.method[box]];
    const forms = boxes.isMore[box]
      ? [
          `… ${plural(boxes.calls[box], "more call")}${method ? `, ${method.forms[1]}` : ""}`,
          `… ${plural(boxes.calls[box], "more call")}`,
          `… ${grouped(boxes.calls[box])}`,
        ]
      : method.forms;
    const fitting = forms.find((form) => form.length <= letters);
    return fitting ?? `${forms.at(-1).slice(0, letters - 1)}…`;
  }

  drawAxis() {
    const { context } = this;
    context.fillStyle = colours.panel;
    context.fillRect(0, 0, this.width, AXIS);
    context.fillStyle = colours.faint;
    drawTicks(context, this.from, this.to, this.width, (time) => this.toX(time));
  }

  // Draws marks: what lasts as a bar, a note as a line through all rows.
  drawMarks() {
    const { context } = this;
    const { marks } = this.boxes;
    if (!marks.length) return;
    context.fillStyle = colours.panel;
    context.fillRect(0, AXIS, this.width, BAND);
    let barEnd = 0;
    // Samples are many and short: they are described where the pointer is.
    marks.forEach(({ kind, at, end, text }, place) => {
      const [left, right] = [Math.max(this.toX(at), -9), Math.min(this.toX(end), this.width + 9)];
      const isBar = end > at;
      const isInside = !isBar && at < barEnd;
      if (isBar) barEnd = Math.max(barEnd, end);
      if (right < 0 || left > this.width) return;
      context.fillStyle = markColour(kind);
      if (isBar) context.fillRect(left, AXIS + 2, Math.max(right - left - 1, 1), BAND - 4);
      else {
        context.fillRect(left, AXIS + 2, 2, BAND - 4);
        if (kind === "samples") return;
        context.globalAlpha = 0.35;
        context.fillRect(left, this.top, 1, this.height);
        context.globalAlpha = 1;
      }
      // A label may reach to the next mark; one inside a bar has no room.
      const next = Math.min(this.toX(marks[place + 1]?.at ?? this.to), this.width);
      const room = (isBar ? Math.min(right, Math.max(next, left)) : next) - Math.max(left, 0);
      const letters = isInside ? 0 : Math.floor((room - 8) / this.letter);
      if (letters < 3) return;
      context.fillStyle = isBar ? colours.onMark : colours.text;
      const short = markLabel(kind, text);
      const shown = short.length > letters ? `${short.slice(0, letters - 1)}…` : short;
      context.fillText(shown, Math.max(left, 0) + 5, AXIS + BAND / 2);
    });
  }

  // Draws scroll bars: where the view is in the whole.
  drawBars() {
    const { context } = this;
    const { begin, end } = this.boxes;
    const length = end - begin;
    context.fillStyle = colours.link;
    if (this.to - this.from < length) {
      const width = Math.max(((this.to - this.from) / length) * this.width, 4);
      context.fillRect(((this.from - begin) / length) * (this.width - 4), 0, width, 3);
    }
    const rows = this.boxes.rows.length * ROW + 8;
    const space = this.height - this.top;
    if (rows > space) {
      const length = Math.max((space / rows) * space, 8);
      context.fillRect(
        this.width - 4,
        this.top + (this.down / (rows - space)) * (space - length),
        4,
        length,
      );
    }
  }
}
