// What a person does on the page, in a real browser. The test that starts it makes the room and the page.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_PATH, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const { PAGE_URL: url, MAILBAG: program, PICTURES: pictures } = process.env;
const home = new URL("/", url).href;

const mailbag = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

const complaints = [];
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => new URL(request.url()).origin === new URL(url).origin || complaints.push(request.url()));
  await page.goto(url);
  await page.waitForURL(home);
  return page;
}

/** Violations of WCAG 2 AA, and how the browser sees the page. */
async function judge(page, name) {
  const found = await page.evaluate(async (axe) => {
    // The policy of the page forbids scripts in it, so the judge comes from outside.
    (0, eval)(axe);
    const { violations } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  }, axe).catch((error) => {
    if (!String(error).includes("unsafe-eval")) throw error;
    return null;
  });
  assert.notEqual(found, null, "axe-core could not run");
  assert.deepEqual(found, [], `${name}: accessibility`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
  if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) });
}

async function step(name, act) {
  const begun = performance.now();
  await act();
  console.log(`${name}: ${Math.round(performance.now() - begun)} ms`);
}

mailbag("send", "human", "May I deploy version 2.4 to production?", "--as", "alice", "--type", "approval");
mailbag("send", "human", "Which port does the test server use?", "--as", "bob", "--type", "question");
mailbag("send", "bob", "The parser is done; the tests pass.", "--as", "alice", "--subject", "Parser");
mailbag("claim", "src/parser/**", "--as", "alice", "--note", "the parser");
const page = await open();

await step("the first page shows what needs the person, the agents and the timeline", async () => {
  assert.deepEqual(await page.locator("h2").allInnerTexts(), ["Needs you2", "Agents2", "Timeline"]);
  await judge(page, "room");
});

await step("new mail appears without a reload, fast", async () => {
  await page.evaluate(() => {
    window.came = new Promise((done) => new MutationObserver(() => {
      if (document.querySelector("#entries").innerText.includes("live arrival")) done(Date.now());
    }).observe(document.querySelector("#entries"), { childList: true }));
  });
  mailbag("send", "bob", "live arrival", "--as", "alice");
  const came = await page.evaluate(() => window.came);
  const list = JSON.parse(mailbag("list", "--last", "1", "--json"));
  const took = came - Date.parse(list[0].accepted_at);
  console.log(`  shown ${took} ms after it was accepted`);
  assert.ok(took < 5000);
});

await step("text that somebody types stays while the page changes", async () => {
  await page.locator("#needs textarea").first().fill("not yet");
  mailbag("send", "human", "One more question?", "--as", "alice", "--type", "question");
  await page.locator("#entries", { hasText: "One more question?" }).waitFor();
  assert.equal(await page.locator("#needs textarea").first().inputValue(), "not yet");
});

await step("an approval is decided with a click", async () => {
  await page.locator(".item.approval textarea").fill("after lunch");
  await page.locator(".item.approval button", { hasText: "yes" }).click();
  await page.locator("#note", { hasText: "decided #2: yes" }).waitFor();
  assert.equal(await page.locator(".item.approval").count(), 0);
  assert.match(mailbag("read", "--as", "alice"), /after lunch/);
});

await step("a question is answered", async () => {
  const item = page.locator(".item", { hasText: "Which port" });
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
  await judge(page, "write");
  await page.locator("button", { hasText: "Send" }).first().click();
  await page.locator("#note", { hasText: "to alice" }).waitFor();
});

await step("refused mail is mended and sent again", async () => {
  writeFileSync(".mailbag/outbox/alice/bad.json", '{"to": "bbo", "body": "mend me"}');
  await page.locator("#counts", { hasText: "1 rejected" }).waitFor();
  await page.goto(new URL("/rejected", url).href);
  await page.locator(".subject a").click();
  await judge(page, "rejected");
  await page.locator("textarea").fill('{"to": "bob", "body": "mended"}');
  await page.locator("button", { hasText: "Send again" }).click();
  await page.locator("#note", { hasText: "to bob" }).waitFor();
});

await step("a search finds", async () => {
  await page.locator("#find").fill("parser");
  await page.keyboard.press("Enter");
  await page.locator("mark", { hasText: /parser/i }).first().waitFor();
  await judge(page, "search");
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
  const focused = () => page.evaluate(() => document.activeElement.value);
  for (let n = 0; n < 8 && (await focused()) !== "no"; n++) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.locator("#note", { hasText: ": no" }).waitFor();
});

for (const place of ["message/4", "thread/4", "claims", "worklog", "links", "health"]) {
  await page.goto(new URL(`/${place}`, url).href);
  await judge(page, place.replace("/", "-"));
}

await step("many messages load as somebody scrolls", async () => {
  const lines = Array.from({ length: 180 }, (_, n) => JSON.stringify({ to: "bob", body: `number ${n}` }));
  writeFileSync(".mailbag/outbox/alice/many.ndjson", lines.join("\n") + "\n");
  await page.goto(home);
  for (let n = 0; n < 12 && (await page.locator(".entry").count()) < 180; n++) {
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.waitForFunction((had) => document.querySelectorAll(".entry").length > had, await page.locator(".entry").count());
  }
  const numbers = await page.locator(".entry").evaluateAll((rows) => rows.map((row) => Number(row.dataset.seq)));
  assert.ok(numbers.length >= 180, `${numbers.length} entries`);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => b - a), "no gap in order, no repeat");
});

for (const [name, options] of [
  ["dark", { colorScheme: "dark" }],
  ["phone", { viewport: { width: 360, height: 740 }, reducedMotion: "reduce" }],
]) {
  const other = await open(options);
  await judge(other, name);
  await other.context().close();
}

await step("without scripts everything is there to read and to click", async () => {
  mailbag("send", "human", "Without scripts?", "--as", "bob", "--type", "approval");
  const other = await open({ javaScriptEnabled: false });
  await other.locator(".item.approval button", { hasText: "yes" }).click();
  await other.locator("#note", { hasText: ": yes" }).waitFor();
  await other.context().close();
});

await browser.close();
assert.deepEqual(complaints, [], "nothing complained");
