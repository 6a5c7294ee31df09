// What somebody types decides, dismisses and sends nothing, and is not lost, whatever happens to its item meanwhile.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import assert from "node:assert/strict";
import path from "node:path";

const require = createRequire(path.join(process.env.NODE_PATH, "x.js"));
const { chromium } = require("playwright-core");
const { PAGE_URL: url, MAILBAG: program } = process.env;

const mailbag = (...args) => execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const drop = (name, message) => writeFileSync(`.mailbag/outbox/alice/${name}.json`, JSON.stringify({ to: "human", ...message }));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const page = await (await browser.newContext({ viewport: { width: 1440, height: 1200 } })).newPage();
page.setDefaultTimeout(20000);

const pending = () => JSON.parse(mailbag("pending", "--as", "human", "--json")).items;
const open = () => pending().map(({ title }) => title).sort();
const numberOf = (title) => pending().find((item) => item.title === title).seq;
const item = (title, place = "#list") => page.locator(`${place} .item`, { hasText: title });
const field = (title, place) => item(title, place).locator("textarea");
const isFocused = (place) => place.evaluate((one) => one === document.activeElement);
const note = (words) => page.locator("#note", { hasText: words }).waitFor();
/** The item is settled in its place, and the page has shown this. */
const isSettled = (title) => page.locator("#list .item.settled", { hasText: title }).waitFor();
const isStill = () => page.locator("#needs:not([data-moved])").waitFor();
const away = () => page.mouse.move(2, 2);
const blur = () => page.evaluate(() => document.activeElement.blur());
const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
const type = (text) => page.keyboard.type(text, { delay: 5 });

async function step(name, act) {
  await act();
  console.log(name);
}

drop("a", { type: "approval", body: "Deploy?" });
drop("q", { type: "question", body: "Which port?" });
mailbag("run", "--once", "-q");
await page.goto(url);
await item("Deploy?").waitFor();
await away();

await step("the deadline of an approval passes while somebody types below it", async () => {
  drop("b", { type: "approval", body: "Merge?", deadline: "3s", on_deadline: "no" });
  await item("Merge?").waitFor();
  await isStill();
  await item("Deploy?").focus();
  await press("Enter");
  await page.locator("#open .item", { hasText: "Deploy?" }).waitFor();
  await item("Merge?").focus();
  await press("r");
  await type("yes, but");
  await isSettled("Merge?");
  assert.ok(await isFocused(field("Merge?")), "the field keeps the focus");
  await type(": 1. the tests are red");
  await press("Control+Enter");
  assert.equal(await field("Merge?").inputValue(), "yes, but: 1. the tests are red");
  assert.deepEqual(open(), ["Deploy?", "Which port?"]);
});

await step("the text of a settled item stays when the focus leaves and the list changes", async () => {
  await blur();
  drop("c", { type: "question", body: "Another one?" });
  await item("Another one?").waitFor();
  assert.equal(await field("Merge?").inputValue(), "yes, but: 1. the tests are red");
  await isStill();
  await field("Merge?").fill("");
  await blur();
  mailbag("dismiss", String(numberOf("Another one?")), "--as", "human");
  await item("Another one?").waitFor({ state: "detached" });
  await item("Merge?").waitFor({ state: "detached" });
});

await step("a command settles a question while somebody types a reply, in the list and in the conversation", async () => {
  drop("d", { type: "question", body: "Shall I go on?" });
  await item("Shall I go on?").waitFor();
  await isStill();
  await field("Shall I go on?").focus();
  mailbag("reply", String(numberOf("Shall I go on?")), "yes", "--as", "human");
  await isSettled("Shall I go on?");
  await type("please go on, 1 2 e r w\n");
  await press("Control+Enter");
  await note("is settled");
  assert.equal(await field("Shall I go on?").inputValue(), "please go on, 1 2 e r w\n");
  await field("Shall I go on?").fill("");
  await blur();
  drop("e", { type: "question", body: "Once more?" });
  await item("Once more?").waitFor();
  await isStill();
  await item("Once more?").focus();
  await press("Enter");
  await field("Once more?", "#open").focus();
  mailbag("dismiss", String(numberOf("Once more?")), "--as", "human");
  await page.locator("#open .item.settled", { hasText: "Once more?" }).waitFor();
  await type("please go on");
  assert.ok(await isFocused(field("Once more?", "#open")));
  await blur();
  mailbag("send", "bob", "something else", "--as", "alice");
  await isStill();
  assert.equal(await field("Once more?", "#open").inputValue(), "please go on");
  assert.deepEqual(open(), ["Deploy?", "Which port?"]);
  await page.goto(new URL("/", url).href);
});

