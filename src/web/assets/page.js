// Keeps a page up to date. Everything works without it, by loading the page again.
"use strict";

const KEPT = 400; // entries in the page; older ones are loaded again when somebody scrolls to them
const $ = (selector, within = document) => within.querySelector(selector);

// ---- parts that are made by the server ----

function nodes(text) {
  const template = document.createElement("template");
  template.innerHTML = text; // made by the server, which escapes what agents write
  return template.content;
}

async function get(path) {
  const answer = await fetch(path, { headers: { accept: "text/html" } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
}

/** A part that somebody types in stays as it is. */
const inUse = (part) =>
  part.contains(document.activeElement) && document.activeElement !== part ||
  [...part.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue);

async function refresh(part) {
  if (inUse(part)) {
    part.dataset.stale = "yes";
    return;
  }
  const fresh = nodes(await (await get(part.dataset.live)).text());
  if (inUse(part)) return;
  tell(fresh);
  part.replaceWith(fresh);
}

let refreshing, again;
/** Refreshes all parts, once for many changes. */
async function refreshAll() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  do {
    again = false;
    const parts = [...document.querySelectorAll("[data-live^='/']")];
    await Promise.all(parts.map((part) => refresh(part).catch(() => {})));
    await new Promise((done) => setTimeout(done, 400));
  } while (again);
  refreshing = false;
}

document.addEventListener("focusout", () => setTimeout(() => {
  const stale = [...document.querySelectorAll("[data-stale]")].filter((part) => !inUse(part));
  if (stale.length) refreshAll();
}, 50));

// ---- the timeline ----

const timeline = $("#timeline[data-live]");
const withQuery = (more) => `/part/timeline?${[timeline.dataset.query, more].filter(Boolean).join("&")}`;

const entries = $("#entries");
/** Does somebody read further down? */
const reads = () => entries.firstElementChild && entries.firstElementChild.getBoundingClientRect().top < 0;

let loading, wanted;
/** Puts new entries in front: those behind the newest one that the page has. */
async function loadNew() {
  if (!timeline || loading) {
    wanted = true;
    return;
  }
  loading = true;
  try {
    do {
      wanted = false;
      const part = await (await get(withQuery(`after=${timeline.dataset.newest}`))).json();
      if (!part.skipped) insert(nodes(part.rows));
      else if (reads()) return void ($("#more").hidden = false); // nobody loses the place where they read
      else startAgain(part);
      timeline.dataset.newest = part.newest;
    } while (wanted);
  } catch {
    // the next change tries again
  } finally {
    loading = false;
  }
}

function insert(rows) {
  if (!rows.children.length) return;
  for (const row of rows.children) row.classList.add("fresh");
  tell(rows);
  const keeps = reads();
  const before = entries.getBoundingClientRect().height;
  entries.prepend(rows);
  $(".empty", timeline)?.remove();
  // What somebody reads stays where it is. Most browsers see to that.
  if (keeps && !CSS.supports("overflow-anchor: auto")) scrollBy(0, entries.getBoundingClientRect().height - before);
  setTimeout(keepNewest); // thousands may have been loaded: what is new is shown first
}

/** Removes older entries. They are loaded again from there. */
function keepNewest() {
  if (reads() || entries.children.length <= KEPT) return;
  const last = entries.children[KEPT - 1];
  const range = document.createRange();
  range.setStartAfter(last);
  range.setEndAfter(entries.lastElementChild);
  range.deleteContents();
  const link = $("#older a") || timeline.appendChild(nodes('<p id="older"><a rel="next">Older</a></p>').firstElementChild).firstElementChild;
  link.href = `/?${[timeline.dataset.query, `before=${last.dataset.seq}`].filter(Boolean).join("&")}`;
  watchEnd();
}

/** More came than one part has: begins with the newest, and the others are loaded by scrolling. */
function startAgain(part) {
  const rows = nodes(part.rows);
  tell(rows);
  entries.replaceChildren(rows);
  $("#more").hidden = true;
  setOlder(part.older);
}

$("#more button")?.addEventListener("click", () => {
  timeline.scrollIntoView();
  loadNew();
});

function setOlder(older) {
  $("#older")?.remove();
  timeline.append(nodes(older));
  watchEnd();
}

/** Loads older entries where the list ends. */
async function loadOlder(link) {
  const { href } = link;
  const before = new URL(href).searchParams.get("before");
  const part = await (await get(withQuery(`before=${before}`))).json();
  // Meanwhile the list may have got another end.
  if ($("#older a")?.href !== href) return watchEnd();
  const rows = nodes(part.rows);
  tell(rows);
  entries.append(rows);
  setOlder(part.older);
}

const end = new IntersectionObserver((seen) => {
  const one = seen.find((one) => one.isIntersecting);
  if (!one) return;
  end.disconnect();
  loadOlder($("a", one.target)).catch(() => setTimeout(watchEnd, 2000));
}, { rootMargin: "1200px" });

function watchEnd() {
  const older = $("#older");
  end.disconnect();
  if (older && timeline) end.observe(older);
}

// ---- changes ----

const connection = $("#connection");
function say(text) {
  connection.hidden = !text;
  connection.textContent = text;
}

const BEAT = 15000; // the longest silence of the stream
let events, heard;

/** Follows the room. The stream only says that something is new: the entries are loaded by their numbers, so none is left out. */
function follow() {
  events?.close();
  heard = Date.now();
  events = new EventSource(`/events?since=${timeline?.dataset.newest ?? ""}`.replace(/\?since=$/, ""));
  const on = (name, act) => events.addEventListener(name, (event) => {
    heard = Date.now();
    act(event);
  });
  const changed = () => {
    say("");
    loadNew();
    refreshAll();
  };
  for (const name of ["open", "entry", "change"]) on(name, changed);
  on("beat", () => {});
  on("gone", (event) => say(`${JSON.parse(event.data).what}. This page goes on when the room is back.`));
  on("reset", () => location.reload());
  on("error", async ({ target }) => {
    say("No connection to mailbag web. This page connects again by itself.");
    if (target.readyState !== EventSource.CLOSED) return; // the browser tries again
    const status = await fetch("/part/counts").then((answer) => answer.status, () => 0);
    if (status === 401) say("mailbag web was started again. Open the URL that it printed: then this page goes on.");
    setTimeout(() => target === events && follow(), 2000);
  });
}

/** After a sleep, a connection can be dead without an error. */
function wake() {
  if (Date.now() - heard > 2 * BEAT) follow();
  loadNew();
  refreshAll();
}

// ---- times ----

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
function words(at) {
  const seconds = (Date.now() - at) / 1000;
  const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  const count = Math.max(1, Math.round(Math.abs(seconds) / size));
  return seconds < 0 ? `in ${count}${unit}` : `${count}${unit} ago`;
}

/** Says how long ago everything was, in the page or in new rows. */
function tell(within = document) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const text = words(at);
    if (time.textContent !== text) time.textContent = text;
    if (time.dataset.told) continue;
    time.dataset.told = "yes";
    time.title = at.toLocaleString();
  }
}

// ---- writing ----

const to = $(".write input[name=to]");
let preview;
to?.addEventListener("input", () => {
  clearTimeout(preview);
  preview = setTimeout(async () => {
    const part = await (await get(`/part/reaches?to=${encodeURIComponent(to.value)}`)).text();
    $("#reaches").replaceChildren(nodes(part));
  }, 150);
});

// A second click must not send twice.
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  if (event.target.method === "post") setTimeout(() => { event.target.dataset.sent = "yes"; });
});
addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));

// ---- keys ----

function step(by) {
  const rows = [...document.querySelectorAll(".item, .entry")];
  const now = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? 0 : now + by))];
  next?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const keys = {
    "/": () => $("#find").focus(),
    w: () => location.assign("/write"),
    j: () => step(1),
    k: () => step(-1),
  };
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

if (connection) {
  $("#note")?.focus();
  tell();
  watchEnd();
  follow();
  setInterval(tell, 20000);
  setInterval(wake, 30000); // presence changes with time alone
  addEventListener("visibilitychange", () => document.hidden || wake());
  addEventListener("pagehide", () => events.close());
  addEventListener("pageshow", (event) => event.persisted && follow());
  if (location.search.includes("note=")) history.replaceState(null, "", location.pathname);
}
