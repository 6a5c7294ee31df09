"""Mail for AI agents in plain files: one file, Python 3.9 or later, no dependencies.

    import mailbag

    mailbag.send("bob", "which port?", type="question")
    for mail in mailbag.inbox():            # oldest first
        mailbag.reply(mail, "8080")         # marked as read once the loop asks for the next one

Written by `mailbag helper python`. It only reads and writes files. A router (`mailbag run`) or any other `mailbag` command
delivers the messages; `route()` runs such a command.

A message is marked as read (moved to `seen/`) when the loop over `inbox()` asks for the next one, or earlier by
`mail.done()`. If an exception or `break` ends the loop, the current message stays unread.

Environment: MAILBAG_ROOM or MAOS_MESSAGE_DIR is the room, by default `.mailbag` in this directory or a parent;
MAILBAG_AGENT or MAOS_AGENT_ID is your agent id; MAOS_AGENT_ROLE is your role; MAOS_SESSION_ID is added to the metadata of
your messages as `session_id`; MAOS_SHARED_CONTEXT is the directory of shared files, by default that of the room's settings.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mimetypes
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

__all__ = [
    "Artifact", "Mail", "Mailbag", "MailbagError", "Refused", "Timeout",
    "Mentions", "ack", "broadcast_to_role", "drop", "get_agents_by_role", "inbox", "parse_mentions", "read_messages", "reply",
    "request_from_role", "route", "send", "send_message", "share_artifact", "share_file", "wait",
]  # fmt: skip

POLL_SECONDS = 0.15
_MAIL_BYTES = 160 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
# Words that cannot be the tag of another room.
_NO_TAG = re.compile(r"(?:all|channel|human|mailbag|cap|owner|task|lane|repo|(?:all|any)_.*)\Z", re.I)
_log = logging.getLogger("mailbag")
_warned: Set[str] = set()
_lock = threading.Lock()
_last = 0


# Non-ASCII punctuation, symbols and emoji, which may be next to a mention. All other characters count as letters.
_SIGNS = (
    "80-A9 AB-B4 B6-B9 BB-BF D7 F7 37E 387 55A-55F 589-58A 5BE 5C0 5C3 5F3-5F4 60C-60D 61B-61F 66A-66D 6D4 "
    "964-965 E4F E5A-E5B 104A-104F 1360-1368 17D4-17DA 1800-180E 2000-2BFF 2E00-2E7F 3000-3004 3008-3020 "
    "3030 30FB FE00-FE1F FE30-FE6F FEFF FF00-FF0F FF1A-FF20 FF3B-FF40 FF5B-FF65 FFF0-FFFF 1F000-1FAFF "
    "E0000-E0FFF "
)
_NO_LETTERS = "".join("\\U{:0>8}-\\U{:0>8}".format(*(span.split("-") * 2)[:2]) for span in _SIGNS.split())
_LETTER = re.compile(f"[A-Za-z0-9]|[^\0-\x7f{_NO_LETTERS}]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)", re.S)
_BLANKS = " \t\r\n"


class MailbagError(Exception):
    """The room, your identity or an argument is invalid. The text says what to do."""


class Timeout(MailbagError, TimeoutError):
    """The timeout expired."""


class Refused(MailbagError):
    """The router rejected a message. `problems` lists the problems, `mail` is the router's message."""

    def __init__(self, mail: Mail) -> None:
        super().__init__(mail.body or "the message was rejected")
        self.mail = mail
        self.problems = mail.problems


