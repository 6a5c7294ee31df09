/**
 * Mail for AI agents in plain files: one file, Node 20 or later, no dependencies.
 *
 *     import { inbox, reply, send } from "./mailbag.ts";
 *
 *     send("bob", "which port?", { type: "question" });
 *     for (const mail of inbox()) {       // oldest first
 *       reply(mail, "8080");              // marked as read once the loop asks for the next one
 *     }
 *
 * Written by `mailbag helper typescript`. All types are erasable: Node 22.18 and later run the file directly, Node 22.6 with
 * --experimental-strip-types; for Node 20 use `tsc`, `tsx` or any bundler. It only reads and writes files. A router (`mailbag
 * run`) or any other `mailbag` command delivers the messages; `route()` runs such a command.
 *
 * A message is marked as read (moved to `seen/`) when the loop over `inbox()` asks for the next one, or earlier by
 * `mail.done()`. If `throw`, `break` or `return` ends the loop, the current message stays unread.
 *
 * Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR is the room, by default `.mailbag` in this directory or a parent;
 * MAILBAG_AGENT or MAOS_AGENT_ID is your agent id; MAOS_AGENT_ROLE is your role; MAOS_SESSION_ID is added to the metadata of
 * your messages as `session_id`; MAOS_SHARED_CONTEXT is the directory of shared files, by default that of the room's settings.
 */

import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

export const POLL_MS = 150;
const MAIL_BYTES = 160 * 2 ** 20;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
// Words that cannot be the tag of another room.
const NO_TAG = /^(?:all|channel|human|mailbag|cap|owner|task|lane|repo|(?:all|any)_.*)$/i;
const MEDIA_TYPES: Record<string, string> = {
  css: "text/css", csv: "text/csv", gif: "image/gif", gz: "application/gzip", htm: "text/html", html: "text/html",
  jpeg: "image/jpeg", jpg: "image/jpeg", js: "text/javascript", json: "application/json", log: "text/plain",
  md: "text/markdown", mjs: "text/javascript", pdf: "application/pdf", png: "image/png", py: "text/x-python",
  sh: "application/x-sh", svg: "image/svg+xml", tar: "application/x-tar", toml: "application/toml", txt: "text/plain",
  xml: "text/xml", yaml: "application/yaml", yml: "application/yaml", zip: "application/zip",
};
// Non-ASCII punctuation, symbols and emoji, which may be next to a mention. All other characters count as letters.
const SIGNS = String.raw`\u{80}-\u{A9}\u{AB}-\u{B4}\u{B6}-\u{B9}\u{BB}-\u{BF}\u{D7}\u{F7}\u{37E}\u{387}\u{55A}-\u{55F}`
  + String.raw`\u{589}-\u{58A}\u{5BE}\u{5C0}\u{5C3}\u{5F3}-\u{5F4}\u{60C}-\u{60D}\u{61B}-\u{61F}\u{66A}-\u{66D}\u{6D4}`
  + String.raw`\u{964}-\u{965}\u{E4F}\u{E5A}-\u{E5B}\u{104A}-\u{104F}\u{1360}-\u{1368}\u{17D4}-\u{17DA}`
  + String.raw`\u{1800}-\u{180E}\u{2000}-\u{2BFF}\u{2E00}-\u{2E7F}\u{3000}-\u{3004}\u{3008}-\u{3020}\u{3030}\u{30FB}`
  + String.raw`\u{FE00}-\u{FE1F}\u{FE30}-\u{FE6F}\u{FEFF}\u{FF00}-\u{FF0F}\u{FF1A}-\u{FF20}\u{FF3B}-\u{FF40}`
  + String.raw`\u{FF5B}-\u{FF65}\u{FFF0}-\u{FFFF}\u{1F000}-\u{1FAFF}\u{E0000}-\u{E0FFF}`;
