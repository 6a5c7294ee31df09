// The secret of this browser, and the requests that carry it. No other script of the page reads the secret.
// The browser keeps it for this origin, which includes the port: no other server of this machine gets it.

const NAME = "mailbag-secret";
let unkept; // the secret, in a browser that keeps nothing

function secret() {
  try {
    return localStorage.getItem(NAME) ?? unkept;
  } catch {
    return unkept;
  }
}

/** Asks the page for something. */
export function ask(path, { headers, ...options } = {}) {
  return fetch(path, { ...options, headers: { ...headers, "x-mailbag-secret": secret() ?? "" } });
}

/** The sentence of an error. */
async function sentence(answer) {
  const { error } = await answer.json();
  const problems = (error.problems ?? []).map(({ place, what, fix }) => `; ${place ? `${place}: ` : ""}${what}${fix ? ` (${fix})` : ""}`);
  return `${error.what}${problems.join("")}. ${error.fix}.`;
}

/** Sends a form, and gives what the page says about it: `{message, failed, next}`. */
export async function send(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  try {
    const answer = await ask(form.getAttribute("action"), { method: "POST", body: fields });
    return answer.ok ? await answer.json() : { message: await sentence(answer), failed: true };
  } catch {
    return { message: "No connection to mailbag web. It is not known whether this was sent: look before you send it again.", failed: true };
  }
}

/** Enters with the token of the URL, and keeps the secret. Gives the reason if that fails. */
export async function enter(token) {
  const answer = await ask("/enter", { method: "POST", body: new URLSearchParams({ token }) });
  if (!answer.ok) return sentence(answer);
  unkept = (await answer.json()).secret;
  try {
    localStorage.setItem(NAME, unkept);
  } catch {
    // it is known until this page is left
  }
}

/** Takes the token out of the address, before anything else sees it. */
export function takeToken() {
  const token = location.hash.match(/^#enter=(\w+)$/)?.[1];
  if (token) history.replaceState(null, "", location.pathname + location.search);
  return token;
}

/** Reads the stream of events: calls `heard` with the name and the data of each. */
export async function listen(path, signal, heard) {
  const answer = await ask(path, { signal });
  if (!answer.ok) throw Object.assign(new Error(path), { status: answer.status });
  heard("open", "");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const field = (name) => event.match(new RegExp(`^${name}: (.*)$`, "m"))?.[1];
      if (field("event")) heard(field("event"), field("data"));
    }
  }
}