class Mail(Dict[str, Any]):
    """A delivered message: a dict of its fields, and its file."""

    def __init__(self, fields: Mapping[str, Any], path: Path) -> None:
        super().__init__(fields)
        self.path = path

    @property
    def id(self) -> str:
        return self._text("id")

    @property
    def sender(self) -> str:
        return self._text("from")

    @property
    def type(self) -> str:
        return self._text("type") or "message"

    @property
    def body(self) -> str:
        return self._text("body")

    @property
    def reference(self) -> str:
        """The reference to this message in other messages."""
        return f"{self.sender}/{self.id}"

    @property
    def is_refusal(self) -> bool:
        """Whether the router rejected one of your messages with this one."""
        return self.sender == "mailbag" and self.type == "error"

    @property
    def problems(self) -> List[Dict[str, Any]]:
        """The problems of the rejected message: `code`, `where`, `what`, `fix`."""
        metadata = self.get("metadata")
        problems = metadata.get("problems") if isinstance(metadata, dict) else None
        return [problem for problem in problems if isinstance(problem, dict)] if isinstance(problems, list) else []

    def done(self) -> bool:
        """Marks the message as read: moves it to `seen/`. False if it is no longer in the inbox."""
        seen = self.path.parent / "seen"
        seen.mkdir(exist_ok=True)
        try:
            os.rename(self.path, seen / self.path.name)
        except FileNotFoundError:
            return False
        return True

    def _text(self, key: str) -> str:
        value = self.get(key)
        return value if isinstance(value, str) else ""


class Artifact:
    """A file in the room's context, and the id of the message that announced it."""

    def __init__(self, path: str, file: Path, sha256: str, id: str) -> None:
        self.path, self.file, self.sha256, self.id = path, file, sha256, id

    def __fspath__(self) -> str:
        return str(self.file)

    def __repr__(self) -> str:
        return f"Artifact(path={self.path!r}, sha256={self.sha256!r}, id={self.id!r})"


Recipients = Union[str, Sequence[str], None]


