// The parts of the page that stay still: the items to decide, the open conversation, and the views. These rules hold for
// each of them:
// - Nothing in it moves while the pointer or a finger is over it, or a control in it has focus. News waits.
// - A press counts only for an item that has been in its place for a while, and for the text that the item shows.
// - An item that is settled elsewhere shows so in its place, and sends nothing.
// - A focused field is never disabled or removed, and typed text stays.
import { ask, send } from "/browser.js";

const STILL = 500; // ms that a part stays in its place before a press counts
const parts = () => document.querySelectorAll(".still");

let pointer; // where the pointer or the finger is
const news = new Map(); // by the id of a part: what the server has, and the part does not show yet
const held = new Set(); // the ids of the parts that were held at the last look
let isEarly;

/** May nothing in this part move now? */
export function isHeld(part) {
  if (part.contains(document.activeElement) && !document.activeElement.matches("[tabindex='-1']")) return true;
  if (!pointer) return false;
  const { left, right, top, bottom } = part.getBoundingClientRect();
  return pointer.x >= left && pointer.x <= right && pointer.y >= top && pointer.y <= bottom;
}

/** Begins to hold the parts still. `released` is called when one may move again. */
export function start(released) {
  const look = () => {
    for (const part of parts()) {
      const isNow = isHeld(part);
      const was = held.has(part.id);
      if (isNow) held.add(part.id);
      else held.delete(part.id);
      if (was && !isNow) {
        if (news.has(part.id)) apply(part);
        released();
      }
    }
  };
  const at = ({ clientX: x, clientY: y }) => {
    pointer = { x, y };
    look();
  };
  const gone = () => {
    pointer = undefined;
    look();
  };
  const press = ({ target }) => (isEarly = "moved" in (target.closest?.(".still")?.dataset ?? {}));
  for (const name of ["pointermove", "pointerdown"]) addEventListener(name, at, true);
  for (const name of ["pointerdown", "keydown"]) addEventListener(name, press, true);
  document.documentElement.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && gone());
  // A finger has no place after it is lifted. A second tap may follow.
  for (const name of ["pointerup", "pointercancel"]) {
    addEventListener(name, ({ pointerType }) => pointerType === "mouse" || setTimeout(gone, 2 * STILL), true);
  }
  addEventListener("scroll", look, { passive: true });
  for (const name of ["focusin", "focusout"]) document.addEventListener(name, () => setTimeout(look));
  document.addEventListener("click", ({ target }) => {
    const part = target.closest(".news")?.closest(".still");
    if (part && news.has(part.id)) apply(part);
  });
  for (const part of parts()) settleDown(part);
}

/** From now on the part stays in its place. */
export function settleDown(part) {
  part.dataset.moved = "";
  setTimeout(() => delete part.dataset.moved, STILL);
}

const rows = (within) => [...within.querySelectorAll("li[data-key]")];
const keys = (within) => new Set(rows(within).map((row) => row.dataset.key));

