/**
 * Mail for AI agents in plain files: one file, Node 20.10 or later, no dependencies.
 *     send("bob", "which port?", { type: "question" });
 *     for (const mail of inbox()) reply(mail, "8080");    // oldest first; marked as read when the loop asks for the next one
 * Written by `mailbag generate helper typescript`. Node 22.18 and later run the file directly; for older ones use `tsc` or `tsx`. It
 * reads and writes files; a router (`mailbag run`) or any other `mailbag` command delivers the messages. Only `route` and
 * `parseMentions` run the program. Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR (default: `.mailbag` here or above), MAILBAG_AGENT or
 * MAOS_AGENT_ID, MAOS_AGENT_ROLE, MAOS_SESSION_ID (for the metadata), MAOS_SHARED_CONTEXT (default: `context` of the settings).
 */
import { spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const MEDIA_TYPES: Record<string, string> = { html: "text/html", jpg: "image/jpeg", json: "application/json",
  log: "text/plain", md: "text/markdown", pdf: "application/pdf", png: "image/png", txt: "text/plain" };
const NO_ANSWER = ["ack", "status", "progress", "thinking", "tool_call", "tool_result"], FAILURES = ["error", "notification", "alert"];
const env = process.env;
export type Fields = Record<string, unknown>;
export type Recipients = string | string[] | null;
export type WaitOptions = { sender?: string; type?: string; threadId?: string; where?: (mail: Mail) => boolean };
/** The room, your identity or an argument is invalid. */
export class MailbagError extends Error { override name = "MailbagError"; }
export class Timeout extends MailbagError { override name = "Timeout"; }
/** The router rejected a message, or it expired. `problems` lists the problems. */
export class Rejected extends MailbagError { override name = "Rejected"; problems: Fields[] = []; }

/** A delivered message: its fields and its file. */
export class Mail {
  readonly fields: Fields;
  readonly path: string;
  constructor(file: string) {
    this.path = file;
    this.fields = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(read(file)));
    if (!this.sender || !this.id) throw new Error("it has no from and id");
  }
  get id(): string { return this.text("id"); }
  get sender(): string { return this.text("from"); }
  get type(): string { return this.text("type") || "message"; }
  get body(): string { return this.text("body"); }
  get reference(): string { return `${this.sender}/${this.id}`; }
  get isRejection(): boolean { return this.sender === "mailbag" && this.type === "error"; }
  get problems(): Fields[] { return (this.fields["metadata"] as { problems?: Fields[] })?.problems ?? []; }
  /** Marks the message as read: moves it to `seen/`. Returns false if it is no longer in the inbox. */
  done(): boolean {
    const seen = path.join(path.dirname(this.path), "seen");
    fs.mkdirSync(seen, { recursive: true });
    if (!fs.existsSync(this.path)) return false;
    fs.renameSync(this.path, path.join(seen, path.basename(this.path)));
    return true;
  }
  text(key: string): string { return typeof this.fields[key] === "string" ? this.fields[key] : ""; }
}