class Mailbag:
    """One agent in one room, by default those of the environment."""

    def __init__(self, room: Union[str, Path, None] = None, agent: Optional[str] = None) -> None:
        self.room = _room(room)
        self.agent = _agent(self.room, agent)
        self.role = os.environ.get("MAOS_AGENT_ROLE") or None
        self.session = os.environ.get("MAOS_SESSION_ID") or None

    def send(self, to: Recipients, body: Optional[str] = None, *, type: str = "message", **fields: Any) -> str:
        """Sends a message and returns its id. `fields` are fields of the protocol: subject, priority, thread_id, refs,
        requires_response, attachments, metadata, … None omits a field. The message is on disk when this returns. If the
        router rejects it, you get a message, see `Mail.is_refusal`."""
        id = fields.pop("id", None) or _new_id()
        recipients = to if to is None or isinstance(to, str) else list(to)
        message = {"id": id, "from": self.agent, "to": recipients, "type": type, "body": body, **fields}
        metadata = fields.get("metadata") or {}
        if self.session and isinstance(metadata, dict):
            message["metadata"] = {"session_id": self.session, **metadata}
        message = {key: value for key, value in message.items() if value is not None}
        try:
            text = json.dumps(message, ensure_ascii=False, allow_nan=False, indent=2).encode("utf-8")
        except (TypeError, ValueError, RecursionError) as e:
            raise MailbagError(f"cannot write this message as JSON in UTF-8: {e}") from e
        self.drop(text + b"\n")
        return str(id)

    def drop(self, content: Union[str, bytes]) -> Path:
        """Writes a message file to the outbox unchanged and returns its path."""
        data = content.encode("utf-8") if isinstance(content, str) else content
        outbox = self.room / "outbox" / self.agent
        outbox.mkdir(exist_ok=True)
        # The router takes files in the order of their names.
        name = _new_id()
        path = outbox / f"{name}.json"
        _write(outbox / f".{name}.tmp", data, path)
        return path

    def inbox(self) -> Iterator[Mail]:
        """The unread messages, oldest first. Each is marked as read when the loop asks for the next one."""
        for mail in self._unread():
            yield mail
            mail.done()

    def wait(
        self,
        timeout: Optional[float] = None,
        *,
        sender: Optional[str] = None,
        type: Optional[str] = None,
        thread_id: Optional[str] = None,
        where: Optional[Callable[[Mail], bool]] = None,
        program: bool = False,
    ) -> Mail:
        """Waits for the oldest unread matching message and returns it. It stays unread until `done()`. Raises `Timeout`
        after `timeout` seconds; None waits forever. Polls every 150 ms. With `program`, runs `mailbag wait` instead, which
        also delivers pending mail."""

        def fits(mail: Mail) -> bool:
            asked = ((sender, mail.sender), (type, mail.type), (thread_id, mail.get("thread_id")))
            return all(want is None or want == got for want, got in asked) and (where is None or where(mail))

        if program and where is not None:
            raise MailbagError("cannot use `where` with `program`: `mailbag wait` cannot call a function; omit `program`")
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            for mail in self._unread():
                if fits(mail):
                    return mail
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                raise Timeout(f"no matching message for {self.agent} within {timeout:g} s")
            if program:
                filters = {"--from": sender, "--type": type, "--thread": thread_id}
                words = [word for name, value in filters.items() if value is not None for word in (name, value)]
                span = 3600.0 if left is None else left
                self._program(["wait", "--as", self.agent, "--timeout", f"{int(span * 1000) + 1}ms", "-q", *words], (0, 4))
            else:
                time.sleep(POLL_SECONDS if left is None else min(POLL_SECONDS, left))

    def reply(self, mail: Mail, body: Optional[str] = None, **fields: Any) -> str:
        """Answers a message in its thread and channel, with its subject. Returns the id of the answer."""
        if mail.sender in ("", "mailbag"):
            raise MailbagError(f"cannot reply to {mail.reference}: the router wrote it and reads no mail")
        asked = mail.type == "question" or mail.get("requires_response") is True
        subject = mail.get("subject")
        if isinstance(subject, str):
            subject = ("Re: " + re.sub(r"^(\s*re:)+\s*", "", subject, flags=re.I))[:1000]
        carried = {
            "type": "answer" if asked else "message",
            "subject": subject,
            "thread_id": mail.get("thread_id") or mail.id,
            "channel": mail.get("channel"),
            "in_reply_to": mail.reference,
        }
        return self.send(mail.sender, body, **{**carried, **fields})

    def ack(self, mail: Union[Mail, str], status: str = "acknowledged") -> str:
        """Sets the status of a message: acknowledged, actioned, resolved, superseded or abandoned. `mailbag trace` shows
        it to the sender. Returns the id of the ack."""
        reference = mail.reference if isinstance(mail, Mail) else mail
        return self.send(None, None, type="ack", refs=[reference], status=status)

    def send_message(self, to_agent: Recipients, message_type: str, subject: str, body: str, **fields: Any) -> str:
        """Sends a message and returns its id, as `send` does."""
        return self.send(to_agent, body, type=message_type, subject=subject, **fields)

    def read_messages(self, message_type: Optional[str] = None) -> List[Mail]:
        """The unread messages of a type, or all, oldest first. They stay unread until `done()`."""
        return [mail for mail in self._unread() if message_type is None or mail.type == message_type]

    def get_agents_by_role(self) -> Dict[str, int]:
        """The number of agents of each role."""
        counts: Dict[str, int] = {}
        for agent in _agents(self.room):
            role = agent.get("role")
            if isinstance(role, str) and agent.get("status") != "retired":
                counts[role] = counts.get(role, 0) + 1
        return counts

    def broadcast_to_role(
        self, role_name: Optional[str], message_type: str, subject: str, body: str, **fields: Any
    ) -> str:
        """Sends to all agents of a role except yourself. None means your own role. Returns the id of the message."""
        return self.send(f"all_{self._role(role_name)}", body, type=message_type, subject=subject, **fields)

    def request_from_role(
        self, role_name: Optional[str], subject: str, body: str, *, timeout: Optional[float] = 300.0, **fields: Any
    ) -> Mail:
        """Asks one agent of a role and returns its answer, which stays unread until `done()`. Raises `Refused` if the
        router rejects the request, and `Timeout`. A later answer arrives as normal mail."""
        fields = {"type": "request", "subject": subject, "requires_response": True, **fields}
        id = self.send(f"any_{self._role(role_name)}", body, **fields)
        answer = self.wait(timeout, where=lambda mail: self._answers(mail, id))
        if answer.is_refusal:
            answer.done()
            raise Refused(answer)
        return answer

    def share_artifact(
        self,
        category: str,
        filename: str,
        content: Union[str, bytes],
        to: Recipients = "all",
        note: Optional[str] = None,
        media_type: Optional[str] = None,
    ) -> Artifact:
        """Writes `content` to `context/<category>/<filename>` and announces it, as `share_file` does."""
        if filename in ("", ".", "..") or Path(filename).name != filename:
            raise MailbagError(f"cannot share {filename!r}: it is not a file name")
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / filename
            file.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
            return self.share_file(file, category, to, note, media_type)

    def share_file(
        self,
        file: Union[str, Path],
        category: str,
        to: Recipients = "all",
        note: Optional[str] = None,
        media_type: Optional[str] = None,
    ) -> Artifact:
        """Copies a regular file to `context/<category>/` and announces it with its digest. Never overwrites a file: if
        another file has the name, the copy gets a number."""
        source = Path(file)
        if not _NAME.match(category):
            raise MailbagError(f"{category!r} is not a valid category; use a name such as research")
        if not (source.name and stat.S_ISREG(_lstat(source).st_mode)):
            raise MailbagError(f"cannot share {source}: it is not a regular file; links and directories are not shared")
        directory = _context(self.room) / category
        if directory.is_symlink():
            raise MailbagError(f"cannot share into {directory}: it is a symbolic link; remove the link")
        directory.mkdir(parents=True, exist_ok=True)
        kept, digest = _place(source, directory)
        path = f"{category}/{kept}"
        guess = media_type or mimetypes.guess_type(kept)[0] or "application/octet-stream"
        attachment = {"path": path, "sha256": digest, "media_type": guess}
        subject, metadata = f"{category}: {source.name}", {"category": category}
        id = self.send(
            to, note, type="announcement", subject=subject, attachments=[attachment], metadata=metadata
        )
        return Artifact(path, directory / kept, digest, id)

    def route(self) -> None:
        """Delivers pending mail with the program. If a router runs, asks it and waits at most 2 seconds."""
        self._program(["run", "--once", "-q"], (0,))

    def _program(self, words: Sequence[str], fine: Sequence[int]) -> None:
        program = shutil.which("mailbag")
        if program is None:
            raise MailbagError("the program mailbag is not on the PATH")
        ran = subprocess.run([program, "--room", str(self.room), *words], capture_output=True)
        if ran.returncode not in fine:
            raise MailbagError(ran.stderr.decode("utf-8", "replace").strip() or f"mailbag failed with exit status {ran.returncode}")

    def _unread(self) -> Iterator[Mail]:
        directory = self.room / "inbox" / self.agent
        try:
            names = sorted(os.listdir(os.fsencode(directory)))
        except FileNotFoundError:
            return
        for name in names:
            if not name.startswith(b".") and name.endswith(b".json"):
                mail = _read(directory / os.fsdecode(name))
                if mail is not None:
                    yield mail

    def _role(self, role: Optional[str]) -> str:
        if role or self.role:
            return str(role or self.role)
        raise MailbagError("no role: pass a role or set MAOS_AGENT_ROLE")

    def _answers(self, mail: Mail, id: str) -> bool:
        answered = mail.get("in_reply_to")
        refs = mail.get("refs")
        names = [answered, *(refs if isinstance(refs, list) else [])]
        if mail.is_refusal:
            return answered == id
        if mail.type == "ack":
            return False
        if any(name in (id, f"{self.agent}/{id}") for name in names) or mail.get("thread_id") == id:
            return True
        # A reference by record number: the router's copy in sent/ has the number in its name.
        seqs = [name for name in names if isinstance(name, str) and name.isdigit()]
        return any(self._wrote(seq, id) for seq in seqs)

    def _wrote(self, seq: str, id: str) -> bool:
        for path in (self.room / "sent" / self.agent).glob(f"{seq}~*.json"):
            try:
                return bool(json.loads(path.read_bytes()).get("id") == id)
            except (OSError, ValueError, AttributeError, RecursionError):
                return False
        return False


