"""Transports as the simulator sees them."""

from typing import Any

import numpy as np
import pytest

from emu.endpoints.pairing import check_transport
from h2model import disciplines
from h2model.parameters import parameters
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec
from sim.plan import Sending
from sim.settings import CHUNK_BYTES, sending_of, unseen_stalls
from tests.sim.engines import ran
from tests.sim.naive.plans import Op, down, make_plan

MIB = 2**20


def transport(sender: str = "grpc", receiver: str = "grpc", **more: Any) -> TransportSpec:
    return TransportSpec.model_validate(
        {"name": "t", "sender": sender, "receiver": receiver, **more}
    )


def h2(discipline: str = "two_visit", **more: Any) -> TransportSpec:
    return transport("h2", "h2", discipline=discipline, **more)


def options(sending: Sending) -> dict[str, int]:
    names = disciplines.load(sending.discipline).OPTIONS
    return dict(zip(names, sending.options, strict=True))


class TestOurOwn:
    @pytest.mark.parametrize("name", disciplines.names())
    def test_follows_what_it_is_given(self, name):
        found = sending_of(h2(name, window="1MiB"))
        assert (found.discipline, found.window_bytes) == (name, MIB)
        assert options(found) == disciplines.load(name).OPTIONS
        assert found.connection_window_bytes is None
        assert found.chunk_bytes == (CHUNK_BYTES if name == "priority" else 2**31 - 1)

    def test_options_are_in_the_order_of_the_discipline(self):
        found = sending_of(h2("round_robin", options={"quantum": 5000}))
        assert found.options == (5000,)
        found = sending_of(h2(options={"frame": 20000, "requeue_at_completion": True}))
        assert found.options == (1, 0, 0, 20000)

    def test_windows(self):
        assert sending_of(h2()).window_bytes == 65535
        assert sending_of(h2(flow_control=False)).window_bytes is None
        assert sending_of(h2(window="1MiB"), 1000).window_bytes == 1000
        assert sending_of(h2(connection_window="2MiB")).connection_window_bytes == 2 * MIB


@pytest.mark.parametrize(("spec", "each"), [(h2(), False), (transport(), True)])
def test_a_kernel_s_buffer_is_filled_as_the_kind_of_endpoint_writes(spec, each):
    found = sending_of(spec, buffer_bytes=100_000)
    assert (found.buffer_bytes, found.writes_each) == (100_000, each)
    assert found.chunk_bytes == 16_384
    assert not sending_of(spec).writes_each


class TestGrpc:
    @pytest.mark.parametrize(
        ("release", "discipline", "written"),
        [
            (None, "write_cycle", {"head": 12, "tail": 25, "finish_first": 0}),
            ("1.59.5", "two_visit", {"write": 131072, "write_max": 16777216}),
            ("1.39.0", "two_visit", {"write": MIB, "write_max": 0}),
            ("1.17.0", "two_visit", {"write": MIB, "write_max": 0}),
        ],
    )
    def test_follows_its_release(self, release, discipline, written):
        ends = {} if release is None else {"sender_release": release, "receiver_release": release}
        found = sending_of(transport(**ends))
        assert found.discipline == discipline
        assert options(found).items() >= written.items()
        assert options(found)["frame"] == 4 * MIB  # what the receiver allows
        assert (found.window_bytes, found.connection_window_bytes) == (4 * MIB, 4 * MIB)

    def test_its_settings(self):
        whole = sending_of(transport(whole_messages=True, flow_control=False))
        assert (whole.discipline, options(whole)["finish_first"]) == ("write_cycle", 1)
        assert (whole.window_bytes, whole.connection_window_bytes) == (None, None)
        off = transport(sender_release="1.39.0", receiver_release="1.39.0", flow_control=False)
        assert sending_of(off).discipline == "fifo"

    @pytest.mark.parametrize("release", ["1.39.0", "1.85.1"])
    def test_a_window_that_holds_is_the_window(self, release):
        found = sending_of(transport(receiver_release=release, window="256KiB"))
        assert (found.window_bytes, found.connection_window_bytes) == (2**18, 2**18)
        assert sending_of(transport(window="256KiB"), 999).window_bytes == 999

    @pytest.mark.parametrize("release", ["1.12", "0.9"])
    def test_one_that_nobody_has_looked_at(self, release):
        with pytest.raises(ScenarioError, match=r"nothing is known of releases before 1\.13"):
            sending_of(transport(sender_release=release))
        with pytest.raises(ScenarioError, match=r"nothing is known of releases before 1\.13"):
            sending_of(transport(receiver_release=release))

    @pytest.mark.parametrize("field", [{"discipline": "fifo"}, {"options": {"quantum": 1}}])
    def test_can_t_be_told_what_to_do(self, field):
        (name,) = field
        with pytest.raises(ScenarioError) as refused:
            sending_of(transport(**field))
        assert str(refused.value).startswith(f'transport[t].{name}: "')
        assert str(refused.value).endswith("a grpc sender has no such setting; its release decides")


