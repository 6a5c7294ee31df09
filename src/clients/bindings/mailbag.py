"""Mail for AI agents in plain files: one file, Python 3.9 or later, no dependencies.

    mailbag.send("bob", "which port?", type="question")
    for mail in mailbag.inbox():            # oldest first; marked as read when the loop asks for the next one
        mailbag.reply(mail, "8080")
Written by `mailbag generate helper python`. It reads and writes files; a router (`mailbag run`) or any other `mailbag` command delivers
the messages. Only `route` and `parse_mentions` run the program. Each method of `Mailbag` is also a function of this module.
Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR (default: `.mailbag` here or above), MAILBAG_AGENT or MAOS_AGENT_ID, MAOS_AGENT_ROLE,
MAOS_SESSION_ID (for the metadata), MAOS_SHARED_CONTEXT (default: `context` of the settings).
"""

import contextlib, hashlib, json, logging, mimetypes, os, re, shutil, subprocess, time, uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Union

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_NO_ANSWER, _FAILURES = ("ack", "status", "progress", "thinking", "tool_call", "tool_result"), ("error", "notification", "alert")
_last = 0
Recipients = Union[str, Sequence[str], None]
Artifact = NamedTuple("Artifact", [("path", str), ("file", Path), ("sha256", str), ("id", str)])
Mentions = NamedTuple("Mentions", [("mentions", List[str]), ("text", str), ("broadcast", bool)])

class MailbagError(Exception):
    """The room, your identity or an argument is invalid. The text says what to do."""

class Timeout(MailbagError, TimeoutError):
    """The timeout expired."""

class Rejected(MailbagError):
    """The router rejected a message, or it expired. `mail` is the router's message, and `mail.problems` lists the problems."""
    mail: "Mail"

class Mail(Dict[str, Any]):
    """A delivered message: a dict of its fields, and its file in `path`."""

    def __init__(self, path: Path) -> None:
        super().__init__(json.loads(_bytes(path).decode("utf-8")))
        self.path, self.id, self.sender = path, str(self["id"]), str(self["from"])
        self.type, self.body = str(self.get("type") or "message"), str(self.get("body") or "")
        self.reference = f"{self.sender}/{self.id}"
        self.is_rejection = self.sender == "mailbag" and self.type == "error"
        self.problems: List[Dict[str, str]] = (self.get("metadata") or {}).get("problems") or []

    def done(self) -> bool:
        """Marks the message as read: moves it to `seen/`. Returns False if it is no longer in the inbox."""
        (self.path.parent / "seen").mkdir(exist_ok=True)
        try:
            os.rename(self.path, self.path.parent / "seen" / self.path.name)
        except FileNotFoundError:
            return False
        return True

