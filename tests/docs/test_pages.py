"""README, tutorial and how-tos: what they show of a command is what it prints."""

import re
from pathlib import Path

import pages
import pytest

SECTIONS = [section for section in pages.sections() if section.commands()]


def marked(section: pages.Section) -> object:
    emulations = [c for c in section.commands() if re.match(r"\./dev run (?!.*--(list|plan))", c)]
    marks = [
        pytest.mark.pages,
        pytest.mark.timeout(4800),
        *[pytest.mark.root] * bool(emulations),
    ]
    return pytest.param(section, id=section.where, marks=marks)


@pytest.mark.parametrize("section", [marked(section) for section in SECTIONS])
def test_a_page_shows_what_its_commands_print(section: pages.Section, tmp_path: Path) -> None:
    text, faults = pages.updated(section, tmp_path)
    assert not faults
    assert text == section.text


def test_no_page_fills_a_folder_twice() -> None:
    """Sections run in folders of their own, readers in one."""
    found = {
        (section.where.partition(":")[0], command.split(" --out ")[1].split()[0], command)
        for section in SECTIONS
        for command in section.commands()
        if " --out " in command
    }
    folders = [(page, folder) for page, folder, _ in found]
    assert len(folders) > 20
    assert sorted(folders) == sorted(set(folders))


PAGE = """
Of 3.0 +- 0.1 one is left.

```console
$ printf 'a 1\\n\\nb 2\\nc 3\\nd 4\\n' > figures; \\
  cat figures  # all of them
a 0
...
c 0
...
$ vagrant up
$ ls nosuch
```

```python
print(open("figures").read()[:3])
```

```text
a 0
```

<!-- $ printf '| x | y |\\n|-|-|\\n| 1 | 5 +- 2 |\\n' -->
| one | other |
|---|---|
| *1* | 4 +- 2 |

The end.
"""


def section(text: str) -> pages.Section:
    return pages.Section(where="page: part", text=text, files={"figures": ""})


def test_what_is_printed_replaces_what_is_shown_and_nothing_else(tmp_path: Path) -> None:
    text, faults = pages.updated(section(PAGE), tmp_path)
    assert text == PAGE.replace("a 0", "a 1").replace("c 0", "c 3").replace("4 +-", "5 +-")
    assert len(faults) == 2
    assert re.fullmatch(r"`ls nosuch`: exit code 2: ls: .*nosuch.*", faults[0])
    assert faults[1] == "3.0 +- 0.1: no example prints it"


TABLE = """first
 workers  examples/s
 ───────────────────
       1    2.271
      16    9.342

takes about 41 s on 2 processors, 12 MB of memory
grpc sends by write_cycle; 0.3 % off
"""


@pytest.mark.parametrize(
    "good",
    [
        TABLE,
        "first\n...\n",
        "first\n workers  examples/s\n       1    2.271\n...\n",
        "...\n      16    9.342\n...\ngrpc sends by write_cycle; ...\n",
        "...\ntakes about 2 min on 16 processors, 3 GB of memory\n...\n",
    ],
)
def test_what_may_stand_on_a_page_stays(good: str) -> None:
    assert pages.aligned(good, TABLE) == good


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("first\n", TABLE.replace(" ─", "─").replace("─" * 19 + "\n", "").replace("\n\n", "\n")),
        ("fist\n...\n", "first\n...\n"),
        ("...\n       1    2.270\n...\n", "...\n       1    2.271\n...\n"),
        ("...\n       1    2.271\n      16    9.341\n...\n", None),
        ("...\ngrpc sends by write_cycle; 0.4 % off\n", None),
        ("...\ngrpc sends by fifo; ...\n", None),
    ],
)
def test_what_is_not_printed_is_replaced(wrong: str, right: str | None) -> None:
    now = pages.aligned(wrong, TABLE)
    assert now != wrong
    assert pages.aligned(now, TABLE) == now
    assert right is None or now == right


def test_lines_of_which_none_is_like_a_shown_one_are_told() -> None:
    with pytest.raises(pages.PageError, match="nothing like 'elsewhere'"):
        pages.aligned("...\nelsewhere\n...\n", TABLE)


def test_of_what_the_clock_measured_only_words_count() -> None:
    shown = "...\ngrpc sends by write_cycle; 12.5 % off\n"
    assert pages.aligned(shown, TABLE, loose=True) == shown
    assert pages.aligned(shown.replace("cycle", "cycles"), TABLE, loose=True) != shown
