// Opens one page in Chromium and checks it: see verify-html.sh.
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");

const [, , executablePath, work, name, flow, trace, what] = process.argv;
const lines = (file) =>
  fs
    .readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
const file = path.resolve(work, `${name}.html`);
const report = ["diff", "parts"].includes(what) ? [] : lines(path.join(work, `${name}.report`));
const info = ["diff", "parts"].includes(what) ? null : lines(path.join(work, `${name}.info`))[0];
const grouped = (number) => number.toLocaleString("en-US");
const size = fs.statSync(file).size;

// A name as the page shows it: characters that could have an effect are escaped.
const shown = (text) =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

async function open(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (request.url().split("#")[0] !== `file://${file}`) wrong.push(`request: ${request.url()}`);
  });
  const start = Date.now();
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]");
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
  return { page, wrong, ms: Date.now() - start };
}

// The pixels of the chart, which show whether it has changed.
const pixels = (page) =>
  page.evaluate(
    () =>
      new Promise((done) =>
        requestAnimationFrame(() =>
          requestAnimationFrame(() => done(document.getElementById("canvas").toDataURL())),
        ),
      ),
  );
const count = (page, fact) => page.textContent(`[data-fact=${fact}]`);
const shot = (page, what) => page.screenshot({ path: path.join(work, `${name}-${what}.png`) });

// The calls of a thread from one on, as `flow replay` prints them.
const replayed = (thread, from, max) =>
  execFileSync(flow, ["replay", "--format", "json", "--thread", thread, ...(from ? ["--from", from] : []), "--max", max, trace], { stdio: ["ignore", "pipe", "ignore"] })
    .toString()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

