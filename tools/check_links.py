"""Checks links of the documentation, and that the source files it names exist."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent

_FENCE = re.compile(r"^(```|~~~).*?^\1[`~]*\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_INLINE = r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)"
_REFERENCE = r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$"
_LINK = re.compile(f"{_INLINE}|{_REFERENCE}", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_NAMED = re.compile(r"`([a-z][\w-]*(?:/[\w-]+)+\.(?:py|toml|sh|md))`")
_EXAMPLE = re.compile(r"[A-Z]{2}")  # NAME and the like stand for something
_HISTORY = "CHANGELOG.md"  # it names what was there
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def documents(root: Path) -> list[Path]:
    """Markdown files that people read: beside the menu and under ``docs`` and ``bench``."""
    folders = ("docs", "bench")
    nested = [path for folder in folders for path in (root / folder).rglob("*.md")]
    return sorted([*root.glob("*.md"), *nested])


def links(text: str) -> list[str]:
    """Targets of the links in a Markdown text, those in code left out."""
    prose = _CODE.sub("", _FENCE.sub("", text))
    return [inline or reference for inline, reference in _LINK.findall(prose)]


def named_files(text: str) -> list[str]:
    """Paths of source files that a Markdown text names in code, from the project's root."""
    found = _NAMED.findall(_FENCE.sub("", text))
    return [path for path in found if not _EXAMPLE.search(path)]


def anchors(text: str) -> set[str]:
    """Names of the headings, as the usual Markdown hosts make them."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        repeat = 1
        name = slug
        while name in found:
            name = f"{slug}-{repeat}"
            repeat += 1
        found.add(name)
    return found


def fault(document: Path, target: str, root: Path) -> str | None:
    """Say what is wrong with a link of a document, or nothing."""
    if _SCHEME.match(target):
        return None
    name, _, anchor = unquote(target).partition("#")
    path = (document.parent / name).resolve() if name else document
    if not path.is_relative_to(root):
        return "leads out of the project"
    if not path.exists():
        return "no such file"
    if anchor and path.suffix == ".md" and anchor not in anchors(path.read_text("utf-8")):
        return "no such heading"
    return None


def faults(root: Path) -> list[str]:
    """One line for each link that leads nowhere."""
    return [
        f"{document.relative_to(root)}: {wrong}"
        for document in documents(root)
        for wrong in _wrong(document, root)
    ]


def _wrong(document: Path, root: Path) -> Iterator[str]:
    """Faults of one document, a line for each."""
    text = document.read_text("utf-8")
    for target in links(text):
        if wrong := fault(document, target, root):
            yield f"{target}: {wrong}"
    if document.name != _HISTORY:
        yield from (f"{p}: no such file" for p in named_files(text) if not (root / p).exists())


if __name__ == "__main__":
    sys.exit("\n".join(faults(ROOT)) or 0)