def send(to: Recipients, body: Optional[str] = None, *, type: str = "message", **fields: Any) -> str:
    """See `Mailbag.send`."""
    return Mailbag().send(to, body, type=type, **fields)


def drop(content: Union[str, bytes]) -> Path:
    """See `Mailbag.drop`."""
    return Mailbag().drop(content)


def inbox() -> Iterator[Mail]:
    """See `Mailbag.inbox`."""
    return Mailbag().inbox()


def wait(timeout: Optional[float] = None, **options: Any) -> Mail:
    """See `Mailbag.wait`."""
    return Mailbag().wait(timeout, **options)


def reply(mail: Mail, body: Optional[str] = None, **fields: Any) -> str:
    """See `Mailbag.reply`."""
    return Mailbag().reply(mail, body, **fields)


def ack(mail: Union[Mail, str], status: str = "acknowledged") -> str:
    """See `Mailbag.ack`."""
    return Mailbag().ack(mail, status)


def send_message(to_agent: Recipients, message_type: str, subject: str, body: str, **fields: Any) -> str:
    """See `Mailbag.send_message`."""
    return Mailbag().send_message(to_agent, message_type, subject, body, **fields)


def read_messages(message_type: Optional[str] = None) -> List[Mail]:
    """See `Mailbag.read_messages`."""
    return Mailbag().read_messages(message_type)


