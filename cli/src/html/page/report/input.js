// Handles mouse, touch and keys on a chart. `onrange` is called with a range that was dragged.

function listen(chart, tip, onrange) {
  const { canvas } = chart;
  const place = (event) => {
    const area = canvas.getBoundingClientRect();
    return [event.clientX - area.left, event.clientY - area.top];
  };

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      // A wheel counts in lines, a touchpad in pixels.
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey) chart.move(0, (event.deltaY || event.deltaX) * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) chart.move(event.deltaX * unit, 0);
      else
        chart.zoom(
          Math.exp(Math.max(-200, Math.min(200, event.deltaY * unit)) * 0.0025),
          place(event)[0],
        );
      hover(event);
    },
    { passive: false },
  );

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const [x, y] = [event.clientX, event.clientY];
    // A mouse selects a range; with shift, or with a finger, it moves the chart.
    const moves = event.shiftKey || event.pointerType === "touch";
    drag = { x, y, moved: false, moves, start: chart.toTime(place(event)[0]) };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    const [x, y] = [drag.x - event.clientX, drag.y - event.clientY];
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    drag.moved = true;
    tip.hidden = true;
    if (!drag.moves) {
      const end = chart.toTime(Math.max(0, Math.min(place(event)[0], chart.width)));
      chart.drag = { from: Math.min(drag.start, end), to: Math.max(drag.start, end) };
      return chart.redraw();
    }
    Object.assign(drag, { x: event.clientX, y: event.clientY });
    canvas.classList.add("dragging");
    // A finger that moves up or down scrolls the page instead.
    chart.move(x, event.pointerType === "mouse" ? y : 0);
  });
  const drop = (event) => {
    canvas.classList.remove("dragging");
    const isDone = drag && event.type === "pointerup";
    const mark = chart.markAt(...place(event));
    if (isDone && !drag.moved && mark?.end > mark?.at) {
      const margin = (mark.end - mark.at) / 50;
      onrange(mark.at - margin, mark.end + margin);
    } else if (isDone && !drag.moved) chart.select(chart.at(...place(event)));
    if (isDone && chart.drag) onrange(chart.drag.from, chart.drag.to);
    chart.redraw();
    drag = chart.drag = null;
  };
  canvas.addEventListener("pointerup", drop);
  canvas.addEventListener("pointercancel", drop);
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
    chart.hovered = -1;
    chart.redraw();
  });
  canvas.addEventListener("dblclick", (event) => {
    const box = chart.at(...place(event));
    if (box >= 0) chart.zoomTo(box);
  });

  function hover(event) {
    const [x, y] = place(event);
    const box = chart.at(x, y);
    if (box !== chart.hovered) {
      chart.hovered = box;
      chart.redraw();
    }
    const mark = chart.markAt(x, y);
    tip.hidden = (box < 0 && !mark) || event.pointerType === "touch";
    if (tip.hidden) return;
    tip.replaceChildren(...(mark ? describeMark(mark) : describe(chart.boxes, box)));
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    tip.style.left = `${Math.max(0, Math.min(x + 14, chart.width - width - 4))}px`;
    tip.style.top = `${y + 18 + height > chart.height ? Math.max(0, y - height - 8) : y + 18}px`;
  }

  const go = {
    ArrowLeft: () => sibling(-1),
    ArrowRight: () => sibling(1),
    ArrowUp: () => chart.boxes.parent[chart.selected],
    ArrowDown: () => {
      const next = chart.selected + 1;
      return chart.boxes.parent[next] === chart.selected ? next : chart.selected;
    },
  };
  const sibling = (by) => {
    const { boxes, selected } = chart;
    const row = boxes.rows[boxes.depth[selected]];
    return row[row.indexOf(selected) + by] ?? selected;
  };
  const act = {
    "+": () => chart.zoom(0.7),
    "=": () => chart.zoom(0.7),
    "-": () => chart.zoom(1 / 0.7),
    0: () => chart.reset(),
    Home: () => chart.reset(),
    a: () => chart.move(-chart.width / 5, 0),
    d: () => chart.move(chart.width / 5, 0),
    w: () => chart.move(0, -3 * ROW),
    s: () => chart.move(0, 3 * ROW),
    Enter: () => chart.selected >= 0 && chart.zoomTo(chart.selected),
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !chart.boxes.count) return;
    if (go[event.key]) {
      const box = chart.selected < 0 ? 0 : go[event.key]();
      if (box >= 0) chart.select(box);
    } else if (act[event.key]) act[event.key]();
    else return;
    event.preventDefault();
  });
}
