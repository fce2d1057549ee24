"""Real networks in private namespaces: built as planned, shaped as asked for, gone afterwards."""

import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from emu.network.kernel import probe_kernel
from netcosim.metrics import jain_index
from tests.emu.netem import guest
from tests.inside import inside

pytestmark = [pytest.mark.root, pytest.mark.emulation]
CASES = "tests.emu.network.cases"

TOPOLOGIES: list[dict[str, Any]] = [
    {"topology": "pair"},
    {"topology": "star", "servers": 2, "workers": 3},
    {"topology": "racks", "servers": 2, "workers": 2},
    {"topology": "unequal", "workers": 2, "links": {"w1": {"rate": "10mbit"}}},
]


def in_guest(target: str, **given: Any) -> Any:
    """The same in virtual time: shares are those of the queues, whatever else the machine does."""
    return guest.answers({target: given})[target]


@pytest.mark.parametrize("asked", TOPOLOGIES, ids=lambda asked: str(asked["topology"]))
def test_every_host_switch_and_link_is_a_mininet_object(asked: dict[str, Any]) -> None:
    found = inside(f"{CASES}:walk", **asked)
    assert sorted(found["hosts"] + found["switches"]) == found["planned_nodes"]
    assert found["links"] == found["planned_links"]
    assert found["strangers"] == []
    for host, interfaces in found["interfaces"].items():
        assert interfaces == sorted(["lo", found["named"][host]])
    assert found["answered"]
    assert all(found["answered"])


def test_a_closed_network_leaves_nothing_in_its_namespace() -> None:
    assert inside(f"{CASES}:host_interfaces_after") == ["lo"]


@pytest.mark.parametrize(("count", "rate"), [(2, "100mbit"), (4, "40mbit")])
def test_workers_share_a_fair_link_equally_and_use_all_of_it(count: int, rate: str) -> None:
    found = in_guest(
        f"{CASES}:shares",
        topology="star",
        workers=count,
        link={"rate": "1gbit"},
        links={"s0": {"rate": rate}},
    )
    assert len(found["bytes"]) == count
    assert jain_index(list(found["bytes"].values())) >= 0.99
    assert found["drops"] == 0
    assert found["sent"] >= found["received"]


def test_a_fair_link_is_work_conserving() -> None:
    found = in_guest(
        f"{CASES}:shares",
        topology="unequal",
        workers=2,
        link={"rate": "40mbit"},
        links={"w1": {"rate": "4mbit"}},
    )
    # Max-min: 4 Mbit/s for the slow one, all the rest for the other.
    assert found["usual_bps"]["w0"] / found["usual_bps"]["w1"] == pytest.approx(9, rel=0.01)


def test_a_bounded_queue_drops_what_does_not_fit() -> None:
    found = inside(
        f"{CASES}:shares",
        topology="star",
        workers=1,
        link={"rate": "100mbit"},
        links={"s0": {"rate": "10mbit", "model": "fifo", "queue": "6056B"}},
    )
    assert found["drops"] > 0
    assert found["received"] > 0


def test_a_class_that_differs_from_the_plan_is_named() -> None:
    problem = inside(f"{CASES}:tampered")
    assert problem.startswith("tc class add dev b0-eth1 parent 2:1 classid 2:10 htb rate")
    assert "rate is 5000000 bit/s" in problem


def test_tcp_settings_decide_what_lies_past_a_blocked_sender() -> None:
    plain = inside(f"{CASES}:blocked_bytes", options={}, tcp={"congestion_control": "reno"})
    assert plain["congestion_control"] == "reno"
    assert plain["trips"] > 0
    small = inside(f"{CASES}:blocked_bytes", options={}, tcp={"send_buffer": "16KiB"})
    assert small["congestion_control"] == "cubic"
    lowat = inside(f"{CASES}:blocked_bytes", options={"notsent_lowat": 4096})
    usual = statistics.median(plain["queued_bytes"])
    assert 0 < statistics.median(small["queued_bytes"]) < usual
    assert 0 < statistics.median(lowat["queued_bytes"]) < usual
    record = small["record"]
    assert record["hosts"]["s0"]["sysctls"]["net/ipv4/tcp_wmem"] == "4096 16384 16384"
    for end in record["links"]["link"]["ends"].values():
        assert end["offloads"] == {
            "tcp-segmentation-offload": "off",
            "generic-segmentation-offload": "off",
            "generic-receive-offload": "off",
            "gso_max_segs": "1",
        }