const LETTER = new RegExp(`^(?:[A-Za-z0-9]|[^\\0-\\x7f${SIGNS}])`, "u");
const warned = new Set<string>();

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json | undefined };
export type Fields = { [key: string]: Json | undefined };
export type Recipients = string | string[] | null;
export type Problem = { code?: string; where?: string; what?: string; fix?: string };
export type AckStatus = "acknowledged" | "actioned" | "resolved" | "superseded" | "withdrawn" | "abandoned";
export type Artifact = { path: string; file: string; sha256: string; id: string };
export type WaitOptions = {
  /** Only mail from this agent. */
  sender?: string;
  /** Only mail of this type. */
  type?: string;
  /** Only mail in this thread. */
  threadId?: string;
  /** Only mail for which this is true. */
  where?: (mail: Mail) => boolean;
  /** Run `mailbag wait`, which also delivers pending mail, instead of polling. */
  program?: boolean;
};

/** The room, your identity or an argument is invalid. The text says what to do. */
export class MailbagError extends Error {
  override name = "MailbagError";
}

/** The timeout expired. */
export class Timeout extends MailbagError {
  override name = "Timeout";
}

/** The router rejected a message. `problems` lists the problems, `mail` is the router's message. */
export class Refused extends MailbagError {
  override name = "Refused";
  readonly mail: Mail;
  readonly problems: Problem[];

  constructor(mail: Mail) {
    super(mail.body || "the message was refused");
    this.mail = mail;
    this.problems = mail.problems;
  }
}

/** A delivered message: its fields and its file. */
export class Mail {
  readonly fields: Fields;
  readonly path: string;

  constructor(fields: Fields, file: string) {
    this.fields = fields;
    this.path = file;
  }

  get id(): string { return this.text("id"); }
  get sender(): string { return this.text("from"); }
  get type(): string { return this.text("type") || "message"; }
  get subject(): string { return this.text("subject"); }
  get body(): string { return this.text("body"); }

  /** The reference to this message in other messages. */
  get reference(): string { return `${this.sender}/${this.id}`; }

  /** Whether the router rejected one of your messages with this one. */
  get isRefusal(): boolean { return this.sender === "mailbag" && this.type === "error"; }

  /** The problems of the rejected message. */
  get problems(): Problem[] {
    const metadata = this.fields["metadata"];
    const problems = isObject(metadata) ? metadata["problems"] : undefined;
    return Array.isArray(problems) ? problems.filter(isObject) as Problem[] : [];
  }

  /** Marks the message as read: moves it to `seen/`. False if it is no longer in the inbox. */
  done(): boolean {
    const seen = path.join(path.dirname(this.path), "seen");
    fs.mkdirSync(seen, { recursive: true });
    try {
      fs.renameSync(this.path, path.join(seen, path.basename(this.path)));
      return true;
    } catch (e) {
      if (code(e) === "ENOENT") return false;
      throw e;
    }
  }

  /** A text field, if present. */
  text(key: string): string {
    const value = this.fields[key];
    return typeof value === "string" ? value : "";
  }
}

/** One agent in one room, by default those of the environment. */
export class Mailbag {
  readonly room: string;
  readonly agent: string;
  readonly role: string | undefined;
  readonly session: string | undefined;

  constructor(options: { room?: string; agent?: string } = {}) {
    this.room = findRoom(options.room);
    this.agent = findAgent(this.room, options.agent);
    this.role = process.env["MAOS_AGENT_ROLE"] || undefined;
    this.session = process.env["MAOS_SESSION_ID"] || undefined;
  }

