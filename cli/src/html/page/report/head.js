// The head of the page: what was run, and what is missing.

function showHead() {
  const { facts } = data;
  const title = facts.title || facts.dir;
  document.title = `${title.slice(0, 80)} · flow`;
  byId("title").textContent = title;
  const calls = data.threads.reduce((sum, each) => sum + each.calls, 0) + data.more_threads.calls;
  const list = (id, pairs) => {
    for (const [key, value] of pairs.filter(([, value]) => value)) {
      byId(id).append(
        element("div", {}, element("dt", {}, key), element("dd", { "data-fact": key }, value)),
      );
    }
  };
  list("facts", [
    ["calls", grouped(calls)],
    ["threads", grouped(data.threads.length + data.more_threads.threads)],
    ["methods", grouped(unnamed + data.more_methods.methods)],
    ["duration", facts.end_ns === null ? "" : nanos(facts.end_ns)],
    ["started", facts.started],
    ["JVM", facts.jvm],
  ]);
  list("details", [
    ["command", facts.command],
    ["end", facts.end],
    ["process", facts.process],
    ["recorded", facts.recorded],
    ["trace", facts.dir],
  ]);
  const notes = byId("notes");
  const missing = facts.notes.filter((note) => note.level === "missing");
  notes.hidden = !facts.notes.length;
  notes.open = missing.length > 0;
  notes.classList.toggle("missing", missing.length > 0);
  notes.querySelector("summary").textContent = missing.length
    ? "Something is missing on this page"
    : "About this page";
  const others = facts.notes.filter((note) => note.level !== "missing");
  const items = [...missing, ...others].map((note) => element("li", {}, note.text));
  notes.querySelector("ul").append(...items);
}
