"""Pages of the documentation: their code blocks, and the command lines that they show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCED = re.compile(r"```(\w*)\n(.*?)```", re.S)
_PROMPT = re.compile(r"(?:\$|#|\w+@[\w-]+:\S*\$) (.*)")
_OURS = r"(?:sudo )?(?:\./dev|(?:\S*/)?python3?(?: -P)? -m|netcosim(?= [\w-]+(?!\S)))"
_COMMAND = re.compile(rf"{_OURS} \S")
_IN_TEXT = re.compile(rf"(?:{_OURS}|eval|pipx? install|bash -c) \S")
_COMMENT = re.compile(r"(^|\s)#\s.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A command line as a page shows it.

    Attributes
    ----------
    page : path in the checkout
    text : without prompt and comment, continued lines joined
    shown : the lines that the page shows below it
    """

    page: str
    text: str
    shown: tuple[str, ...] = ()


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Fenced blocks in these languages: page and number, text."""
    found = []
    for page in PAGES:
        fenced = _FENCED.findall(page.read_text("utf-8"))
        for language in languages:
            texts = [text for named, text in fenced if named == language]
            found += [(f"{_name(page)}#{i}", text) for i, text in enumerate(texts)]
    return found


def command_lines() -> list[CommandLine]:
    """Every command line of every page, in blocks and in running text, each text once a page."""
    found: dict[tuple[str, str], CommandLine] = {}
    for page in PAGES:
        for line in _of_page(_name(page), page.read_text("utf-8")):
            before = found.setdefault((line.page, line.text), line)
            if line.shown and not before.shown:
                found[line.page, line.text] = line
    return list(found.values())


def prompted(page: str, block: str) -> Iterator[CommandLine]:
    """Command lines of a block that shows a terminal: behind a prompt, with what follows."""
    command, shown = "", list[str]()
    for line in block.replace("\\\n", " ").splitlines():
        begun = _PROMPT.fullmatch(line)
        if begun is None:
            shown.append(line.strip())
            continue
        if command:
            yield CommandLine(page=page, text=command, shown=tuple(shown))
        command, shown = _COMMENT.sub("", begun[1]).strip(), []
    if command:
        yield CommandLine(page=page, text=command, shown=tuple(shown))


def _of_page(page: str, text: str) -> Iterator[CommandLine]:
    for language, block in _FENCED.findall(text):
        if language == "console":
            yield from prompted(page, block)
        elif language in ("bash", "sh"):
            lines = block.replace("\\\n", " ").splitlines()
            bare = (_COMMENT.sub("", line).strip() for line in lines)
            yield from (CommandLine(page=page, text=line) for line in bare if line)
        elif language in ("", "text"):
            lines = [line for line in block.splitlines() if _COMMAND.match(line)]
            yield from (CommandLine(page=page, text=line.strip()) for line in lines)
    for paragraph in _FENCED.sub("", text).split("\n\n"):
        spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", paragraph))
        yield from (CommandLine(page=page, text=span) for span in spans if _IN_TEXT.match(span))


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))
