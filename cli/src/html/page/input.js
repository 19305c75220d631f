// Handles mouse, touch and keys on a chart.

function listen(chart, tip) {
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
    drag = { x: event.clientX, y: event.clientY, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return hover(event);
    const [x, y] = [drag.x - event.clientX, drag.y - event.clientY];
    if (!drag.moved && Math.hypot(x, y) < 4) return;
    Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
    canvas.classList.add("dragging");
    tip.hidden = true;
    // A finger that moves up or down scrolls the page instead.
    chart.move(x, event.pointerType === "mouse" ? y : 0);
  });
  const drop = (event) => {
    canvas.classList.remove("dragging");
    if (drag && !drag.moved && event.type === "pointerup") chart.select(chart.at(...place(event)));
    drag = null;
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
    tip.hidden = box < 0 || event.pointerType === "touch";
    if (tip.hidden) return;
    tip.replaceChildren(...describe(chart.boxes, box));
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
    Escape: () => chart.select(-1),
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