  /**
   * Sends a message and returns its id. `fields` are fields of the protocol: type, subject, priority, thread_id, refs,
   * requires_response, attachments, metadata, … The message is on disk when this returns. If the router rejects it, you get
   * a message, see `Mail.isRefusal`.
   */
  send(to: Recipients, body?: string | null, fields: Fields = {}): string {
    const id = typeof fields["id"] === "string" ? fields["id"] : newId();
    const message: Fields = { from: this.agent, type: "message", ...fields, id };
    if (to !== null) message["to"] = to;
    if (body !== undefined && body !== null) message["body"] = body;
    const metadata = fields["metadata"] ?? {};
    if (this.session && isObject(metadata)) message["metadata"] = { session_id: this.session, ...metadata };
    const given = Object.entries(message).filter(([, value]) => value !== undefined && value !== null);
    this.drop(JSON.stringify(Object.fromEntries(given), finite, 2) + "\n");
    return id;
  }

  /** Writes a message file to the outbox unchanged and returns its path. */
  drop(content: string | Uint8Array): string {
    const outbox = path.join(this.room, "outbox", this.agent);
    fs.mkdirSync(outbox, { recursive: true });
    // The router takes files in the order of their names.
    const name = newId();
    const file = path.join(outbox, `${name}.json`);
    const draft = path.join(outbox, `.${name}.tmp`);
    try {
      fs.writeFileSync(draft, content, { flag: "wx" });
      sync(draft);
      fs.renameSync(draft, file);
    } catch (e) {
      fs.rmSync(draft, { force: true });
      throw e;
    }
    sync(outbox);
    return file;
  }

  /** The unread messages, oldest first. Each is marked as read when the loop asks for the next one. */
  *inbox(): Generator<Mail, void, undefined> {
    for (const mail of this.unread()) {
      yield mail;
      mail.done();
    }
  }

  /**
   * Waits for the oldest unread matching message and returns it. It stays unread until `done()`. Throws `Timeout` after
   * `timeout` seconds; without a timeout it waits forever. Polls every 150 ms.
   */
  async wait(timeout?: number, options: WaitOptions = {}): Promise<Mail> {
    const { sender, type, threadId, where, program } = options;
    if (program && where) {
      throw new MailbagError("cannot use `where` with `program`: `mailbag wait` cannot call a function; omit `program`");
    }
    const fits = (mail: Mail): boolean =>
      (sender === undefined || mail.sender === sender) && (type === undefined || mail.type === type) &&
      (threadId === undefined || mail.text("thread_id") === threadId) && (where === undefined || where(mail));
    const until = timeout === undefined ? Infinity : performance.now() + timeout * 1000;
    for (;;) {
      for (const mail of this.unread()) {
        if (fits(mail)) return mail;
      }
      const left = until - performance.now();
      if (left <= 0) throw new Timeout(`no matching message for ${this.agent} within ${timeout} s`);
      if (program) {
        const filters = { "--from": sender, "--type": type, "--thread": threadId };
        const words = Object.entries(filters).flatMap(([name, value]) => value === undefined ? [] : [name, value]);
        const span = `${Math.ceil(Math.min(left, 3_600_000))}ms`;
        await this.program(["wait", "--as", this.agent, "--timeout", span, "-q", ...words], [0, 4]);
      } else {
        await new Promise((wake) => setTimeout(wake, Math.min(POLL_MS, left)));
      }
    }
  }

  /** Answers a message in its thread and channel, with its subject. Returns the id of the answer. */
  reply(mail: Mail, body?: string | null, fields: Fields = {}): string {
    if (mail.sender === "" || mail.sender === "mailbag") {
      throw new MailbagError(`cannot reply to ${mail.reference}: the router wrote it and reads no mail`);
    }
    const asked = mail.type === "question" || mail.fields["requires_response"] === true;
    const subject = mail.subject && `Re: ${mail.subject.replace(/^(\s*re:)+\s*/i, "")}`;
    return this.send(mail.sender, body, {
      type: asked ? "answer" : "message",
      subject: subject ? [...subject].slice(0, 1000).join("") : undefined,
      thread_id: mail.text("thread_id") || mail.id,
      channel: mail.text("channel") || undefined,
      in_reply_to: mail.reference,
      ...fields,
    });
  }

