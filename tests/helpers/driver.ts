/** What the tests have the TypeScript helper do: one verb a run. */

import * as fs from "node:fs";
import * as path from "node:path";
import * as mailbag from "./mailbag.ts";

const text = (file: string): string => fs.readFileSync(file, "utf8");
const say = (...words: string[]): void => fs.writeSync(1, words.join("\n") + "\n");

const verbs: Record<string, (...words: string[]) => unknown> = {
  drop(...files) {
    for (const file of files) say(path.basename(mailbag.drop(fs.readFileSync(file))));
  },
  send: (to, file) => say(mailbag.send(to!, text(file!))),
  wait: async (timeout, sender) => say((await mailbag.wait(Number(timeout), { sender: sender! })).body),
  broadcast: (role, type, subject, body) => say(mailbag.broadcastToRole(role || null, type!, subject!, body!)),
  route: () => mailbag.route(),
  echo(directory) {
    let number = 0;
    for (const mail of mailbag.inbox()) fs.writeFileSync(`${directory}/${number++}`, mail.body);
  },
  stop_at(word) {
    for (const mail of mailbag.inbox()) {
      say(mail.body);
      if (mail.body === word) {
        process.exitCode = 9;
        break;
      }
    }
  },
  async answer(timeout) {
    const mail = await mailbag.wait(Number(timeout));
    mailbag.reply(mail, mail.body);
    mail.done();
  },
  async ask(to, file, timeout, out) {
    const id = mailbag.send(to!, text(file!), { type: "question", subject: 're: "Ports"' });
    const mail = await mailbag.wait(Number(timeout), { where: (mail) => mail.text("thread_id") === id });
    fs.writeFileSync(out!, mail.body);
    mail.done();
    say(id);
  },
  async request(role, file, timeout, out) {
    const answer = await mailbag.requestFromRole(role || null, "Help", text(file!), Number(timeout));
    fs.writeFileSync(out!, answer.body);
    answer.done();
  },
  rejections() {
    for (const mail of mailbag.inbox()) {
      say(JSON.stringify({ rejection: mail.isRejection, codes: mail.problems.map((problem) => problem["code"]) }));
    }
  },
  ack(status) {
    for (const mail of mailbag.inbox()) mailbag.ack(mail, status);
  },
  mentions(...files) {
    for (const file of files) say(JSON.stringify(mailbag.parseMentions(text(file))));
  },
  share(file, category, to, note) {
    const shared = mailbag.shareArtifact(category!, path.basename(file!), fs.readFileSync(file!), to!, note || undefined);
    say(shared.path, shared.sha256, shared.id);
  },
  artifact(category, filename, file) {
    const shared = mailbag.shareArtifact(category!, filename!, text(file!));
    say(shared.path, shared.sha256, shared.id);
  },
};

const [verb, ...words] = process.argv.slice(2);
try {
  await verbs[verb!]!(...words);
} catch (e) {
  if (!(e instanceof mailbag.MailbagError)) throw e;
  const kind = e instanceof mailbag.Rejected ? `Rejected ${e.problems[0]?.["code"]}` : e.name;
  fs.writeSync(2, `${kind}: ${e.message}\n`);
  process.exitCode = 1;
}
