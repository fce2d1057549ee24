"""The examples and lists of docs/reference/profile.md hold."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pytest

from netcosim.cli.lint_profile import main
from netcosim.workload import (
    Compute,
    Jitter,
    Parsing,
    Profile,
    Resource,
    Transfer,
    dump_profile,
    parse_profile,
)
from netcosim.workload.catalogue import load_profile, profile_names
from netcosim.workload.layers import ASSUMED_JITTER
from netcosim.workload.lint import lint
from netcosim.workload.profile_import import importer_names
from tests.netcosim.workload.test_catalogue import source_of
from tests.netcosim.workload.test_pipedream import LINES

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "profile.md").read_text("utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def rows(start: str) -> list[list[str]]:
    """The cells of the table that begins with this line."""
    body = PAGE.split(start, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in body]


def test_the_example_is_a_sound_profile_as_it_would_be_written():
    profile = parse_profile(block("json"), "page")
    assert lint(profile) == ()
    written = dump_profile(profile)
    assert json.loads(written) == json.loads(block("json"))
    for of_it in (written, block("json")):
        lines = [line.rstrip(",") for line in of_it.splitlines()]
        assert [json.loads(line)["name"] for line in lines if '"kind"' in line] == [
            op.name for op in profile.step.operations
        ]
        assert [tuple(json.loads(line)) for line in lines if re.match(r"\[\d", line)] == list(
            profile.duration_ns
        )


@pytest.mark.parametrize("record", [Profile, Resource, Compute, Transfer, Parsing, Jitter])
def test_every_key_is_explained(record):
    explained = set(re.findall(r"`(?:step\.)?(\w+)`", PAGE))
    assert set(record.model_fields) - explained <= {"step", "kind"}


def test_the_importers_are_those_there_are():
    found = rows("| importer | file | a tensor is | updates |")
    assert tuple(row[0] for row in found) == importer_names()


def test_the_catalogue_is_as_listed():
    found = rows("| name | batch | tensors | MiB each way |")
    assert tuple(row[0] for row in found) == profile_names()
    for name, batch, tensors, mib, compute_s, missing in found:
        profile, source = load_profile(name), source_of(name)
        pulls = [op for op in profile.step.transfers if op.source == "server"]
        assert (profile.batch, len(pulls)) == (int(batch), int(tensors))
        assert f"{sum(op.size_bytes for op in pulls) / 2**20:.1f}" == mib
        timed = zip(profile.step.computes, profile.duration_ns[0], strict=True)
        worker_ns = sum(ns for op, ns in timed if op.resource == "worker")
        assert f"{worker_ns / 1e9:.3f} s" == compute_s
        shares = (
            1 - sum(x[f"{short}_us_median"] for x in source["layers"]) / 1e6
            / source[f"{long}_s_median"]
            for short, long in (("fwd", "forward"), ("bwd", "backward"))
        )  # fmt: skip
        assert ", ".join(f"{100 * share:.1f} %" for share in shares) == missing


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("vgg16.graph.txt").write_text("\n".join(LINES))
    names: dict[str, object] = {}
    exec(compile(block("python"), "page", "exec"), names)
    assert isinstance(names["profile"], Profile)
    assert names["profile"].batch == 128


def test_the_command_reads_what_can_be_imported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("net.graph.txt").write_text("\n".join(LINES))
    words = block("console").split()
    assert words[:4] == ["$", "python", "-m", main.__module__]
    assert main(["net.graph.txt"]) == 0
    assert capsys.readouterr().out == "net.graph.txt: fine: 14 computations, 6 transfers\n"


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
