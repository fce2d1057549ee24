"""The examples and lists of docs/reference/profile.md hold."""

import json
import re
from pathlib import Path

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