RELEASES = (
    *("1.13.0", "1.17.0", "1.39.0", "1.41.0", "1.47.5", "1.48.2", "1.51.3", "1.52.0", "1.59.5"),
    *("1.60.1", "1.73.1", "1.74.0", "1.85.1"),
)


def refused(check: Any, spec: TransportSpec) -> bool:
    try:
        check(spec)
    except ScenarioError:
        return True
    return False


@pytest.mark.parametrize("receives", [*RELEASES, None])
@pytest.mark.parametrize("sends", [*RELEASES, None])
def test_both_worlds_refuse_the_same_settings(sends, receives):
    settings: list[dict[str, Any]] = [
        {},
        {"window": "65535B"},
        {"window": "1MiB"},
        {"flow_control": False},
        {"whole_messages": True},
        {"whole_messages": True, "flow_control": False},
    ]
    ends = {k: v for k, v in (("sender_release", sends), ("receiver_release", receives)) if v}
    for setting in settings:
        spec = transport(**ends, **setting)
        assert refused(sending_of, spec) == refused(check_transport, spec), (ends, setting)
    own = transport("h2", "grpc", discipline="fifo", flow_control=False, receiver_release="1.39.0")
    assert refused(sending_of, own) and refused(check_transport, own)


SETTINGS: tuple[dict[str, Any], ...] = (
    *({"connection_window": "1MiB"}, {"credit": "half"}, {"credit": "nosuch"}),
    *({"frame_size": "32KiB"}, {"window": "64KiB"}, {"whole_messages": True}),
    *({"sender_release": "1.85.1"}, {"receiver_release": "1.85.1"}),
    *({"sender_script": "x.py"}, {"receiver_script": "x.py"}),
)


@pytest.mark.parametrize("receiver", ["grpc", "h2"])
@pytest.mark.parametrize("sender", ["grpc", "h2"])
def test_both_worlds_refuse_what_neither_end_has(sender, receiver):
    given = {"discipline": "fifo"} if sender == "h2" else {}
    for setting in ({}, *SETTINGS):
        for off in ({}, {"flow_control": False}):
            if off and "window" in setting:
                continue  # no scenario can say so
            spec = transport(sender, receiver, **given, **setting, **off)
            wrong = refused(check_transport, spec)
            assert refused(sending_of, spec) == wrong, (sender, receiver, setting, off)


def test_without_a_release_it_is_the_newest_that_is_known():
    newest = parameters("grpc").release
    named = transport(sender_release=newest, receiver_release=newest)
    assert sending_of(transport()) == sending_of(named)


