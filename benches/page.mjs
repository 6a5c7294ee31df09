// Measures the page of a room with a real program: how soon its views are shown, and how much memory it needs.
//
//   node benches/page.mjs paint PROGRAM [MESSAGES]      in chromium, with playwright-core from NODE_PATH
//   node benches/page.mjs memory PROGRAM [MINUTES] [beside]    50 messages a second, three clients, one of them stalled
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const [what, program, size, beside] = process.argv.slice(2);
const home = mkdtempSync(path.join(os.tmpdir(), "mailbag-page-"));
const room = path.join(home, ".mailbag");
const AGENTS = ["alice", "bob", "carol", "dave", "erin"];
const env = { ...process.env, MAILBAG_TRUST_DIR: path.join(home, "trust") };
const mailbag = (...args) => execFileSync(program, args, { cwd: home, env, encoding: "utf8" });
const children = [];
const start = (...words) => {
  const child = spawn(words[0], words.slice(1), { cwd: home, env, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  return child;
};

/** Starts the page in a terminal, as a person does, and returns what it reports about itself, with its process. */
async function serve() {
  const report = path.join(home, "web.json");
  start("script", "-qec", `echo $$ > ${home}/pid; exec '${path.resolve(program)}' web --json > ${report}`, "/dev/null");
  const deadline = performance.now() + 30000;
  for (;;) {
    try {
      return { pid: Number(readFileSync(path.join(home, "pid"), "utf8")), ...JSON.parse(readFileSync(report, "utf8")) };
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(20);
    }
  }
}

/** Enters as a browser does, and returns the header that each request needs. */
async function enter({ listen, url }) {
  const body = new URLSearchParams({ token: url.split("#enter=")[1] });
  const entered = await fetch(`http://${listen}/enter`, { method: "POST", headers: { origin: `http://${listen}` }, body });
  return { "x-mailbag-secret": (await entered.json()).secret };
}

/** Drops a file whole. */
let files = 0;
function drop(agent, text, end = "json") {
  const outbox = path.join(room, "outbox", agent);
  files += 1;
  writeFileSync(path.join(outbox, `.${files}`), text);
  renameSync(path.join(outbox, `.${files}`), path.join(outbox, `${files}.${end}`));
}

const body = (n) => `Message ${n}. The parser reads the settings now; the tests of the second part are still red. `.repeat(1 + (n % 4));
const message = (n) => JSON.stringify({ to: AGENTS[(n + 1) % AGENTS.length], body: body(n), type: n % 7 ? "message" : "status" });

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const shown = (numbers) => `median ${median(numbers).toFixed(0)} ms, ${Math.min(...numbers).toFixed(0)} to ${Math.max(...numbers).toFixed(0)} ms`;

// ---- paint ----

/** Each view with its path, and the part that shows that its content has come. */
const VIEWS = { "needs you": ["/", "#needs .item"], inbox: ["/inbox", ".entry"], "all mail": ["/all", ".entry"] };
const ROUNDS = 10;

async function paint(count) {
  for (let from = 0; from < count; from += 500) {
    const lines = Array.from({ length: Math.min(500, count - from) }, (_, n) => message(from + n));
    drop(AGENTS[(from / 500) % AGENTS.length], lines.join("\n") + "\n", "ndjson");
    mailbag("run", "--once", "--quiet");
  }
  for (let n = 0; n < 100; n++) drop(AGENTS[n % AGENTS.length], JSON.stringify({ to: "human", type: "question", body: `Question ${n}? ${body(n)}` }));
  while (JSON.parse(mailbag("status", "--json")).counts.accepted < count + 100) mailbag("run", "--once", "--quiet");
  const { chromium } = createRequire(path.join(process.env.NODE_PATH, "x.js"))("playwright-core");
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
  const page = await serve();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const tab = await context.newPage();
  await tab.goto(page.url);
  await tab.locator("header.bar").waitFor();
  const views = Object.entries(VIEWS).map(([name, [at, part]]) => ({ name, at, part, times: [], bytes: 0 }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const view of views) {
      const fresh = await context.newPage();
      await fresh.addInitScript((part) => {
        const look = () => {
          // The frame after the one that has the content is painted.
          if (document.querySelector(part)) requestAnimationFrame(() => (window.shownAt = performance.now()));
          else requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }, view.part);
      await fresh.goto(`http://${page.listen}${view.at}`);
      await fresh.waitForFunction(() => window.shownAt);
      const sizes = () => performance.getEntriesByType("resource").filter((one) => one.initiatorType === "fetch").map((one) => one.decodedBodySize);
      [view.bytes] = await fresh.evaluate(sizes);
      view.times.push(await fresh.evaluate(() => window.shownAt));
      await fresh.close();
    }
  }
  for (const view of views) console.log(`${count} messages, ${view.name}: shown after ${shown(view.times)}; ${(view.bytes / 1000).toFixed(0)} KB of HTML`);
  await tab.goto(`http://${page.listen}/all`);
  await tab.locator(".entry").first().waitFor();
  for (const [what, rest] of [["alone", 2000], ["soon after another", 0]]) {
    const arrivals = [];
    for (let n = 0; n < ROUNDS; n++) {
      await pause(rest);
      const words = `arrival ${n} ${what}.`;
      await tab.evaluate((words) => {
        window.came = new Promise((done) => new MutationObserver(() => {
          if (document.querySelector(".entry").textContent.includes(words)) done(Date.now());
        }).observe(document.querySelector("#entries"), { childList: true }));
      }, words);
      mailbag("send", "bob", words, "--as", "alice");
      const came = await tab.evaluate(() => window.came);
      const { messages: [last] } = JSON.parse(mailbag("list", "--last", "1", "--json"));
      arrivals.push(came - Date.parse(last.accepted_at));
    }
    console.log(`new mail in the page after it was accepted, ${what}: ${shown(arrivals)}`);
  }
  await browser.close();
}

// ---- memory ----

/** A reader of the stream, which checks that each entry comes once and in order. */
function follow(page, act) {
  const reader = { entries: 0, last: 0, wrong: 0 };
  http.get(`http://${page.listen}/events?since=0`, { headers: page.headers }, (answer) => {
    if (!act) return answer.pause();
    answer.setEncoding("utf8");
    let rest = "";
    answer.on("data", (part) => {
      const lines = (rest + part).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (!line.startsWith("id: ")) continue;
        const seq = Number(line.slice(4));
        if (seq <= reader.last) reader.wrong += 1;
        reader.last = seq;
        reader.entries += 1;
      }
      act(reader);
    });
  });
  return reader;
}

/** Loads what a browser loads after a change, at most every 400 ms. */
function browse(page) {
  let busy = false, newest = 0, loads = 0;
  const load = async (at) => (await fetch(`http://${page.listen}${at}`, { headers: page.headers })).text();
  const reader = follow(page, async () => {
    if (busy) return;
    busy = true;
    newest = JSON.parse(await load(`/part/timeline?after=${newest}`)).newest;
    await Promise.all(["/part/needs", "/part/side"].map(load));
    loads += 1;
    await pause(400);
    busy = false;
  });
  return () => `${loads} loads, ${reader.entries} entries`;
}

const memory = ({ pid }) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return (name) => (Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))[1]) / 1024).toFixed(1);
};
const processor = ({ pid }) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).reduce((a, b) => a + Number(b), 0) / 100;

