"""Scaled profiles: proportions stay, sums are as asked for."""

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import build_scenario
from netcosim.scenario.profile import load_workload
from netcosim.workload import Profile
from netcosim.workload.catalogue import load_profile, profile_names
from netcosim.workload.lint import check
from netcosim.workload.scaled import scaled


def pulled(profile: Profile) -> list[int]:
    return [op.size_bytes for op in profile.step.transfers if op.source == "server"]


def pushed(profile: Profile) -> list[int]:
    return [op.size_bytes for op in profile.step.transfers if op.source == "worker"]


def computed_ns(profile: Profile) -> float:
    nodes = {resource.name: resource.node for resource in profile.step.resources}
    own = [nodes[op.resource] == "worker" for op in profile.step.computes]
    rows = [sum(d for d, mine in zip(row, own, strict=True) if mine) for row in profile.duration_ns]
    return sum(rows) / len(rows)


@pytest.mark.parametrize("name", profile_names())
def test_sums_are_as_asked_for(name: str) -> None:
    before = load_profile(name)
    after = scaled(before, 4_000_000, 320_000_000)
    check(after, name)
    assert sum(pulled(after)) == 4_000_000
    assert sorted(pushed(after)) == sorted(pulled(after))
    assert computed_ns(after) == pytest.approx(320e6, rel=1e-5)
    factor = 4e6 / sum(pulled(before))
    for small, large in zip(pulled(after), pulled(before), strict=True):
        assert small == pytest.approx(large * factor, abs=2)
    share = [row[0] / sum(row) for profile in (before, after) for row in profile.duration_ns[:1]]
    assert share[0] == pytest.approx(share[1], rel=1e-3)


def test_without_either_it_is_as_recorded() -> None:
    profile = load_profile("alexnet")
    assert scaled(profile, None, None) is profile


def workload(**settings: object) -> Profile:
    scenario = build_scenario(
        {
            "name": "x",
            "cluster": {"topology": "pair", "link": {"rate": "1gbit"}},
            "workload": [{"name": "job", "profile": "alexnet", **settings}],
            "transport": [{"name": "h2", "sender": "h2", "receiver": "h2"}],
        }
    )
    return load_workload(scenario.workload[0])


def test_a_scenario_scales_its_profile() -> None:
    assert sum(pulled(workload(total="4MB"))) == 4_000_000
    assert computed_ns(workload(computation="100ms")) == pytest.approx(1e8, rel=1e-5)


def test_fewer_bytes_than_messages_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"^workload\[job\]\.total: 3: must be >= 16"):
        workload(total="3B")
