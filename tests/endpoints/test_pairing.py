"""Which setting goes to which end, and what is refused."""

import ast
import json
from pathlib import Path

import pytest

import emu.remote
from emu.endpoints.pairing import check_transport
from netcosim.errors import ScenarioError

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


@pytest.mark.parametrize(
    ("sender", "receiver", "given", "message"),
    [
        ("h2", "grpc", {"window": 2**31 - 1}, "transport[t].window: 2147483647: gRPC adds up to"),
        ("tcp", "h2", {}, 'transport[t].sender: "tcp": must be one of grpc, h2'),
        ("h2", "quic", {}, 'transport[t].receiver: "quic": must be one of grpc, h2'),
        ("grpc", "h2", {"discipline": "fifo"}, 'transport[t].discipline: "fifo": grpc sender and'),
        ("grpc", "h2", {"options": {"a": 1}}, "transport[t].options: "),
        ("grpc", "grpc", {"credit": "half"}, 'transport[t].credit: "half": grpc sender and'),
        ("h2", "grpc", {"connection_window": 70000}, "transport[t].connection_window: 70000: "),
        ("grpc", "grpc", {"frame_size": 20000}, "transport[t].frame_size: 20000: grpc sender"),
        ("h2", "h2", {"whole_messages": True}, "transport[t].whole_messages: True: h2 sender"),
        ("h2", "h2", {"discipline": "lifo"}, 'transport[t].discipline: unknown discipline "lifo"'),
        ("h2", "h2", {"options": {"speed": 1}}, "transport[t].options: "),
        ("h2", "h2", {"discipline": None}, "transport[t].discipline: an h2 sender needs one of"),
        ("h2", "h2", {"credit": "none"}, 'transport[t].credit: "none": must be one of fixed, '),
        (
            "h2",
            "h2",
            {"credit": "half", "flow_control": False},
            'transport[t].credit: "half": has no meaning',
        ),
    ],
)
def test_refused(sender, receiver, given, message) -> None:
    with pytest.raises(ScenarioError) as raised:
        check_transport(transport(sender, receiver, **given))
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_the_grpc_side_is_python_3_7() -> None:
    scripts = Path(emu.remote.__file__).parent
    files = [*scripts.glob("grpc_*.py"), scripts / "steering.py", scripts / "__init__.py"]
    assert len(files) >= 6
    for file in [*files, scripts.parent / "__init__.py"]:
        tree = ast.parse(file.read_text(), feature_version=(3, 7))
        for node in ast.walk(tree):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            assert not any((module or "").startswith("h2") for module in modules)