  /** Sets the status of a message, which `mailbag trace` shows to the sender. Returns the id of the ack. */
  ack(mail: Mail | string, status: AckStatus = "acknowledged"): string {
    const reference = typeof mail === "string" ? mail : mail.reference;
    return this.send(null, null, { type: "ack", refs: [reference], status });
  }

  /** Sends to all agents of a role except yourself. null means your own role. Returns the id of the message. */
  broadcastToRole(role: string | null, type: string, subject: string, body: string, fields: Fields = {}): string {
    return this.send(`all_${this.roleOr(role)}`, body, { type, subject, ...fields });
  }

  /**
   * Asks one agent of a role and returns its answer, which stays unread until `done()`. Throws `Refused` if the router
   * rejects the request, and `Timeout`. A later answer arrives as normal mail.
   */
  async requestFromRole(
    role: string | null, subject: string, body: string, timeout = 300, fields: Fields = {},
  ): Promise<Mail> {
    const asked = { type: "request", subject, requires_response: true, ...fields };
    const id = this.send(`any_${this.roleOr(role)}`, body, asked);
    const answer = await this.wait(timeout, { where: (mail) => this.answers(mail, id) });
    if (!answer.isRefusal) return answer;
    answer.done();
    throw new Refused(answer);
  }

  /** Writes `content` to `context/<category>/<filename>` and announces it, as `shareFile` does. */
  shareArtifact(
    category: string,
    filename: string,
    content: string | Uint8Array,
    to: Recipients = "all",
    options: { note?: string; mediaType?: string } = {},
  ): Artifact {
    if (["", ".", ".."].includes(filename) || path.basename(filename) !== filename) {
      throw new MailbagError(`cannot share ${JSON.stringify(filename)}: it is not a file name`);
    }
    const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "mailbag-"));
    try {
      fs.writeFileSync(path.join(scratch, filename), content);
      return this.shareFile(path.join(scratch, filename), category, to, options);
    } finally {
      fs.rmSync(scratch, { recursive: true, force: true });
    }
  }

  /**
   * Copies a regular file to `context/<category>/` and announces it with its digest. Never overwrites a file: if another
   * file has the name, the copy gets a number.
   */
  shareFile(
    file: string,
    category: string,
    to: Recipients = "all",
    options: { note?: string; mediaType?: string } = {},
  ): Artifact {
    if (!NAME.test(category)) {
      throw new MailbagError(`${JSON.stringify(category)} is not a valid category; use a name such as research`);
    }
    const source = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!source?.isFile()) {
      throw new MailbagError(`cannot share ${file}: it is not a regular file; links and directories are not shared`);
    }
    const directory = path.join(contextOf(this.room), category);
    if (fs.lstatSync(directory, { throwIfNoEntry: false })?.isSymbolicLink()) {
      throw new MailbagError(`cannot share into ${directory}: it is a symbolic link; remove the link`);
    }
    fs.mkdirSync(directory, { recursive: true });
    const [kept, sha256] = place(file, directory);
    const below = `${category}/${kept}`;
    const media_type = options.mediaType ?? MEDIA_TYPES[path.extname(kept).slice(1).toLowerCase()]
      ?? "application/octet-stream";
    const id = this.send(to, options.note, {
      type: "announcement",
      subject: `${category}: ${path.basename(file)}`,
      attachments: [{ path: below, sha256, media_type }],
      metadata: { category },
    });
    return { path: below, file: path.join(directory, kept), sha256, id };
  }

  /** Delivers pending mail with the program. If a router runs, asks it and waits at most 2 seconds. */
  async route(): Promise<void> {
    await this.program(["run", "--once", "-q"], [0]);
  }

  private program(words: string[], fine: number[]): Promise<void> {
    return new Promise((resolve, reject) => {
      execFile("mailbag", ["--room", this.room, ...words], (error, _out, err) => {
        const status = error === null ? 0 : error.code;
        if (typeof status === "number" && fine.includes(status)) return resolve();
        const missing = (status as unknown) === "ENOENT" ? "there is no program mailbag on the PATH" : "";
        reject(new MailbagError(missing || err.trim() || `mailbag failed with exit status ${status}`));
      });
    });
  }

  private *unread(): Generator<Mail, void, undefined> {
    const directory = path.join(this.room, "inbox", this.agent);
    let names: string[];
    try {
      names = fs.readdirSync(directory).filter((name) => !name.startsWith(".") && name.endsWith(".json"));
    } catch (e) {
      if (code(e) === "ENOENT") return;
      throw e;
    }
    for (const name of names.sort()) {
      const mail = read(path.join(directory, name));
      if (mail !== undefined) yield mail;
    }
  }

  private roleOr(role: string | null): string {
    const found = role || this.role;
    if (found) return found;
    throw new MailbagError("no role: pass a role or set MAOS_AGENT_ROLE");
  }

  private answers(mail: Mail, id: string): boolean {
    const answered = mail.fields["in_reply_to"];
    if (mail.isRefusal) return answered === id;
    if (mail.type === "ack") return false;
    const refs = mail.fields["refs"];
    const names = [answered, ...(Array.isArray(refs) ? refs : [])].filter((name) => typeof name === "string");
    if (names.some((name) => name === id || name === `${this.agent}/${id}`) || mail.text("thread_id") === id) return true;
    // A reference by record number: the router's copy in sent/ has the number in its name.
    return names.some((name) => /^[0-9]+$/.test(name) && this.wrote(name, id));
  }

  private wrote(seq: string, id: string): boolean {
    try {
      const directory = path.join(this.room, "sent", this.agent);
      const name = fs.readdirSync(directory).find((name) => name.startsWith(`${seq}~`) && name.endsWith(".json"));
      return name !== undefined && JSON.parse(fs.readFileSync(path.join(directory, name), "utf8")).id === id;
    } catch {
      return false;
    }
  }
}