/** One agent in one room, by default those of the environment. */
export class Mailbag {
  readonly room: string;
  readonly agent: string;
  constructor(options: { room?: string; agent?: string } = {}) {
    const named = options.room || env["MAILBAG_ROOM"] || env["MAOS_MESSAGE_DIR"];
    const parents = process.cwd().split(path.sep).map((_, at, parts) => [...parts.slice(0, parts.length - at), ".mailbag"]);
    const rooms = named ? [path.resolve(named)] : parents.map((parts) => parts.join(path.sep));
    const room = rooms.find((room) => fs.existsSync(path.join(room, "outbox")));
    if (!room) throw new MailbagError(`no room at ${rooms[0]} or above; set MAILBAG_ROOM, or create one with \`mailbag init\``);
    // A link, or a room of another user, can be there to read your mail.
    const [isLink, isOwn] = [fs.lstatSync(room).isSymbolicLink(), fs.statSync(room).uid === process.geteuid?.()];
    const problem = isLink ? "is a symbolic link" : isOwn ? "" : "belongs to another user";
    if (problem && !named) throw new MailbagError(`the room ${room} ${problem}; to use it, set MAILBAG_ROOM to ${fs.realpathSync(room)}`);
    if (fs.readdirSync(room).includes("INCOMPLETE")) throw new MailbagError(`the room ${room} is an incomplete copy: it has the file INCOMPLETE; use a complete copy`);
    this.room = room;
    this.agent = options.agent || env["MAILBAG_AGENT"] || env["MAOS_AGENT_ID"] || "";
    if (!this.agent) throw new MailbagError("no agent name given; set MAILBAG_AGENT");
    const same = fs.readdirSync(path.join(room, "outbox")).filter((name) => name.toLowerCase() === this.agent.toLowerCase());
    if (!same.includes(this.agent)) this.agent = same[0] ?? this.agent;
    if (!NAME.test(this.agent) || !fs.existsSync(path.join(room, "outbox", this.agent))) {
      throw new MailbagError(`no agent ${this.agent} in ${room}; \`mailbag agent add NAME\` registers one`);
    }
  }
  /** Sends a message and returns its id, when the file is on disk. `fields` are fields of the protocol: type, subject, …
   * If the router rejects the message, you get one, see `Mail.isRejection`. */
  send(to: Recipients, body?: string | null, fields: Fields = {}): string {
    const message: Fields = { id: newId(), from: this.agent, type: "message", to, body, ...fields };
    const session = env["MAOS_SESSION_ID"];
    if (session) message["metadata"] = { session_id: session, ...(fields["metadata"] as Fields | undefined) };
    const given = Object.entries(message).filter(([, value]) => value !== undefined && value !== null);
    this.drop(JSON.stringify(Object.fromEntries(given), null, 2) + "\n");
    return String(message["id"]);
  }
  /** Writes a message file to the outbox unchanged. The router takes files in the order of their names. */
  drop(content: string | Uint8Array): string {
    const file = path.join(this.room, "outbox", this.agent, `${newId()}.json`);
    write(file, content, fs.renameSync);
    return file;
  }
  /** The unread messages, oldest first. A message stays unread if `throw`, `break` or `return` ends the loop. */
  *inbox(): Generator<Mail, void, undefined> { for (const mail of this.readMessages()) { yield mail; mail.done(); } }
  /** The unread messages of a type, or all, oldest first. They stay unread until `done()`. */
  readMessages(type?: string): Mail[] {
    const directory = path.join(this.room, "inbox", this.agent);
    const names = fs.existsSync(directory) ? fs.readdirSync(directory) : [];
    const files = names.filter((name) => !name.startsWith(".") && name.endsWith(".json")).sort();
    return files.flatMap((name) => {
      try {
        return new Mail(path.join(directory, name));
      } catch (e) {
        process.emitWarning(`skipped ${JSON.stringify(name)}: not a message: ${JSON.stringify(String(e))}`);
        return [];
      }
    }).filter((mail) => type === undefined || mail.type === type);
  }
  /** Waits for the oldest unread matching message, polling every 150 ms. It stays unread until `done()`.
   * Throws `Timeout` after `timeout` seconds. */
  async wait(timeout = Infinity, { sender, type, threadId, where }: WaitOptions = {}): Promise<Mail> {
    for (const until = performance.now() + timeout * 1000; ;) {
      const found = this.readMessages(type).find((mail) => (sender === undefined || mail.sender === sender) &&
        (threadId === undefined || mail.text("thread_id") === threadId) && (where === undefined || where(mail)));
      if (found) return found;
      if (performance.now() >= until) throw new Timeout(`no matching message for ${this.agent} within ${timeout} s`);
      await new Promise((wake) => setTimeout(wake, 150));
    }
  }
  /** Answers a message in its thread and channel, with its subject. Returns the id of the answer. */
  reply(mail: Mail, body?: string | null, fields: Fields = {}): string {
    const isQuestion = mail.type === "question" || mail.fields["requires_response"] === true;
    const subject = mail.text("subject").replace(/^(\s*re:)*\s*(?=.)/i, "Re: ");
    return this.send(mail.sender, body, {
      type: isQuestion ? "answer" : "message", subject: [...subject].slice(0, 1000).join("") || undefined,
      thread_id: mail.text("thread_id") || mail.id, channel: mail.text("channel") || undefined,
      in_reply_to: mail.reference, ...fields,
    });
  }
  /** Sets the status of a message, which `mailbag trace` shows to the sender. Returns the id of the ack. */
  ack(mail: Mail | string, status = "acknowledged"): string {
    return this.send(null, null, { type: "ack", refs: [typeof mail === "string" ? mail : mail.reference], status });
  }
  /** Sends to all agents of a role except yourself. null means your own role. Returns the id of the message. */
  broadcastToRole(role: string | null, type: string, subject: string, body: string, fields: Fields = {}): string {
    return this.send(`all_${ownRole(role)}`, body, { type, subject, ...fields });
  }
  /** Asks one agent of a role and returns its answer, which stays unread. Throws `Rejected` or `Timeout`. */
  async requestFromRole(role: string | null, subject: string, body: string, timeout = 300, fields: Fields = {}): Promise<Mail> {
    const id = this.send(`any_${ownRole(role)}`, body, { type: "request", subject, requires_response: true, ...fields });
    const answer = await this.wait(timeout, { where: (mail) => this.isAnswer(mail, id) });
    if (answer.sender !== "mailbag") return answer;
    answer.done();
    throw Object.assign(new Rejected(answer.body), { problems: answer.problems });
  }
  private isAnswer(mail: Mail, id: string): boolean {
    const { thread_id, in_reply_to, refs } = mail.fields;
    const threads = mail.sender === "mailbag" ? [] : [thread_id, ...(Array.isArray(refs) ? refs : [])];
    const names = [in_reply_to, ...threads].map((name) => typeof name === "number" ? String(name) : name);
    // A reference can be a record number, which is in the name of the router's copy in sent/.
    const sent = path.join(this.room, "sent", this.agent);
    const copies = (fs.existsSync(sent) ? fs.readdirSync(sent) : []).filter((name) => name.endsWith(".json") && names.includes(name.split("~")[0]));
    return (mail.sender === "mailbag" ? FAILURES.includes(mail.type) : !NO_ANSWER.includes(mail.type)) && (names.includes(id) || names.includes(`${this.agent}/${id}`) ||
      copies.some((name) => readId(path.join(sent, name)) === id));
  }
  /** The number of agents of each role in the registry. */
  getAgentsByRole(): Record<string, number> {
    const agents: Fields[] = JSON.parse(read(path.join(this.room, "registry.json")).toString()).agents;
    const roles = agents.flatMap(({ role, status }) => role && status !== "retired" ? [String(role)] : []);
    return Object.fromEntries(roles.map((role) => [role, roles.filter((other) => other === role).length]));
  }
  /** Writes and announces `context/<category>/<filename>`, with a number in the name if another file has this name. */
  shareArtifact(category: string, filename: string, content: string | Uint8Array, to: Recipients = "all", note?: string, mediaType?: string) {
    const directory = path.join(this.context(), category);
    const isLink = fs.lstatSync(directory, { throwIfNoEntry: false })?.isSymbolicLink();
    if (!NAME.test(category) || isLink) throw new MailbagError(`${category} is not a category, such as research, or is a link`);
    const isName = !["", ".", ".."].includes(filename) && path.basename(filename) === filename;
    if (!isName) throw new MailbagError(`cannot share ${JSON.stringify(filename)}: it is not a file name`);
    const { name, ext } = path.parse(filename);
    const data = Buffer.from(content);
    fs.mkdirSync(directory, { recursive: true });
    const isOther = (file: string) => fs.existsSync(file) && !(fs.lstatSync(file).isFile() && data.equals(read(file)));
    let file = path.join(directory, filename);
    for (let number = 2; isOther(file); number++) file = path.join(directory, `${name}-${number}${ext}`);
    // A hard link never overwrites a file.
    if (!fs.existsSync(file)) write(file, data, fs.linkSync);
    const shared = { path: `${category}/${path.basename(file)}`, sha256: createHash("sha256").update(data).digest("hex") };
    const media_type = mediaType ?? MEDIA_TYPES[ext.slice(1)] ?? "application/octet-stream";
    const about = { subject: `${category}: ${filename}`, metadata: { category }, attachments: [{ ...shared, media_type }] };
    return { ...shared, file, id: this.send(to, note, { type: "announcement", ...about }) };
  }
  private context(): string {
    const named = env["MAOS_SHARED_CONTEXT"];
    const settings = path.join(this.room, "settings.toml");
    const line = /^[ \t]*context[ \t]*=(.*)$/m.exec(fs.existsSync(settings) ? fs.readFileSync(settings, "utf8") : "");
    const value = /^\s*(?:"([^"\\]+)"|'([^']+)')\s*(?:#.*)?$/.exec(line?.[1] ?? "'context'");
    if (!named && !value) throw new MailbagError(`cannot parse \`context\` in ${settings}; set MAOS_SHARED_CONTEXT`);
    return named ? path.resolve(named) : path.resolve(this.room, value?.[1] ?? value?.[2] ?? "context");
  }
  /** The mentions in a body, the body without them, and whether they make the message a broadcast. */
  parseMentions(body: string): { mentions: string[]; text: string; broadcast: boolean } {
    const { messages: [checked] } = JSON.parse(this.run(["send", "--dry-run", "--json", "--file", "-"], JSON.stringify({ type: "status", subject: "-", body })));
    return { mentions: checked.mentions, text: checked.text, broadcast: checked.broadcast };
  }
  /** Delivers pending mail with the program. If a router runs, asks it and waits at most 2 seconds. */
  route(): void { this.run(["run", "--once", "-q"], ""); }
  private run(words: string[], input: string): string {
    const done = spawnSync("mailbag", ["--room", this.room, ...words], { input, encoding: "utf8", maxBuffer: 1 << 28 });
    if (done.error?.message.includes("ENOENT")) throw new MailbagError("the program mailbag is not on PATH; put it there, or leave this to a router: mailbag run");
    if (done.status !== 0) throw new MailbagError(done.error?.message ?? ((done.stderr || done.stdout).trim() || `mailbag ended with ${done.status ?? done.signal}`));
    return done.stdout;
  }
}

