// The list of threads.

const LONG_LIST = 15;
// Chosen in place of one thread, and if there is none to choose.
const ALL_THREADS = -1;

class ThreadList {
  constructor(section, onchoose) {
    this.list = section.querySelector("ul");
    this.onchoose = onchoose;
    this.items = data.threads.map((thread, place) => {
      const facts = [plural(thread.calls, "call"), thread.kind, thread.boxes ? "" : "numbers only"]
        .filter(Boolean)
        .join(" · ");
      const sub = element("span", { class: "sub" }, facts);
      if (thread.state === "damaged" || thread.state === "truncated") {
        sub.append(" ", element("span", { class: "bad" }, thread.state));
      }
      const frames = `up to ${plural(thread.frames, "frame")}`;
      const state = [thread.state, frames].filter(Boolean).join(", ");
      const title = `${threadTitle(thread)}: ${state}`;
      return this.item(place, threadTitle(thread), sub, title);
    });
    const { threads, calls } = data.more_threads;
    if (data.threads.length > 1) {
      const count = plural(data.threads.length + threads, "thread");
      const sub = element("span", { class: "sub" }, `${count} · flame graph`);
      this.list.append(this.item(ALL_THREADS, "All threads", sub));
    }
    this.list.append(...this.items);
    const rest = `${plural(threads, "more thread")} with ${plural(calls, "call")}`;
    section.querySelector(".rest").textContent = threads
      ? `Not listed: ${rest}; flow info --max 0 lists all.`
      : "";
    const filter = byId("thread-filter");
    filter.hidden = data.threads.length <= LONG_LIST;
    filter.addEventListener("input", () => {
      const text = filter.value.toLowerCase();
      this.items.forEach((item, place) => {
        item.hidden = !threadTitle(data.threads[place]).toLowerCase().includes(text);
      });
    });
  }

  item(place, name, sub, title) {
    const button = element(
      "button",
      { type: "button", title, "data-thread": place, onclick: () => this.onchoose(place) },
      element("span", { class: "name" }, name),
      sub,
    );
    return element("li", {}, button);
  }

  choose(place) {
    for (const button of this.list.querySelectorAll("button")) {
      button.setAttribute("aria-current", String(Number(button.dataset.thread) === place));
    }
  }
}

const threadTitle = (thread) =>
  thread.name ? `${thread.id} ${thread.name}` : `thread ${thread.id}`;