/** See `Mailbag.send`. */
export function send(to: Recipients, body?: string | null, fields: Fields = {}): string {
  return new Mailbag().send(to, body, fields);
}

/** See `Mailbag.drop`. */
export function drop(content: string | Uint8Array): string {
  return new Mailbag().drop(content);
}

/** See `Mailbag.inbox`. */
export function inbox(): Generator<Mail, void, undefined> {
  return new Mailbag().inbox();
}

/** See `Mailbag.wait`. */
export async function wait(timeout?: number, options: WaitOptions = {}): Promise<Mail> {
  return new Mailbag().wait(timeout, options);
}

/** See `Mailbag.reply`. */
export function reply(mail: Mail, body?: string | null, fields: Fields = {}): string {
  return new Mailbag().reply(mail, body, fields);
}

/** See `Mailbag.ack`. */
export function ack(mail: Mail | string, status: AckStatus = "acknowledged"): string {
  return new Mailbag().ack(mail, status);
}

/** See `Mailbag.broadcastToRole`. */
export function broadcastToRole(
  role: string | null, type: string, subject: string, body: string, fields: Fields = {},
): string {
  return new Mailbag().broadcastToRole(role, type, subject, body, fields);
}

/** See `Mailbag.requestFromRole`. */
export async function requestFromRole(
  role: string | null, subject: string, body: string, timeout = 300, fields: Fields = {},
): Promise<Mail> {
  return new Mailbag().requestFromRole(role, subject, body, timeout, fields);
}

/** See `Mailbag.shareArtifact`. */
export function shareArtifact(
  category: string,
  filename: string,
  content: string | Uint8Array,
  to: Recipients = "all",
  options: { note?: string; mediaType?: string } = {},
): Artifact {
  return new Mailbag().shareArtifact(category, filename, content, to, options);
}

/** See `Mailbag.shareFile`. */
export function shareFile(
  file: string, category: string, to: Recipients = "all", options: { note?: string; mediaType?: string } = {},
): Artifact {
  return new Mailbag().shareFile(file, category, to, options);
}

