// What a person does on the page, in a real browser. The test that starts it makes the room and the page.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";

const require = createRequire(path.join(process.env.NODE_PATH, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { PAGE_URL: url, MAILBAG: program, PICTURES: pictures } = process.env;
const home = new URL("/", url).href;
const all = new URL("/all", url).href;

const mailbag = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

/** Starts the program, which ends with the test. */
function start(...args) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  process.on("exit", () => child.kill("SIGKILL"));
  return child;
}

const complaints = [];
/** Opens the page. With `outage`, requests may fail: a browser complains of these by itself. */
async function open({ outage, at = url, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  if (outage) await page.clock.install();
  const isExpected = (text) => outage && text.startsWith("Failed to load resource");
  page.on("console", (message) =>
    ["error", "warning"].includes(message.type()) && !isExpected(message.text()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => new URL(request.url()).origin === new URL(at).origin || complaints.push(request.url()));
  await page.goto(at);
  await page.locator("header.bar").waitFor();
  assert.equal(page.url(), at.split("#")[0], "the token has left the address");
  return page;
}

/** The list of what needs the person has been in its place for a while. */
const isStill = (page) => page.locator("#needs:not([data-moved])").waitFor();
/** Where the pointer is in nobody's way. */
const away = (page) => page.mouse.move(2, 2);
/** What another window of a browser that has entered needs: the token of the URL is used. */
const entered = async () => ({ at: home, storageState: await page.context().storageState() });
/** Starts a second page of the room. */
async function serve(...args) {
  const child = start("web", "--json", ...args);
  const [line] = await once(child.stdout, "data");
  return { child, ...JSON.parse(line) };
}

const numbers = (page) => page.locator("#entries > .entry").evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));

/** The timeline of the page is soon the end of the log: no gap, no repeat. */
async function agrees(page, most = Infinity) {
  const deadline = performance.now() + 20000;
  for (;;) {
    const lines = readFileSync(".mailbag/log/00000001.ndjson", "utf8").split("\n").slice(0, -1);
    const records = lines.map((line) => JSON.parse(line));
    const all = records.filter((one) => ["accepted", "rejected", "notice"].some((kind) => kind in one.event)).map((one) => one.seq).reverse();
    const rows = await numbers(page);
    const isEnough = rows.length >= Math.min(50, all.length) && rows.length <= most;
    if (isEnough && isDeepStrictEqual(rows, all.slice(0, rows.length))) return;
    assert.ok(performance.now() < deadline, `the page shows ${rows}, the log has ${all}`);
  }
}

/** What was sent is shown, and the page is as the log. */
async function shows(page, words, most) {
  await page.locator(".entry", { hasText: words }).first().waitFor();
  await agrees(page, most);
}

const says = (page, text) => page.locator("#connection", { hasText: text }).waitFor();
const isQuiet = (page) => page.locator("#connection[hidden]").waitFor({ state: "attached" });

/** Whatever axe-core reports, targets that are too small, and how the browser sees the page. */
async function judge(page, name) {
  const found = await page.evaluate(async (axe) => {
    // The policy of the page forbids scripts in it, so the judge comes from outside.
    (0, eval)(axe);
    const { violations } = await window.axe.run(document);
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  }, axe).catch((error) => {
    if (!String(error).includes("unsafe-eval")) throw error;
    return null;
  });
  assert.notEqual(found, null, "axe-core could not run");
  assert.deepEqual(found, [], `${name}: accessibility`);
  const small = await page.evaluate(() => [...document.querySelectorAll("button, a, input, select, textarea, summary")]
    .filter((one) => one.checkVisibility() && !one.closest("div.body, .skip"))
    .filter((one) => Math.min(one.getBoundingClientRect().height, one.getBoundingClientRect().width) < 24)
    .map((one) => one.outerHTML.slice(0, 120)));
  assert.deepEqual(small, [], `${name}: targets below 24 pixels`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
  if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

async function step(name, act) {
  const begun = performance.now();
  await act();
  console.log(`${name}: ${Math.round(performance.now() - begun)} ms`);
}

/** How many milliseconds after it was accepted a message is shown. */
async function arrival(words) {
  await page.evaluate((words) => {
    window.came = new Promise((done) => new MutationObserver(() => {
      if (document.querySelector("#entries").textContent.includes(words)) done(Date.now());
    }).observe(document.querySelector("#entries"), { childList: true }));
  }, words);
  mailbag("send", "bob", words, "--as", "alice");
  const came = await page.evaluate(() => window.came);
  const { messages: [last] } = JSON.parse(mailbag("list", "--last", "1", "--json"));
  return came - Date.parse(last.accepted_at);
}

mailbag("send", "human", "May I deploy version 2.4 to production?", "--as", "alice", "--type", "approval");
mailbag("send", "human", "Which port does the test server use?", "--as", "bob", "--type", "question");
mailbag("send", "bob", "The parser is done; the tests pass.", "--as", "alice", "--subject", "Parser");
mailbag("claim", "src/parser/**", "--as", "alice", "--note", "the parser");
const page = await open();

await step("the page has three areas: the views with the agents, the list, and the conversation", async () => {
  assert.equal(await page.title(), "(2) Needs you · webshop");
  assert.match(await page.locator("#side").innerText(), /Needs you\s+2[^]*Inbox\s+2[^]*Agents\s+2[^]*alice/);
  const left = (place) => page.locator(place).evaluate((one) => one.getBoundingClientRect().left);
  const places = [await left("#side"), await left("#list"), await left("#open")];
  assert.ok(places[0] < places[1] && places[1] < places[2], String(places));
  assert.ok(await page.locator("#agents .card").last().evaluate((one) => one.getBoundingClientRect().bottom) < 900, "the agents are visible without scrolling");
});

await step("on a tablet and on a phone, a conversation has the area of the list", async () => {
  for (const viewport of [{ width: 768, height: 1024 }, { width: 360, height: 740 }]) {
    const other = await open({ ...(await entered()), viewport });
    await other.goto(new URL("/inbox", url).href);
    await other.locator("#list a[data-open]", { hasText: "Which port" }).click();
    await other.locator("#open .message", { hasText: "Which port" }).waitFor();
    assert.ok(!await other.locator("#list").isVisible());
    await other.locator("[data-back]").click();
    await other.locator("#list").waitFor();
    await other.context().close();
  }
});

await step("a message that is opened is read, beside its list", async () => {
  mailbag("send", "human", "The report is ready.", "--as", "bob");
  await page.goto(new URL("/inbox", url).href);
  const row = page.locator("#entries .entry.unread", { hasText: "The report is ready." });
  await row.locator("a[data-open]").click();
  await page.locator("#open .message", { hasText: "The report is ready." }).waitFor();
  await row.waitFor({ state: "detached" });
  assert.ok(!mailbag("inbox", "human").includes("The report is ready."));
  assert.match(page.url(), /thread.*of=%2Finbox$/);
  await page.locator("#open textarea").fill("Thank you.");
  await page.keyboard.press("Control+Enter");
  await page.locator("#open .message", { hasText: "Thank you." }).waitFor();
  await page.reload();
  await page.locator("#open .message", { hasText: "Thank you." }).waitFor();
});

await page.goto(all);
await page.locator("#entries .entry").first().waitFor();
await step("new mail appears without a reload, within 200 ms", async () => {
  // On a busy machine a single one may take longer.
  const took = [];
  while (took.length < 20 && !took.some((one) => one < 200)) took.push(await arrival(`live arrival ${took.length}.`));
  console.log(`  shown ${took.join(", ")} ms after it was accepted`);
  assert.ok(took.some((one) => one < 200));
});

await page.goto(home);
await step("text that somebody types stays while the page changes, and the news waits", async () => {
  const field = page.locator("#needs textarea").first();
  await field.fill("not yet");
  mailbag("send", "human", "One more question?", "--as", "alice", "--type", "question");
  await page.locator(".news", { hasText: "1 new item" }).waitFor();
  assert.equal(await page.locator("#needs .item").count(), 2);
  await page.locator(".news").click();
  assert.equal(await page.locator("#needs .item").count(), 3);
  assert.equal(await field.inputValue(), "not yet");
});

await step("an approval is decided with a click, shows so in its place, and leaves with the pointer", async () => {
  await isStill(page);
  await page.locator(".item.approval textarea").fill("after lunch");
  await page.locator(".item.approval button", { hasText: "yes" }).click();
  await page.locator("#note", { hasText: "decided #2: yes" }).waitFor();
  await page.locator(".item.approval.settled .outcome", { hasText: "decided #2: yes" }).waitFor();
  assert.match(mailbag("read", "--as", "alice"), /after lunch/);
  await away(page);
  await page.locator(".item.approval").waitFor({ state: "detached" });
});

await step("a question is answered", async () => {
  const item = page.locator(".item", { hasText: "Which port" });
  await isStill(page);
  await item.locator("textarea").fill("8080");
  await item.locator("button", { hasText: "Reply" }).click();
  await page.locator("#note", { hasText: "replied to" }).waitFor();
});

await step("a message is written, with a preview of who it reaches", async () => {
  await page.goto(new URL("/write", url).href);
  await page.locator("input[name=to]").fill("all");
  await page.locator("#reaches", { hasText: "alice, bob" }).waitFor();
  await page.locator("input[name=to]").fill("alcie");
  await page.locator("#reaches .problem", { hasText: "did you mean alice" }).waitFor();
  await page.locator("input[name=to]").fill("alice");
  await page.locator("textarea[name=body]").fill("From the page.");
  await page.locator("button", { hasText: "Send" }).first().click();
  await page.locator("#note", { hasText: "to alice" }).waitFor();
});

await step("rejected mail is fixed with the suggestion and sent again", async () => {
  writeFileSync(".mailbag/outbox/alice/bad.json", '{"to": "bob", "body": "The suggestion fixes this.", "priority": "hihg"}');
  await page.locator("#side", { hasText: /Rejected\s+1/ }).waitFor();
  await page.goto(new URL("/rejected", url).href);
  const row = page.locator(".entry", { hasText: "The suggestion fixes this." });
  assert.match(await row.innerText(), /alice/);
  await row.locator(".subject a").click();
  await judge(page, "rejected-file");
  await page.locator("button", { hasText: "Insert the suggestion" }).click();
  assert.deepEqual(JSON.parse(await page.locator("textarea").inputValue()), { to: "bob", body: "The suggestion fixes this." });
  await page.locator("button", { hasText: "Send again" }).click();
  await page.locator("#note", { hasText: "to bob" }).waitFor();
});

await step("a search finds words in any order, and keeps its place and its form", async () => {
  await page.locator("#find").fill("pass parser");
  await page.keyboard.press("Enter");
  await page.locator("mark", { hasText: /parser/i }).first().waitFor();
  await page.locator("#list a[data-open]").first().click();
  await page.locator("#open .message", { hasText: "The parser is done" }).waitFor();
  await page.reload();
  await page.locator("#open .message", { hasText: "The parser is done" }).waitFor();
  assert.ok(await page.locator("#list mark").count() > 0, "the search is still beside the conversation");
  await page.goto(new URL("/search?q=parser+(&regex=true", url).href);
  await page.locator(".problem", { hasText: "is not a regular expression" }).waitFor();
  assert.equal(await page.locator("input[name=q]").last().inputValue(), "parser (");
});

await step("the keyboard is enough", async () => {
  mailbag("send", "human", "By keyboard?", "--as", "bob", "--type", "approval");
  await page.goto(home);
  await page.locator(".item", { hasText: "By keyboard?" }).waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.innerText), "Skip to the content");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "find");
  await page.evaluate(() => document.activeElement.blur());
  const at = () => page.evaluate(() => document.activeElement.closest(".item")?.innerText ?? "");
  for (let n = 0; n < 5 && !(await at()).includes("By keyboard"); n++) await page.keyboard.press("j");
  assert.match(await at(), /By keyboard/);
  await isStill(page);
  const focused = () => page.evaluate(() => document.activeElement.value);
  for (let n = 0; n < 8 && (await focused()) !== "no"; n++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#note", { hasText: ": no" }).waitFor();
});

const VIEWS = { needs: "", inbox: "inbox", all: "all", conversation: "thread/4", message: "message/4", write: "write", rejected: "rejected",
  search: "search?q=parser", room: "room", more: "more" };
await step("each view is good in two themes and three widths", async () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1440, 768, 360]) {
      const viewport = { width, height: width < 700 ? 740 : 900 };
      const other = await open({ ...(await entered()), viewport, colorScheme, reducedMotion: "reduce" });
      for (const [name, place] of Object.entries(VIEWS)) {
        await other.goto(new URL(`/${place}`, url).href);
        await other.locator("header.bar").waitFor();
        await judge(other, `${name}-${colorScheme}-${width}`);
      }
      await other.context().close();
    }
  }
});