// The tree of calls: any call can be unfolded, and is the one that `flow replay` prints.
async function verifyCalls(browser) {
  const { page, wrong } = await open(browser);
  const data = JSON.parse(await page.textContent("#data"));
  const selected = () => page.locator("#tree [aria-selected=true]");
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const show = async (hash) => {
    await page.evaluate((hash) => (location.hash = hash), hash);
    await drawn();
  };
  const begin = Date.now();
  await page.click("#tab-calls");
  await page.waitForFunction(() => {
    const note = document.querySelector("#tree .note:not([hidden])")?.textContent;
    return note ? !note.startsWith("Reading") : document.querySelector("#tree .row");
  });
  const ms = Date.now() - begin;
  await shot(page, "calls");
  let unfolded = 0;
  for (const thread of data.threads.slice(0, 4)) {
    await show(`#thread=${thread.id}&chart=calls`);
    if (thread.shape === undefined) {
      assert.match(await page.textContent("#tree .note"), /^The calls of this thread are not on this page: .*flow replay/);
      continue;
    }
    if (data.is_filtered) continue;
    const numbers = [0, 1, 2, thread.calls - 1, ...Array.from({ length: 12 }, (_, at) => Math.floor((thread.calls * (at + 0.37)) / 12))];
    for (const number of new Set(numbers.filter((number) => number >= 0 && number < thread.calls))) {
      await show(`#thread=${thread.id}&chart=calls&call=${number}`);
      const [expected] = replayed(thread.id, number, 1);
      const text = (of) => selected().locator(of).textContent();
      assert.equal(await text(".number"), grouped(number));
      const name = await text("bdi");
      const words = expected.class === null || expected.name.startsWith("lambda$") ? [] : [`${expected.class}.${expected.name}`];
      for (const word of words) assert.ok(name.startsWith(shown(word).slice(0, 300)), `${number}: ${name} is not ${word}`);
      assert.ok(page.url().includes(`call=${number}`) || (await page.waitForTimeout(400), page.url().includes(`call=${number}`)));
      unfolded++;
    }
    // Keys: fold, unfold, and into the call.
    await page.focus("#tree");
    await page.keyboard.press("Home");
    await drawn();
    const first = selected();
    if (await first.getAttribute("aria-expanded")) {
      const is = await first.getAttribute("aria-expanded");
      await page.keyboard.press("Enter");
      await drawn();
      assert.notEqual(await selected().getAttribute("aria-expanded"), is, "Enter unfolds and folds");
      await page.keyboard.press("Enter");
    }
    await page.keyboard.press("End");
    await drawn();
    assert.equal(await selected().count(), 1, "the end of the tree is in view");
    await page.keyboard.press("Home");
    await page.keyboard.press("u");
    await drawn();
    assert.notEqual(await selected().getAttribute("aria-expanded"), "false", "u unfolds");
    // Only what is in view exists.
    assert.ok((await page.locator("#tree .row").count()) < 100);
  }
  // Searching counts every call, and steps through all of them.
  const whole = data.threads.every((thread) => thread.shape !== undefined) && !data.more_threads.threads;
  const rare = report.filter((row) => /^\w+$/.test(row.name ?? "")).sort((a, b) => a.calls - b.calls)[0];
  if (whole && rare && rare.calls < 50) {
    await show(`#thread=${data.threads[0].id}&chart=calls`);
    await page.fill("#search", `${rare.class}#${rare.name}`);
    const same = report.filter((row) => row.class === rare.class && row.name === rare.name);
    const calls = same.reduce((sum, row) => sum + row.calls, 0);
    const seen = new Set();
    for (let step = 0; step < calls + 1; step++) {
      await page.click("#next");
      await drawn();
      await drawn();
      assert.equal(await selected().locator("bdi").count(), 1);
      seen.add(`${await page.getAttribute("#threads [aria-current=true]", "data-thread")} ${await selected().locator(".number").textContent()}`);
      assert.ok((await selected().getAttribute("class")).includes("found"));
    }
    assert.equal(seen.size, calls, "each match once, then the first one again");
    await shot(page, "calls-found");
    await page.fill("#search", "");
  }
  // From the timeline to the tree, and back.
  if (data.threads[0]?.shape !== undefined && data.threads[0].boxes?.length) {
    await show(`#thread=${data.threads[0].id}&own=0`);
    await page.focus("#canvas");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const box = await page.textContent("#status b");
    await page.click("#status button:has-text('Unfold')");
    await page.waitForSelector("#tree [aria-selected=true]");
    if (!box.startsWith("…")) assert.equal(await page.textContent("#status b"), box);
    await page.click("#status button:has-text('Show in the timeline')");
    assert.ok(await page.isVisible("#canvas"));
    assert.match(await page.textContent("#status"), /of the thread/);
  }
  for (const [what, options] of [
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 400, height: 900 } }],
  ]) {
    const other = await open(browser, options);
    await other.page.click("#tab-calls");
    await other.page.waitForTimeout(300);
    await shot(other.page, `calls-${what}`);
    const width = await other.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `calls, ${what}: nothing is wider than the window, by ${width}`);
    wrong.push(...other.wrong);
    await other.page.close();
  }
  assert.equal(await page.evaluate(() => document.images.length), 0);
  assert.deepEqual(wrong, []);
  console.log(`${name}: ${unfolded} calls unfolded, the tree shown in ${ms} ms`);
}

// The rows of a small tree with everything unfolded: level, thread of what was handed over, name, and how many calls it is.
async function unfoldedRows(page) {
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const selected = page.locator("#tree [aria-selected=true]");
  await page.focus("#tree");
  await page.keyboard.press("Home");
  await drawn();
  const rows = [];
  const counts = [];
  for (let last; ; ) {
    const repeats = selected.locator(".times");
    const times = (await repeats.count()) ? Number((await repeats.textContent()).match(/\d+/)[0]) : 1;
    if ((await selected.getAttribute("aria-expanded")) === "false") await page.keyboard.press("ArrowRight");
    await drawn();
    // The last row stays selected.
    const is = [await selected.getAttribute("id"), await selected.textContent()].join();
    if (is === last) return rows;
    last = is;
    const text = async (of) => ((await selected.locator(of).count()) ? selected.locator(of).textContent() : "");
    const level = Number(await selected.getAttribute("aria-level")) - 1;
    counts[level] = times * (counts[level - 1] ?? 1);
    rows.push([level, await text(".thread"), await text("bdi"), counts[level]]);
    await page.keyboard.press("ArrowDown");
    await drawn();
  }
}

