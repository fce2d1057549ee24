"""Quantities with units: exact both ways, everything else refused."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.formatting import one_line, percent, printable, quoted, short_size, shortened, shown
from netcosim.nearest import listed, nearest, question, typing_errors, unknown
from netcosim.units import (
    DURATION,
    RATE,
    SIZE,
    format_duration,
    format_rate,
    format_size,
    parse_duration_ns,
    parse_rate_bps,
    parse_size_bytes,
)

KINDS = [
    (parse_rate_bps, format_rate, RATE),
    (parse_size_bytes, format_size, SIZE),
    (parse_duration_ns, format_duration, DURATION),
]
PARSERS = [parse for parse, _, _ in KINDS]


@pytest.mark.parametrize(("parse", "form", "factors"), KINDS)
@given(value=st.one_of(st.integers(0, 2**63 - 1), st.integers(0, 2**20).map(lambda n: n * 10**6)))
def test_text_reads_back_to_the_same_value(parse, form, factors, value):
    text = form(value)
    assert parse(text) == value
    number, unit = split(text)
    assert unit in factors
    assert int(number) * factors[unit] == value


def split(text):
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return number, text.removeprefix(number)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_rate_bps, "100mbit", 100_000_000),
        (parse_rate_bps, "100 Mbit/s", 100_000_000),
        (parse_rate_bps, "2.5Gbps", None),
        (parse_rate_bps, "2.5Gbitps", 2_500_000_000),
        (parse_rate_bps, "1e3kbit", 1_000_000),
        (parse_rate_bps, "+1tbit", 10**12),
        (parse_size_bytes, "64KiB", 65536),
        (parse_size_bytes, " 0.5 MiB ", 524288),
        (parse_size_bytes, "20MB", 20_000_000),
        (parse_size_bytes, "mb", None),
        (parse_size_bytes, "1mb", None),
        (parse_size_bytes, "1Kib", None),
        (parse_duration_ns, "5ms", 5_000_000),
        (parse_duration_ns, "0.25us", 250),
        (parse_duration_ns, "0s", 0),
        (parse_duration_ns, "0.0001us", None),
    ],
)
def test_examples(parse, text, value):
    if value is None:
        with pytest.raises(ValueError, match=r"must|unknown unit"):
            parse(text)
    else:
        assert parse(text) == value


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "must be"),
        ("100", "has no unit"),
        ("-5{u}", "must be >= 0"),
        ("1.5.5{u}", "must be"),
        ("nan{u}", "must be"),
        ("inf", "must be"),
        ("0x10{u}", "must be"),
        ("1_000{u}", "must be"),
        ("\u0661\u0660\u0660{u}", "must be"),
        ("1\u00b5s", "must be"),
        ("5furlong", "unknown unit 'furlong'; allowed: "),
        ("1e30{u}", "is too large"),
        ("1e999999999{u}", "is too large"),
        ("1e99999999999999999999999{u}", "is too large"),
        ("1e-9999999999{u}", "too many digits"),
        ("9" * 10_000 + "{u}", "is too large"),
        ("1." + "0" * 100 + "1{u}", "too many digits"),
        ("0.5{u}", "whole number of the smallest unit"),
    ],
)
def test_refusals_say_why(parse, text, reason):
    unit = {parse_rate_bps: "bit", parse_size_bytes: "B", parse_duration_ns: "ns"}[parse]
    with pytest.raises(ValueError) as refused:
        parse(text.format(u=unit))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused(parse, text):
    try:
        assert 0 <= parse(text) < 2**63
    except ValueError as refused:
        assert str(refused)


PREFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
WORDS = {"kilo": 10**3, "Mega": 10**6, "giga": 10**9}
DECIMAL = {p: f for p, f in {**PREFIXES, "K": 10**3, "M": 10**6, "G": 10**9}.items() if p}
MEANT = {
    parse_rate_bps: {
        **{f"{p}{w}{s}": f for p, f in PREFIXES.items() for w in ("b", "bits") for s in ("", "ps")},
        **{f"{p}b/sec": f for p, f in DECIMAL.items()},
        **{f"{p}B{s}": 8 * f for p, f in DECIMAL.items() for s in ("", "/s", "ps")},
        **{f"{p}B/s": 8 * f for p, f in BINARY.items()},
        **{f"{p}bit": f for p, f in {**BINARY, **WORDS}.items() if p not in DECIMAL},
        **dict(DECIMAL.items()),
        "GbE": 10**9,
        "gbti": 10**9,
    },
    parse_size_bytes: {
        **{f"{p}{w}": f for p, f in DECIMAL.items() for w in ("b", "B", "", "bytes")},
        **{f"{p.lower()}{w}": f for p, f in BINARY.items() for w in ("b", "B", "")},
        **{f"{p}bytes": f for p, f in WORDS.items()},
        **{f"{p}bit": f / 8 for p, f in DECIMAL.items()},
        "b": 1,
        "TiB": 2**40,
    },
    parse_duration_ns: {
        **dict.fromkeys(("usec", "µs", "μs", "microseconds", "US"), 10**3),
        **dict.fromkeys(("msec", "milliseconds", "MS", "m"), 10**6),
        **dict.fromkeys(("S", "sec", "seconds", "Seconds"), 10**9),
        **dict.fromkeys(("min", "minutes"), 60 * 10**9),
        **dict.fromkeys(("h", "hours"), 3600 * 10**9),
        "nsec": 1,
    },
}
WRITTEN = {
    "{n}": 1,
    "{n} ": 1,
    "+{n}": 1,
    "{n}e3": 1000,
    "{n}_000": 1000,
    "{n},000,000": 10**6,
    "{n},0": 1,
    "0,{n:03}": Fraction(1, 1000),
    ".{n:03}": Fraction(1, 1000),
    "{n}.": 1,
}
"""How a number may be written, and its factor."""


@pytest.mark.parametrize("parse", PARSERS)
@given(data=st.data(), n=st.integers(1, 999), written=st.sampled_from(list(WRITTEN)))
def test_what_is_suggested_is_what_was_meant(parse, data, n, written):
    unit = data.draw(st.sampled_from(list(MEANT[parse])))
    meant = n * WRITTEN[written] * Fraction(MEANT[parse][unit])
    text = f"{written.format(n=n)}{unit}"
    try:
        assert parse(text) == meant  # it was no mistake
    except ValueError as refused:
        suggested = re.findall(r"(?:did you mean|or) ([^ ?]+)", suggestion(refused))
        if meant.denominator == 1 and meant < 2**63:
            assert parse(suggested[0]) == meant, (text, str(refused))
        else:
            assert not suggested


def suggestion(refused):
    return str(refused).partition("; did you mean")[1] + str(refused).partition("; did you mean")[2]


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.from_regex(r"\A[-+]?[0-9 ,._']{1,9}(e[0-9])?[ ]?[kKmMgGtuns\u00b5iIbBpP/sS]{0,5}\Z"))
def test_what_is_suggested_can_be_read(parse, text):
    try:
        parse(text)
    except ValueError as refused:
        for each in re.findall(r"(?:did you mean|or) ([^ ?]+)", suggestion(refused)):
            assert 0 <= parse(each) < 2**63, (text, str(refused))


@pytest.mark.parametrize(
    ("parse", "text", "meant"),
    [
        (parse_rate_bps, "1Gbps", "1gbit?"),
        (parse_rate_bps, "1GB/s", "8gbit (a byte is 8 bits)?"),
        (parse_rate_bps, "1,000mbit", "1000mbit or 1.000mbit?"),
        (parse_size_bytes, "64KB", "64kB or 64KiB?"),
        (parse_size_bytes, "1,5MB", "1.5MB?"),
        (parse_duration_ns, "5m", "5ms or 300s (minutes)?"),
    ],
)
def test_what_may_be_two_things_is_told_as_two(parse, text, meant):
    with pytest.raises(ValueError) as refused:
        parse(text)
    assert str(refused.value).endswith(f"; did you mean {meant}")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_rate_bps, "5ms"),
        (parse_rate_bps, "-5Gbps"),
        (parse_rate_bps, "5 horses"),
        (parse_size_bytes, "20MB/s"),
        (parse_size_bytes, "7bit"),
        (parse_duration_ns, "5gbit"),
    ],
)
def test_nothing_is_suggested_where_nothing_fits(parse, text):
    with pytest.raises(ValueError) as refused:
        parse(text)
    assert "did you mean" not in str(refused.value)


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
    ("value", "text"), [("a", '"a"'), (7, "7"), (None, "None"), ("x" * 81, '"' + "x" * 80 + '..."')]
)
def test_a_value_stands_in_quotes_if_it_is_text_and_is_cut_off(value: object, text: str) -> None:
    assert quoted(value) == shown(value) == text


def test_a_number_that_python_can_not_write_is_named() -> None:
    assert shown(10**5000) == "a number of many digits"


PROFILES = ("alexnet", "googlenet", "inception_v3", "resnet50", "resnet50_b4", "vgg11")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("resnet", PROFILES, "resnet50"),
        ("ResNet-50", PROFILES, "resnet50"),
        ("inceptionv3", PROFILES, "inception_v3"),
        ("lenet", PROFILES, None),
        ("nosuch", PROFILES, None),
        ("maxmin", ("equal", "max_min"), "max_min"),
        ("clutser", ("cluster", "policy"), "cluster"),
        ("--wokers", ("--workers", "--workload"), "--workers"),
        ("dsp", ("asp", "bsp", "ssp"), None),
        ("re", ("random", "reverse"), None),
        ("s", ("star",), None),
        ("", ("star",), None),
        ("x" * 10_000, ("x" * 9_999,), None),
    ],
)
def test_what_is_taken_for_what(name, known, meant):
    assert nearest(name, known) == meant


words = st.text("abcd", max_size=6)


@given(words, words, words)
def test_typing_errors_count_edits(a, b, c):
    assert typing_errors(a, a) == 0
    assert typing_errors(a, b) == typing_errors(b, a) <= max(len(a), len(b))
    assert typing_errors(a, b) >= abs(len(a) - len(b))
    assert typing_errors(a + c, b + c) <= typing_errors(a, b)


@given(st.sampled_from(PROFILES), st.data())
def test_one_typing_error_finds_the_name(name, data):
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("qzx"))
    wrong = data.draw(
        st.sampled_from(
            [name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :]]
            + [name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]] * (at > 0)
        )
    )
    assert nearest(wrong, PROFILES) == (name if wrong != name else nearest(name, PROFILES))


def test_messages():
    assert unknown("gredy", ("given", "greedy")) == (
        "unknown; did you mean greedy? allowed: given, greedy"
    )
    assert unknown("all", ("given", "greedy")) == "unknown; allowed: given, greedy"
    assert unknown("x", ()) == "unknown; allowed: none"
    assert question("all", ("given",)) == ""
    many = [f"w{i}" for i in range(1024)]
    assert listed(many) == f"{', '.join(many[:19])}, ... (1024 in all)"
