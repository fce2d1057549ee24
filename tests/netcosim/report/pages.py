"""Pages of reports as texts: what a reader sees, and what marks it."""

from html.parser import HTMLParser
from pathlib import Path

from netcosim.report import write_report

PNG = b"\x89PNG\r\n\x1a\n"
HOSTILE = '<script>alert("x")</script><img src=x onerror=y>&\'"'


class Page(HTMLParser):
    """Tags, their attributes and the text of a page; complains about tags left open."""

    VOID = ("meta", "img", "link", "br", "hr", "input")
    LINES = ("h1", "h2", "h3", "h4", "p", "li", "tr", "dt", "dd", "caption", "summary", "title")
    """Each begins a line of `outline`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = self.outline = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []
        self.outline = "\n".join(" ".join(line.split()) for line in self.outline.splitlines())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        marked = dict(attrs).get("class") or ""
        self.outline += "\n" if tag in self.LINES else " | " if tag in ("td", "th") else ""
        self.outline += f"[{marked}] " if marked and marked != "n" else ""
        self.outline += f"(picture: {dict(attrs).get('alt')})" if tag == "img" else ""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data
            self.outline += " ".join(["", *data.split(), ""]) if data.strip() else " "

    def of_class(self, name: str) -> int:
        return sum(name in (a.get("class") or "").split() for _, a in self.tags)

    def assert_self_contained(self) -> None:
        """It needs nothing but itself, and runs nothing."""
        for tag, attributes in self.tags:
            assert tag not in ("script", "link", "iframe", "object", "embed", "base", "form")
            for name in ("src", "href"):
                target = attributes.get(name) or "#"
                assert target.startswith(("#", "data:image/png;base64,")), target
            assert not any(name.startswith("on") for name in attributes)


def report(path: Path) -> Page:
    text = write_report(path).read_text("utf-8")
    assert "url(" not in text and "@import" not in text and "http://" not in text
    page = Page(text)
    page.assert_self_contained()
    return page


def pictures(path: Path) -> list[str]:
    """Names of the pictures beside the page, each of which is one."""
    found = sorted((path / "pictures").glob("*"))
    assert all(picture.read_bytes().startswith(PNG) for picture in found)
    return [picture.name for picture in found]


def kept_text(path: Path) -> str:
    """The page of a folder and the names of its pictures, to be held against a kept text."""
    lines = [line.strip() for line in report(path).outline.splitlines() if line.strip()]
    return "\n".join([*lines, "", *pictures(path), ""]).replace(str(path), "FOLDER")