// What `flow replay --request` prints, as such rows.
function replayedRows(call) {
  const lines = execFileSync(flow, ["replay", "--request", call, trace]).toString().split("\n").filter(Boolean);
  const [rows, threads] = [[], []];
  for (const line of lines.slice(1)) {
    const text = line.trimStart();
    const indent = (line.length - text.length) / 2;
    while (threads.length && threads.at(-1).indent >= indent) threads.pop();
    if (text.startsWith("⇢")) threads.push({ indent, title: text.split(",")[0] });
    else rows.push([indent - threads.length, threads.at(-1)?.indent === indent - 1 ? threads.at(-1).title : "", text, 1]);
  }
  return rows;
}

// One tree across threads: all calls once each; and a request as `flow replay` prints it.
async function verifyParts(browser) {
  const { page, wrong } = await open(browser);
  const { handed, threads } = JSON.parse(await page.textContent("#data"));
  const settled = () => page.waitForTimeout(400);
  await page.evaluate(() => (location.hash = `#thread=all&chart=calls&own=0`));
  await page.waitForSelector("#tree .row");
  if (handed.title) {
    const rows = await unfoldedRows(page);
    await shot(page, "parts");
    const expected = replayedRows(handed.title.split(" ")[1]);
    // The page names the thread of the request itself, too.
    if (!rows[0][1].startsWith("⇢")) rows[0][1] = "";
    assert.deepEqual(rows, expected);
    assert.ok(rows.some(([, thread]) => thread.startsWith("⇢")));
    assert.deepEqual(wrong, []);
    return console.log(`${name}: ${rows.length} rows in one tree`);
  }
  const rows = await unfoldedRows(page);
  await shot(page, "parts");
  const calls = threads.reduce((sum, thread) => sum + thread.calls, 0);
  assert.equal(rows.reduce((sum, [, , , times]) => sum + times, 0), calls, "each call is at one place");
  const handedOver = rows.filter(([, thread]) => thread.startsWith("⇢"));
  assert.ok(handedOver.length >= 4);
  // A reload shows the same call of another thread, and a search finds all calls in the one tree.
  await page.keyboard.press("Home");
  await settled();
  await page.locator("#tree .row", { has: page.locator(".thread", { hasText: "⇢" }) }).first().locator("bdi").click();
  await settled();
  const [url, status] = [page.url(), await page.textContent("#status b")];
  assert.match(url, /call=\d+:\d+/);
  await page.goto(url);
  await page.reload();
  await page.waitForSelector("#tree [aria-selected=true]");
  assert.equal(await page.textContent("#status b"), status);
  const name_ = status.match(/\w+(?=\()/)[0];
  await page.fill("#search", name_);
  const found = Number(/(\d+) calls? in/.exec(await page.textContent("#found"))[1]);
  const seen = new Set();
  for (let step = 0; step < found; step++) {
    await page.click("#next");
    await settled();
    assert.match(await page.getAttribute("#tree [aria-selected=true]", "class"), /found/);
    seen.add(page.url());
  }
  assert.equal(seen.size, found, "each match once");
  assert.equal(await page.getAttribute("#threads [aria-current=true]", "data-thread"), "-1", "all in the one tree");
  await page.fill("#search", "");
  // Its thread has a link back to the call that handed it over, and without the tree nothing of other threads is below.
  await page.goto(url);
  await page.reload();
  await page.waitForSelector("#tree [aria-selected=true]");
  await page.click("#tree [aria-selected=true] .thread");
  await settled();
  assert.notEqual(await page.getAttribute("#threads [aria-current=true]", "data-thread"), "-1");
  assert.match(await page.textContent("#status"), /⇠/);
  await page.click("#per-thread");
  await settled();
  assert.match(page.url(), /tree=thread/);
  const own = await unfoldedRows(page);
  assert.ok(own.every(([, thread]) => !thread));
  assert.deepEqual(wrong, []);
  console.log(`${name}: ${rows.length} rows in one tree, ${handedOver.length} handed over`);
}

// The views of one window: none needs scrolling, and a test or a request shows its calls. Values are found.
async function verifyViews(browser) {
  const { page, wrong } = await open(browser, { viewport: { width: 1280, height: 800 } });
  const { tests, requests, texts, threads } = JSON.parse(await page.textContent("#data"));
  const settled = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  for (const tab of await page.locator("[role=tab]:visible").all()) {
    await tab.click();
    await settled();
    const below = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight);
    assert.ok(below <= 0, `${await tab.textContent()}: nothing is below the window, but ${below}`);
  }
  await page.click("#tab-calls");
  const rows = await page.evaluate(() => document.getElementById("tree").clientHeight / 20);
  assert.ok(rows >= 18, `${rows} rows of calls`);
  for (const [name, list] of Object.entries({ tests, requests })) {
    assert.equal(await page.isVisible(`#tab-${name}`), list.rows.length > 0);
    const place = list.rows.findIndex((row) => (name === "requests" || row.within) && threads.some((thread) => thread.id === row.thread && thread.shape !== undefined));
    if (place < 0 || place >= 200) continue;
    await page.click(`#tab-${name}`);
    await shot(page, name);
    assert.equal(await page.locator(`#${name} tbody tr`).count(), Math.min(list.rows.length, 200));
    await page.locator(`#${name} tbody tr`).nth(place).click();
    await page.waitForSelector("#tree [aria-selected=true]");
    const row = list.rows[place];
    assert.equal(await page.textContent("#tree [aria-selected=true] .number"), grouped(row.within?.[0] ?? row.call));
  }
  const word = texts.flatMap((text) => text.match(/[a-zA-Z]{3,}/g) ?? [])[0];
  if (word) {
    await page.fill("#search", `"${word}"`);
    assert.match(await page.textContent("#found"), /^[\d,]+ calls? with such values or exceptions/);
    await page.click("#tab-calls");
    await page.click("#next");
    await page.waitForSelector("#tree .found[aria-selected=true]");
    const shown = await page.textContent("#status");
    assert.ok(shown.toLowerCase().includes(word.toLowerCase()), `${word} is not in ${shown}`);
    await shot(page, "values");
  }
  assert.deepEqual(wrong, []);
  console.log(`${name}: ${Math.floor(rows)} rows of calls at 1280×800, ${tests.rows.length} tests, ${requests.rows.length} requests, ${texts.length} values`);
}