class TestRefused:
    @pytest.mark.parametrize(
        ("spec", "line"),
        [
            (transport("script", "h2"), "transport[t].discipline: is required: what a sender of"),
            (transport("h2", "h2"), "transport[t].discipline: an h2 sender needs one of fifo, "),
            (h2("three"), 'transport[t].discipline: unknown discipline "three"; allowed: fifo'),
            (h2("fifo", options={"x": 1}), "transport[t].options: fifo has no option"),
            (transport("quic"), 'transport[t].sender: "quic": unknown; allowed: grpc, h2, script'),
            (
                transport("grpc", "quic"),
                'transport[t].receiver: "quic": unknown; allowed: grpc, h2, script',
            ),
            (
                h2("fifo", whole_messages=True),
                "transport[t].whole_messages: True: an h2 sender has no such setting",
            ),
            (
                transport("grpc", "grpc", connection_window="1MiB"),
                "transport[t].connection_window: 1048576: grpc sender and grpc receiver have no"
                " such setting",
            ),
            (
                h2("fifo", flow_control=False, credit="half"),
                'transport[t].credit: "half": has no meaning with flow_control = false',
            ),
            (h2("fifo", credit="x"), 'transport[t].credit: "x": unknown; allowed: fixed, grpc_pr'),
        ],
    )
    def test_in_one_line(self, spec, line):
        with pytest.raises(ScenarioError) as refused:
            sending_of(spec)
        assert str(refused.value).startswith(line)
        assert len(str(refused.value).splitlines()) == 1

    def test_a_script_that_says_what_it_does_is_simulated(self):
        found = sending_of(transport("script", "h2", discipline="round_robin"))
        assert found.discipline == "round_robin"


SENDINGS = {
    **{name: h2(name, window="64KiB") for name in disciplines.names()},
    **{f"{name}-narrow": h2(name, connection_window="65535B") for name in disciplines.names()},
    "newest": transport(),
    "small": transport(window="64KiB"),
    "whole": transport(whole_messages=True),
    "1.59": transport(sender_release="1.59.5", receiver_release="1.59.5"),
    "1.39": transport(sender_release="1.39.0", receiver_release="1.39.0"),
    "1.39-small": transport(sender_release="1.39.0", receiver_release="1.39.0", window="64KiB"),
    "1.39-off": transport(sender_release="1.39.0", receiver_release="1.39.0", flow_control=False),
}


@pytest.mark.parametrize("name", SENDINGS)
def test_no_transport_gets_stuck_and_none_is_slower_than_the_link(name):
    """Windows decide the order, not the rate: three messages take what their bytes need."""
    sizes = (300_000, 100_000, 200_000)
    plan = make_plan(
        [Op(name=f"op{i}", at=down(), size_bytes=size) for i, size in enumerate(sizes)]
    )
    engine = ran(plan, sending=sending_of(SENDINGS[name]))
    assert engine.steps().end_ns.tolist() == pytest.approx([sum(sizes)])


def stalls(rate_bps: int, delay_ms: tuple[int, ...], spec: TransportSpec) -> str:
    workers = np.full(len(delay_ms), rate_bps, dtype=np.int64)
    delay_ns = np.array(delay_ms, dtype=np.int64) * 1_000_000
    return unseen_stalls(sending_of(spec), np.array([rate_bps, 10]), workers, delay_ns)


def test_a_window_below_what_the_path_holds_is_told():
    """50 Mbit/s for 20 ms are 125,000 bytes."""
    assert stalls(50_000_000, (1, 10, 0), h2("fifo", window="64KiB")) == (
        "a window of 64KiB is less than what the path of w1 holds (125 kB: 50mbit, 20ms there and"
        " back); a real connection may stall there, a simulated one does not"
    )
    assert stalls(50_000_000, (10,), h2("fifo", window="124999B"))
    assert not stalls(50_000_000, (10,), h2("fifo", window="125000B"))
    assert stalls(50_000_000, (10,), h2("fifo", window="1MiB", connection_window="100kB"))
    assert not stalls(50_000_000, (10_000,), h2("fifo", flow_control=False))
    assert not stalls(50_000_000, (0,), h2("fifo", window="64KiB"))


def test_the_slower_end_decides_what_a_path_holds():
    one = (np.array([10_000_000]), np.array([50_000_000]), np.array([10_000_000]))
    assert "25 kB: 10mbit" in unseen_stalls(sending_of(h2("fifo", window="20kB")), *one)
    assert not unseen_stalls(sending_of(h2("fifo", window="26kB")), *one)