def get_agents_by_role() -> Dict[str, int]:
    """See `Mailbag.get_agents_by_role`."""
    return Mailbag().get_agents_by_role()


def broadcast_to_role(
    role_name: Optional[str], message_type: str, subject: str, body: str, **fields: Any
) -> str:
    """See `Mailbag.broadcast_to_role`."""
    return Mailbag().broadcast_to_role(role_name, message_type, subject, body, **fields)


def request_from_role(
    role_name: Optional[str], subject: str, body: str, *, timeout: Optional[float] = 300.0, **fields: Any
) -> Mail:
    """See `Mailbag.request_from_role`."""
    return Mailbag().request_from_role(role_name, subject, body, timeout=timeout, **fields)


def share_artifact(
    category: str,
    filename: str,
    content: Union[str, bytes],
    to: Recipients = "all",
    note: Optional[str] = None,
    **options: Any,
) -> Artifact:
    """See `Mailbag.share_artifact`."""
    return Mailbag().share_artifact(category, filename, content, to, note, **options)


def share_file(
    file: Union[str, Path], category: str, to: Recipients = "all", note: Optional[str] = None, **options: Any
) -> Artifact:
    """See `Mailbag.share_file`."""
    return Mailbag().share_file(file, category, to, note, **options)


def route() -> None:
    """See `Mailbag.route`."""
    Mailbag().route()


class Mentions(NamedTuple):
    """The mentions in a body."""

    mentions: List[str]
    text: str
    broadcast: bool


def parse_mentions(body: str) -> Mentions:
    """The mentions in a body, as `@name` or `@tag:name`, each once; the body without them; and whether they make the message a broadcast
    if it has no `to`. The result equals that of `mailbag check --json`."""
    mentions: Dict[str, None] = {}
    kept, start = [], 0
    for at, end in _places(body):
        mentions[body[at:end]] = None
        kept.append(body[start:at])
        start = end
        while body[start : start + 1] == " ":
            start += 1
    kept.append(body[start:])
    broadcast = any(re.match(r"@(all|channel|all_[a-z0-9][a-z0-9._-]*)\Z", name.lower()) for name in mentions)
    return Mentions(list(mentions), "".join(kept).strip(_BLANKS), broadcast)


def _places(body: str) -> Iterator[Tuple[int, int]]:
    """Start and end of each mention."""
    text, last = _without_code(body), 0
    for found in re.finditer("@[A-Za-z0-9._-]*", text):
        at = found.start()
        before = text[at - 1 : at] if at else ""
        follows = before == "/" and last == at - 1 and last > 0
        if before and not follows and (_LETTER.match(before) or before in "._-+%/\\@="):
            continue
        end = _name_end(text, at + 1)
        if end and text[end : end + 1] == ":" and not _NO_TAG.match(text[at + 1 : end]):
            end = _name_end(text, end + 1) or end
        if end:
            yield at, end
            last = end


