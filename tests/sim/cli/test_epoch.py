"""The command `netcosim epoch`: tables, the fastest configuration, a folder, mistakes."""

import csv
import io
import re
from pathlib import Path

import pytest

from netcosim.scenario.toml import parse_toml
from sim.analytic.yan.model import Reading, terms
from sim.analytic.yan.search import Found, optimize
from sim.analytic.yan.spec import configuration_of, named_spec, names, problem_of
from sim.cli.epoch import main
from sim.cli.epoch_picture import epoch_png

SPEC = """\
name = "small"

[input]
rows = 10

[[layer]]
name = "hidden"
kind = "full"
rows = 4

[[layer]]
name = "output"
kind = "full"
rows = 2

[machines]
count = 5
cores = 2
muladd_s = 1.0
act_s = 10.0
err_s = 100.0
value_bits = 1
rate = "1bit"
latency_s = [1000.0, 1000.0]
interference = [1.0, 1.5]

[job]
samples = 6
read_every = 3
write_every = 2

[configuration]
servers = 1
replicas = 1
workers = 2
layers = [[2, 1, 1], [2, 1, 1]]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SPEC)
    return path


def test_the_terms_of_the_given_configuration_are_told(spec, capsys):
    assert main([str(spec)]) == 0
    said = capsys.readouterr().out
    # As worked by hand in tests/sim/analytic/yan/test_terms.py: 6 x 2003 s of messages.
    assert "<workers, replicas, servers> = <2, 1, 1>: " in said
    lines = [line.split() for line in said.splitlines()]
    assert ["messages", "12018", "83", "%"] in lines
    assert "epoch, s" not in said


GIVEN = ("--optimize", "--reading", "reads=total", "--out")


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """The folder of the fastest configurations under another reading."""
    folder = tmp_path_factory.mktemp("epoch")
    (folder / "small.toml").write_text(SPEC)
    assert main([str(folder / "small.toml"), *GIVEN, str(folder / "a")]) == 0
    return folder / "a"


def test_the_fastest_is_found_and_kept_in_tables(kept):
    rows = list(csv.DictReader(io.StringIO((kept / "configurations.csv").read_text())))
    assert [row["configuration"] for row in rows] == ["given", "1", "2", "3", "4", "5", "6"]
    epochs = [float(row["epoch_s"]) for row in rows]
    assert epochs[1:] == sorted(epochs[1:])
    assert epochs[0] >= epochs[1]
    layers = list(csv.DictReader(io.StringIO((kept / "layers.csv").read_text())))
    assert [row["layer"] for row in layers[:2]] == ["hidden", "output"]
    assert layers[0]["map"] == "0 1"
    assert named_spec(str(kept / "spec.toml")) == named_spec(str(kept.parent / "small.toml"))


def test_a_folder_is_the_same_when_it_is_written_again(kept, tmp_path, capsys):
    assert main([str(kept.parent / "small.toml"), *GIVEN, str(tmp_path / "b")]) == 0
    said = capsys.readouterr().out
    assert "reads=total copies=R" in said
    assert "the fastest of each resources" in said
    for name in ("configurations.csv", "layers.csv", "pictures/epoch.png", "spec.toml"):
        assert (kept / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_the_picture_has_every_epoch_that_the_machines_allow_and_every_part(figures, spec):
    problem = problem_of(named_spec(str(spec)), Reading())
    shape = configuration_of(named_spec(str(spec)), problem)
    assert shape is not None
    found = Found(configuration=shape, terms=terms(problem, shape))
    epoch_png(problem, {"given": found})
    heat, bars = figures[0].axes
    # Five machines and two workers a replica: one replica with 1 to 3 servers, two with one.
    assert len(heat.texts) == 4
    widths = [bar.get_width() for bar in bars.patches]
    # As worked by hand: computing, updating, messages and reads.
    assert widths == pytest.approx([6 * 358, 6 * 24, 12018, 96])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "layers = [[2, 1, 1]",
            "layers = [[5, 1, 1]",
            "small.toml: layer hidden: parts: 5: 1 to 4",
        ),
        ("layers = [[2, 1, 1]", "layers = [[2, 3, 1]", "threads: 3: 1 to 2, a machine's cores"),
        ("servers = 1\nreplicas = 1", "servers = 0\nreplicas = 2", "servers: 0: at least 1"),
        ("rows = 4", "rows = 0", "layer[0].rows: 0: must be >= 1"),
        ("act_s", "actt_s", "machines.actt_s: 10.0: unknown key; did you mean act_s? allowed"),
        (
            "latency_s = [1000.0, 1000.0]",
            "latency_s = [1.0, 2.0, 3.0]",
            "machines.latency_s: 3 values",
        ),
        ("latency_s = [1000.0, 1000.0]", "latency_s = nan", "machines.latency_s[0]: nan: must be"),
        ('kind = "full"\nrows = 4', 'kind = "pooling"\nrows = 4', "window: is required"),
        ("[configuration]", "[configurations]", "unknown key; did you mean configuration?"),
        (SPEC[SPEC.index("[configuration]") :], "", "is required without --optimize"),
    ],
)
def test_a_wrong_spec_is_one_line(spec, capsys, old, new, said):
    assert old in SPEC
    spec.write_text(SPEC.replace(old, new, 1))
    refused(capsys, [str(spec)], said)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["mnis"], "did you mean mnist?"),
        (["no/such.toml"], "no/such.toml: can't be read: No such file or directory"),
        (["profile:alexnot"], "did you mean alexnet?"),
        (["mnist", "--reading", "reads=all"], "allowed: per_replica, total"),
        (
            ["mnist", "--reading", "reads=total", "--reading", "reads=per_replica"],
            "contradicts reads=total",
        ),
        (["mnist", "--optimize", "--reading", "slowest=segment"], "needs slowest=term"),
    ],
)
def test_a_wrong_option_is_one_line(capsys, arguments, said):
    refused(capsys, arguments, said)


def refused(capsys, arguments, said):
    assert main(arguments) == 2
    written = capsys.readouterr()
    assert (written.out, written.err.count("\n")) == ("", 1)
    assert said in written.err


def test_the_built_in_specs_have_what_the_paper_prints():
    connections = {}
    for name in ("mnist", "imagenet22k"):
        spec = named_spec(name)
        problem = problem_of(spec, Reading())
        shape = configuration_of(spec, problem)
        assert shape is not None
        found = terms(problem, shape)
        one = parse_toml("layers = [" + "[1, 1, 1]," * len(spec.layer) + "]", "one")
        alone = spec.model_copy(
            update={
                "configuration": spec.configuration.model_copy(
                    update={"layers": tuple(map(tuple, one["layers"])), "workers": 1}
                )
            }
        )
        whole = configuration_of(alone, problem)
        connections[name] = sum(row.connections for row in terms(problem, whole).layers)
        assert found.epoch_s > 0
        assert spec.assumed
    assert connections["mnist"] == pytest.approx(2.5e6, rel=0.01)
    assert 2e9 < connections["imagenet22k"] < 2.2e9
    assert [len(named_spec(name).layer) for name in connections] == [5, 8]


def test_the_pages_spec_and_commands_are_taken(tmp_path, capsys):
    page = (Path(__file__).parents[3] / "docs/background/yan.md").read_text("utf-8")
    path = tmp_path / "small.toml"
    path.write_text(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)[0])
    assert main([str(path)]) == 0
    assert main(["profile:alexnet"]) == 0
    capsys.readouterr()
    # "<4, 4, 4> with copied convolutions takes 3.85 s, and <2, 9, 2> in stripes 5.09 s"
    assert main(["mnist", "--optimize", "--reading", "reads=total"]) == 0
    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["given", "<2,", "9,", "2>", "5.0877", "server_link", "5.0877"] in [x[:7] for x in said]
    best = ["1", "<4,", "4,", "4>", "3.84743", "server_link", "3.84743", "1x16x4", "1x16x4"]
    assert best in [line[:9] for line in said]


@pytest.mark.parametrize(("reads", "best"), [("per_replica", (2, 9, 2)), ("total", (4, 4, 4))])
def test_the_fastest_for_imagenet_hangs_on_the_reading_of_the_reads(reads, best):
    problem = problem_of(named_spec("imagenet22k"), Reading(reads=reads))
    shape = optimize(problem)[0].configuration
    assert (shape.workers, shape.replicas, shape.servers) == best
    assert {(split.parts, split.copies) for split in shape.splits} == {(best[0], 1)}


def test_a_profile_is_one_layer_whose_passes_take_the_recorded_times():
    assert "profile:alexnet" in names()
    spec = named_spec("profile:alexnet")
    problem = problem_of(spec, Reading())
    shape = configuration_of(spec, problem)
    assert shape is not None
    found = terms(problem, shape)
    # Sums of the layers' medians in netcosim/workload/data/alexnet.json, for one of 8 examples.
    forward_s, backward_s = 0.0, 0.0
    from netcosim.workload.catalogue import load_profile

    profile = load_profile("alexnet")
    for operation, ns in zip(profile.step.computes, profile.duration_ns[0], strict=True):
        forward_s += ns / 8e9 * operation.name.endswith("/forward")
        backward_s += ns / 8e9 * operation.name.endswith("/backward")
    assert found.layers[0].forward_s == pytest.approx(forward_s, rel=1e-9)
    assert found.layers[0].backward_s == pytest.approx(backward_s, rel=1e-9)
    bits = 8 * sum(op.size_bytes for op in profile.step.transfers if op.source == "server")
    assert found.read_bits == bits
