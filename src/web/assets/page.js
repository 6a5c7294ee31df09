// Shows a page, and keeps it up to date. `browser.js` has the secret, `needs.js` the list of items to decide.
import { ask, enter, listen, send, takeToken } from "/browser.js";
import * as needs from "/needs.js";

const KEPT = 400; // entries in the page; older ones are loaded again when somebody scrolls to them
const $ = (selector, within = document) => within.querySelector(selector);

// ---- parts that are made by the server ----

function nodes(text) {
  const template = document.createElement("template");
  template.innerHTML = text; // made by the server, which escapes what agents write
  return template.content;
}

async function get(path) {
  const answer = await ask(path);
  if (!answer.ok) throw Object.assign(new Error(path), { status: answer.status });
  return answer;
}

async function refresh(part) {
  await needs.update(part, tell);
  if (part.id === "open") markRead();
  if (part.id === "side") countNeeds();
}

const PAUSE = 50; // ms between two refreshes
let refreshing, again;
/** Refreshes all parts, once for many changes. At least two thirds of the time are for other requests. */
async function refreshAll() {
  if (refreshing) {
    again = true;
    return;
  }
  refreshing = true;
  do {
    again = false;
    const begun = performance.now();
    const parts = [...document.querySelectorAll("[data-live^='/']")];
    await Promise.all(parts.map((part) => refresh(part).catch(() => {})));
    const pause = Math.max(PAUSE, 2 * (performance.now() - begun));
    await new Promise((done) => setTimeout(done, pause));
  } while (again);
  refreshing = false;
}

// ---- the timeline ----

let timeline, entries;
const withQuery = (more) => `/part/timeline?${[timeline.dataset.query, more].filter(Boolean).join("&")}`;

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
  // The visible text keeps its position. Most browsers do this themselves.
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
  link.href = `${timeline.dataset.place}?${[timeline.dataset.query, `before=${last.dataset.seq}`].filter(Boolean).join("&")}`;
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
  // The end of the list can have changed.
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

function say(text) {
  $("#connection").hidden = !text;
  $("#connection").textContent = text;
}

const BEAT = 15000; // the longest silence of the stream
let stream, heard;

/** Follows the room. The stream only says that something is new: the entries are loaded by their numbers, so none is left out. */
async function follow() {
  stream?.abort();
  const own = stream = new AbortController();
  heard = Date.now();
  const changed = () => {
    say("");
    loadNew();
    refreshAll();
  };
  const acts = {
    open: changed,
    entry: changed,
    change: changed,
    gone: (data) => say(`${JSON.parse(data).what}. This page goes on when the room is back.`),
    reset: () => {
      if (![...document.querySelectorAll("textarea")].some((field) => field.value !== field.defaultValue)) return location.reload();
      stream = undefined; // `wake` asks again
      say("The log was replaced. This page is loaded again when it has no typed text.");
    },
  };
  const since = timeline ? `?since=${timeline.dataset.newest}` : "";
  const why = await listen(`/events${since}`, own.signal, (name, data) => {
    heard = Date.now();
    if (own === stream) acts[name]?.(data);
  }).catch((error) => error);
  if (own !== stream) return;
  say(why?.status === 401
    ? "This browser has to enter again. Open the URL that mailbag web prints: then this page continues."
    : "No connection to mailbag web. This page connects again by itself.");
  setTimeout(() => own === stream && follow(), 1500);
}

/** After a sleep, a connection can be dead without an error. */
function wake() {
  if (Date.now() - heard > 2 * BEAT) follow();
  loadNew();
  refreshAll();
}

// ---- times ----

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
/** A span in its largest unit, as the server writes it. */
function span(milliseconds) {
  const seconds = Math.max(1, Math.round(milliseconds / 1000));
  const [size, unit] = UNITS.find(([size]) => seconds >= size);
  return `${Math.floor(seconds / size)}${unit}`;
}