// All threads in one order: a column for each, and rows in the order of the data. A search leaves the accesses to a field, a click on one
// marks all to the same place, and a click on a call unfolds it.
async function verifyMerged(browser) {
  const { page, wrong } = await open(browser, { viewport: { width: 1280, height: 800 } });
  const { merged, threads } = JSON.parse(await page.textContent("#data"));
  assert.equal(await page.isVisible("#tab-merged"), merged.rows.length > 0);
  if (!merged.rows.length) return;
  await page.click("#tab-merged");
  await shot(page, "merged");
  const columns = () => page.locator("#merged tbody tr").evaluateAll((rows) => rows.map((row) => row.querySelector("td:not(:first-child):not([colspan])").getBoundingClientRect().left));
  const listed = async (rows) => {
    const lefts = await columns();
    assert.equal(lefts.length, Math.min(rows.length, 500));
    const places = [...new Set(lefts)].sort((a, b) => a - b);
    const used = [...new Set(rows.map(([column]) => column))].sort((a, b) => a - b);
    assert.equal(await page.locator("#merged th").count(), used.length + 1);
    const ranks = [...new Set(rows.slice(0, 500).map(([column]) => column))].sort((a, b) => a - b);
    assert.deepEqual(lefts.map((left) => places.indexOf(left)), rows.slice(0, 500).map(([column]) => ranks.indexOf(column)));
  };
  await listed(merged.rows);
  const call = merged.rows.findIndex(([column, , , , , number, , , kind]) => kind === "enter" && number >= 0 && threads.some((of) => of.id === merged.threads[column] && of.shape !== undefined));
  if (call >= 0 && call < 500) {
    await page.locator("#merged tbody tr").nth(call).locator("button").first().click();
    await page.waitForSelector("#tree [aria-selected=true]");
    assert.equal(await page.textContent("#tree [aria-selected=true] .number"), grouped(merged.rows[call][5]));
    await page.goBack();
    await page.waitForSelector("#merged:not([hidden])");
  }
  const access = merged.rows.find((row) => row[8] === "write");
  if (access) {
    const [, place] = merged.texts[access[4]].match(/^write (.*?) = /);
    await page.fill("#search", place);
    const words = place.toLowerCase().split(/\s+/);
    const has = (row) => row[8] === "alone" || (row[4] >= 0 && words.every((word) => merged.texts[row[4]].toLowerCase().includes(word)));
    const found = merged.rows.filter(has);
    await listed(found);
    await page.locator("#merged td.write button").first().click();
    assert.ok((await page.locator("#merged td.chosen").count()) > 0);
    for (const text of await page.locator("#merged td.chosen").allTextContents()) assert.ok(text.includes(place), text);
    await shot(page, "merged-found");
  }
  assert.deepEqual(wrong, []);
  console.log(`${name}: ${merged.rows.length} rows of ${merged.threads.length} threads in one order`);
}