def test_a_network_is_measured_before_it_is_used() -> None:
    found = inside(f"{CASES}:verified", topology="star", workers=2, link={"rate": "20mbit"})
    measured = found["measured"]
    assert [path["worker"] for path in measured["paths"]] == ["w0", "w1"]
    for path in measured["paths"]:
        assert path["congestion_control"] == "cubic"
        assert path["round_trip_min_ns"] > 0
        assert path["both_down_bps"] > 0
        assert path["both_up_bps"] > 0
    (share,) = measured["shares"]
    assert set(share["bytes_by_worker"]) == {"w0", "w1"}


def test_what_the_kernel_lacks_is_refused_before_anything_is_built() -> None:
    kernel = probe_kernel(("no-such-control",))
    settings: dict[str, dict[str, Any]] = {
        "netem": {"link": {"rate": "100mbit", "delay": "5ms"}},
        "openvswitch": {"topology": "star", "switch": "openvswitch"},
        "congestion control no-such-control": {"tcp": {"congestion_control": "no-such-control"}},
    }
    lacking = [feature for feature in settings if not kernel.has(feature)]
    assert "congestion control no-such-control" in lacking
    for feature in lacking:
        kind, said, *left = inside(f"{CASES}:refused", **settings[feature])
        assert kind == "EnvironmentRefusedError"
        assert f"needs {feature}, which this kernel lacks: {kernel.missing[feature]}" in said
        assert left == ["lo"]


def test_a_network_outside_of_namespaces_is_refused() -> None:
    code = (
        "from tests.emu.network.cases import build_spec, cluster, open_network\n"
        "from netcosim.errors import EnvironmentRefusedError\n"
        "try:\n"
        "    open_network(build_spec(cluster())).__enter__()\n"
        "except EnvironmentRefusedError as problem:\n"
        "    print(problem)\n"
    )
    said = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert "only inside private namespaces" in said


def test_64_hosts_come_up() -> None:
    found = inside(f"{CASES}:start_64_hosts")
    print(f"64 hosts were up after {found['up_s']:.1f} s")
    assert found["hosts"] == 64
    assert found["ping"] == 0


def test_a_killed_shell_is_named_and_does_not_stop_the_end() -> None:
    assert inside(f"{CASES}:shell_killed_while_up") == ["w0: its Mininet shell died"] * 2


def test_closing_kills_what_runs_in_hosts() -> None:
    found = inside(f"{CASES}:children_after_close")
    assert found["before"] >= 2
    assert found["after"] == 0
    assert found["returncode"] == -9


def test_two_networks_side_by_side_do_not_meet() -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        both = list(pool.map(lambda _: inside(f"{CASES}:names_in_use", seconds=0.5), range(2)))
    assert both == [["b0", "b0-eth1", "b0-eth2", "b0-eth3", "lo"]] * 2


def test_the_host_stays_as_it_was() -> None:
    before = _host()
    inside(f"{CASES}:walk", topology="star", workers=2)
    assert _host() == before


def _host() -> dict[str, Any]:
    """Sysctls that Mininet or we might touch, interfaces, mounts, cgroup folders."""
    sysctls = {}
    for pattern in (
        "fs/file-max",
        "kernel/pty/max",
        "net/core/*mem*",
        "net/core/netdev_max_backlog",
        "net/core/rps_*",
        "net/ipv4/tcp_*",
        "net/ipv4/neigh/default/gc_thresh*",
        "net/ipv4/route/max_size",
        "net/ipv6/conf/*/disable_ipv6",
        "net/bridge/*",
    ):
        for path in Path("/proc/sys").glob(pattern):
            try:
                sysctls[str(path)] = path.read_text()
            except OSError:  # write-only
                continue
    return {
        "sysctls": {k: v for k, v in sysctls.items() if "fastopen_key" not in k},
        "interfaces": sorted(path.name for path in Path("/sys/class/net").iterdir()),
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "cgroups": sorted(str(path) for path in Path("/sys/fs/cgroup").glob("*/*/")),
    }
