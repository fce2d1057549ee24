"""Lines that benchmarks keep: what a kill cuts costs one line and no other."""

from pathlib import Path

import pytest

from bench.common.kept_lines import add_line, read_lines, replace_lines

FIRST, SECOND, THIRD = {"part": "a", "s": 1.5}, {"part": "b"}, {"part": "ä"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    kept = tmp_path / "kept.jsonl"
    add_line(kept, FIRST)
    add_line(kept, SECOND)
    return kept


def test_what_was_added_is_read_in_its_order(path: Path, tmp_path: Path) -> None:
    assert read_lines(path) == [FIRST, SECOND]
    assert read_lines(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_cut_line_is_none_and_the_next_one_takes_its_place(path: Path, cut: int) -> None:
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_lines(path) == [FIRST]
    add_line(path, THIRD)
    assert read_lines(path) == [FIRST, THIRD]


def test_a_line_that_is_none_in_the_midst_hides_no_other(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'{"part":"b"}', b'{"part'))
    add_line(path, THIRD)
    assert read_lines(path) == [FIRST, THIRD]


def test_lines_are_replaced_at_once(path: Path) -> None:
    replace_lines(path, [THIRD, FIRST])
    assert read_lines(path) == [THIRD, FIRST]
    assert [file.name for file in path.parent.iterdir()] == [path.name]
