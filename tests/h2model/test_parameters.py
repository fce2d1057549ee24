"""Parameter files: which one stands for a release, and what a bad one is told."""

import hashlib
from importlib import resources

import pytest

from h2model import parameters as package
from h2model.candidates import (
    assumed,
    candidate_senders,
    credit_waits_for_reader,
    followed,
    not_studied,
    parameter_digests,
    reads_in_turn,
    receiver_model,
)
from h2model.parameters import is_studied, order_of, parameters, parse, releases
from netcosim.errors import ScenarioError
from netcosim.scenario import TransportSpec
from netcosim.scenario.unstudied_releases import not_studied_text

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


@pytest.mark.parametrize("release", ["1.17.0", "1.39.0", "1.59.5", "1.85.1"])
def test_a_file_holds_for_its_release_and_for_no_other(release):
    assert parameters("grpc", release).release == release
    assert is_studied("grpc", release)
    near = ".".join(release.split(".")[:2])
    for other in (near, f"{near}.9", f"{release}rc1"):
        assert not is_studied("grpc", other)
        assert parameters("grpc", other) is None


def test_without_a_release_it_is_the_newest_that_was_studied():
    assert parameters("grpc").release == releases("grpc")[-1] == "1.85.1"
    assert followed(grpc()) == followed(grpc(sender_release="1.85.1")) == "write_cycle"
    assert not not_studied(grpc())


@pytest.mark.parametrize(
    ("asked", "sender", "receiver"),
    [
        ("1.13.0", "1.17.0", "1.17.0"),
        ("1.27.2", "1.17.0", "1.17.0"),
        ("1.28.1", "1.39.0", "1.39.0"),  # equally far from both: the newer one
        ("1.40.0", "1.39.0", "1.39.0"),
        ("1.41.0", "1.39.0", "1.59.5"),  # from here on receivers limit their credit
        ("1.48.2", "1.39.0", "1.59.5"),
        ("1.49.1", "1.59.5", "1.59.5"),
        ("1.59.4", "1.59.5", "1.59.5"),
        ("1.60.1", "1.59.5", "1.59.5"),
        ("1.76.0", "1.59.5", "1.85.1"),  # up to 1.78.0 senders were seen to serve by visits
        ("1.80.0", "1.85.1", "1.85.1"),
        ("1.99.0", "1.85.1", "1.85.1"),
        ("2.0.0", "1.85.1", "1.85.1"),
    ],
)
def test_the_nearest_studied_release_by_what_the_wire_showed(asked, sender, receiver):
    both = grpc(sender_release=asked, receiver_release=asked)
    assert [(each.end, each.release, each.nearest) for each in not_studied(both)] == [
        ("sender", asked, sender),
        ("receiver", asked, receiver),
    ]
    assert set(parameter_digests(both)) >= {f"grpc-{sender}", f"grpc-{receiver}"}


def test_no_rule_of_a_release_that_nobody_studied_is_claimed():
    unknown = grpc(sender_release="1.62.3")
    assert followed(unknown) is None
    assert assumed(unknown) == "two_visit"
    assert assumed(grpc(sender_release="1.80.0")) == "write_cycle"
    assert [each.end for each in not_studied(unknown)] == ["sender"]
    ours = TransportSpec(name="t", sender="h2", receiver="h2", discipline="fifo")
    assert not not_studied(ours)


def test_candidates_for_such_a_release_have_the_constants_of_the_nearest_that_follow_them():
    near = {name: each.options for name, each in candidate_senders(grpc()).items()}
    old = {
        name: each.options
        for name, each in candidate_senders(grpc(sender_release="1.59.5")).items()
    }
    found = candidate_senders(grpc(sender_release="1.62.3"))
    assert set(found) == set(near)
    assert found["write_cycle"].options == near["write_cycle"]
    assert found["two_visit"].options == old["two_visit"]
    assert found["round_robin"].options == near["round_robin"]


def test_a_setting_that_only_some_releases_know_is_looked_for_in_these():
    whole = grpc(sender_release="1.76.0", whole_messages=True)
    assert assumed(whole) == "write_cycle"
    assert candidate_senders(whole)["write_cycle"].options["finish_first"] == 1
    for release in ("1.48.2", "1.76.0"):
        fixed = receiver_model(grpc(receiver_release=release, window="1MiB"), 1 << 20)
        assert (fixed.window_bytes, fixed.probes) == (1 << 20, False)


def test_how_an_end_that_was_not_studied_is_told():
    one = grpc(sender_release="1.62.3")
    assert not_studied_text(not_studied(one)) == (
        "grpcio 1.62.3 is not studied: nearest is grpcio 1.59.5"
    )
    both = grpc(sender_release="1.62.3", receiver_release="1.62.3")
    assert not_studied_text(not_studied(both)) == not_studied_text(not_studied(one))
    apart = grpc(sender_release="1.76.0", receiver_release="1.76.0")
    assert not_studied_text(not_studied(apart)) == (
        "grpcio 1.76.0 is not studied: nearest is grpcio 1.59.5, as a receiver 1.85.1"
    )
    different = grpc(sender_release="1.62.3", receiver_release="1.80.0")
    assert not_studied_text(not_studied(different)) == (
        "grpcio 1.62.3 is not studied: nearest is grpcio 1.59.5;"
        " grpcio 1.80.0 is not studied: nearest is grpcio 1.85.1"
    )
    assert not_studied_text(not_studied(grpc())) is None


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_release_before_all_that_were_looked_at_is_refused(end):
    with pytest.raises(ScenarioError, match=r'grpc release "1\.2": nothing is known .* 1\.13'):
        not_studied(grpc(**{f"{end}_release": "1.2"}))


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_release_that_there_can_not_be_is_refused(end):
    with pytest.raises(
        ScenarioError, match=r'grpc release "7\.3": there is none; studied are 1\.1'
    ):
        not_studied(grpc(**{f"{end}_release": "7.3"}))


def test_files_are_named_by_their_release_and_known_by_their_digest():
    assert {f"grpc-{release}.toml" for release in releases("grpc")} == set(FILES)
    for release in releases("grpc"):
        data = FILES[f"grpc-{release}.toml"].read_bytes()
        assert parameters("grpc", release).sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("version = 1", "version = 2", "version"),
        ('grants_from = "1.41"', 'since = "1.60"', "grants_from: Field required"),
        ('discipline = "write_cycle"', 'discipline = "best"', 'unknown discipline "best"'),
        ("head = 12", "headd = 12", 'no option "headd"'),
        ('credit = "grpc_progress"', 'credit = "x"', 'receiver.default.credit: "x": unknown'),
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
    assert credit_waits_for_reader(grpc())
    assert credit_waits_for_reader(grpc(receiver_release="1.59.5"))
    assert not credit_waits_for_reader(grpc(receiver_release="1.39.0"))
    assert not credit_waits_for_reader(grpc(flow_control=False))
    assert not credit_waits_for_reader(
        TransportSpec(name="t", sender="h2", receiver="h2", discipline="fifo", flow_control=False)
    )


def test_the_digests_of_both_ends_files():
    both = parameter_digests(grpc(sender_release="1.59.5"))
    assert set(both) == {"grpc-1.59.5", "grpc-1.85.1"}
