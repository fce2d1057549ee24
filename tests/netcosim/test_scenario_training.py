"""Tables of a scenario for training, stragglers, a given order and placement."""

import itertools
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.scenario import (
    PolicySpec,
    StragglerSpec,
    TrainingSpec,
    dump_scenario,
    load_workload,
    parse_scenario,
    read_scenario,
)
from netcosim.workload import dump_profile
from netcosim.workload.catalogue import load_profile, profile_names
from tests.snapshots import assert_kept, refusal, refusals

GOOD = """\
name = "x"
[cluster]
[cluster.link]
rate = "100mbit"
[[workload]]
name = "w"
profile = "resnet50"
[[transport]]
name = "t"
sender = "h2"
receiver = "h2"
"""
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "scenario.md"


def test_what_is_not_given_has_its_default_and_is_not_written():
    scenario = parse_scenario(GOOD)
    assert scenario.training == TrainingSpec()
    assert (scenario.training.steps, scenario.training.warmup) == (1000, 50)
    assert (scenario.training.synchronisation, scenario.training.share) == ("asp", None)
    assert scenario.straggler == ()
    assert not {"training", "straggler"} & set(re.findall(r"\w+", dump_scenario(scenario)))


def test_what_is_given():
    scenario = parse_scenario(
        GOOD + "[training]\nsteps = 10\nwarmup = 0\nworkers = [1, 4, 2]\nboth_busy = 1\n"
        '[[straggler]]\nkind = "slow"\ncount = 2\noptions = { factor = 1.5, spread = [1, 0.5] }\n'
        '[[straggler]]\nkind = "leave"\nworkers = [3, 0]\n'
    )
    assert scenario.training.workers == (1, 4, 2)
    assert scenario.straggler[0].options == {"factor": 1.5, "spread": (1, 0.5)}
    assert [s.chosen(4) for s in scenario.straggler] == [(0, 1), (0, 3)]
    assert [s.chosen(1) for s in scenario.straggler] == [(0,), (0,)]
    assert StragglerSpec(kind="slow", workers="all").chosen(3) == (0, 1, 2)


