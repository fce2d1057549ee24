"""Settings of both ends of a connection, and refusals."""

import ast
import json
import sys
from functools import partial
from pathlib import Path

import pytest

import emu.remote
from emu.endpoints.pairing import check_transport, missing, widest_windows
from emu.endpoints.releases import newest
from netcosim.errors import EndpointError, ScenarioError
from tests.snapshots import assert_kept, refusals

from .conftest import SERVER, WORKER, plan, transport


def config(end) -> dict:
    return json.loads(end.argv[2])


@pytest.mark.parametrize(
    ("direction", "asks", "sends"),
    [("pull", "w", "s"), ("pull-back", "s", "w"), ("push", "w", "w")],
)
def test_who_asks_who_sends(direction, asks, sends) -> None:
    planned = plan(transport("h2", "grpc", window=9999), direction)
    assert planned.requester.host == asks
    assert planned.responder.host == ({"w", "s"} - {asks}).pop()
    assert planned.sender_host == sends
    answers = {"w": WORKER, "s": SERVER}[planned.responder.host]
    for end in (planned.requester, planned.responder):
        assert config(end)["address"] == answers.address
        settings = config(end)["settings"]
        if end.host == sends:
            assert end.argv[1].endswith("h2_endpoint.py")
            assert settings["discipline"] == "fifo"
            assert "window_bytes" not in settings
        else:
            assert end.argv[1].endswith("grpc_endpoint.py")
            assert settings == {"flow_control": True, "window_bytes": 9999, "release": None}


def test_whole_messages_is_for_the_sender_alone() -> None:
    planned = plan(transport("grpc", "grpc", flow_control=False, whole_messages=True))
    assert planned.responder.environment["GRPC_EXPERIMENTS"] == "prioritize_finished_requests"
    assert "GRPC_EXPERIMENTS" not in planned.requester.environment


