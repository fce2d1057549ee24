"""Quantities with units: exact both ways, everything else refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