@given(share=st.integers(1, 100).map(lambda n: n / 100), workers=st.integers(1, 300))
def test_a_part_of_the_workers_is_evenly_spread_and_does_not_hang_on_their_number(share, workers):
    spec = StragglerSpec(kind="slow", share=share)
    found = spec.chosen(workers)
    assert found[0] == 0
    exact = round(share * 100) * workers
    assert len(found) == -(-exact // 100)
    assert found == tuple(w for w in spec.chosen(2 * workers) if w < workers)
    gaps = {b - a for a, b in itertools.pairwise(found)}
    assert not gaps or max(gaps) - min(gaps) <= 1


BAD = {
    "no step after the warm-up": "[training]\nsteps = 20",
    "no step": "[training]\nsteps = 0",
    "a negative gap": "[training]\ngap = -1",
    "nothing left of a busy port": "[training]\nboth_busy = 0.0",
    "a port that gains": "[training]\nboth_busy = 1.5",
    "one number of workers": "[training]\nworkers = 4",
    "no number of workers": "[training]\nworkers = []",
    "a number of workers twice": "[training]\nworkers = [1, 1]",
    "nobody": "[training]\nworkers = [0]",
    "a half worker": "[training]\nworkers = [1.5]",
    "an unknown key": "[training]\nstep = 5",
    "a straggler nobody knows": '[[straggler]]\nkind = "slow"',
    "two ways to choose": '[[straggler]]\nkind = "slow"\nworkers = [1]\ncount = 1',
    "no part of the workers": '[[straggler]]\nkind = "slow"\nshare = 0',
    "a straggler by name": '[[straggler]]\nkind = "slow"\nworkers = "w0"',
    "a straggler before the first": '[[straggler]]\nkind = "slow"\nworkers = [-1]',
    "an option that is no number": (
        '[[straggler]]\nkind = "slow"\ncount = 1\noptions = { factor = nan }'
    ),
    "an option of a straggler at the wrong place": (
        '[[straggler]]\nkind = "slow"\ncount = 1\nfactor = 2.0'
    ),
    "an order without its table": '[policy]\norder = "given"',
    "a table without its order": "[policy]\npriorities = { a = 1 }",
    "a placement without its table": '[policy]\nplacement = "given"',
    "a table without its placement": "[policy]\nservers = { a = 1 }",
    "a server before the first": '[policy]\nplacement = "given"\nservers = { a = -1 }',
    "a priority that is no number": '[policy]\norder = "given"\npriorities = { a = "high" }',
}


def test_what_is_wrong_is_named_in_one_line():
    calls = {
        name: partial(parse_scenario, GOOD + more, source="job.toml") for name, more in BAD.items()
    }
    assert_kept(Path(__file__).parent / "snapshots/scenario-training.txt", refusals(calls))


class TestProfiles:
    def test_a_name_is_no_path(self):
        assert not any({".", "/"} & set(name) for name in profile_names())

    def test_one_from_the_catalogue(self):
        (workload,) = parse_scenario(GOOD).workload
        assert load_workload(workload) == load_profile("resnet50")

    @pytest.mark.parametrize("path", ["p.json", "sub/p"])
    def test_a_path_counts_from_the_scenario_file(self, tmp_path, path):
        file = tmp_path / "x.toml"
        file.write_text(
            GOOD.replace('"resnet50"', f'"{path}"')
            + '[[straggler]]\nkind = "trace"\ncount = 1\noptions = { file = "t.csv" }\n'
        )
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(dump_profile(load_profile("alexnet")))
        scenario = read_scenario(file)
        assert scenario.workload[0].profile == f"{tmp_path}/{path}"
        assert scenario.straggler[0].options["file"] == f"{tmp_path}/t.csv"
        assert load_workload(scenario.workload[0]) == load_profile("alexnet")
        assert parse_scenario(dump_scenario(scenario)) == scenario

    @pytest.mark.parametrize(
        ("profile", "line"),
        [
            ("vgg99", 'workload[w].profile: "vgg99": unknown; allowed: alexnet, '),
            ("/none.json", "/none.json: can't be read: No such file or directory"),
        ],
    )
    def test_one_that_is_not_there(self, profile, line):
        (workload,) = parse_scenario(GOOD.replace("resnet50", profile)).workload
        assert refusal(load_workload, workload).startswith(line)

    def test_a_burst_has_none(self):
        (workload,) = parse_scenario(GOOD.replace("profile", "set")).workload
        with pytest.raises(ScenarioError, match=r"workload\[w\]: is a burst; to train, give it a"):
            load_workload(workload)

    @pytest.mark.parametrize(
        ("more", "line"),
        [
            ('set = "resnet50"', "give one of 'set' (a name), 'tensors' (a list) and 'profile'"),
            ('direction = "push"', "'direction' is of bursts, and has no meaning with"),
            ('stagger = "1ms"', "'stagger' is of bursts, and has no meaning with 'profile'"),
        ],
    )
    def test_what_is_of_bursts_is_refused(self, more, line):
        text = GOOD.replace("[[transport]]", f"{more}\n[[transport]]")
        assert refusal(parse_scenario, text).startswith(f"scenario: workload[0]: {line}")


def test_tensors_of_any_name_can_be_given_a_server():
    policy = PolicySpec(placement="given", servers={"Mixed_5b.branch1x1/conv w": 1})
    assert policy.servers == {"Mixed_5b.branch1x1/conv w": 1}
    for name in ("", "x" * 201, "a\nb"):
        with pytest.raises(ValueError, match="must be a tensor's name"):
            PolicySpec(placement="given", servers={name: 1})


def test_the_reference_names_every_key_and_its_examples_are_valid():
    text = PAGE.read_text(encoding="utf-8")
    for model in (TrainingSpec, StragglerSpec):
        for key in model.model_fields:
            assert f"`{key}`" in text, key
    examples = [b for b in re.findall(r"```toml\n(.*?)```", text, re.S) if "[training]" in b]
    assert examples
    for example in examples:
        assert parse_scenario(GOOD + example).training != TrainingSpec()
