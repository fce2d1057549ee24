"""The variation of steps in docs/reference/profile.md follows from the package's data."""

import re
from collections.abc import Iterator
from statistics import mean, median
from typing import Any

import numpy as np
import pytest

from netcosim.workload.catalogue import profile_names
from netcosim.workload.layers import ASSUMED_JITTER
from tests.netcosim.workload.test_catalogue import source_of
from tests.netcosim.workload.test_profile_doc import PAGE, rows

# How far the least of so many normal draws is expected below their median, in standard deviations
# (Harter, Biometrika 48, 1961).
BELOW = {3: 0.84628, 4: 1.02938, 5: 1.16296, 6: 1.26721}

PASSES = (("forward", "fwd"), ("backward", "bwd"))
SECTION = PAGE.split("### How much steps vary", 1)[1].split("\n## ", 1)[0]


def below(source: dict[str, Any], long: str) -> float:
    """By what part of it the least of the passes is below the median."""
    return float(1 - source[f"{long}_s_min"] / source[f"{long}_s_median"])


def suggested(source: dict[str, Any], long: str) -> float:
    """The standard deviation of the pass, in parts of its median."""
    return below(source, long) / BELOW[source["iters"]]


def of_independent_layers(source: dict[str, Any], short: str) -> float:
    """Variation if each layer varied by itself, as its own least time suggests."""
    medians, least = (
        np.array([layer[f"{short}_us_{what}"] for layer in source["layers"]])
        for what in ("median", "min")
    )
    deviations = (medians - least) / BELOW[source["iters"]]
    return float(np.sqrt((deviations**2).sum()) / medians.sum())


def of_step(source: dict[str, Any], *, together: bool) -> float:
    """Of both passes, if they vary together or independently."""
    parts = [suggested(source, long) * source[f"{long}_s_median"] for long, _ in PASSES]
    whole = sum(source[f"{long}_s_median"] for long, _ in PASSES)
    return float((sum(parts) if together else np.hypot(*parts)) / whole)


def sources() -> Iterator[dict[str, Any]]:
    return map(source_of, profile_names())


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def test_the_least_of_a_few_draws_is_that_far_below_their_median():
    """And what one such distance suggests has the standard error that the page names."""
    rng = np.random.default_rng(3)
    relative = []
    for draws, expected in BELOW.items():
        drawn = rng.standard_normal((100_000, draws))
        found = np.median(drawn, axis=1) - drawn.min(axis=1)
        assert found.mean() == pytest.approx(expected, abs=5 * found.std() / np.sqrt(len(found)))
        assert f"{expected:.2f}" in SECTION
        relative.append(found.std() / expected)
    assert "a standard error of half to four fifths" in SECTION.replace("\n", " ")
    assert (round(min(relative), 1), round(max(relative), 1)) == (0.5, 0.8)


def test_the_table_is_what_the_data_suggest():
    found = rows("| profile | iterations | minimum below the median |")
    assert tuple(row[0] for row in found) == profile_names()
    for row, source in zip(found, sources(), strict=True):
        assert row[1:] == [
            str(source["iters"]),
            ", ".join(percent(below(source, long)) for long, _ in PASSES),
            ", ".join(percent(suggested(source, long)) for long, _ in PASSES),
            ", ".join(percent(of_independent_layers(source, short)) for _, short in PASSES),
        ]


def test_what_the_page_says_of_all_passes():
    all_of_them = [suggested(source, long) for source in sources() for long, _ in PASSES]
    apart, together = (
        median(of_step(source, together=with_it) for source in sources())
        for with_it in (False, True)
    )
    vary_more = sum(
        suggested(source, long) > of_independent_layers(source, short)
        for source in sources()
        for long, short in PASSES
    )
    text = re.sub(r"\s+", " ", SECTION)
    assert len(all_of_them) == 14
    assert (
        f"The 14 passes suggest {percent(min(all_of_them))} to {percent(max(all_of_them))}:"
        f" {percent(median(all_of_them))} in the median, {percent(mean(all_of_them))} on average."
    ) in text
    assert (
        f"a standard deviation of {percent(apart)} in the median, if they do, of"
        f" {percent(together)}."
    ) in text
    assert f"{vary_more} of the 14 passes vary more than independent layers would" in text


def test_the_assumed_jitter_is_within_what_they_suggest():
    all_of_them = [suggested(source, long) for source in sources() for long, _ in PASSES]
    assert ASSUMED_JITTER.model == "lognormal"
    assert ASSUMED_JITTER.scope == "step"
    assert median(all_of_them) < ASSUMED_JITTER.spread < mean(all_of_them)
    assert "one factor for a step, lognormal, 10 %" in SECTION
