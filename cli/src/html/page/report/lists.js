// Lists from which calls are chosen: tests, those that failed first, and requests.

const LISTED_AT_ONCE = 200;

// A list in a panel. `columns` have a title, a class, and what they show of a row: text or elements.
class List {
  constructor(panel, { rows, more }, { columns, texts, rest, isBad, onchoose }) {
    Object.assign(this, { panel, rows, more, columns, texts, rest, isBad, onchoose });
    this.limit = LISTED_AT_ONCE;
    this.words = [];
    this.chosen = null;
    this.listed = rows;
  }

  // Lists the rows that have all of these words.
  filter(text) {
    this.words = wordsOf(text);
    this.limit = LISTED_AT_ONCE;
    this.draw();
  }

  // The rows that have all of some words.
  found(words) {
    const has = (row) => {
      row.searched ??= this.texts(row).filter(Boolean).join("\n").toLowerCase();
      return words.every((word) => row.searched.includes(word));
    };
    return words.length ? this.rows.filter(has) : this.rows;
  }

  draw() {
    const found = this.found(this.words);
    // Without a match, all are listed: what is searched for is something else.
    this.listed = found.length ? found : this.rows;
    const shown = this.listed.slice(0, this.limit);
    const left = this.listed.length - shown.length;
    const lines = [
      left ? element("button", { type: "button", onclick: () => this.extend() }, `Show more (${grouped(left)} left)`) : "",
      this.more ? element("p", { class: "rest" }, this.rest(this.more)) : "",
    ];
    const head = this.columns.map(({ title, name }) => element("th", { scope: "col", class: name }, title));
    this.panel.replaceChildren(
      element(
        "div",
        { class: "scroll" },
        element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...shown.map((row) => this.row(row)))),
        ...lines.filter(Boolean),
      ),
    );
  }

  row(row) {
    const cells = this.columns.map(({ name, show }) => element("td", { class: name }, ...[show(row)].flat()));
    const classes = [this.isBad(row) ? "bad" : "", row === this.chosen ? "chosen" : ""].filter(Boolean).join(" ");
    return element("tr", { class: classes || undefined, onclick: () => this.choose(row) }, ...cells);
  }

  choose(row) {
    this.chosen = row;
    this.draw();
    this.onchoose(row);
  }

  extend() {
    this.limit *= 5;
    this.draw();
  }
}

const wordsOf = (text) => text.toLowerCase().replaceAll('"', " ").split(/\s+/).filter(Boolean);
const placeOfThread = (id) => data.threads.findIndex((thread) => thread.id === id);
const rowButton = (text) => element("button", { type: "button" }, text);
const detailLine = (text) => (text ? [element("div", { class: "sub" }, text)] : []);

// A test is named without its package; the parts of its name that are not, such as parameters, stay.
const testList = (onchoose) => ({
  columns: [
    { title: "result", name: "result", show: ({ result }) => result },
    { title: "calls", name: "number", show: ({ calls }) => grouped(calls) },
    { title: "time", name: "number", show: ({ ns }) => (ns === null ? "" : nanos(ns)) },
    {
      title: "test",
      name: "what",
      show: ({ name, title = "", detail = "" }) => [rowButton(name), ...detailLine(name.includes(title.replace(/\(\)$/, "")) ? "" : title), ...detailLine(detail)],
    },
  ],
  texts: ({ name, title, detail, result }) => [name, title, detail, result],
  rest: (more) => `Not on this page: ${plural(more, "more test")}; flow tests --max 0 lists all.`,
  isBad: ({ result }) => result === "failed" || result === "unfinished",
  onchoose,
});

const requestList = (onchoose) => ({
  columns: [
    { title: "began", name: "number", show: ({ at }) => (at === null ? "" : nanos(at, 1e5)) },
    { title: "duration", name: "number wide", show: ({ at, from, by }) => (at === null ? "" : bounded(from, by ?? Infinity)) },
    { title: "thread", name: "thread", show: ({ thread }) => threadTitle(data.threads[placeOfThread(thread)] ?? { id: thread }) },
    {
      title: "request",
      name: "what",
      show: ({ text, parameters, method, thrown = "" }) => [
        rowButton(text),
        ...detailLine(thrown ? `! ${thrown}` : ""),
        ...detailLine([method === undefined ? "" : (methods[method] ?? methods[unnamed]).forms[0], parameters].filter(Boolean).join("  ")),
      ],
    },
  ],
  texts: ({ text, parameters, method, thrown }) => [text, parameters, thrown, methods[method]?.forms[0]],
  rest: (more) => `Not on this page: ${plural(more, "more request")}; flow calls --http --each --max 0 lists all.`,
  isBad: ({ thrown }) => thrown !== undefined,
  onchoose,
});