await step("many messages load as somebody scrolls", async () => {
  const lines = Array.from({ length: 180 }, (_, n) => JSON.stringify({ to: "bob", body: `number ${n}` }));
  await page.goto(all);
  writeFileSync(".mailbag/outbox/alice/many.ndjson", lines.join("\n") + "\n");
  await page.locator(".entry", { hasText: "number 179" }).waitFor();
  await page.goto(all);
  for (let n = 0; n < 12 && (await page.locator(".entry").count()) < 180; n++) {
    const had = await page.locator(".entry").count();
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForFunction((had) => document.querySelectorAll(".entry").length > had, had);
  }
  assert.ok((await page.locator(".entry").count()) >= 180);
  await agrees(page);
  const top = () => page.evaluate(() => window.read.getBoundingClientRect().top);
  await page.evaluate(() => (window.read = document.querySelectorAll(".entry")[90]).scrollIntoView());
  const before = await top();
  mailbag("send", "bob", "while somebody reads", "--as", "alice");
  await shows(page, "while somebody reads");
  assert.ok(Math.abs((await top()) - before) < 2, "what somebody reads stays where it is");
  writeFileSync(".mailbag/outbox/bob/more.ndjson", lines.slice(0, 70).join("\n") + "\n");
  await page.locator("#more button").click(); // more than one part: a button says so, and nobody is moved
  await agrees(page);
});

