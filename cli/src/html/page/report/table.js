// The table of methods, and the callers and callees of one of them.

const ROWS_AT_ONCE = 100;
const roughHint = isTime ? "; ~ from fewer than about 20 samples, < from none" : "";
const COLUMNS = [
  {
    key: "calls",
    title: "calls",
    value: (method) => method.calls,
    show: (method) => grouped(method.calls),
    hint: "How often the method was called",
  },
  {
    key: "total",
    title: data.has_cpu ? "cpu" : "total",
    value: (method) => method.total,
    show: (method) => method.marks[0] + cell(method.total),
    hint: `Including its callees; a recursive call counts only within the outer one${roughHint}`,
  },
  {
    key: "share",
    title: "%",
    value: (method) => method.total,
    show: (method) => percent(method.total, flameEnd),
    hint: "Share of the total",
  },
  {
    key: "self",
    title: "self",
    value: (method) => method.self,
    show: (method) => method.marks[1] + cell(method.self),
    hint: `Excluding its callees${roughHint}`,
  },
  ...(data.has_cpu
    ? [
        {
          key: "waiting",
          title: "waiting",
          value: (method) => method.waiting,
          show: (method) => cell(method.waiting),
          hint: "How long threads did not run while the method was on the stack",
        },
      ]
    : []),
  { key: "name", title: "method", value: (method) => method.forms[0], show: null, hint: "Name" },
];

class Table {
  constructor(section, onchoose) {
    this.head = section.querySelector("thead tr");
    this.body = section.querySelector("tbody");
    this.more = byId("more-rows");
    this.count = byId("method-count");
    this.detail = byId("detail");
    this.onchoose = onchoose;
    this.key = "total";
    this.isDown = true;
    this.chosen = NO_METHOD;
    this.limit = ROWS_AT_ONCE;
    this.found = null;
    // Which methods are listed.
    this.only = () => true;
    const { methods: left, calls } = data.more_methods;
    const rest = `${plural(left, "more method")} with ${plural(calls, "call")}`;
    section.querySelector(".scroll .rest").textContent = left
      ? `Not on this page: ${rest}; flow report --max 0 lists all.`
      : "";
    for (const column of COLUMNS) {
      const button = element("button", {
        type: "button",
        title: column.hint,
        onclick: () => this.sort(column.key),
      });
      this.head.append(element("th", { scope: "col", "data-key": column.key }, button));
    }
    this.more.addEventListener("click", () => {
      this.limit *= 5;
      this.draw();
    });
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) this.onchoose(Number(row.dataset.place));
    });
    this.draw();
    this.drawDetail();
  }

  sort(key) {
    this.isDown = this.key === key ? !this.isDown : key !== "name";
    this.key = key;
    this.limit = ROWS_AT_ONCE;
    this.draw();
  }

  filter(found) {
    this.found = found;
    this.limit = ROWS_AT_ONCE;
    this.draw();
  }

  choose(place) {
    this.chosen = place;
    for (const row of this.body.rows)
      row.classList.toggle("chosen", Number(row.dataset.place) === place);
    this.drawDetail();
  }

  rows() {
    const { value } = COLUMNS.find((column) => column.key === this.key);
    const rows = methods.filter(
      (method) =>
        method.place < unnamed && this.only(method) && (!this.found || this.found[method.place]),
    );
    const compare =
      this.key === "name"
        ? (a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0)
        : (a, b) => value(a) - value(b) || b.place - a.place;
    return rows.sort((a, b) => (this.isDown ? compare(b, a) : compare(a, b)));
  }

  draw() {
    const rows = this.rows();
    for (const [at, column] of COLUMNS.entries()) {
      const head = this.head.cells[at];
      const is = column.key === this.key;
      head.setAttribute("aria-sort", is ? (this.isDown ? "descending" : "ascending") : "none");
      head.firstChild.textContent = column.title + (is ? (this.isDown ? " ▾" : " ▴") : "");
    }
    this.count.textContent = this.found || rows.length < unnamed
      ? `${grouped(rows.length)} of ${plural(unnamed, "method")}`
      : plural(unnamed + data.more_methods.methods, "method");
    this.body.replaceChildren(...rows.slice(0, this.limit).map((method) => this.row(method)));
    const left = Math.max(0, rows.length - this.limit);
    this.more.hidden = left === 0;
    this.more.textContent = `Show more (${plural(left, "method")} left)`;
  }

  row(method) {
    const row = element("tr", {
      "data-place": method.place,
      class: method.place === this.chosen ? "chosen" : undefined,
    });
    for (const column of COLUMNS) {
      row.append(element("td", {}, column.show ? column.show(method) : nameButton(method)));
    }
    return row;
  }

  drawDetail() {
    if (this.chosen === NO_METHOD) {
      this.detail.replaceChildren("Choose a method, here or in a chart, to see its callers and callees.");
      return;
    }
    const method = methods[this.chosen];
    const list = (pairs, rest, noMethod) => {
      const items = pairs
        .slice(0, 40)
        .map(({ method: other, calls }) =>
          element(
            "li",
            {},
            element("span", {}, grouped(calls)),
            other === NO_METHOD ? noMethod : nameButton(methods[other], () => this.onchoose(other)),
          ),
        );
      const cut = pairs.slice(40).reduce((sum, pair) => sum + pair.calls, 0) + rest;
      if (cut > 0)
        items.push(element("li", {}, element("span", {}, grouped(cut)), "… others"));
      return items.length ? element("ul", {}, ...items) : element("p", { class: "rest" }, "none");
    };
    const from = callers.get(method.place) ?? [];
    const to = callees.get(method.place) ?? [];
    const total = `${method.marks[0]}${amount(method.total)} (${percent(method.total, flameEnd)})`;
    const sum = (pairs) => pairs.reduce((total, pair) => total + pair.calls, 0);
    this.detail.replaceChildren(
      element("h3", {}, method.forms[0]),
      element(
        "div",
        {},
        `called ${grouped(method.calls)}×, ${data.has_cpu ? "CPU time" : "total"} ${total}, self ${method.marks[1]}${amount(method.self)}` +
          (data.has_cpu ? `, waiting ${amount(method.waiting)}` : ""),
      ),
      element("code", {}, method.descriptor),
      " ",
      element("button", { type: "button", onclick: () => this.onchoose(NO_METHOD) }, "Clear"),
      element("h4", {}, "Called by"),
      list(from, method.calls - sum(from), "(no recorded caller)"),
      element("h4", {}, `Calls ${grouped(sum(to))}×`),
      list(to, 0, "… others"),
    );
  }
}

// The name of a method as a button. The package is less prominent. A name that does not fit is broken before the method
// or its parameters.
function nameButton(method, onclick) {
  const label = method.label || method.forms[0];
  const parameters = label.indexOf("(") + 1;
  const name = element("span", { class: "class" }, method.className ? `${method.className}.` : "");
  return element(
    "button",
    {
      type: "button",
      onclick: onclick
        ? (event) => {
            event.stopPropagation();
            onclick();
          }
        : () => {},
    },
    name,
    element("wbr"),
    label.slice(0, parameters),
    element("wbr"),
    label.slice(parameters),
  );
}