function words(at) {
  const left = at - Date.now();
  return left > 0 ? `in ${span(left)}` : `${span(-left)} ago`;
}

/** Updates the time left of each approval, also in a part that is held: it has a width of its own, so nothing moves. */
function countDown() {
  for (const time of document.querySelectorAll("time.deadline")) {
    const left = new Date(time.dateTime) - Date.now();
    const text = left > 0 ? `${span(left)} left` : "overdue";
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Says how long ago everything was, in the page or in new rows. */
function tell(within = document) {
  // Determined before the first change: after a change, it would need the layout of the whole page again.
  const held = [...document.querySelectorAll(".still")].filter(needs.isHeld);
  for (const time of within.querySelectorAll("time[datetime]")) {
    if (held.includes(time.closest(".still"))) continue; // another length could move the list
    const at = new Date(time.dateTime);
    const text = words(at);
    if (!time.matches(".deadline") && time.textContent !== text) time.textContent = text;
    if (time.dataset.told) continue;
    time.dataset.told = "yes";
    time.title = at.toLocaleString();
  }
}

// ---- writing ----

let preview;
function showReached() {
  clearTimeout(preview);
  preview = setTimeout(async () => {
    const to = $(".write input[name=to]").value;
    $("#reaches").replaceChildren(nodes(await (await get(`/part/reaches?to=${encodeURIComponent(to)}`)).text()));
  }, 150);
}

const NOTE = "mailbag-note";
function note({ message, failed }) {
  const place = $("#note");
  place.classList.toggle("failed", !!failed);
  place.textContent = message;
  place.hidden = false;
}

/** Every form that changes the room is sent from here, so that it carries the secret. */
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  event.preventDefault();
  if (form.dataset.sent) return; // a second click must not send twice
  form.dataset.sent = "yes";
  const text = form.elements.body?.value;
  const result = await (form.closest(".item") ? needs.answer : send)(form, event.submitter);
  delete form.dataset.sent;
  if (result.confirm) form.append(nodes('<input type="hidden" name="confirmed" value="true">'));
  if (!result.next) return note(result);
  if (form.closest("#open")) {
    if (form.elements.body.value === text) form.reset();
    note(result);
    return openConversation(location.pathname + location.search);
  }
  form.dataset.sent = "yes";
  sessionStorage.setItem(NOTE, JSON.stringify(result));
  location.assign(result.next);
});

document.addEventListener("click", ({ target }) => {
  const { text } = target.closest("button[data-text]")?.dataset ?? {};
  if (text !== undefined) target.form.elements.text.value = text;
});

// ---- the open conversation ----

/** Opens a conversation beside the list, which stays where it is. */
async function openConversation(address) {
  const { pathname, search } = new URL(address, location);
  const part = nodes(await (await get(`/part${pathname}${search}`)).text()).firstElementChild;
  tell(part);
  const old = $("#open");
  if (old?.dataset.live === part.dataset.live) needs.replace(old, part);
  else {
    old?.remove();
    $("#main").append(part);
  }
  document.body.classList.add("opened");
  needs.settleDown(part);
  showMeant();
  markRead();
}

/** Shows the message that is meant, at least. It has the focus, unless another visible element has it. */
function showMeant() {
  $("#open .meant")?.scrollIntoView({ block: "nearest" });
  const { activeElement: active, body } = document;
  if (active === body || !active.checkVisibility()) $("#open .meant")?.focus({ preventScroll: true });
  const seq = $("#open .meant")?.dataset.seq;
  for (const row of document.querySelectorAll("#list [aria-current]")) row.removeAttribute("aria-current");
  $(`#list .entry[data-seq="${seq}"]`)?.setAttribute("aria-current", "true");
}

