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
  if (answer.status === 401) location.reload();
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
  part.replaceWith(fresh);
  tell();
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

let loading, wanted;
/** Puts new entries in front. */
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
      if (part.skipped) return location.reload(); // more came than one part has
      timeline.dataset.newest = part.newest;
      insert(nodes(part.rows));
    } while (wanted);
  } catch {
    // the next change tries again
  } finally {
    loading = false;
  }
}

function insert(rows) {
  const list = $("#entries");
  if (!rows.children.length) return;
  for (const row of rows.children) row.classList.add("fresh");
  const first = list.firstElementChild;
  const reads = first && first.getBoundingClientRect().top < 0;
  const before = list.getBoundingClientRect().height;
  list.prepend(rows);
  $(".empty", timeline)?.remove();
  if (reads) scrollBy(0, list.getBoundingClientRect().height - before); // what somebody reads stays where it is
  else while (list.children.length > KEPT) drop(list.lastElementChild);
  tell();
}

/** Removes the oldest entry, which is loaded again from there. */
function drop(row) {
  const older = $("#older a");
  const seq = row.previousElementSibling.dataset.seq;
  row.remove();
  const link = older || timeline.appendChild(nodes('<p id="older"><a rel="next">Older</a></p>').firstElementChild).firstElementChild;
  link.href = `/?${[timeline.dataset.query, `before=${seq}`].filter(Boolean).join("&")}`;
}

/** Loads older entries where the list ends. */
async function loadOlder(link) {
  const before = new URL(link.href).searchParams.get("before");
  const part = await (await get(withQuery(`before=${before}`))).json();
  $("#entries").append(nodes(part.rows));
  $("#older").remove();
  timeline.append(nodes(part.older));
  tell();
  watchEnd();
}

const end = new IntersectionObserver((seen) => {
  const one = seen.find((one) => one.isIntersecting);
  if (!one) return;
  end.disconnect();
  loadOlder($("a", one.target)).catch(() => {});
}, { rootMargin: "600px" });

function watchEnd() {
  const older = $("#older");
  if (older && timeline) end.observe(older);
}

// ---- changes ----

const connection = $("#connection");
function say(text) {
  connection.hidden = !text;
  connection.textContent = text;
}

/** Follows the room. The browser connects again by itself, and continues behind the last entry. */
function follow() {
  const events = new EventSource(`/events?since=${timeline?.dataset.newest ?? ""}`.replace(/\?since=$/, ""));
  const changed = () => {
    say("");
    loadNew();
    refreshAll();
  };
  events.addEventListener("entry", changed);
  events.addEventListener("change", changed);
  events.addEventListener("open", changed);
  events.addEventListener("gone", (event) => say(`${JSON.parse(event.data).what}. This page goes on when the room is back.`));
  events.addEventListener("reset", () => location.reload());
  events.addEventListener("error", () => {
    say("No connection to mailbag web. This page connects again by itself.");
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  });
  addEventListener("pagehide", () => events.close(), { once: true });
}

// ---- times ----

const UNITS = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
function words(at) {
  const seconds = (Date.now() - at) / 1000;
  const [size, unit] = UNITS.find(([size]) => Math.abs(seconds) >= size) ?? UNITS[3];
  const count = Math.max(1, Math.round(Math.abs(seconds) / size));
  return seconds < 0 ? `in ${count}${unit}` : `${count}${unit} ago`;
}

function tell() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    const text = words(at);
    if (time.textContent !== text) time.textContent = text;
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
  setInterval(refreshAll, 30000); // presence changes with time alone
  addEventListener("visibilitychange", () => document.hidden || (loadNew(), refreshAll()));
  if (location.search.includes("note=")) history.replaceState(null, "", location.pathname);
}
