"""Texts for people: short shares and sizes, one line, nothing that steers a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.formatting import one_line, percent, printable, quoted, short_size, shortened, shown


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0 %"),
        (0.00009, "<0.01 %"),
        (0.0001, "0.01 %"),
        (0.0012, "0.12 %"),
        (0.01, "1 %"),
        (0.098, "9.8 %"),
        (0.5, "50 %"),
        (7.0, "700 %"),
    ],
)
def test_percentages_are_short(fraction: float, text: str) -> None:
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1_500_000, "1.5 MB"), (2 * 10**9, "2 GB")],
)
def test_sizes_are_short(size_bytes: int, text: str) -> None:
    assert short_size(size_bytes) == text


@given(st.text(), st.integers(20, 60))
def test_a_long_text_is_shortened_to_its_beginning_and_its_end(text: str, most: int) -> None:
    short = shortened(text, most)
    size = len(text.encode(errors="backslashreplace"))
    assert len(short.encode(errors="backslashreplace")) <= max(most, 0)
    if size <= most:
        assert short == text
    else:
        begin, _, end = short.partition(" ... ")
        escaped = text.encode(errors="backslashreplace").decode()
        assert escaped.startswith(begin)
        assert escaped.endswith(short.rpartition(" ... ")[2])
        assert begin or end


@given(st.text())
def test_any_text_is_one_line_that_a_terminal_shows(text: str) -> None:
    assert one_line(text).isprintable()
    assert printable(text).isprintable() and len(printable(text)) == len(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", '"a"'), (7, "7"), (None, "None"), ("x" * 81, '"' + "x" * 80 + '..."')],
)
def test_a_value_stands_in_quotes_if_it_is_text_and_is_cut_off(value: object, text: str) -> None:
    assert quoted(value) == shown(value) == text


def test_a_number_that_python_can_not_write_is_named() -> None:
    assert shown(10**5000) == "a number of many digits"