/** Marks the displayed messages as read. */
async function markRead() {
  if (document.hidden) return;
  const unread = new Set([...document.querySelectorAll("#list .entry.unread")].map((row) => row.dataset.seq));
  const shown = [...document.querySelectorAll("#open .message[data-at]:not([data-read])")];
  if (!shown.length) return;
  const body = new URLSearchParams({ at: shown.map((one) => one.dataset.at).join(" ") });
  for (const one of shown) one.dataset.read = "yes";
  await ask("/read", { method: "POST", body }).catch(() => {});
  for (const { dataset: { seq } } of shown) {
    if (!unread.has(seq)) continue;
    const row = $(`#list [data-seq="${seq}"]`);
    row.classList.remove("unread");
    $(".new", row)?.remove();
  }
  refreshAll();
}

let top; // where the list was when a conversation covered it
document.addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const back = event.target.closest("[data-back]");
  if (back && history.state?.opened) {
    event.preventDefault();
    return history.back();
  }
  const link = event.target.closest("#list a[data-open]");
  if (!link) return;
  event.preventDefault();
  const address = `${link.getAttribute("href")}?of=${encodeURIComponent(listAddress())}`;
  if (!document.body.classList.contains("opened")) top = scrollY;
  openConversation(address).then(() => history.pushState({ opened: true }, "", address), () => location.assign(address));
});

/** The address of the list, also while a conversation is open beside it. */
function listAddress() {
  const { pathname, search } = location;
  if (pathname.startsWith("/thread/")) return new URLSearchParams(search).get("of") ?? "/all";
  return pathname === "/search" ? pathname + search : $("#timeline")?.dataset.place ?? pathname;
}

addEventListener("popstate", () => {
  if (location.hash) return; // the token of a new URL
  if (location.pathname.startsWith("/thread/")) return openConversation(location.href);
  if (!$("#list > *") || !document.body.classList.contains("opened")) return location.reload();
  document.body.classList.remove("opened");
  $("#open")?.remove();
  if (top) scrollTo(0, top);
});

// ---- items that need the person ----

let known; // the number of items at the last look
/** The title of the tab has the number of items. A notification names no text of others. */
function countNeeds() {
  const count = Number($("#side")?.dataset.needs ?? 0);
  document.title = `${count ? `(${count}) ` : ""}${document.title.replace(/^\(\d+\) /, "")}`;
  if (count > known && document.hidden && window.Notification?.permission === "granted") {
    new Notification(`${count} ${count === 1 ? "item needs" : "items need"} you`, { tag: "mailbag", icon: "/icon.svg" });
  }
  known = count;
  const button = $("#notify");
  if (button) button.hidden = window.Notification?.permission !== "default";
}
document.addEventListener("click", ({ target }) => target.closest("#notify") && Notification.requestPermission().then(countNeeds));

// ---- keys ----

const current = () => document.activeElement.closest(".item, .entry, .message");
const listed = () => [...document.querySelectorAll("#list .item, #list .entry")].filter((row) => row.checkVisibility());
let last = -1; // the place of the row that had the focus
document.addEventListener("focusin", ({ target }) => {
  const now = listed().findLastIndex((row) => row.contains(target));
  if (now >= 0) last = now;
});

function step(by) {
  const rows = listed();
  const now = rows.findLastIndex((row) => row.contains(document.activeElement));
  // If that row has left, the next one is in its place.
  const next = now >= 0 ? now + by : by > 0 ? Math.max(0, last) : last - 1;
  rows[Math.min(rows.length - 1, Math.max(0, next))]?.focus();
}

/** The control on which a key acts: in the row that has the focus, or in the open conversation if it is open for this row.
 * A key never acts on an item of another row. */
function acting(selector) {
  const row = current();
  const own = row && $(selector, row);
  if (!row || own || !row.closest("#open") && row.dataset.seq !== $("#open .meant")?.dataset.seq) return own;
  const { key, seq } = row.dataset;
  const items = [...document.querySelectorAll("#open .item")];
  const item = items.find(({ dataset }) => row.matches(".item") ? dataset.key === key : dataset.seq === seq);
  return item && $(selector, item) || $(`#open .reply ${selector}`);
}

