"""Examples on the pages: runs them, holds the pages against what they print, and rewrites them.

An example is a block ``console`` with ``$ COMMAND`` and what it prints, a block ``python`` with a
block ``text`` behind it, or a block or table behind a comment ``<!-- $ COMMAND -->``, which is
from what that command prints. The line ``...`` stands for lines that are left out, ``...`` within
a line for anything. Blank lines and the rules of tables may be left out, and several blank lines
are one. A Markdown table keeps its first row and first column. What `MACHINE` matches is not
compared, and of what was measured `BY_THE_CLOCK` of the machine only the words are.

The examples of a section (``## ``) run in one folder, in their order. It has the page's scenarios
by their names, the files that the page says to save, and what `CHECKOUT` names. Where a page has
a command alone that another section has, too, it is run there. Figures ``A +- B`` elsewhere in a
section have to be among what its examples print or leave in `points.csv`: they are told, and not
rewritten.
"""

import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

from points import points_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "docs/tutorial.md",
    *sorted((ROOT / "docs/how-to").glob("*.md")),
]
CHECKOUT = ("bench", "dev", "examples", "tools")

NOT_RUN = re.compile(
    r"(git|pipx?|vagrant) "  # not ours
    r"|\./dev (grpc-releases|test|virtual-kernel)"  # installs; the suite has tests of it
    r"|netcosim profile |\S*python -m sim\.profile "  # needs PyTorch
    r"|tools/ray_cluster\.sh |export RAY|.* --address "  # needs several machines
    r"|.* mine\.pcap$"  # a capture of the reader's
)
STAND_INS = {"profile.json": "netcosim/workload/data/alexnet.json"}
"""Files that commands which are not run would have made."""

BY_THE_CLOCK = re.compile(r"\./dev run\b(?!.* --(clock virtual|list|plan)\b)")
MACHINE = re.compile(
    r"[\d.]+ (s|min|h)\b(?= on | a run|$)|\d+ processors?\b|[\d.]+ [kMG]B of (memory|disk)"
)

_ITEM = re.compile(
    r"```console\n(?P<terminal>.*?)```"
    r"|(?P<python>```python\n(?P<code>.*?)```\n\n)```text\n(?P<said>.*?)```"
    r"|<!-- \$ (?P<of>[^\n]*) -->\n(?:```\w*\n(?P<text>.*?)```|(?P<table>(?:\|[^\n]*\n)+))",
    re.DOTALL,
)
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_COMMAND = re.compile(r"\$ ((?:.*\\\n)*.*)\n")
_FIGURE = re.compile(r"\d[\d.]* \+- \d+(?:\.\d+)?")
_RULE = re.compile(r"[ ─]+")
_ALIKE = 0.6  # by difflib; below it a line is not the one that a page shows

Shown = Callable[[str, str], str]
"""Text that a page shows of a command, made of the command and of what the page shows now."""


class PageError(Exception):
    """An example that fails, or that prints nothing like what a page shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page that begins with a heading.

    Attributes
    ----------
    where : page and heading, as ``docs/tutorial.md: A first simulation``
    text : all of it
    files : what its folder has, by name
    """

    where: str
    text: str
    files: dict[str, str]

    def examples(self) -> list[tuple[str, str]]:
        """Commands, ``python`` and its code among them, each with what the page shows of it."""
        found: list[tuple[str, str]] = []

        def keep(command: str, page: str) -> str:
            found.append((command, page))
            return page

        _rewritten(self.text, keep)
        return found

    def commands(self) -> list[str]:
        """Those that are run here."""
        return [
            command
            for command, page in self.examples()
            if not NOT_RUN.match(command)
            and (
                page
                or " --out " in command
                or _homes().get(_plain(command), self.where) == self.where
            )
        ]


