// The list of threads.

const LONG_LIST = 15;

class ThreadList {
  constructor(section, onchoose) {
    this.list = section.querySelector("ul");
    this.items = data.threads.map((thread, place) => {
      const facts = [plural(thread.calls, "call"), thread.kind, thread.boxes ? "" : "numbers only"]
        .filter(Boolean)
        .join(" · ");
      const sub = element("span", { class: "sub" }, facts);
      if (thread.state === "damaged" || thread.state === "truncated") {
        sub.append(" ", element("span", { class: "bad" }, thread.state));
      }
      const button = element(
        "button",
        {
          type: "button",
          title: `${threadTitle(thread)}: ${thread.state}, up to ${plural(thread.frames, "frame")}`,
          onclick: () => onchoose(place),
        },
        element("span", { class: "name" }, threadTitle(thread)),
        sub,
      );
      return element("li", {}, button);
    });
    this.list.append(...this.items);
    const { threads, calls } = data.more_threads;
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

  choose(place) {
    this.items.forEach((item, at) =>
      item.firstChild.setAttribute("aria-current", String(at === place)),
    );
  }
}

const threadTitle = (thread) =>
  thread.name ? `${thread.id} ${thread.name}` : `thread ${thread.id}`;