def _name_end(text: str, begin: int) -> int:
    """The end of the name that begins here; 0 if none does."""
    found = re.compile("[A-Za-z0-9._-]*").match(text, begin)
    name = found.group().rstrip(".-") if found else ""
    end = begin + len(name)
    behind = text[end : end + 2]
    goes_on = behind[:1] == "@" or _LETTER.match(behind[1:] if behind[:1] == "/" else behind)
    return end if _NAME.match(name) and not goes_on else 0


def _without_code(text: str) -> str:
    """The text with each character of code replaced by a backtick."""
    kept: List[str] = []
    prose, fence = "", ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        found = _FENCE.match(line)
        mark, rest = found.groups() if found else ("", "")
        if mark[:1] == "`" and "`" in rest:
            mark = ""
        if not fence and not mark:
            prose += line
            continue
        kept += [_without_spans(prose), "`" * len(line)]
        prose = ""
        if not fence:
            fence = mark
        elif mark.startswith(fence) and not rest.strip(_BLANKS):
            fence = ""
    return "".join(kept) + _without_spans(prose)


def _without_spans(text: str) -> str:
    """Replaces code spans. A run of backticks is closed by the next run of the same length."""
    runs = [found.span() for found in re.finditer("`+", text)]
    following: Dict[int, int] = {}
    closed: Dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        length = runs[number][1] - runs[number][0]
        if length in following:
            closed[number] = following[length]
        following[length] = number
    kept, start, number = [], 0, 0
    while number < len(runs):
        if number in closed:
            begin, end = runs[number][0], runs[closed[number]][1]
            kept += [text[start:begin], "`" * (end - begin)]
            start, number = end, closed[number]
        number += 1
    return "".join(kept) + text[start:]


def _room(asked: Union[str, Path, None]) -> Path:
    named = asked or os.environ.get("MAILBAG_ROOM") or os.environ.get("MAOS_MESSAGE_DIR")
    if named:
        room = Path(named).absolute()
        if not (room / "outbox").is_dir():
            raise MailbagError(f"no room at {room}; create one with `mailbag init {room}`")
        return room
    here = Path.cwd()
    for directory in (here, *here.parents):
        for base in (_main_worktree(directory), directory):
            if base is not None and (base / ".mailbag" / "spool").is_dir():
                found = base / ".mailbag"
                # Another user may have created the room to read your mail.
                if found.stat().st_uid != os.geteuid():
                    raise MailbagError(f"the room {found} belongs to another user; to use it, set MAILBAG_ROOM to it")
                return found
    raise MailbagError(f"no room: no .mailbag in {here} or its parents; create one with `mailbag init`")


def _main_worktree(directory: Path) -> Optional[Path]:
    """The main worktree: all worktrees of a repository share its room."""
    try:
        text = (directory / ".git").read_text()
        own = directory / text[len("gitdir:") :].strip() if text.startswith("gitdir:") else None
        return (own / (own / "commondir").read_text().strip()).resolve().parent if own else None
    except (OSError, ValueError):
        return None


def _agent(room: Path, asked: Optional[str]) -> str:
    name = asked or os.environ.get("MAILBAG_AGENT") or os.environ.get("MAOS_AGENT_ID")
    if not name:
        raise MailbagError("no agent name given; set MAILBAG_AGENT")
    known = _agents(room)
    if any(agent.get("id") == name for agent in known):
        return name
    for agent in known:
        if str(agent.get("name") or "").lower() == name.lower() and _NAME.match(str(agent.get("id"))):
            return str(agent["id"])
    is_open = re.search(r"""(?m)^\s*admission\s*=\s*["']open["']""", _settings(room))
    if _NAME.match(name) and (is_open or (room / "outbox" / name).is_dir()):
        return name
    raise MailbagError(f"no agent is called {name!r} in {room}; `mailbag agent add NAME` registers one")


