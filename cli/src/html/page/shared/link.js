// The address of the page names what it shows: after `#`, the thread, the chart, the range of time, and what is searched
// for, chosen or selected. So a view can be linked, survives a reload, and Back returns to the one before.

// How long the page waits until it writes a view that changes continuously.
const SETTLED_MS = 250;

// A thread in an address: its id, and if several have it, which of them.
function threadKey(place) {
  if (place === ALL_THREADS) return "all";
  const { id } = data.threads[place];
  const same = data.threads.slice(0, place).filter((thread) => thread.id === id).length;
  return same ? `${id}.${same}` : `${id}`;
}
const threadAt = (key) => {
  if (key === "all") return ALL_THREADS;
  const place = data.threads.findIndex((_, place) => threadKey(place) === key);
  return place < 0 ? undefined : place;
};

const methodKey = (method) => `${method.className}#${method.name}${method.descriptor}`;
const methodAt = (key) => {
  const place = methods.findIndex((method) => methodKey(method) === key);
  return place < 0 || place === unnamed ? NO_METHOD : place;
};

// Only the characters that would end a value are encoded, so that the address can be read.
const encoded = (text) => encodeURIComponent(text).replace(/%(?:2C|3A|23|24|2F|28|29|3B|5B)/gi, decodeURIComponent);

class Link {
  // `state` returns the pairs of the address, `apply` shows those of another.
  constructor(state, apply) {
    this.state = state;
    this.timer = 0;
    addEventListener("popstate", () => {
      clearTimeout(this.timer);
      apply(this.read());
    });
  }

  // The pairs in the address. It may be of anyone, so each value is checked where it is used.
  read() {
    const pairs = location.hash.slice(1).split("&").map((pair) => pair.split("="));
    const decoded = (text) => {
      try {
        return decodeURIComponent(text);
      } catch {
        return "";
      }
    };
    return Object.fromEntries(pairs.map(([key, ...value]) => [key, decoded(value.join("="))]));
  }

  text() {
    const pairs = Object.entries(this.state()).filter(([, value]) => value !== undefined && value !== "");
    return `#${pairs.map(([key, value]) => `${key}=${encoded(String(value))}`).join("&")}`;
  }

  // Before a change to which Back shall return.
  step() {
    this.write();
    this.enter("pushState");
  }

  // The view is changing: the address follows when it has settled.
  follow() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), SETTLED_MS);
  }

  write() {
    clearTimeout(this.timer);
    if (this.text() !== location.hash) this.enter("replaceState");
  }

  enter(how) {
    try {
      history[how](null, "", this.text());
    } catch {
      // A page in a sandbox, such as that of a CI server's files, may have no address. It works without.
    }
  }
}