async function soak(minutes) {
  if (beside) start(program, "run", "--quiet").stdout.resume();
  const page = await serve();
  page.headers = await enter(page);
  const reader = follow(page, () => {});
  const browser = browse(page);
  follow(page);
  const begun = performance.now();
  let sent = 0, minute = 0;
  while (performance.now() - begun < minutes * 60000) {
    while (sent < ((performance.now() - begun) / 1000) * 50) drop(AGENTS[sent % AGENTS.length], message(sent++));
    // The agents read their mail.
    for (const agent of AGENTS) {
      const inbox = path.join(room, "inbox", agent);
      if (!existsSync(inbox)) continue;
      mkdirSync(path.join(inbox, "seen"), { recursive: true });
      for (const name of readdirSync(inbox)) if (name.endsWith(".json")) renameSync(path.join(inbox, name), path.join(inbox, "seen", name));
    }
    if (performance.now() - begun >= minute * 60000) {
      const of = memory(page);
      console.log(`minute ${minute++}: ${of("VmRSS")} MiB, peak ${of("VmHWM")} MiB, processor ${processor(page).toFixed(0)} s; ${sent} sent; reader ${reader.entries}, out of order ${reader.wrong}; ${browser()}`);
    }
    await pause(100);
  }
  const until = performance.now() + 60000;
  while (reader.entries < sent && performance.now() < until) await pause(100);
  const of = memory(page);
  console.log(`at the end: ${of("VmRSS")} MiB, peak ${of("VmHWM")} MiB; ${sent} sent, ${reader.entries} came, out of order or twice: ${reader.wrong}`);
}

mailbag("init", "--quiet");
mailbag("agent", "add", "--quiet", ...AGENTS);
writeFileSync(path.join(room, "settings.toml"), "budget.messages = 0\nbudget.copies = 0\n");
try {
  if (what === "paint") await paint(Number(size ?? 10000));
  else await soak(Number(size ?? 60));
} finally {
  const ended = children.map((child) => once(child, "exit"));
  children.forEach((child) => child.kill());
  await Promise.all(ended);
  rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}