def _agents(room: Path) -> List[Dict[str, Any]]:
    """The agents in the registry."""
    try:
        agents = json.loads((room / "registry.json").read_bytes()).get("agents", [])
    except (OSError, ValueError, AttributeError, RecursionError):
        agents = []
    return [agent for agent in agents if isinstance(agent, dict)] if isinstance(agents, list) else []


def _settings(room: Path) -> str:
    try:
        return (room / "settings.toml").read_text("utf-8", "replace")
    except OSError:
        return ""


def _context(room: Path) -> Path:
    named = os.environ.get("MAOS_SHARED_CONTEXT")
    if named:
        return Path(named).absolute()
    said = re.search(r"(?m)^[ \t]*context[ \t]*=[ \t]*(.*)$", _settings(room))
    if said is None:
        return room / "context"
    plain = re.match(r"""(?:"([^"\\]*)"|'([^']*)')\s*(?:#.*)?\Z""", said.group(1).strip())
    if plain is None:
        raise MailbagError(f"cannot parse `context` in {room / 'settings.toml'}; set MAOS_SHARED_CONTEXT to its directory")
    return room / (plain.group(1) or plain.group(2) or "context")


def _read(path: Path) -> Optional[Mail]:
    """Reads a message file. Other files, which anyone may have put there, give None and a warning."""
    try:
        # Do not follow links, and do not block on a pipe.
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is not a regular file")
            data = file.read(_MAIL_BYTES + 1)
        if len(data) > _MAIL_BYTES:
            raise ValueError("it is too large")
        fields = json.loads(data.decode("utf-8"))
        if not isinstance(fields, dict):
            raise ValueError("it is not a JSON object")
        return Mail(fields, path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as e:
        if str(path) not in _warned:
            _warned.add(str(path))
            _log.warning("skipped %r: not a message: %s", str(path), e)
        return None


def _lstat(path: Path) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as e:
        raise MailbagError(f"cannot share {path}: {e.strerror}") from e


def _new_id() -> str:
    """A UUID v7, so that later ids sort later: always in this process, and from a microsecond on in all processes."""
    global _last
    with _lock:
        nanos = time.time_ns()
        # The millisecond, and below it 4096 steps.
        _last = max(_last + 1, (nanos // 1_000_000) << 12 | nanos % 1_000_000 * 4096 // 1_000_000)
        tick = _last
    number = (tick >> 12) << 80 | 7 << 76 | (tick & 0xFFF) << 64 | 2 << 62 | uuid.uuid4().int >> 66
    return str(uuid.UUID(int=number))


def _write(draft: Path, data: bytes, path: Path) -> None:
    """Writes a file atomically and durably."""
    try:
        with open(draft, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, path)
    except BaseException:
        draft.unlink() if draft.exists() else None
        raise
    _sync(path.parent)


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _place(source: Path, directory: Path) -> tuple[str, str]:
    """Copies a file and returns the copy's name and digest."""
    draft = directory / f".tmp-{uuid.uuid4()}"
    digest = hashlib.sha256()
    try:
        with open(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            with open(draft, "xb") as copy:
                for piece in iter(lambda: file.read(1 << 16), b""):
                    digest.update(piece)
                    copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
        number = 1
        while True:
            kept = _numbered(source.name, number)
            try:
                os.link(draft, directory / kept)
                break
            except FileExistsError:
                if _digest(directory / kept) == digest.hexdigest():
                    break
            number += 1
    finally:
        draft.unlink() if draft.exists() else None
    _sync(directory)
    return kept, digest.hexdigest()


def _numbered(name: str, number: int) -> str:
    stem, dot, end = name.rpartition(".") if "." in name[1:] else (name, "", "")
    return name if number == 1 else f"{stem}-{number}{dot}{end}"


def _digest(path: Path) -> Optional[str]:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return None
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 16), b""):
            digest.update(piece)
    return digest.hexdigest()