let chosen; // the option that a digit has chosen, and what had the focus
/** A digit chooses an option. Only Enter confirms it; any other key gives the focus back. */
function choose(digit) {
  const form = acting(".act");
  const option = form?.querySelectorAll("button[name=option]")[digit - 1];
  if (!option || form.closest(".settled")) return;
  chosen = { option, before: document.activeElement };
  option.focus();
  note({ message: `Press Enter to decide #${form.elements.seq.value}: ${option.textContent}` });
}

/** Is this the key after a choice, and is it done with? */
function confirms(event) {
  const { option, before } = chosen ?? {};
  chosen = undefined;
  if (!option || event.target !== option) return false;
  if (event.key === "Enter") return true; // the browser presses the button
  before.focus({ preventScroll: true });
  $("#note").hidden = true;
  if (/^[1-9]$/.test(event.key)) return false;
  if (event.key !== "Tab") event.preventDefault();
  return true;
}

let isGo; // `g` was pressed
const keys = {
  "?": () => $("#keys").showModal(),
  "/": () => $("#find").focus(),
  w: () => location.assign("/write"),
  j: () => step(1),
  k: () => step(-1),
  r: () => acting("textarea")?.focus(),
  e: () => acting("button[value=dismiss]")?.click(),
  Enter: () => current() === document.activeElement && $("a[data-open], .subject a, summary", current())?.click(),
  Escape: () => $("#open [data-back]")?.click(),
};
const places = { i: "/inbox", n: "/", a: "/all" };

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (confirms(event)) return;
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && target.matches("textarea")) {
    const form = target.form;
    const button = $("button[value=reply], .primary:not([name])", form); // a decision needs its button
    if (button) form.requestSubmit(button);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog")) return;
  if (key === "Enter" && target.closest("a, button, summary")) return;
  const act = isGo && places[key] ? () => location.assign(places[key]) : /^[1-9]$/.test(key) ? () => choose(key) : keys[key];
  isGo = key === "g";
  if (!act) return;
  event.preventDefault();
  act();
});

// ---- the page itself ----

/** Asks for the content of this address, and shows it. */
async function show(why) {
  const answer = await ask(location.pathname + location.search).catch(() => undefined);
  if (!answer) {
    say("No connection to mailbag web. This page connects again by itself.");
    return setTimeout(show, 2000);
  }
  if (answer.status === 401) {
    $("#stranger").textContent = why ?? "This browser has not entered. Open the URL that mailbag web prints.";
    $("#stranger").hidden = false;
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.title = page.title;
  document.body.replaceWith(document.adoptNode(page.body));
  start();
}

/** Begins to keep the page up to date. */
function start() {
  [timeline, entries] = [$("#timeline[data-live]"), $("#entries")];
  tell();
  countNeeds();
  showMeant();
  markRead();
  needs.start(refreshAll);
  $("#more button")?.addEventListener("click", () => {
    timeline.scrollIntoView();
    loadNew();
  });
  $(".write input[name=to]")?.addEventListener("input", showReached);
  const said = sessionStorage.getItem(NOTE);
  sessionStorage.removeItem(NOTE);
  if (said) note(JSON.parse(said));
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  watchEnd();
  follow();
  setInterval(tell, 20000);
  setInterval(countDown, 1000);
  setInterval(wake, 30000); // presence changes with time alone
  addEventListener("visibilitychange", () => document.hidden || wake());
  addEventListener("pagehide", () => stream?.abort());
  addEventListener("pageshow", (event) => event.persisted && follow());
}

/** Enters with the token of the printed URL, if this is it. */
async function enterByToken(token) {
  return token && enter(token).catch(() => "No connection to mailbag web. Start it again and open the new URL.");
}

// The URL can also be opened in a page that is there already.
addEventListener("hashchange", async () => {
  const token = takeToken();
  if (token && !(await enterByToken(token))) location.reload();
});
enterByToken(takeToken()).then(show);