class Mailbag:
    """One agent in one room, by default those of the environment."""

    def __init__(self, room: Union[str, Path, None] = None, agent: Optional[str] = None) -> None:
        named = room or os.environ.get("MAILBAG_ROOM") or os.environ.get("MAOS_MESSAGE_DIR")
        rooms = [Path(named).absolute()] if named else [at / ".mailbag" for at in (Path.cwd(), *Path.cwd().parents)]
        found = [room for room in rooms if (room / "outbox").is_dir()]
        if not found:
            raise MailbagError(f"no room at {rooms[0]} or above; set MAILBAG_ROOM, or create one with `mailbag init`")
        self.room = found[0]
        # A link, or a room of another user, can be there to read your mail.
        problem = "is a symbolic link" if self.room.is_symlink() else "belongs to another user"
        if not named and (self.room.is_symlink() or self.room.stat().st_uid != os.geteuid()):
            raise MailbagError(f"the room {self.room} {problem}; to use it, set MAILBAG_ROOM to {self.room.resolve()}")
        if os.path.lexists(self.room / "INCOMPLETE"):
            raise MailbagError(f"the room {self.room} is an incomplete copy: it has the file INCOMPLETE; use a complete copy")
        self.agent = agent or os.environ.get("MAILBAG_AGENT") or os.environ.get("MAOS_AGENT_ID") or ""
        if not self.agent:
            raise MailbagError("no agent name given; set MAILBAG_AGENT")
        self.agent = min((name for name in os.listdir(self.room / "outbox") if name.lower() == self.agent.lower()), key=self.agent.__ne__, default=self.agent)
        if not (_NAME.match(self.agent) and (self.room / "outbox" / self.agent).is_dir()):
            raise MailbagError(f"no agent {self.agent!r} in {self.room}; `mailbag agent add NAME` registers one")

    def send(self, to: Recipients, body: Optional[str] = None, *, type: str = "message", **fields: Any) -> str:
        """Sends a message and returns its id, when the file is on disk. `fields` are fields of the protocol: subject,
        priority, … None omits a field. If the router rejects the message, you get one, see `Mail.is_rejection`."""
        message = {"id": _new_id(), "from": self.agent, "to": to, "type": type, "body": body, **fields}
        if os.environ.get("MAOS_SESSION_ID"):
            message["metadata"] = {"session_id": os.environ["MAOS_SESSION_ID"], **(message.get("metadata") or {})}
        message = {key: value for key, value in message.items() if value is not None}
        self.drop(json.dumps(message, ensure_ascii=False, allow_nan=False, indent=2) + "\n")
        return str(message["id"])

    def drop(self, content: Union[str, bytes]) -> Path:
        """Writes a message file to the outbox unchanged. The router takes files in the order of their names."""
        path = self.room / "outbox" / self.agent / f"{_new_id()}.json"
        _write(path, content.encode("utf-8") if isinstance(content, str) else content, os.rename)
        return path

    def inbox(self) -> Iterator[Mail]:
        """Yields the unread messages, oldest first. A message stays unread if an exception or `break` ends the loop."""
        for mail in self.read_messages():
            yield mail
            mail.done()

    def read_messages(self, message_type: Optional[str] = None) -> List[Mail]:
        """Returns the unread messages of a type, or all, oldest first. They stay unread until `done()`."""
        found = []
        for path in sorted((self.room / "inbox" / self.agent).glob("[!.]*.json")):
            try:
                found.append(Mail(path))
            except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
                logging.getLogger("mailbag").warning("skipped %r: not a message: %r", str(path), e)
        return [mail for mail in found if message_type in (None, mail.type)]

    def wait(self, timeout: Optional[float] = None, *, where: Callable[[Mail], bool] = lambda mail: True, sender: Optional[str] = None, **fields: str) -> Mail:
        """Waits for the oldest unread message with this sender and these fields (type, thread_id, …), polling every 150 ms.
        It stays unread until `done()`. Raises `Timeout` after `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            for mail in self.read_messages():
                if sender in (None, mail.sender) and fields.items() <= mail.items() and where(mail):
                    return mail
            if until is not None and time.monotonic() >= until:
                raise Timeout(f"no matching message for {self.agent} within {timeout:g} s")
            time.sleep(0.15)

    def reply(self, mail: Mail, body: Optional[str] = None, **fields: Any) -> str:
        """Answers a message in its thread and channel, with its subject. Returns the id of the answer."""
        is_question = mail.type == "question" or mail.get("requires_response") is True
        subject = re.sub(r"^(\s*re:)+\s*", "", str(mail.get("subject") or ""), flags=re.I)
        carried = {"type": "answer" if is_question else "message", "subject": f"Re: {subject}"[:1000] if subject else None,
                   "thread_id": mail.get("thread_id") or mail.id, "channel": mail.get("channel"), "in_reply_to": mail.reference}
        return self.send(mail.sender, body, **{**carried, **fields})

    def ack(self, mail: Union[Mail, str], status: str = "acknowledged") -> str:
        """Sets the status of a message, which `mailbag trace` shows to the sender. Returns the id of the ack."""
        return self.send(None, type="ack", refs=[getattr(mail, "reference", mail)], status=status)

    def send_message(self, to_agent: Recipients, message_type: str, subject: str, body: str, **fields: Any) -> str:
        return self.send(to_agent, body, type=message_type, subject=subject, **fields)

    def broadcast_to_role(self, role_name: Optional[str], message_type: str, subject: str, body: str, **fields: Any) -> str:
        """Sends to all agents of a role except yourself. None means your own role. Returns the id of the message."""
        return self.send(f"all_{self._role(role_name)}", body, type=message_type, subject=subject, **fields)

    def request_from_role(self, role_name: Optional[str], subject: str, body: str, *, timeout: Optional[float] = 300.0, **fields: Any) -> Mail:
        """Asks one agent of a role and returns its answer, which stays unread. Raises `Rejected` or `Timeout`."""
        id = self.send(f"any_{self._role(role_name)}", body, **{"type": "request", "subject": subject, "requires_response": True, **fields})
        answer = self.wait(timeout, where=lambda mail: self._is_answer(mail, id))
        if answer.sender == "mailbag":
            answer.done()
            error = Rejected(answer.body)
            error.mail = answer
            raise error
        return answer

    def _role(self, role: Optional[str]) -> str:
        if not (role or os.environ.get("MAOS_AGENT_ROLE")):
            raise MailbagError("no role: pass a role or set MAOS_AGENT_ROLE")
        return role or os.environ["MAOS_AGENT_ROLE"]

    def _is_answer(self, mail: Mail, id: str) -> bool:
        threads = [mail.get("thread_id"), *(mail["refs"] if isinstance(mail.get("refs"), list) else ())]
        names = {str(name) for name in (mail.get("in_reply_to"), *(() if mail.sender == "mailbag" else threads))}
        # A reference can be a record number, which is in the name of the router's copy in sent/.
        sent = [path for name in names if name.isdigit() for path in (self.room / "sent" / self.agent).glob(f"{name}~*.json")]
        is_named = not names.isdisjoint({id, f"{self.agent}/{id}"}) or any(_read_id(path) == id for path in sent)
        return is_named and (mail.type in _FAILURES if mail.sender == "mailbag" else mail.type not in _NO_ANSWER)

    def get_agents_by_role(self) -> Dict[str, int]:
        """Returns the number of agents of each role in the registry."""
        agents = json.loads((self.room / "registry.json").read_bytes()).get("agents") or []
        roles = [agent["role"] for agent in agents if agent.get("role") and agent.get("status") != "retired"]
        return {role: roles.count(role) for role in roles}

    def share_artifact(self, category: str, filename: str, content: Union[str, bytes], to: Recipients = "all",
                       note: Optional[str] = None, media_type: Optional[str] = None) -> Artifact:
        """Writes and announces `context/<category>/<filename>`, with a number in the name if another file has this name."""
        directory = self._context() / category
        if not _NAME.match(category) or directory.is_symlink():
            raise MailbagError(f"cannot share into {category!r}: a category is a name such as research, and not a link")
        if filename in ("", ".", "..") or Path(filename).name != filename:
            raise MailbagError(f"cannot share {filename!r}: it is not a file name")
        data = content.encode("utf-8") if isinstance(content, str) else content
        directory.mkdir(parents=True, exist_ok=True)
        path, number = directory / filename, 1
        while not (_write(path, data, os.link) or path.is_file() and not path.is_symlink() and _bytes(path) == data):
            number += 1
            path = directory / f"{Path(filename).stem}-{number}{Path(filename).suffix}"
        shared = Artifact(f"{category}/{path.name}", path, hashlib.sha256(data).hexdigest(), _new_id())
        media_type = media_type or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        self.send(to, note, id=shared.id, type="announcement", subject=f"{category}: {filename}",
                  metadata={"category": category}, attachments=[{"path": shared.path, "sha256": shared.sha256, "media_type": media_type}])
        return shared

    def _context(self) -> Path:
        named, settings = os.environ.get("MAOS_SHARED_CONTEXT"), self.room / "settings.toml"
        line = re.search(r"(?m)^[ \t]*context[ \t]*=(.*)$", settings.read_text("utf-8") if settings.exists() else "")
        value = re.match(r"""\s*(?:"([^"\\]+)"|'([^']+)')\s*(?:#.*)?\Z""", line.group(1) if line else "'context'")
        if not (named or value):
            raise MailbagError(f"cannot parse `context` in {settings}; set MAOS_SHARED_CONTEXT to its directory")
        return Path(named).absolute() if named else self.room / str(value and (value.group(1) or value.group(2)))

    def parse_mentions(self, body: str) -> Mentions:
        """Returns the mentions in a body, the body without them, and whether they make the message a broadcast."""
        checked = json.loads(self._run("send", "--dry-run", "--json", "--file", "-", text=json.dumps({"type": "status", "subject": "-", "body": body})))["messages"][0]
        return Mentions(checked["mentions"], checked["text"], checked["broadcast"])

    def route(self) -> None:
        """Delivers pending mail with the program. If a router runs, asks it and waits at most 2 seconds."""
        self._run("run", "--once", "-q")

    def _run(self, *words: str, text: str = "") -> str:
        if not shutil.which("mailbag"):
            raise MailbagError("the program mailbag is not on PATH; put it there, or leave this to a router: mailbag run")
        done = subprocess.run(["mailbag", "--room", str(self.room), *words], input=text, capture_output=True, encoding="utf-8")
        if done.returncode != 0:
            raise MailbagError((done.stderr or done.stdout).strip() or f"mailbag ended with status {done.returncode}")
        return done.stdout

def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(Mailbag, name):
        raise AttributeError(f"module mailbag has no attribute {name}")
    return lambda *args, **fields: getattr(Mailbag(), name)(*args, **fields)

def _bytes(path: Path) -> bytes:
    """Reads a file. Follows no link, and does not block on a pipe."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read()

def _read_id(path: Path) -> Any:
    """Returns the id in a message file, or None if the file is not a message with an id."""
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        return json.loads(_bytes(path)).get("id")

def _write(path: Path, data: bytes, publish: Callable[[Path, Path], None]) -> bool:
    """Writes a file, complete and durable before it gets its name. Returns False if the name is taken."""
    draft = path.parent / f".tmp-{uuid.uuid4()}"
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        publish(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    os.fsync(handle := os.open(path.parent, os.O_RDONLY))
    os.close(handle)
    return True

def _new_id() -> str:
    """A UUID v7, so that later ids sort later. It has the millisecond, and below it 4096 steps."""
    global _last
    _last = tick = max(_last + 1, ((nanos := time.time_ns()) // 1_000_000) << 12 | nanos % 1_000_000 * 4096 // 1_000_000)
    return str(uuid.UUID(int=(tick >> 12) << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | uuid.uuid4().int >> 66))