await step("after a reload everything is there once", async () => {
  await page.reload();
  await agrees(page);
});

await step("a page that slept for ten minutes says so and goes on", async () => {
  const asleep = await open({ ...(await entered()), at: all, outage: true });
  mailbag("send", "bob", "before the sleep", "--as", "alice");
  await asleep.locator(".entry", { hasText: "before the sleep" }).waitFor(); // it is connected
  await asleep.context().setOffline(true);
  await asleep.clock.fastForward("10:00"); // what was connected before stays so, and says nothing
  await says(asleep, "No connection");
  const lines = Array.from({ length: 70 }, (_, n) => JSON.stringify({ to: "bob", body: `asleep ${n}` }));
  writeFileSync(".mailbag/outbox/alice/asleep.ndjson", lines.join("\n") + "\n");
  await page.locator(".entry", { hasText: "asleep 69" }).waitFor();
  await asleep.context().setOffline(false);
  await isQuiet(asleep);
  await shows(asleep, "asleep 69", 50); // more than one part: it begins with the newest, and loads the others by scrolling
  const devtools = await asleep.context().newCDPSession(asleep);
  await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
  mailbag("send", "bob", "while frozen", "--as", "alice");
  await devtools.send("Page.setWebLifecycleState", { state: "active" });
  await shows(asleep, "while frozen");
  await asleep.context().close();
});