/** See `Mailbag.route`. */
export async function route(): Promise<void> {
  return new Mailbag().route();
}

/** The mentions in a body. */
export type Mentions = { mentions: string[]; text: string; broadcast: boolean };

/**
 * The mentions in a body, as `@name` or `@tag:name`, each once; the body without them; and whether they make the message a broadcast if
 * it has no `to`. The result equals that of `mailbag check --json`.
 */
export function parseMentions(body: string): Mentions {
  const mentions = new Set<string>();
  let kept = "";
  let start = 0;
  for (const [at, end] of places(body)) {
    mentions.add(body.slice(at, end));
    kept += body.slice(start, at);
    for (start = end; body[start] === " ";) start++;
  }
  kept += body.slice(start);
  const broadcast = [...mentions].some((name) => /^@(all|channel|all_[a-z0-9][a-z0-9._-]*)$/i.test(name));
  let [first, last] = [0, kept.length];
  while (first < last && isBlank(kept[first])) first++;
  while (last > first && isBlank(kept[last - 1])) last--;
  return { mentions: [...mentions], text: kept.slice(first, last), broadcast };
}

function isBlank(character: string | undefined): boolean {
  return character !== undefined && " \t\r\n".includes(character);
}

/** Start and end of each mention. */
function places(body: string): [number, number][] {
  const text = withoutCode(body);
  const found: [number, number][] = [];
  let last = 0;
  for (const { index: at } of text.matchAll(/@/g)) {
    // A character above U+FFFF has two code units.
    const unit = text.charCodeAt(at - 1);
    const before = text.slice(unit >= 0xdc00 && unit <= 0xdfff ? at - 2 : Math.max(at - 1, 0), at);
    const follows = before === "/" && last === at - 1 && last > 0;
    if (before && !follows && (LETTER.test(before) || "._-+%/\\@=".includes(before))) continue;
    const near = nameEnd(text, at + 1);
    if (!near) continue;
    const isTag = text[near] === ":" && !NO_TAG.test(text.slice(at + 1, near));
    last = (isTag && nameEnd(text, near + 1)) || near;
    found.push([at, last]);
  }
  return found;
}

/** The end of the name that begins here; 0 if none does. */
function nameEnd(text: string, begin: number): number {
  let end = begin;
  while (/[A-Za-z0-9._-]/.test(text[end] ?? "")) end++;
  while (end > begin && ".-".includes(text[end - 1] ?? "")) end--;
  const behind = text.slice(end, end + 3);
  const goesOn = behind[0] === "@" || LETTER.test(behind[0] === "/" ? behind.slice(1) : behind);
  return NAME.test(text.slice(begin, end)) && !goesOn ? end : 0;
}