await step("text stays when its item has no form left in the list, or moves", async () => {
  await isStill();
  await field("Which port?").fill("8080, I think");
  await blur();
  await away();
  for (const n of [1, 2, 3]) drop(`long${n}`, { type: "approval", body: `Long ${n}? ${"x".repeat(7000)}`, deadline: "1h" });
  await item("Long 3?").waitFor();
  assert.equal(await field("Which port?").inputValue(), "8080, I think");
  for (const { seq, title } of pending()) if (title.startsWith("Long")) mailbag("ack", String(seq), "--status", "withdrawn", "--as", "alice");
  await item("Long 1?").waitFor({ state: "detached" });
  assert.equal(await field("Which port?").inputValue(), "8080, I think");
});

await step("an answer on its way takes the focus from no other field", async () => {
  drop("f", { type: "question", body: "Quick one?" });
  await item("Quick one?").waitFor();
  await isStill();
  await page.route("**/answer", async (route) => {
    await field("Which port?").focus();
    await route.continue();
  });
  await field("Quick one?").fill("yes");
  await press("Control+Enter");
  await note("replied to");
  await page.unroute("**/answer");
  assert.ok(await isFocused(field("Which port?")));
  await blur();
  await item("Quick one?").waitFor({ state: "detached" });
});

await step("a reply in a conversation keeps the text of the other form", async () => {
  await page.goto(new URL(`/thread/${numberOf("Which port?")}?of=%2F`, url).href);
  await field("Which port?", "#open").fill("not sent yet");
  await page.locator("#open .reply textarea").fill("a reply");
  await page.locator("#open:not([data-moved])").waitFor();
  await press("Control+Enter");
  await page.locator("#open .message", { hasText: "a reply" }).waitFor();
  assert.equal(await page.locator("#open .reply textarea").inputValue(), "");
  assert.equal(await field("Which port?", "#open").inputValue(), "not sent yet");
  await page.goto(new URL("/", url).href);
});

drop("g", { type: "approval", body: "Release?" });
drop("h", { type: "question", body: "Who tests?" });
await item("Who tests?").waitFor();
await isStill();

await step("only Enter confirms an option, and every other key gives the focus back", async () => {
  await item("Release?").focus();
  for (const key of [" ", "x", "e", "r", "Escape", "."]) {
    await press("1");
    await note("Press Enter to decide");
    await press(key);
    assert.ok(await isFocused(item("Release?")), `"${key}" gives the focus back`);
  }
  await type("1. x");
  assert.deepEqual(open(), ["Deploy?", "Release?", "Who tests?"]);
});

await step("without a row that has the focus, no key decides or dismisses", async () => {
  await item("Release?").focus();
  await press("Enter");
  await page.locator("#open .item", { hasText: "Release?" }).waitFor();
  await blur();
  await press("1", "Enter", "e", "r", "Control+Enter");
  assert.ok(await page.evaluate(() => document.activeElement === document.body));
  assert.deepEqual(open(), ["Deploy?", "Release?", "Who tests?"]);
});

await step("after a row has left, j goes to the next one", async () => {
  for (const title of ["Release?", "Deploy?"]) {
    await item(title).focus();
    await press("2");
    await press("Enter");
    await note(": no");
    await item(title).waitFor({ state: "detached" });
    await press("e", "1", "Enter");
    await isStill();
  }
  assert.deepEqual(open(), ["Who tests?"]);
  drop("i", { type: "question", body: "Who writes?" });
  drop("j", { type: "question", body: "Who reads?" });
  await item("Who reads?").waitFor();
  await isStill();
  await item("Who writes?").focus();
  await press("e");
  await item("Who writes?").waitFor({ state: "detached" });
  await press("j");
  assert.ok(await isFocused(item("Who reads?")));
  assert.deepEqual(open(), ["Who reads?", "Who tests?"]);
});

await browser.close();