def test_surroundings_do_not_leak_in(monkeypatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("GRPC_EXPERIMENTS", "something")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    environment = plan(transport("grpc", "grpc")).responder.environment
    assert not {"http_proxy", "GRPC_EXPERIMENTS", "PYTHONPATH"} & set(environment)


OLD = {"receiver_release": "1.39.0", "flow_control": False}
MIDDLE = {"receiver_release": "1.59.5"}
REFUSED = {
    "a window that gRPC takes beyond HTTP/2's": ("h2", "grpc", {"window": 2**31 - 1}),
    "an unknown sender": ("tcp", "h2", {}),
    "an unknown receiver": ("h2", "quic", {}),
    "a release of an h2 sender": ("h2", "grpc", {"sender_release": "1.39.0"}),
    "a release of an h2 receiver": ("grpc", "h2", {"receiver_release": "1.39.0"}),
    "a script beside a sender": ("grpc", "h2", {"sender_script": "x"}),
    "no script of a sender": ("script", "h2", {}),
    "no script of a receiver": ("h2", "script", {}),
    "a script that is not there": ("script", "grpc", {"sender_script": "/nowhere/end"}),
    "no program": ("h2", "script", {"receiver_script": "/etc/passwd"}),
    "an old sender of whole messages": (
        *("grpc", "grpc", {"sender_release": "1.73.1", "whole_messages": True}),
    ),
    "a window that is taken back": ("h2", "grpc", MIDDLE | {"window": 262144}),
    "an old sender to windows that stay": (
        *("grpc", "grpc", MIDDLE | {"sender_release": "1.39.0", "flow_control": False}),
    ),
    "windows that stay": ("h2", "grpc", OLD),
    "a rule of a grpc sender": ("grpc", "h2", {"discipline": "fifo"}),
    "options of a grpc sender": ("grpc", "h2", {"options": {"a": 1}}),
    "credit of a grpc receiver": ("grpc", "grpc", {"credit": "half"}),
    "a grpc receiver's connection": ("h2", "grpc", {"connection_window": 70000}),
    "frames of a grpc sender": ("grpc", "grpc", {"frame_size": 20000}),
    "whole messages of an h2 sender": ("h2", "h2", {"whole_messages": True}),
    "an unknown rule": ("h2", "h2", {"discipline": "lifo"}),
    "an unknown option": ("h2", "h2", {"options": {"speed": 1}}),
    "no rule": ("h2", "h2", {"discipline": None}),
    "unknown credit": ("h2", "h2", {"credit": "none"}),
    "credit without flow control": ("h2", "h2", {"credit": "half", "flow_control": False}),
}


def test_refused() -> None:
    calls = {
        name: partial(check_transport, transport(sender, receiver, **given))
        for name, (sender, receiver, given) in REFUSED.items()
    }
    assert_kept(Path(__file__).parent / "snapshots/transports.txt", refusals(calls))


DISABLE = "GRPC_EXPERIMENTAL_DISABLE_FLOW_CONTROL"


@pytest.mark.parametrize(
    ("sends", "receives", "set_at_both"),
    [
        ({"sender_release": "1.17.0"}, {"receiver_release": "1.39.0"}, True),
        ({"sender_release": "1.13"}, {"receiver_release": "1.47.5"}, True),
        ({"sender_release": "1.39.0"}, {}, False),  # the newest's windows do it alone
        ({}, {}, False),
        ({"sender_release": "1.48.0"}, {"receiver_release": "1.74.0"}, False),
    ],
)
def test_the_variable_is_for_both_ends_or_none(sends, receives, set_at_both, monkeypatch) -> None:
    monkeypatch.setattr("emu.endpoints.transports.grpc.interpreter", lambda release: "python")
    spec = transport("grpc", "grpc", flow_control=False, **sends, **receives)
    planned = plan(spec)
    seen = [DISABLE in end.environment for end in (planned.requester, planned.responder)]
    assert seen == [set_at_both] * 2
    on = plan(spec.model_copy(update={"flow_control": True}))
    assert not any(DISABLE in end.environment for end in (on.requester, on.responder))


def test_an_old_sender_to_an_exact_receiver_is_left_alone(monkeypatch) -> None:
    monkeypatch.setattr("emu.endpoints.transports.grpc.interpreter", lambda release: "python")
    spec = transport("grpc", "h2", flow_control=False, sender_release="1.39.0")
    assert DISABLE not in plan(spec).responder.environment


@pytest.mark.parametrize(
    ("release", "window", "off"),
    [("1.39.0", True, False), ("1.51.3", True, False), ("1.52.0", False, False),
     ("1.73.1", False, False), ("1.74.0", True, True), (None, True, True)],
)  # fmt: skip
def test_which_release_takes_which_setting(release, window, off) -> None:
    def takes(**given) -> bool:
        try:
            check_transport(transport("h2", "grpc", receiver_release=release, **given))
        except ScenarioError:
            return False
        return True

    assert takes()
    assert takes(window=65535)
    assert takes(window=262144) == window
    assert takes(flow_control=False) == off
    wide = widest_windows(transport("h2", "grpc", receiver_release=release, window=65535))
    assert (wide.flow_control, wide.window) == (not off, None)


def test_a_release_has_its_own_python(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NETCOSIM_GRPC_RELEASES", str(tmp_path))
    spec = transport("grpc", "h2", sender_release="1.39.0")
    assert missing(spec) == (
        f"grpcio 1.39.0 is not set up: no environment in {tmp_path}; see ./dev grpc-releases 1.39.0"
    )
    with pytest.raises(EndpointError, match=r"^grpcio 1\.39\.0 is not set up"):
        plan(spec)
    python = tmp_path / "1.39.0" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    stamp = tmp_path / "1.39.0" / "netcosim-grpc-release.json"
    stamp.write_text('{"release": "1.39.0", "python": "3.9.18"}')
    assert missing(spec) is None
    responder = plan(spec).responder
    assert responder.argv[:2] == (str(python), str(Path(emu.remote.__file__).parent / GRPC_SCRIPT))
    assert responder.name == "grpc 1.39.0 responder"
    assert config(responder)["settings"]["release"] == "1.39.0"
    python.unlink()
    python.symlink_to("/nowhere")
    assert missing(spec) == (
        f"grpcio 1.39.0 is not set up: the Python of {python.parents[1]} is gone;"
        " see ./dev grpc-releases 1.39.0"
    )
    stamp.write_text("{")
    assert missing(spec) is not None


def test_the_projects_own_release_needs_no_other_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NETCOSIM_GRPC_RELEASES", str(tmp_path))
    spec = transport("grpc", "grpc", sender_release=newest(), receiver_release=newest())
    assert missing(spec) is None
    assert plan(spec).requester.argv[0] == sys.executable


@pytest.mark.parametrize("executable", [False, True])
def test_a_script_is_started_as_it_is(tmp_path, executable) -> None:
    file = tmp_path / "own.py"
    file.write_text("")
    file.chmod(0o755 if executable else 0o644)
    spec = transport("script", "h2", sender_script=str(file), options={"speed": 3}, window=70000)
    planned = plan(spec)
    start = planned.responder.argv
    assert start[:-1] == ((str(file),) if executable else (sys.executable, str(file)))
    settings = json.loads(start[-1])["settings"]
    assert settings == {
        "grpc": True,
        "frame_size_bytes": None,
        "options": {"speed": 3},
        "whole_messages": False,
    }
    assert config(planned.requester)["settings"]["grpc"] is True


GRPC_SCRIPT = "grpc_endpoint.py"


def test_the_grpc_side_is_python_3_7() -> None:
    scripts = Path(emu.remote.__file__).parent
    files = [*scripts.glob("grpc_*.py"), scripts / "endpoint_common.py", scripts / "__init__.py"]
    assert len(files) >= 6
    for file in [*files, scripts.parent / "__init__.py"]:
        tree = ast.parse(file.read_text(), feature_version=(3, 7))
        for node in ast.walk(tree):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not any((module or "").startswith("h2") for module in modules)
