"""The reference of stragglers says what there is, and its trace can be read."""

import importlib
import re
from pathlib import Path

from netcosim.training.stragglers import kind_names, named_stragglers
from netcosim.training.stragglers.trace_file import read_trace

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "scenario.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## `[[straggler]]`") :]
KINDS = SECTION[: SECTION.index("### By name")]


def test_every_kind_stands_there_with_its_options():
    rows = dict(re.findall(r"^\| `([a-z]+)` \| (.*) \|$", KINDS, re.M))
    for name in kind_names():
        options = importlib.import_module(f"netcosim.training.stragglers.kinds.{name}").Options
        for option in options.model_fields:
            assert f"`{option}`" in rows[name], (name, option)


def test_every_name_stands_there_as_the_program_says_it():
    for name, text in named_stragglers().items():
        assert f"| `{name}` | {text} |" in SECTION


def test_the_trace_can_be_read(tmp_path):
    (text,) = re.findall(r"```\n(time_ns,.*?)```", SECTION, re.S)
    path = tmp_path / "t.csv"
    path.write_text(text)
    speeds, use = read_trace(path)
    assert speeds.speed.tolist() == [1, 0.4, 1]
    assert use is not None and use.cpu is not None and use.memory_bytes is not None