@dataclass(slots=True, kw_only=True)
class Runner:
    """Runs commands in a folder, each once.

    Attributes
    ----------
    folder : where they run
    commands : those that are run; pages show of others what they show now
    printed : standard output by command
    faults : a line for each that failed
    """

    folder: Path
    commands: Sequence[str]
    printed: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def shown(self, command: str, page: str) -> str:
        """Text that a page shows of a command."""
        if command not in self.commands:
            return page
        try:
            if command not in self.printed:
                self.printed[command] = ""
                self.printed[command] = self._run(command)
            printed = self.printed[command]
            return aligned(page, printed, loose=self._measured(command)) if page else page
        except PageError as error:
            self.faults.append(f"`{command.splitlines()[0]}`: {error}")
            return page

    def _measured(self, command: str) -> bool:
        """True if it measures by the machine's clock, or reads what another one measured."""
        measured = [c for c in self.commands if BY_THE_CLOCK.match(c)]
        folders = {c.split(" --out ")[1].split()[0] for c in measured if " --out " in c}
        return command in measured or not folders.isdisjoint(command.split())

    def _run(self, command: str) -> str:
        bin_folder = Path(sys.prefix, "bin")
        kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        program, _, code = command.partition("\n")
        done = subprocess.run(
            [bin_folder / "python", "-c", code] if code else ["bash", "-c", program],
            cwd=self.folder,
            env={**kept, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in (0, int("compare" in program)):  # 1: something differs
            last = done.stderr.strip().splitlines()[-1:]
            raise PageError(f"exit code {done.returncode}: {''.join(last)}")
        return done.stdout


def sections(pages: Sequence[Path] = PAGES) -> Iterator[Section]:
    """Sections of the pages; joined, their texts are the pages."""
    for page in pages:
        text = page.read_text("utf-8")
        name = page.relative_to(ROOT)
        scenarios = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
        named = [(re.search(r'^name = "(.*)"$', body, re.M), body) for body in scenarios]
        saved = re.findall(r"[Ss]ave as `(\S+)`:\n\n```\w*\n(.*?)```", text, re.DOTALL)
        files = {**{f"{found[1]}.toml": body for found, body in named if found}, **dict(saved)}
        outside = _FENCED.sub(lambda block: " " * len(block[0]), text)
        edges = [0, *(found.start() for found in re.finditer(r"^## ", outside, re.M)), len(text)]
        for begin, end in pairwise(edges):
            title = text[begin:end].partition("\n")[0].lstrip("# ") if begin else ""
            yield Section(where=f"{name}: {title}", text=text[begin:end], files=files)


def updated(section: Section, folder: Path) -> tuple[str, list[str]]:
    """Text of a section with what its examples print, and a line for whatever else is wrong."""
    for name in CHECKOUT:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    for name, text in section.files.items():
        (folder / name).write_text(text, "utf-8")
    for name, source in STAND_INS.items():
        (folder / name).write_bytes((ROOT / source).read_bytes())
    runner = Runner(folder=folder, commands=section.commands())
    text = _rewritten(section.text, runner.shown)
    faults = runner.faults
    if runner.printed:
        points = [row for path in folder.glob("**/points.csv") for row in points_of(path.parent)]
        said = "\n".join([*runner.printed.values(), *(row["figure"] for row in points)])
        figures = _FIGURE.findall(_FENCED.sub("", text))
        faults += [f"{one}: no example prints it" for one in figures if one not in said]
    return text, faults


def aligned(page: str, printed: str, *, loose: bool = False) -> str:
    """What a page is to show of an output: the same lines, as they are printed.

    Parameters
    ----------
    page : what it shows now
    printed : the output
    loose : True if only words are compared

    Raises
    ------
    PageError
        Nothing like that is printed.
    """
    shown = page.splitlines()
    stripped = "\n".join(line.rstrip() for line in printed.splitlines())
    lines = re.sub(r"\n{3,}", "\n\n", stripped).splitlines()
    if page.startswith("|") and len(lines) == len(shown):
        cells = [(old.split("|"), new.split("|")) for old, new in zip(shown, lines, strict=True)]
        lines = ["|".join([*old[:2], *new[2:]]) for old, new in cells]
        lines[:2] = shown[:2]
    if "" not in shown:
        lines = [line for line in lines if line]
    if not any(map(_RULE.fullmatch, shown)):
        lines = [line for line in lines if not _RULE.fullmatch(line)]
    parts = [part.splitlines() for part in re.split(r"(?m)^\.\.\.\n", page)]
    if len(parts) == 1 and len(lines) != len(shown):
        return "".join(f"{line}\n" for line in lines)
    place, found = 0, []
    for number, part in enumerate(parts):
        starts = range(place, len(lines) - len(part) + 1)
        if part and number in (0, len(parts) - 1):  # no lines are left out before it, or behind
            starts = starts[:1] if number == 0 else starts[-1:]
        likeness = {at: _likeness(part, lines[at : at + len(part)], loose=loose) for at in starts}
        at = max(likeness, key=lambda at: likeness[at], default=-1)
        if at < 0 or likeness[at] < _ALIKE * len(part):
            raise PageError(f"prints nothing like {''.join(part[:1])!r}")
        place = at + len(part)
        both = zip(part, lines[at:place], strict=True)
        found.append([old if _same(old, new, loose=loose) else new for old, new in both])
    return "...\n".join("".join(f"{line}\n" for line in part) for part in found)


def _likeness(shown: Sequence[str], printed: Sequence[str], *, loose: bool) -> float:
    """As many as there are lines if a page may show these for them, else less."""
    return sum(
        1.0
        if _same(old, new, loose=loose)
        else 0.99 * difflib.SequenceMatcher(None, old, new).ratio()
        for old, new in zip(shown, printed, strict=True)
    )


def _same(shown: str, printed: str, *, loose: bool) -> bool:
    """True if a page may show this for a line."""
    pieces = [re.escape(_masked(piece, loose=loose)) for piece in shown.split("...")]
    return re.fullmatch(".*".join(pieces), _masked(printed, loose=loose)) is not None


def _masked(line: str, *, loose: bool) -> str:
    if loose:
        line = re.sub(r"[\s─*]+", " ", re.sub(r"[-+<]*\d[\d.]*", "0", line)).replace(" .", ".")
    return MACHINE.sub("0", line)


@cache
def _homes() -> dict[str, str]:
    """Where each command is run that leaves nothing: where its output is shown, or first."""
    found: dict[str, tuple[bool, str]] = {}
    for section in sections():
        for command, page in section.examples():
            silent, _ = found.get(_plain(command), (True, ""))
            if _plain(command) not in found or (silent and page):
                found[_plain(command)] = (not page, section.where)
    return {command: where for command, (_, where) in found.items()}


def _plain(command: str) -> str:
    """The same for all ways to start the same program."""
    return re.sub(r"^(netcosim sim|python -m sim\.run)\b", "./dev sim", command)


def _rewritten(text: str, shown: Shown) -> str:
    """A text in which examples show other outputs, and nothing else is changed."""
    return _ITEM.sub(lambda item: _item(item, shown), text)


def _item(item: re.Match[str], shown: Shown) -> str:
    if item["code"] is not None:
        said = shown(f"python\n{item['code']}", item["said"])
        return f"{item['python']}```text\n{said}```"
    if item["of"] is not None:
        page = item["text"] or item["table"]
        return item[0].replace(page, shown(item["of"], page))
    parts = re.split(r"(?m)^(?=[$#] |\S+\$ )", item["terminal"])
    for number, part in enumerate(parts):
        if command := _COMMAND.match(part):
            line = re.sub(r"\s+#\s.*", "", command[1].replace("\\\n", ""))
            parts[number] = command[0] + shown(line, part[command.end() :])
    return f"```console\n{''.join(parts)}```"


def main(wanted: Sequence[str]) -> int:
    """Rewrite the sections whose page and heading begin with one of these, or all."""
    chosen = [s for s in sections() if s.where.startswith(tuple(wanted or [""])) and s.commands()]
    if not chosen:
        print(f"pages.py: {', '.join(wanted)}: no example there, such as {PAGES[0].name}")
        return 2
    wrong = False
    for section in chosen:
        with tempfile.TemporaryDirectory() as folder:
            text, faults = updated(section, Path(folder))
        page = ROOT / section.where.partition(":")[0]
        before = page.read_text("utf-8")
        page.write_text(before.replace(section.text, text), "utf-8")
        print(f"{section.where}: {'the same' if text == section.text else 'rewritten'}", flush=True)
        for fault in faults:
            print(f"  {fault}", flush=True)
        wrong = wrong or bool(faults)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