// The page of two traces: each difference shows the calls that only one side has.
async function verifyDiff(browser) {
  const { page, wrong, ms } = await open(browser);
  await shot(page, "start");
  const { differences, sides, pairs } = JSON.parse(await page.textContent("#data"));
  assert.ok(differences.length > 0, "the traces differ");
  const settled = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await page.locator("#differences li").count(), Math.min(differences.length, 200));
  for (const [place, { shifts, numbers, stack }] of differences.slice(0, 10).entries()) {
    await page.click(`#differences [data-place="${place}"]`);
    await settled();
    for (const [side, what] of ["before", "after"].entries()) {
      const tree = `#tree-${what}`;
      const own = shifts.find((shift) => shift.is_added === (side === 1));
      const number = page.locator(`${tree} [aria-selected=true] .number`);
      if (own) {
        assert.equal(await number.textContent(), grouped(own.number));
        assert.ok(await page.locator(`${tree} .row.${side ? "added" : "removed"}`).count());
      } else if (stack.length) assert.equal(await number.textContent(), grouped(numbers[side]));
    }
  }
  await page.keyboard.press("p");
  await shot(page, "difference");
  // Each side unfolds as a tree of its own.
  await page.focus("#tree-before");
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await settled();
  assert.equal(await page.locator("#tree-before .row").first().getAttribute("aria-selected"), "true");
  // Searching counts the calls of both sides.
  const word = await page.textContent("#tree-before bdi");
  await page.fill("#search", word);
  assert.match(await page.textContent("#found"), /^[\d,]+ calls? before, [\d,]+ after, /);
  await page.waitForTimeout(400);
  const [url, where] = [page.url(), await page.textContent("#where")];
  await page.goto(url);
  await page.reload();
  await page.waitForSelector("html[data-ready]");
  assert.equal(await page.textContent("#where"), where, "the address after a reload");
  for (const [what, options] of [
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 400, height: 900 } }],
  ]) {
    const other = await open(browser, options);
    await shot(other.page, what);
    const width = await other.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(width <= 0, `${what}: nothing is wider than the window, by ${width}`);
    wrong.push(...other.wrong);
    await other.page.close();
  }
  assert.equal(await page.evaluate(() => document.images.length), 0);
  assert.deepEqual(wrong, []);
  const calls = sides.map((side) => grouped(side.calls)).join(" and ");
  console.log(`${name}: ${differences.length} differences in ${pairs.length} threads, ${calls} calls, ${grouped(size)} bytes, open in ${ms} ms`);
}