// Each method is also a function, for the agent and the room of the environment.
const own = new Proxy({} as Mailbag, {
  get: (_, name) => (...args: unknown[]) => (new Mailbag() as unknown as Record<typeof name, Function>)[name]!(...args),
});
export const { send, drop, inbox, readMessages, wait, reply, ack, broadcastToRole, requestFromRole } = own;
export const { getAgentsByRole, shareArtifact, parseMentions, route } = own;
function ownRole(role: string | null): string {
  const found = role || env["MAOS_AGENT_ROLE"];
  if (!found) throw new MailbagError("no role: pass a role or set MAOS_AGENT_ROLE");
  return found;
}
/** Reads a file. Follows no link, and does not block on a pipe. */
function read(file: string): Buffer {
  const flag: unknown = fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK;
  return fs.readFileSync(file, { flag: flag as string });
}
/** The id in a message file, or undefined if the file is not a message with an id. */
function readId(file: string): unknown {
  try { return JSON.parse(read(file).toString())?.id; } catch { return undefined; }
}
/** Writes a file, complete and durable before it gets its name. */
function write(file: string, content: string | Uint8Array, publish: (draft: string, file: string) => void): void {
  const draft = path.join(path.dirname(file), `.tmp-${randomUUID()}`);
  try {
    fs.writeFileSync(draft, content, { flag: "wx", flush: true });
    publish(draft, file);
  } finally {
    fs.rmSync(draft, { force: true });
  }
  const directory = fs.openSync(path.dirname(file), "r");
  fs.fsyncSync(directory);
  fs.closeSync(directory);
}
/** A UUID v7, so that later ids sort later. It has the millisecond, and below it 4096 steps. */
let last = 0n;
function newId(): string {
  const precise = performance.timeOrigin + performance.now();
  // The precise time does not follow a clock that is set.
  const millis = Math.abs(precise - Date.now()) < 2 ? precise : Date.now();
  const tick = (BigInt(Math.floor(millis)) << 12n) | BigInt(Math.floor((millis % 1) * 4096));
  last = tick > last ? tick : last + 1n;
  const hex = (last >> 12n).toString(16).padStart(12, "0") + "7" + (last & 0xfffn).toString(16).padStart(3, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12)}-${randomUUID().slice(19)}`;
}