/** Shows what the server has now, or keeps it until the part may move. */
export async function update(part, tell) {
  const address = part.dataset.live;
  const answer = await ask(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  const template = document.createElement("template");
  template.innerHTML = await answer.text(); // made by the server, which escapes what agents write
  if (!part.isConnected || part.dataset.live !== address) return;
  const fresh = template.content.firstElementChild;
  news.set(part.id, fresh);
  tell(fresh);
  if (!isHeld(part)) return apply(part);
  const [there, shown] = [keys(fresh), keys(part)];
  for (const item of rows(part)) if (item.matches(".item:not(.settled)") && !there.has(item.dataset.key)) settle(item, "settled");
  const count = [...there].filter((key) => !shown.has(key)).length;
  const button = part.querySelector(".news");
  if (!button) return;
  button.hidden = !count;
  button.textContent = `${count} new ${count === 1 ? "item" : "items"}`;
}

/** A part without what changes with time alone, and without these forms and rows. */
function print(part, forms, kept) {
  const copy = part.cloneNode(true);
  for (const one of copy.querySelectorAll("time, .news, #notify")) one.remove();
  for (const form of copy.querySelectorAll("form")) if (forms.has(form.dataset.key)) form.remove();
  for (const row of rows(copy)) if (kept.some(({ dataset }) => dataset.key === row.dataset.key)) row.remove();
  return copy.innerHTML;
}

/** The forms with typed text that was not sent, by their keys. */
function typed(part) {
  const forms = [...part.querySelectorAll(":not([data-answered]) > form[data-key]")];
  return new Map(forms.filter((form) => form.querySelector("textarea")?.value).map((form) => [form.dataset.key, form]));
}

function apply(old) {
  const fresh = news.get(old.id);
  news.delete(old.id);
  replace(old, fresh);
}

/** Replaces a part. Typed text stays, also in an item that is settled, has moved, or has no form in the newer part. */
export function replace(old, fresh) {
  const { activeElement: active } = document;
  const hadFocus = old.contains(active);
  const same = (one, kind) => [...fresh.querySelectorAll(`${kind}[data-key]`)]
    .find((other) => other.dataset.key === one.closest(`${kind}[data-key]`)?.dataset.key);
  // The marks of this script are copied, so that equal parts are not replaced.
  for (const message of old.querySelectorAll("[data-read]")) same(message, "li")?.setAttribute("data-read", "yes");
  for (const group of old.querySelectorAll("details[open]")) same(group, "li")?.querySelector("details")?.setAttribute("open", "");
  const forms = typed(old);
  const kept = [...forms.values()].filter((form) => !same(form, "form")).map((form) => form.closest("li"));
  if (print(old, forms, kept) === print(fresh, forms, kept)) return;
  for (const row of kept) keepRow(row, (one) => same(one, "li"), fresh);
  // The whole form stays: its text was typed for the message that it names, not for a newer one.
  for (const form of forms.values()) same(form, "form")?.replaceWith(form);
  const { scrollTop } = old;
  old.replaceWith(fresh);
  fresh.scrollTop = scrollTop;
  if (hadFocus) (fresh.contains(active) ? active : same(active, "li"))?.focus({ preventScroll: true });
  settleDown(fresh);
}

/** Keeps a row with typed text: in its place, or before the row that followed it. */
function keepRow(row, same, fresh) {
  const there = same(row);
  if (there) return there.replaceWith(row);
  let next = row.nextElementSibling;
  while (next && !same(next)) next = next.nextElementSibling;
  const list = next ? same(next).parentElement
    : fresh.querySelector(".items") ?? fresh.insertBefore(row.parentElement.cloneNode(), fresh.querySelector(".reply"));
  list.insertBefore(row, next && same(next));
  if (!row.matches(".settled")) settle(row, "settled");
}

/** Marks an item as settled, without moving anything. The stream can report this before the answer of the person has arrived. */
function settle(item, outcome) {
  item.classList.add("settled");
  for (const button of item.querySelectorAll("button")) button.disabled = button !== document.activeElement;
  const text = item.querySelector(".outcome") ?? document.createElement("p");
  text.className = "outcome";
  text.setAttribute("role", "status");
  text.textContent = outcome;
  item.append(text);
}

/** Sends the answer of the person to an item, as it is displayed. */
export async function answer(form, button) {
  const item = form.closest(".item");
  if (item.matches(".settled")) return { message: "This item is settled. Nothing was sent.", failed: true };
  if (isEarly) return { message: "The list has just moved. Nothing was sent: look again.", failed: true };
  const text = form.elements.text?.value;
  const result = await send(form, button);
  if (result.failed) return result;
  if (form.elements.text?.value === text) item.dataset.answered = "";
  // Another field may have the focus by now, and keeps it.
  if (item.contains(document.activeElement)) item.focus({ preventScroll: true });
  settle(item, result.message);
  return result;
}