await step("a router that is killed and started again leaves no gap", async () => {
  for (const round of [1, 2]) {
    const router = start("run", "--quiet");
    mailbag("send", "bob", `router ${round}`, "--as", "alice");
    await page.locator(".entry", { hasText: `router ${round}` }).waitFor();
    router.kill("SIGKILL");
    await once(router, "exit");
    mailbag("send", "bob", `no router ${round}`, "--as", "alice");
    await shows(page, `no router ${round}`);
  }
});

await step("a room that is moved away is said, and the page goes on when it is back", async () => {
  renameSync(".mailbag", "away");
  await says(page, "goes on when the room is back");
  renameSync("away", ".mailbag");
  await isQuiet(page);
  mailbag("send", "bob", "the room is back", "--as", "alice");
  await shows(page, "the room is back");
});

await step("a page that is started again goes on by itself, and what somebody types stays", async () => {
  mailbag("send", "human", "Is this kept?", "--as", "bob", "--type", "question");
  const first = await serve("--port", "0");
  const tab = await open({ outage: true, at: first.url });
  const list = await tab.context().newPage();
  await list.goto(new URL("/all", first.url).href);
  const field = tab.locator(".item", { hasText: "Is this kept?" }).locator("textarea");
  await field.fill("yes, it is");
  first.child.kill("SIGKILL");
  await says(tab, "No connection");
  mailbag("send", "bob", "between two launches", "--as", "alice");
  const second = await serve("--port", String(new URL(first.url).port));
  await isQuiet(tab);
  await shows(list, "between two launches");
  assert.equal(await field.inputValue(), "yes, it is");
  await tab.goto(new URL("/all", second.url).href); // an address is the same after a restart
  await shows(tab, "between two launches");
  await tab.context().close();
  second.child.kill();
});

await step("without scripts the page says that it needs them, and shows nothing", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const other = await context.newPage();
  await other.goto(home);
  assert.match(await other.locator("main").innerText(), /needs JavaScript/);
  assert.equal(await other.locator(".entry, .item").count(), 0);
  await context.close();
});

await browser.close();
assert.deepEqual(complaints, [], "nothing complained");