/** The text with each code unit of code replaced by a backtick. */
function withoutCode(text: string): string {
  let [kept, prose, fence] = ["", "", ""];
  for (const line of text.match(/[^\n]*\n|[^\n]+/g) ?? []) {
    let [, mark = "", rest = ""] = /^ {0,3}(`{3,}|~{3,})([^]*)$/.exec(line) ?? [];
    if (mark[0] === "`" && rest.includes("`")) mark = "";
    if (!fence && !mark) {
      prose += line;
      continue;
    }
    kept += withoutSpans(prose) + "`".repeat(line.length);
    prose = "";
    if (!fence) fence = mark;
    else if (mark.startsWith(fence) && [...rest].every(isBlank)) fence = "";
  }
  return kept + withoutSpans(prose);
}

/** Replaces code spans. A run of backticks is closed by the next run of the same length. */
function withoutSpans(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map((found) => ({ at: found.index, length: found[0].length }));
  const following = new Map<number, number>();
  const closed = new Map<number, number>();
  for (let number = runs.length - 1; number >= 0; number--) {
    const length = runs[number]!.length;
    const next = following.get(length);
    if (next !== undefined) closed.set(number, next);
    following.set(length, number);
  }
  let kept = "";
  let start = 0;
  for (let number = 0; number < runs.length; number++) {
    const close = closed.get(number);
    if (close === undefined) continue;
    const begin = runs[number]!.at;
    const end = runs[close]!.at + runs[close]!.length;
    kept += text.slice(start, begin) + "`".repeat(end - begin);
    [start, number] = [end, close];
  }
  return kept + text.slice(start);
}

function isObject(value: unknown): value is { [key: string]: Json | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function code(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

/** JSON has no NaN and no infinity, and JavaScript would silently write null. */
function finite(key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new MailbagError(`cannot write this message as JSON: ${key} is ${value}`);
  }
  return value;
}

function findRoom(asked: string | undefined): string {
  const named = asked || process.env["MAILBAG_ROOM"] || process.env["MAOS_MESSAGE_DIR"];
  if (named) {
    const room = path.resolve(named);
    if (isDirectory(path.join(room, "outbox"))) return room;
    throw new MailbagError(`no room at ${room}; create one with \`mailbag init ${room}\``);
  }
  const here = process.cwd();
  for (let at = here; ; at = path.dirname(at)) {
    for (const base of [mainWorktree(at), at]) {
      if (base === undefined || !isDirectory(path.join(base, ".mailbag", "spool"))) continue;
      const found = path.join(base, ".mailbag");
      // Another user may have created the room to read your mail.
      if (fs.statSync(found).uid !== process.geteuid?.()) {
        throw new MailbagError(`the room ${found} belongs to another user; to use it, set MAILBAG_ROOM to it`);
      }
      return found;
    }
    if (at === path.dirname(at)) break;
  }
  throw new MailbagError(`no room: no .mailbag in ${here} or its parents; create one with \`mailbag init\``);
}

/** The main worktree: all worktrees of a repository share its room. */
function mainWorktree(directory: string): string | undefined {
  try {
    const text = fs.readFileSync(path.join(directory, ".git"), "utf8");
    if (!text.startsWith("gitdir:")) return undefined;
    const own = path.resolve(directory, text.slice("gitdir:".length).trim());
    const common = path.resolve(own, fs.readFileSync(path.join(own, "commondir"), "utf8").trim());
    return path.dirname(fs.realpathSync(common));
  } catch {
    return undefined;
  }
}

function isDirectory(place: string): boolean {
  return fs.statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function findAgent(room: string, asked: string | undefined): string {
  const name = asked || process.env["MAILBAG_AGENT"] || process.env["MAOS_AGENT_ID"];
  if (!name) throw new MailbagError("no agent name given; set MAILBAG_AGENT");
  const known = agentsOf(room);
  if (known.some((agent) => agent["id"] === name)) return name;
  const named = known.find((agent) => String(agent["name"] ?? "").toLowerCase() === name.toLowerCase());
  if (named && typeof named["id"] === "string" && NAME.test(named["id"])) return named["id"];
  const isOpen = /^\s*admission\s*=\s*["']open["']/m.test(settingsOf(room));
  if (NAME.test(name) && (isOpen || isDirectory(path.join(room, "outbox", name)))) return name;
  throw new MailbagError(
    `no agent is called ${JSON.stringify(name)} in ${room}; \`mailbag agent add NAME\` registers one`,
  );
}

function agentsOf(room: string): { [key: string]: Json | undefined }[] {
  try {
    const agents: unknown = JSON.parse(fs.readFileSync(path.join(room, "registry.json"), "utf8")).agents;
    return Array.isArray(agents) ? agents.filter(isObject) : [];
  } catch {
    return [];
  }
}

function settingsOf(room: string): string {
  try {
    return fs.readFileSync(path.join(room, "settings.toml"), "utf8");
  } catch {
    return "";
  }
}

function contextOf(room: string): string {
  const named = process.env["MAOS_SHARED_CONTEXT"];
  if (named) return path.resolve(named);
  const said = /^[ \t]*context[ \t]*=[ \t]*(.*)$/m.exec(settingsOf(room));
  if (said === null) return path.join(room, "context");
  const plain = /^(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?$/.exec((said[1] ?? "").trim());
  if (plain === null) {
    const file = path.join(room, "settings.toml");
    throw new MailbagError(`cannot parse \`context\` in ${file}; set MAOS_SHARED_CONTEXT to its directory`);
  }
  return path.resolve(room, plain[1] ?? plain[2] ?? "context");
}

/** Reads a message file. Other files, which anyone may have put there, give nothing and a warning. */
function read(file: string): Mail | undefined {
  try {
    // Do not follow links, and do not block on a pipe.
    const handle = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
    try {
      const found = fs.fstatSync(handle);
      if (!found.isFile()) throw new Error("it is not a regular file");
      if (found.size > MAIL_BYTES) throw new Error("it is too large");
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fs.readFileSync(handle));
      const fields: unknown = JSON.parse(text);
      if (!isObject(fields)) throw new Error("it is not a JSON object");
      return new Mail(fields, file);
    } finally {
      fs.closeSync(handle);
    }
  } catch (e) {
    if (code(e) !== "ENOENT" && !warned.has(file)) {
      warned.add(file);
      const why = e instanceof Error ? e.message : String(e);
      process.emitWarning(`skipped ${JSON.stringify(file)}: not a message: ${JSON.stringify(why)}`);
    }
    return undefined;
  }
}

let last = 0n;

/** A UUID v7, so that later ids sort later: always in this process, and as far as the clock allows in all processes. */
function newId(): string {
  const now = Date.now();
  const precise = performance.timeOrigin + performance.now();
  // The precise time does not follow a clock that is set.
  const millis = Math.abs(precise - now) < 2 ? precise : now;
  const tick = (BigInt(Math.floor(millis)) << 12n) | BigInt(Math.floor((millis % 1) * 4096));
  last = tick > last ? tick : last + 1n;
  const time = (last >> 12n).toString(16).padStart(12, "0");
  const step = (last & 0xfffn).toString(16).padStart(3, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${step}-${randomUUID().slice(19)}`;
}

/** Syncs a file or a directory to disk. */
function sync(place: string): void {
  const handle = fs.openSync(place, "r");
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

/** Copies a file and returns the copy's name and digest. */
function place(source: string, directory: string): [string, string] {
  const draft = path.join(directory, `.tmp-${randomUUID()}`);
  try {
    const sha256 = digestOf(source, draft);
    sync(draft);
    for (let number = 1; ; number++) {
      const kept = numbered(path.basename(source), number);
      const there = path.join(directory, kept);
      try {
        fs.linkSync(draft, there);
        fs.rmSync(draft);
        sync(directory);
        return [kept, sha256];
      } catch (e) {
        if (code(e) !== "EEXIST") throw e;
        if (fs.lstatSync(there).isFile() && digestOf(there) === sha256) return [kept, sha256];
      }
    }
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

/** The digest of a regular file of any size. With a target, copies the file too. */
function digestOf(file: string, copy?: string): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants;
  const from = fs.openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  const to = copy === undefined ? undefined : fs.openSync(copy, "wx");
  try {
    const digest = createHash("sha256");
    const buffer = Buffer.alloc(1 << 16);
    for (;;) {
      const piece = buffer.subarray(0, fs.readSync(from, buffer));
      if (piece.length === 0) return digest.digest("hex");
      digest.update(piece);
      if (to !== undefined) fs.writeFileSync(to, piece);
    }
  } finally {
    fs.closeSync(from);
    if (to !== undefined) fs.closeSync(to);
  }
}

function numbered(name: string, number: number): string {
  if (number === 1) return name;
  const end = path.extname(name);
  return `${name.slice(0, name.length - end.length)}-${number}${end}`;
}
