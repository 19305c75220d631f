// The data of the page, and its methods. `data.rs` describes the lists of numbers.

const data = JSON.parse(byId("data").textContent);
const isTime = data.unit === "ns";

const NO_METHOD = -1;

// The methods. Boxes and shapes refer to them by their places here.
const methods = data.methods.map(methodOf);

function methodOf(row, place) {
  const [classPlace, name, label, descriptor, calls, total, self, isOwn, waiting, rough] = row;
  const [className, simpleName] = data.classes[classPlace];
  const dot = className ? "." : "";
  return {
    place,
    className,
    simpleName,
    name,
    descriptor,
    label,
    calls,
    total,
    self,
    waiting,
    // Before total and self: whether they are known only roughly.
    marks: rough.map((is) => (is ? "~" : "")),
    isOwn: isOwn === 1,
    // The labels of a box, the longest first.
    forms: [`${className}${dot}${label}`, `${simpleName}${dot}${name}`, name],
    // The text that is searched.
    text: `${className}${dot}${label}\n${className}${dot}${name}${descriptor}`.toLowerCase(),
  };
}

// The method of boxes whose method is not on the page.
methods.push({
  place: methods.length,
  className: "",
  simpleName: "",
  name: "",
  descriptor: "",
  label: "",
  calls: 0,
  total: 0,
  self: 0,
  waiting: 0,
  marks: ["", ""],
  forms: ["(a method that is not on this page)", "(not on this page)", "…"],
  text: "",
});
const unnamed = methods.length - 1;

// Adds methods that only unfolded calls need. The table does not list them.
function addMethods({ classes, methods: rows }) {
  for (const of of classes) data.classes.push(of);
  for (const row of rows) methods.push(methodOf(row, methods.length));
}

// Whether there are methods of the application and of libraries, so that the latter can be folded away.
const hasLibraries =
  data.knows_own && methods.some((method) => method.isOwn) && methods.some((method) => !method.isOwn && method.calls);
