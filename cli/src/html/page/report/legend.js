// The legend: the packages with the most self time and their colours. A click highlights one of them.

const LEGEND = 12;

class Legend {
  constructor(list, onchoose) {
    this.list = list;
    this.onchoose = onchoose;
    this.chosen = null;
  }

  // Lists the packages of some methods.
  show(isShown) {
    const packages = packagesOf(isShown);
    const items = packages.slice(0, LEGEND).map(([name, sum]) => this.item(name, sum));
    const left = packages.length - items.length;
    if (left > 0) items.push(element("li", { class: "sub" }, `… ${plural(left, "more package")}`));
    this.list.replaceChildren(...items);
    this.mark();
  }

  item(name, { self, calls }) {
    const swatch = element("span", { class: "swatch" });
    swatch.style.background = packageColour(name);
    const button = element(
      "button",
      {
        type: "button",
        "data-package": name,
        title: `${name || "no package"}: self ${amount(self)}, ${plural(calls, "call")}`,
        onclick: () => this.choose(this.chosen === name ? null : name),
      },
      swatch,
      name || "(no package)",
    );
    return element("li", {}, button);
  }

  choose(name) {
    this.chosen = name;
    this.mark();
    this.onchoose(name);
  }

  mark() {
    for (const button of this.list.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String(button.dataset.package === this.chosen));
  }
}
