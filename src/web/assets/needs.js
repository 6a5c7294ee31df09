// The items that need the person. These rules hold for every layout of the page:
// - Nothing in the list moves while the pointer or a finger is over it, or a control in it has focus. News waits.
// - A press counts only for an item that has been in its place for a while, and for the text that the item shows.
// - An item that is settled elsewhere shows so in its place, and its buttons are disabled.
import { ask, send } from "/browser.js";

const STILL = 500; // ms that a list stays in its place before a press counts
const section = () => document.querySelector("#needs");

let pointer; // where the pointer or the finger is
let news; // what the server has, and the list does not show yet
let wasHeld, isEarly;

/** May nothing in the list move now? */
export function isHeld() {
  const place = section();
  if (!place) return false;
  if (place.contains(document.activeElement) && !document.activeElement.matches(".item")) return true;
  const { left, right, top, bottom } = place.getBoundingClientRect();
  return !!pointer && pointer.x >= left && pointer.x <= right && pointer.y >= top && pointer.y <= bottom;
}

/** Begins to hold the list still. `released` is called when the page may move again. */
export function start(released) {
  if (!section()) return;
  const look = () => {
    const held = isHeld();
    if (wasHeld && !held) {
      if (news) apply();
      released();
    }
    wasHeld = held;
  };
  const at = ({ clientX: x, clientY: y }) => {
    pointer = { x, y };
    look();
  };
  const gone = () => {
    pointer = undefined;
    look();
  };
  const press = () => (isEarly = "moved" in (section()?.dataset ?? {}));
  for (const name of ["pointermove", "pointerdown"]) addEventListener(name, at, true);
  for (const name of ["pointerdown", "keydown"]) addEventListener(name, press, true);
  document.documentElement.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && gone());
  // A finger has no place after it is lifted. A second tap may follow.
  for (const name of ["pointerup", "pointercancel"]) {
    addEventListener(name, ({ pointerType }) => pointerType === "mouse" || setTimeout(gone, 2 * STILL), true);
  }
  addEventListener("scroll", look, { passive: true });
  for (const name of ["focusin", "focusout"]) document.addEventListener(name, () => setTimeout(look));
  document.addEventListener("click", ({ target }) => target.closest(".news") && news && apply());
  settleDown();
}

/** From now on the list stays in its place. */
function settleDown() {
  const place = section();
  place.dataset.moved = "";
  setTimeout(() => delete place.dataset.moved, STILL);
}

const items = (within) => [...within.querySelectorAll(".item")];
const keys = (within) => new Set(items(within).map((item) => item.dataset.key));

/** Shows what the server has now, or keeps it until the list may move. */
export async function update(tell) {
  const answer = await ask("/part/needs");
  if (!answer.ok) throw new Error(`needs: ${answer.status}`);
  const fresh = document.createElement("template");
  fresh.innerHTML = await answer.text(); // made by the server, which escapes what agents write
  news = fresh.content.firstElementChild;
  tell(news);
  if (!isHeld()) return apply();
  const [there, shown] = [keys(news), keys(section())];
  for (const item of items(section())) if (!there.has(item.dataset.key)) settle(item, "settled");
  const count = [...there].filter((key) => !shown.has(key)).length;
  const button = section().querySelector(".news");
  button.hidden = !count;
  button.textContent = `${count} new ${count === 1 ? "item" : "items"}`;
}

/** A list without what changes with time alone. */
function print(list) {
  const copy = list.cloneNode(true);
  for (const part of copy.querySelectorAll("time, .deadline, .news")) part.remove();
  return copy.innerHTML;
}

function apply() {
  const [old, fresh] = [section(), news];
  news = undefined;
  if (print(old) === print(fresh)) return;
  const same = (part) => items(fresh).find((one) => one.dataset.key === part.closest(".item")?.dataset.key);
  for (const field of old.querySelectorAll("textarea")) {
    const next = same(field)?.querySelector("textarea");
    if (next) next.value = field.value;
  }
  const focused = old.contains(document.activeElement) && same(document.activeElement);
  old.replaceWith(fresh);
  if (focused) focused.focus({ preventScroll: true });
  settleDown();
}

/** Marks an item as settled, without moving anything. */
function settle(item, outcome) {
  if (item.classList.contains("settled")) return;
  item.classList.add("settled");
  for (const control of item.querySelectorAll("button, textarea")) control.disabled = true;
  const text = document.createElement("p");
  text.className = "outcome";
  text.setAttribute("role", "status");
  text.textContent = outcome;
  item.append(text);
}

/** Sends the answer of the person to an item, as it is displayed. */
export async function answer(form, button) {
  const item = form.closest(".item");
  if (isEarly) return { said: "The list has just moved. Nothing was sent: look again.", failed: true };
  const result = await send(form, button);
  if (result.failed) return result;
  if (button?.matches(":focus-visible")) item.focus();
  else document.activeElement.blur();
  settle(item, result.said);
  return result;
}
