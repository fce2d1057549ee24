"""Parameter files: which one stands for a release, and what a bad one is told."""

import hashlib
from importlib import resources

import pytest

from h2model import parameters as package
from h2model.candidates import (
    accepts_late,
    candidate_senders,
    followed,
    parameter_digests,
    reads_in_turn,
    receiver_model,
)
from h2model.parameters import order_of, parameters, parse, releases
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec

FILES = {
    file.name: file
    for file in resources.files(package.__name__).iterdir()
    if file.name.endswith(".toml")
}
GOOD = FILES["grpc-1.85.1.toml"].read_text("utf-8")


def grpc(**more):
    return TransportSpec(name="t", sender="grpc", receiver="grpc", **more)


def test_releases_compare_as_numbers():
    assert order_of("1.9.3") < order_of("1.10") < order_of("1.60.0rc1")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (None, "1.85.1"),
        ("newest", "1.85.1"),
        ("1.60.0", "1.85.1"),
        ("1.99.0", "1.85.1"),
        ("1.59.5", "1.59.5"),
        ("1.48.0", "1.59.5"),
        ("1.39.0", "1.39.0"),
        ("1.17.0", "1.17.0"),
        ("1.13.0", "1.17.0"),
    ],
)
def test_the_nearest_file_stands_for_a_release(asked, found):
    assert parameters("grpc", asked).release == found


def test_a_release_before_all_files_is_refused():
    with pytest.raises(ScenarioError, match=r'grpc release "1\.2": nothing is known .* 1\.13'):
        parameters("grpc", "1.2")


def test_files_are_named_by_their_release_and_known_by_their_digest():
    assert {f"grpc-{release}.toml" for release in releases("grpc")} == set(FILES)
    for release in releases("grpc"):
        data = FILES[f"grpc-{release}.toml"].read_bytes()
        assert parameters("grpc", release).sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("version = 1", "version = 2", "version"),
        ('discipline = "write_cycle"', 'discipline = "best"', 'unknown discipline "best"'),
        ("head = 12", "headd = 12", 'no option "headd"'),
        ('credit = "grpc_progress"', 'credit = "x"', 'receiver.default.credit: "x": must be'),
        ('window = "4MiB"', 'window = "4"', "receiver.default.window"),
        ("[sender.default]", "[sender.usual]", "need a rule named default"),
        ("probes = true", "probe = true", "receiver.default.probe"),
        ("[receiver.off]", "[receiver.off", "bad.toml:"),
    ],
)
def test_a_bad_file_is_told_in_one_line(old, new, line):
    with pytest.raises(ScenarioError) as told:
        parse(GOOD.replace(old, new, 1), "bad.toml")
    assert str(told.value).startswith("bad.toml: ")
    assert line in str(told.value)
    assert "\n" not in str(told.value)


def test_the_setting_decides_which_rule_a_transport_follows():
    assert followed(grpc()) == "write_cycle"
    assert followed(grpc(sender_release="1.59.5")) == "two_visit"
    assert followed(grpc(sender_release="1.17.0", flow_control=False)) == "fifo"
    assert (
        followed(TransportSpec(name="t", sender="h2", receiver="h2", discipline="fifo")) == "fifo"
    )
    whole = candidate_senders(grpc(flow_control=False, whole_messages=True))["write_cycle"]
    assert whole.options["finish_first"] == 1


def test_the_receivers_release_decides_windows_and_frames():
    probing = receiver_model(grpc(), None)
    assert (probing.window_bytes, probing.probes, probing.grpc) == (4 << 20, True, True)
    fixed = receiver_model(grpc(window="1MiB"), 1 << 19)
    assert (fixed.window_bytes, fixed.connection_window_bytes) == (1 << 19, 1 << 19)
    assert candidate_senders(grpc())["fifo"].frame_bytes == 4 << 20
    assert candidate_senders(grpc(window="1MiB"))["fifo"].frame_bytes == 16384


def test_only_releases_without_asyncio_read_pushed_calls_in_turn():
    old = {"sender_release": "1.17.0", "receiver_release": "1.17.0"}
    assert reads_in_turn(grpc(**old))
    assert reads_in_turn(grpc(**old, flow_control=False))
    assert receiver_model(grpc(**old), None, listens=True).one_reader
    assert not reads_in_turn(grpc(receiver_release="1.39.0"))
    assert not reads_in_turn(grpc())


def test_receivers_that_limit_their_progress_give_credit_when_a_call_is_read():
    assert accepts_late(grpc())
    assert accepts_late(grpc(receiver_release="1.59.5"))
    assert not accepts_late(grpc(receiver_release="1.39.0"))
    assert not accepts_late(grpc(flow_control=False))
    assert not accepts_late(
        TransportSpec(name="t", sender="h2", receiver="h2", discipline="fifo", flow_control=False)
    )


def test_the_digests_of_both_ends_files():
    both = parameter_digests(grpc(sender_release="1.59.5"))
    assert set(both) == {"grpc-1.59.5", "grpc-1.85.1"}
