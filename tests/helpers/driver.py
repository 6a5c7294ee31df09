"""What the tests have the Python helper do: one verb a run."""

import json
import sys
from pathlib import Path

import mailbag


def text(file):
    return Path(file).read_bytes().decode("utf-8")


def put(file, body):
    Path(file).write_bytes(body.encode("utf-8"))


def echo(directory):
    for number, mail in enumerate(mailbag.inbox()):
        put(f"{directory}/{number}", mail.body)


def stop_at(word):
    for mail in mailbag.inbox():
        print(mail.body, flush=True)
        if mail.body == word:
            raise SystemExit(9)


def answer(timeout):
    mail = mailbag.wait(float(timeout))
    mailbag.reply(mail, mail.body)
    mail.done()


def ask(to, file, timeout, out):
    id = mailbag.send(to, text(file), type="question", subject='re: "Ports"')
    mail = mailbag.wait(float(timeout), where=lambda mail: mail.get("thread_id") == id)
    put(out, mail.body)
    mail.done()
    print(id)


def request(role, file, timeout, out):
    answer = mailbag.request_from_role(role or None, "Help", text(file), timeout=float(timeout))
    put(out, answer.body)
    answer.done()


def rejections():
    for mail in mailbag.inbox():
        print(json.dumps({"rejection": mail.is_rejection, "codes": [problem["code"] for problem in mail.problems]}))


def ack(status):
    for mail in mailbag.inbox():
        mailbag.ack(mail, status)


def share(file, category, to, note):
    say(mailbag.share_artifact(category, Path(file).name, Path(file).read_bytes(), to, note or None))


def artifact(category, filename, file):
    say(mailbag.share_artifact(category, filename, text(file)))


def say(shared):
    print(shared.path, shared.sha256, shared.id, sep="\n")


def maos():
    """The methods of other helpers of this kind."""
    print(mailbag.send_message(to_agent="bob", message_type="question", subject="Ports", body="which port?", priority="high"))
    mailbag.share_artifact(category="research", filename="a.md", content="x")
    mailbag.broadcast_to_role(role_name="engineer", message_type="announcement", subject="Freeze", body="at noon")
    print(json.dumps(mailbag.get_agents_by_role()), [mail.body for mail in mailbag.read_messages("alert")])


def mentions(*files):
    for file in files:
        print(json.dumps(mailbag.parse_mentions(text(file))._asdict()))


verb, *words = sys.argv[1:]
verbs = {
    "drop": lambda *files: [print(mailbag.drop(Path(file).read_bytes()).name) for file in files],
    "send": lambda to, file: print(mailbag.send(to, text(file))),
    "wait": lambda timeout, sender: print(mailbag.wait(float(timeout), sender=sender).body),
    "broadcast": lambda role, type, subject, body: print(mailbag.broadcast_to_role(role or None, type, subject, body)),
    "route": mailbag.route,
    "echo": echo, "stop_at": stop_at, "answer": answer, "ask": ask, "request": request, "rejections": rejections,
    "ack": ack, "mentions": mentions, "share": share, "artifact": artifact, "maos": maos,
}
try:
    verbs[verb](*words)
except mailbag.Rejected as e:
    sys.exit(f"Rejected {[problem['code'] for problem in e.mail.problems]}: {e}")
except mailbag.Timeout as e:
    sys.exit(f"Timeout: {e}")
except mailbag.MailbagError as e:
    sys.exit(f"MailbagError: {e}")