async function changes(page, what, act) {
  const before = await pixels(page);
  await act();
  assert.notEqual(await pixels(page), before, `${what} changes what is drawn`);
}

async function verify(browser) {
  const { page, wrong, ms } = await open(browser);
  await shot(page, "start");

  // The page shows the numbers of the report.
  assert.equal(await count(page, "calls"), grouped(info.calls));
  assert.equal(await count(page, "methods"), grouped(report.length));
  assert.equal(
    await page.locator("#threads li [data-thread]:not([data-thread='-1'])").count(),
    Math.min(info.threads.filter((thread) => thread.bytes > 0).length, 1000),
  );
  if (await page.isVisible("#own")) {
    const listed = await page.textContent("#method-count");
    await shot(page, "own");
    await changes(page, "showing libraries", () => page.click("#own"));
    assert.notEqual(await page.textContent("#method-count"), listed);
    assert.match(page.url(), /#/);
  }
  await page.click("#tab-methods");
  await shot(page, "methods");
  const rows = await page.$$eval("#methods tbody tr", (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  assert.equal(rows.length, Math.min(report.length, 100));
  // A page with times has another order of rows, and only its calls can be compared.
  const { unit } = JSON.parse(await page.textContent("#data"));
  const is = (row, told) =>
    // Lambdas have names of their own.
    row[0] === grouped(told.calls) && row.at(-1).startsWith(shown(`${told.class}.${told.name.startsWith("lambda$") ? "" : told.name}`));
  const told = rows.map((row, at) =>
    unit === "ns" ? report.find((of) => is(row, of)) : report[at],
  );
  for (const [at, row] of rows.entries()) {
    assert.ok(told[at] && is(row, told[at]), `${row} is not ${JSON.stringify(told[at])}`);
    if (unit === "ns") continue;
    assert.deepEqual([row[1], row[3]], [told[at].total, told[at].self].map(grouped));
  }

  // Sorting, and choosing a row.
  await page.click("th[data-key=calls] button");
  const most = Math.max(...report.map((row) => row.calls));
  assert.equal(await page.textContent("#methods tbody tr td"), grouped(most));
  await page.click("th[data-key=total] button");
  await page.click("#methods tbody tr:nth-child(2)");
  assert.match(await page.textContent("#detail"), /Called by/);
  const second = told[1];
  const callers = await page.$$eval("#detail ul:first-of-type span:first-child", (cells) =>
    cells.map((cell) => Number(cell.textContent.replaceAll(",", ""))),
  );
  assert.equal(
    callers.filter(Number.isFinite).reduce((a, b) => a + b, 0),
    second.calls,
    "callers add up",
  );
  await page.click("#detail button:has-text('Clear')");
  await page.click("#tab-timeline");

  // Zooming, moving, selecting.
  await page.evaluate(() => scrollTo(0, 0));
  const chart = await page.locator("#canvas").boundingBox();
  const middle = [chart.x + chart.width / 2, chart.y + 60];
  await page.mouse.move(...middle);
  await changes(page, "the wheel", () => page.mouse.wheel(0, -400));
  await shot(page, "zoomed");
  if (info.calls > 1000) {
    await changes(page, "dragging", async () => {
      await page.mouse.down();
      await page.mouse.move(middle[0] + 90, middle[1], { steps: 4 });
      await page.mouse.up();
    });
  }
  await changes(page, "reset", () => page.click("#reset"));
  if (info.calls > 1000) {
    // A range that is dragged: its length is shown, and Escape shows all again.
    const whole = await pixels(page);
    await page.mouse.move(chart.x + 100, middle[1]);
    await page.mouse.down();
    await page.mouse.move(chart.x + 300, middle[1], { steps: 4 });
    await shot(page, "dragged");
    await page.mouse.up();
    if (unit === "ns") assert.match(await page.textContent("#range"), / to /);
    await page.mouse.move(1, 1);
    assert.notEqual(await pixels(page), whole, "the range fills the chart");
    await page.keyboard.press("Escape");
    assert.equal(await pixels(page), whole, "Escape shows all");
    assert.equal(await page.textContent("#range"), "");
  }
  if ((await page.locator("#legend button").count()) > 1) {
    const highlight = () => page.locator("#legend button").last().click();
    await changes(page, "a package", highlight);
    await highlight();
  }
  await changes(page, "a key", async () => {
    await page.focus("#canvas");
    await page.keyboard.press("+");
  });
  await page.keyboard.press("0");
  await changes(page, "an arrow", () => page.keyboard.press("ArrowDown"));
  await page.keyboard.press("ArrowDown");
  assert.match(await page.textContent("#status"), /of the thread/);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("0");
  await page.mouse.dblclick(chart.x + chart.width / 3, chart.y + 34);

  // The flame graph.
  await changes(page, "the flame graph", () => page.click("#tab-flame"));
  await shot(page, "flame");

  // A flame graph of each thread, and of all of them.
  if (await page.locator("[data-thread='-1']").count()) {
    await changes(page, "the flame graph of another thread", () => page.click("[data-thread='1']"));
    await changes(page, "that of all threads", () => page.click("[data-thread='-1']"));
    await changes(page, "the timeline of one", () => page.click("#tab-timeline"));
    await page.click("#tab-flame");
  }

  // Searching.
  const word = report[report.length >> 1].name ?? "?";
  const found = report.filter((row) =>
    `${row.class}.${row.name}`.toLowerCase().includes(shown(word).toLowerCase()),
  );
  await changes(page, "searching", () => page.fill("#search", shown(word)));
  assert.match(await page.textContent("#found"), /% of all (calls|time)/);
  const sum = found.reduce((sum, row) => sum + row.calls, 0);
  if (/^\w+$/.test(word)) {
    const threads = /([\d,]+) calls? in (?:at least )?([\d,]+) threads?/.exec(await page.textContent("#found"));
    assert.equal(threads[1], grouped(sum));
    assert.ok(Number(threads[2]) >= 1);
    // The matches of all threads, one after another, with the name of the method of each.
    await page.focus("#search");
    await page.keyboard.press("Enter");
    assert.ok(await page.textContent("#status b"), "Enter shows a match");
  }
  if (report.length < 8000 && !/\s/.test(word) && found.length) {
    assert.equal(
      await page.textContent("#method-count"),
      `${grouped(found.length)} of ${grouped(report.length)} method${report.length === 1 ? "" : "s"}`,
    );
  }
  await shot(page, "searched");
  await page.fill("#search", "no such name anywhere");
  assert.match(await page.textContent("#found"), /^no matches/);
  assert.equal(await page.locator("#methods tbody tr").count(), 0);
  await page.fill("#search", "");
  assert.equal(await page.locator("#methods tbody tr").count(), rows.length);

  // Patterns of the command line find what they find there.
  const plain = report.find((row) => /^\w+$/.test(row.name) && /^[\w.$]+$/.test(row.class));
  if (plain && report.length < 8000) {
    const simple = plain.class.split(".").at(-1);
    const same = report.filter((row) => row.class === plain.class && row.name === plain.name);
    const calls = grouped(same.reduce((sum, row) => sum + row.calls, 0));
    const names = [`${plain.class}#${plain.name}`, `${plain.class}.${plain.name}`];
    const wild = `${plain.class.replace(/^[^.]+\./, "**.")}#${plain.name}`;
    for (const text of [...names, wild, `${simple}#${plain.name}`]) {
      await page.fill("#search", text);
      const got = await page.textContent("#found");
      assert.ok(got.includes(" in ") && (text === wild || text.startsWith(simple) || got.includes(calls)), `${text}: ${got}`);
    }
    const misspelt = `${names[0]}q`;
    await page.fill("#search", misspelt);
    assert.match(await page.textContent("#found"), /^no matches; the nearest: /);
    await page.click("#found button");
    assert.match(await page.textContent("#found"), / in /);
    await page.fill("#search", "");
  }

  // How long a frame takes while the chart zooms in and out.
  const frame = await page.evaluate(
    () =>
      new Promise((done) => {
        const canvas = document.getElementById("canvas");
        const times = [];
        let last = performance.now();
        const next = () => {
          const now = performance.now();
          times.push(now - last);
          last = now;
          if (times.length === 60) return done(times.sort((a, b) => a - b));
          const area = canvas.getBoundingClientRect();
          canvas.dispatchEvent(
            new WheelEvent("wheel", {
              deltaY: times.length < 30 ? -40 : 40,
              clientX: area.x + area.width / 2,
              clientY: area.y + 50,
              cancelable: true,
            }),
          );
          requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
      }),
  );

  // Dark, and narrow.
  const others = [
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 400, height: 900 } }],
  ];
  for (const [what, options] of others) {
    const other = await open(browser, options);
    await shot(other.page, what);
    const width = await other.page.evaluate(
      () => document.documentElement.scrollWidth - innerWidth,
    );
    assert.ok(width <= 0, `${what}: nothing is wider than the window, by ${width}`);
    wrong.push(...other.wrong);
    await other.page.close();
  }

  // An address shows the same again, and Back the view before.
  const link = await open(browser);
  if (report.length) {
    const view = () =>
      link.page.evaluate(() => ["what", "range", "status", "found"].map((id) => document.getElementById(id).textContent));
    const settled = () => link.page.waitForTimeout(400);
    await link.page.focus("#canvas");
    await link.page.keyboard.press("ArrowDown");
    await link.page.fill("#search", shown(word));
    await settled();
    const first = [await view(), link.page.url()];
    await link.page.click("#tab-flame");
    await settled();
    const second = await view();
    await link.page.goBack();
    await settled();
    assert.deepEqual(await view(), first[0], "Back");
    await link.page.goForward();
    await settled();
    assert.deepEqual((await view())[0], second[0], "Forward");
    await link.page.goto(first[1]);
    await link.page.reload();
    await link.page.waitForSelector("html[data-ready]");
    // The bounds of times follow when the browser is idle.
    await settled();
    assert.deepEqual(await view(), first[0], "the address after a reload");
    // Addresses are of anyone.
    const odd = "#thread=%00&from=x&to=1e999&call=9.9.9&method=%E0%A4%A&search=%3Cimg src%3Dx onerror%3Dalert(1)%3Ezzz&&=";
    await link.page.goto(first[1].split("#")[0] + odd);
    await link.page.reload();
    await link.page.waitForSelector("html[data-ready]");
    assert.match(await link.page.textContent("#found"), /^no matches/);
  }
  wrong.push(...link.wrong);
  await link.page.close();

  // Every name is text, and none became code.
  const foreign = await page.evaluate(() => [
    document.images.length,
    document.scripts.length,
    document.querySelectorAll("svg, iframe, u, i, em").length,
  ]);
  assert.deepEqual(foreign, [0, 3, 0]);
  assert.deepEqual(wrong, []);
  console.log(
    `${name}: ${grouped(info.calls)} calls, ${grouped(size)} bytes, open in ${ms} ms, frames of ${frame[30].toFixed(1)} ms (median) to ${frame.at(-1).toFixed(1)} ms`,
  );
}

(async () => {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  try {
    if (what === "diff") return await verifyDiff(browser);
    if (what === "parts") return await verifyParts(browser);
    if (what === "all") await verify(browser);
    await verifyViews(browser);
    await verifyMerged(browser);
    await verifyCalls(browser);
  } finally {
    await browser.close();
  }
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
