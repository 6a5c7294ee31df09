"""Types into terminals in tmux, and draws their output as an animated SVG."""

import contextlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

COLOURS = ["#545d68", "#f47067", "#57ab5a", "#c69026", "#539bf5", "#b083f0", "#39c5cf", "#adbac7"]
LINE_HEIGHT, MARGIN, TITLE = 19, 14, 30


class Terminals:
    """One tmux server with a terminal for each name. `programs` has the command of each terminal, `rows` its height."""

    def __init__(self, home, directory, environment, programs, columns, rows):
        self.home, self.directory, self.names = home, directory, list(programs)
        self.environment = {"HOME": home, "LC_ALL": "C.UTF-8", "TZ": "UTC", "SHELL": "/bin/sh", **environment}
        # A server without a session ends.
        options = ["exit-empty", "off"], ["focus-events", "on"], ["default-terminal", "tmux-256color"]
        self.tmux("start-server", *(word for option in options for word in (";", "set-option", "-g", *option)))
        for name, program in programs.items():
            self.tmux("new-session", "-d", "-s", name, "-x", str(columns), "-y", str(rows[name]), program)

    def tmux(self, *words, check=True):
        command = ["tmux", "-u", "-f", "/dev/null", "-S", f"{self.home}/tmux", *words]
        done = subprocess.run(command, cwd=self.directory, env=self.environment, capture_output=True, text=True, check=check)
        return done.stdout + done.stderr

    def end(self):
        self.tmux("kill-server", check=False)
        until(lambda: re.search("no server|error connecting", self.tmux("has-session", check=False)), "tmux did not end")

    def screen(self, name):
        return [line.rstrip() for line in self.tmux("capture-pane", "-p", "-e", "-t", name).splitlines()]

    def text(self, name):
        return "\n".join(map(plain, self.screen(name)))

    def wait(self, name, text):
        until(lambda: text in self.text(name), f"“{text}” did not appear in the terminal of {name}")

    def keys(self, name, *keys):
        self.tmux("send-keys", "-t", name, *keys)

    def type(self, name, line):
        self.keys(name, "-l", line)


def until(is_so, failure):
    end = time.monotonic() + 30
    while not is_so():
        if time.monotonic() > end:
            sys.exit(f"error: {failure} within 30 seconds")
        time.sleep(0.05)


@contextlib.contextmanager
def directory(parent=None):
    """A temporary directory. Its removal waits for programs that still write there."""
    home = os.path.realpath(tempfile.mkdtemp(prefix="mailbag-record-", dir=parent))

    def is_gone():
        shutil.rmtree(home, ignore_errors=True)
        return not os.path.exists(home)

    try:
        yield home
    finally:
        until(is_gone, f"{home} was not removed")


class Film:
    """The lines of each terminal, with the seconds when each line appears and disappears in the picture."""

    def __init__(self, terminals):
        self.terminals = terminals
        # For each terminal and row: texts with their first second. The last text is the present one.
        self.rows = {name: {} for name in terminals.names}

    def look(self, second):
        """Adds the present lines of the terminals, from this second on."""
        for name, rows in self.rows.items():
            for row, text in enumerate(self.terminals.screen(name)):
                texts = rows.setdefault(row, [])
                if not texts or texts[-1][0] != text:
                    texts.append((text, second))

    def lines(self, name):
        """Each shown line: its row, text, first second, and the second of its removal, or None."""
        for row, texts in sorted(self.rows[name].items()):
            for (text, first), following in zip(texts, [*texts[1:], None]):
                if plain(text):
                    yield row, text, first, following and following[1]


def plain(line):
    return re.sub(r"\x1b\[[0-9;:]*m|\x1b[()].|[\x0e\x0f]", "", line).rstrip()


def colour(codes):
    """The colour of the codes after 38: one of 256, or red, green and blue."""
    if codes.pop(0) == 2:
        red, green, blue = (codes.pop(0) for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    number = codes.pop(0)
    if number < 16:
        return COLOURS[number % 8]
    if number > 231:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    levels = [0, 95, 135, 175, 215, 255]
    number -= 16
    return "#" + "".join(f"{levels[part]:02x}" for part in (number // 36, number // 6 % 6, number % 6))


def spans(line):
    """A line with escapes as text of SVG. Backgrounds are left out."""
    style, parts = {}, []
    for part in re.split(r"(\x1b\[[0-9;:]*m)", re.sub(r"\x1b[()].|[\x0e\x0f]", "", line)):
        if not part.startswith("\x1b"):
            text = html.escape(part, quote=False)
            shown = "".join(f' {name}="{value}"' for name, value in style.items())
            parts.append(f"<tspan{shown}>{text}</tspan>" if style and text.strip() else text)
            continue
        codes = [int(code or 0) for code in re.split("[;:]", part[2:-1])]
        while codes:
            code = codes.pop(0)
            if code == 1:
                style["font-weight"] = "bold"
            elif code == 2:
                style["opacity"] = "0.65"
            elif code == 38:
                style["fill"] = colour(codes)
            elif code == 48:
                colour(codes)
            elif 30 <= code % 60 <= 37 and code < 100:
                style["fill"] = COLOURS[code % 10]
            elif code == 39:
                style.pop("fill", None)
            elif code in (0, 22):
                style.clear()
    return "".join(parts)


def picture(film, title, names, columns):
    """Frames, one below the other; each line appears at its second. `names` has the title of each frame."""
    width, parts, top, kinds = columns * 8.43 + 28, [], 0, {}
    for name in film.rows:
        lines = list(film.lines(name))
        height = TITLE + (1 + max(row for row, *_ in lines)) * LINE_HEIGHT + MARGIN
        parts.append(f'<rect y="{top}" width="{width:.0f}" height="{height}" rx="8" fill="#22272e"/>')
        parts.append(f'<text x="{MARGIN}" y="{top + 20}" class="t">{html.escape(names[name])}</text>')
        for row, text, first, gone in lines:
            y = top + TITLE + (row + 1) * LINE_HEIGHT - 5
            kind = f"s{kinds.setdefault((first, gone), len(kinds))}{' gone' if gone else ''}"
            parts.append(f'<text class="{kind}" x="{MARGIN}" y="{y}" xml:space="preserve">{spans(text)}</text>')
        top += height + 10
    steps = ""
    for (first, gone), number in kinds.items():
        moves = [f"show 1ms {first:.1f}s both"] if first else []
        if gone:
            moves.append(f"hide 1ms {gone:.1f}s forwards")
        if moves:
            steps += f".s{number}{{animation:{','.join(moves)};visibility:visible}}"
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {top - 10}" role="img">
<title>{html.escape(title)}</title>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#adbac7;white-space:pre}}
.t{{fill:#768390}}
.gone{{visibility:hidden}}
@keyframes show{{from{{visibility:hidden}}to{{visibility:visible}}}}
@keyframes hide{{to{{visibility:hidden}}}}
@media (prefers-reduced-motion:no-preference){{{steps}}}
</style>
{chr(10).join(parts)}
</svg>
"""
