// An answer of the person reaches the message that it was written for, and a key acts on the item that has the focus.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_PATH, "x.js"));
const { chromium } = require("playwright-core");
const { PAGE_URL: url, MAILBAG: program } = process.env;

const mailbag = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
page.setDefaultTimeout(20000);
await page.clock.install();

const pending = () => JSON.parse(mailbag("pending", "--as", "human", "--json")).items;
const numberOf = (title) => pending().find((item) => item.title === title).seq;
const at = (place) => page.goto(new URL(place, url).href);
const said = (words) => page.locator("#note", { hasText: words }).waitFor();
/** The pointer and the focus are in nobody's way. */
async function leave() {
  await page.mouse.move(2, 2);
  await page.evaluate(() => document.activeElement.blur());
}

await page.goto(url);
await page.locator("header.bar").waitFor();

// ---- a typed reply keeps its recipient ----
mailbag("send", "human", "bob", "Contract", "--as", "alice");
const { messages: [contract] } = JSON.parse(mailbag("list", "--last", "1", "--json"));
await at(`/thread/${contract.seq}`);
const button = page.locator("#open .reply button");
assert.equal(await button.innerText(), "Reply to alice");
await page.locator("#open .reply textarea").fill("for alice only");
await leave();
mailbag("reply", `#${contract.seq}`, "newer mail", "--all", "--as", "bob");
await page.locator("#open .message", { hasText: "newer mail" }).waitFor();
assert.equal(await page.locator("#open .reply textarea").inputValue(), "for alice only");
await page.locator("#open:not([data-moved])").waitFor();
await button.click();
await said("to alice");
assert.match(mailbag("read", "--as", "alice", "--all"), /for alice only/);
assert.doesNotMatch(mailbag("read", "--as", "bob", "--all"), /for alice only/);
// Without a typed text, the reply is for the newest message.
await leave();
mailbag("reply", `#${contract.seq}`, "newest mail", "--all", "--as", "bob");
await page.locator("#open .message", { hasText: "newest mail" }).waitFor();
assert.equal(await button.innerText(), "Reply to bob");

// ---- a wrapped line of an approval does not begin where a field begins ----
const long = `${"x".repeat(300)} subject: Refund `.repeat(3);
mailbag("send", "human", long, "--as", "alice", "--type", "approval");
await at("/");
await page.locator("#needs .source", { hasText: "Refund" }).waitFor();
const edges = await page.locator("#needs .source").evaluate((source) => {
  const left = source.getBoundingClientRect().left + parseFloat(getComputedStyle(source).paddingLeft) + 2;
  const range = document.createRange();
  const walker = document.createTreeWalker(source, NodeFilter.SHOW_TEXT);
  const rows = [];
  while (walker.nextNode()) {
    range.selectNodeContents(walker.currentNode);
    rows.push(...[...range.getClientRects()].filter((one) => one.width > 0 && one.left < left).map((one) => one.top));
  }
  return { rows: new Set(rows).size, lines: source.textContent.trimEnd().split("\n").length };
});
assert.equal(edges.rows, edges.lines);
mailbag("ack", String(pending()[0].seq), "--status", "withdrawn", "--as", "alice");

// ---- the time left of an approval ----
const approval = { to: "human", type: "approval", body: "Deploy?", deadline: "30m", on_deadline: "no" };
writeFileSync(".mailbag/outbox/alice/deploy.json", JSON.stringify(approval));
await at("/");
const deadline = page.locator("#needs .item.approval .deadline");
await deadline.hover();
assert.match(await deadline.innerText(), /^(30|29)m left$/);
await page.clock.fastForward("15:00");
await page.locator("#needs .deadline", { hasText: /^(15|14)m left$/ }).waitFor();
await page.clock.fastForward("14:15");
await page.locator("#needs .deadline", { hasText: /^\d\ds left$/ }).waitFor();

// ---- a key acts on the item that has the focus ----
const questions = Array.from({ length: 100 }, (_, n) => JSON.stringify({ to: "human", type: "question", body: `Question ${n}?` }));
writeFileSync(".mailbag/outbox/bob/many.ndjson", questions.join("\n") + "\n");
mailbag("run", "--once", "-q");
const deploy = numberOf("Deploy?");
await at(`/thread/${deploy}?of=%2F`);
const row = page.locator("#list .item.brief").last();
const other = Number(await row.getAttribute("data-seq"));
assert.notEqual(other, deploy);
const opened = (seq) => page.locator(`#open .meant[data-seq="${seq}"]`).waitFor();
await opened(deploy);
await row.focus();
for (const key of ["1", "e", "r"]) {
  await page.keyboard.press(key);
  assert.ok(await row.evaluate((one) => one === document.activeElement), `${key} moved the focus`);
}
await page.keyboard.press("Enter"); // opens the conversation of the row, and decides nothing
await opened(other);
await page.locator("#open:not([data-moved])").waitFor();
await page.keyboard.press("e");
await said(`dismissed #${other}`);
assert.ok(!pending().some(({ seq }) => seq === other));
assert.ok(pending().some(({ seq }) => seq === deploy), "the approval is still open");
// A conversation that is opened by its address gives the focus to its message.
await at(`/thread/${deploy}?of=%2F`);
await opened(deploy);
await page.locator("#open:not([data-moved])").waitFor();
await page.keyboard.press("2");
await said(`Press Enter to decide #${deploy}: no`);
await page.keyboard.press("Enter");
await said(`decided #${deploy}: no`);

await browser.close();
