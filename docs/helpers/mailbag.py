"""Mail for AI agents in plain files. Copy this file; it needs Python 3.9 or later and nothing else.

    mail = Mailbag()
    mail.send_message("any_engineer", "question", "Port", "Which port?")
    for message in mail.read_messages():  # oldest first
        mail.reply(message, "8080")
        mail.done(message)

`mailbag run`, or any command that sends or reads, delivers the files. For a rejected message you get one of type `error`.
Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR (default: .mailbag here or above), MAILBAG_AGENT or MAOS_AGENT_ID,
MAOS_SESSION_ID, MAOS_SHARED_CONTEXT (default: context in the room).
"""

import hashlib, json, os, time, uuid
from pathlib import Path

class Mailbag:
    """One agent in one room."""

    def __init__(self, room=None, agent=None):
        named = room or os.environ.get("MAILBAG_ROOM") or os.environ.get("MAOS_MESSAGE_DIR")
        rooms = [Path(named)] if named else [at / ".mailbag" for at in (Path.cwd(), *Path.cwd().parents)]
        self.room = next((at.absolute() for at in rooms if (at / "outbox").is_dir()), None)
        if self.room is None:
            raise FileNotFoundError(f"no room at {rooms[0]}; set MAILBAG_ROOM, or run `mailbag init`")
        if not named and (self.room.is_symlink() or self.room.stat().st_uid != os.geteuid()):
            raise PermissionError(f"{self.room} is not your own room; to use it, set MAILBAG_ROOM")
        self.agent = agent or os.environ.get("MAILBAG_AGENT") or os.environ.get("MAOS_AGENT_ID") or ""
        self.outbox, self.inbox = (self.room / name / self.agent for name in ("outbox", "inbox"))
        if not (self.agent[:1].isalnum() and self.outbox.is_dir()):
            raise LookupError(f"no agent {self.agent!r} in {self.room}; set MAILBAG_AGENT, or run `mailbag agent add NAME`")
        self.shared_context = Path(os.environ.get("MAOS_SHARED_CONTEXT") or self.room / "context")
        self._last = 0

    def send_message(self, to_agent, message_type, subject, body, **fields):
        """Sends a message, and returns its id when the file is durable.
        `to_agent` is an address of the router, or a list of them: an id ("alice"), all agents ("all"), all of a role
        ("all_engineers"), one of a role ("any_engineer"), a pattern ("engineer_*"), an agent of a linked room ("po:alice").
        `fields` are further fields of the protocol, such as priority, thread_id or in_reply_to.
        """
        message = {"id": self._new_id(), "from": self.agent, "to": to_agent, "type": message_type, "subject": subject, "body": body}
        if os.environ.get("MAOS_SESSION_ID"):
            message["metadata"] = {"session_id": os.environ["MAOS_SESSION_ID"]}
        message.update(fields)
        message = {name: value for name, value in message.items() if value is not None}
        data = json.dumps(message, ensure_ascii=False, allow_nan=False, indent=2) + "\n"
        _publish(self.outbox / f"{message['id']}.json", data.encode("utf-8"), os.rename)
        return message["id"]

    def read_messages(self, message_type=None):
        """Returns the unread messages, or one type of them, oldest first. They stay unread until `done`."""
        messages = []
        for path in sorted(self.inbox.glob("[!.]*.json")):
            try:
                messages.append({**json.loads(path.read_bytes()), "path": path})
            except (OSError, ValueError, TypeError):
                continue  # read by another process, or not a message
        return [message for message in messages if message_type in (None, message.get("type", "message"))]

    def done(self, message):
        """Marks a message as read. Returns False if it is no longer in the inbox."""
        (self.inbox / "seen").mkdir(exist_ok=True)
        try:
            return bool(message["path"].rename(self.inbox / "seen" / message["path"].name))
        except FileNotFoundError:
            return False

    def reply(self, message, body, **fields):
        """Answers a message in its thread, and returns the id of the answer."""
        is_question = message.get("type") == "question" or message.get("requires_response") is True
        fields = {"in_reply_to": f"{message['from']}/{message['id']}", "thread_id": message.get("thread_id"), **fields}
        return self.send_message(message["from"], "answer" if is_question else "message", message.get("subject"), body, **fields)

    def broadcast_to_role(self, role_name, message_type, subject, body, **fields):
        """Sends a message to all agents of a role, except this one."""
        return self.send_message(f"all_{role_name}", message_type, subject, body, **fields)

    def request_from_role(self, role_name, subject, body, **fields):
        """Asks one agent of a role. Its answer names the returned id in `in_reply_to`."""
        return self.send_message(f"any_{role_name}", "request", subject, body, requires_response=True, **fields)

    def share_artifact(self, category, filename, content):
        """Writes a file into the shared context and announces it to all. Replaces no file: its name then gets a number."""
        data = content.encode("utf-8") if isinstance(content, str) else content
        path, number = self.shared_context / category / Path(filename).name, 1
        path.parent.mkdir(parents=True, exist_ok=True)
        while not _publish(path, data):
            number += 1
            path = path.with_name(f"{Path(filename).stem}-{number}{path.suffix}")
        attached = {"path": f"{category}/{path.name}", "sha256": hashlib.sha256(data).hexdigest()}
        self.send_message("all", "announcement", f"New {category} artifact: {path.name}", f"Created {path}", attachments=[attached])
        return path

    def get_agents_by_role(self):
        """Returns the number of registered agents of each role."""
        agents = json.loads((self.room / "registry.json").read_bytes())["agents"]
        roles = [agent["role"] for agent in agents if agent.get("role") and agent.get("status") != "retired"]
        return {role: roles.count(role) for role in roles}

    def _new_id(self):
        self._last = max(self._last + 1, time.time_ns())  # the router takes files in the order of their names
        return f"msg_{self._last}_{uuid.uuid4().hex[:8]}"

def _publish(path, data, name=os.link):
    """Writes a file, complete and durable before it gets its name. Returns False if the name is taken."""
    draft = path.parent / f".tmp-{uuid.uuid4()}"
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        name(draft, path)
        os.fsync(directory := os.open(path.parent, os.O_RDONLY))
        os.close(directory)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True
