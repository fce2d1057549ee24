"""`emu.run --scenario identify`: who is put into which cell, and what a whole run says."""

import json
import subprocess
import sys
from importlib import resources

import jsonschema
import pytest

from emu.cli.command import run
from emu.identify.subject import Subject, with_hand_overs, with_subject
from netcosim.errors import ScenarioError
from netcosim.results.json_files import schema_json
from netcosim.results.streams.identification import Identification
from netcosim.scenario import parse_scenario, with_values

COMMAND = (sys.executable, "-B", "-m", "emu.run", "--scenario", "identify", "--clock", "virtual")


@pytest.fixture
def scenario():
    text = (resources.files("emu") / "scenarios" / "identify.toml").read_text("utf-8")
    return parse_scenario(text)


def asked(**options):
    names = ("release", "endpoint", "discipline", "credit")
    return Subject.asked(**dict.fromkeys(names) | options)


def ends(scenario):
    return {t.name: (t.sender, t.receiver) for t in scenario.transport}


def test_a_release_stands_where_it_is_to_show_itself(scenario):
    found = with_subject(scenario, asked(release="1.39.0"))
    assert ends(found) == ends(scenario)
    for transport in found.transport:
        for end in ("sender", "receiver"):
            wanted = "1.39.0" if getattr(transport, end) == "grpc" else None
            assert getattr(transport, f"{end}_release") == wanted


def test_what_a_release_can_not_do_is_left_out(scenario):
    """1.59.5 keeps its windows, and takes a given one back to 65,535."""
    found = {t.name: t for t in with_subject(scenario, asked(release="1.59.5")).transport}
    assert "off" not in found and "default" in found
    assert found["credit"].window == 65_535
    assert found["windowed"].window == 256 * 1024


def test_our_own_ends_get_their_rules(scenario):
    found = with_subject(scenario, asked(discipline="round_robin", credit="fixed"))
    by_name = {t.name: t for t in found.transport}
    assert ends(found) == dict.fromkeys(("windowed", "unlimited", "credit"), ("h2", "h2"))
    assert by_name["windowed"].discipline == by_name["unlimited"].discipline == "round_robin"
    assert by_name["windowed"].credit == by_name["credit"].credit == "fixed"
    assert by_name["credit"].discipline == "fifo"
    assert by_name["unlimited"].credit is None


def test_messages_cost_processor_time_by_the_virtual_clock_alone(scenario, tmp_path):
    """Else a library's threads would decide by chance what goes into its first write."""
    assert with_hand_overs(scenario) == scenario
    virtual = with_values(scenario, {"clock": "virtual"})
    assert with_hand_overs(virtual).cluster.processor.sent.message == 20_000
    costs = with_values(virtual, {"cluster.processor.received.message": "1us"})
    assert with_hand_overs(costs) == costs
    script = tmp_path / "end.py"
    script.write_text("")
    own = with_subject(virtual, asked(endpoint=script))
    assert with_hand_overs(own) == own


def test_an_endpoint_of_ones_own(scenario, tmp_path):
    script = tmp_path / "end.py"
    script.write_text("")
    found = {t.name: t for t in with_subject(scenario, asked(endpoint=script)).transport}
    assert found["windowed"].sender_script == str(script)
    assert found["credit"].receiver_script == str(script)


def test_another_scenario_has_no_subject(scenario):
    other = scenario.model_copy(update={"name": "mine"})
    with pytest.raises(ScenarioError, match="go with --scenario identify"):
        with_subject(other, Subject())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--release", "1.59.5"], "go with --scenario identify"),
        (
            ["--scenario", "identify", "--release", "1.59.5", "--discipline", "fifo"],
            "--discipline: can't be asked for together with --release",
        ),
        (
            ["--scenario", "identify", "--release", "1.59.5", "--credit", "half"],
            "--credit: can't be asked for together with --release",
        ),
        (["--scenario", "identify", "--discipline", "lifo"], "lifo"),
        (["--scenario", "identify", "--endpoint", "/no/such/end"], "no such file"),
        (["--scenario", "identify", "--release", "newer"], "newer"),
    ],
)
def test_what_makes_no_subject_is_one_line_and_two(capsys, arguments, said):
    assert run([*arguments, "--plan"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1


@pytest.mark.root
@pytest.mark.emulation
@pytest.mark.parametrize(
    ("arguments", "discipline", "rule", "statement"),
    [
        (
            ["--discipline", "two_visit", "--credit", "half"],
            "two_visit",
            "half",
            "our h2 endpoint (two_visit, half) sends by two_visit and gives credit by half.",
        ),
        ([], "write_cycle", "grpc_progress", " sends by write_cycle and gives credit by grpc_"),
    ],
    ids=["h2", "grpc"],
)
def test_a_run_ends_with_one_clear_statement(tmp_path, arguments, discipline, rule, statement):
    out = tmp_path / "out"
    done = run_program(*COMMAND, "--out", str(out), *arguments)
    assert done.returncode == 0, done.stderr
    data = json.loads((out / "identify.json").read_text())
    jsonschema.validate(data, json.loads(schema_json(Identification)))
    assert data["discipline"]["discipline"] == discipline, data["discipline"]["statement"]
    best = data["discipline"]["candidates"][0]
    assert max(best["misplaced"], best["order_error"]) < 0.0001
    assert data["credit"]["rule"] == rule, data["credit"]["statement"]
    assert statement in data["statement"]
    assert data["missing"] == []
    said = " ".join(done.stdout.split())
    assert data["statement"] in said
    assert said.index(data["statement"]) < said.index("report: ")
    assert data["statement"] in (out / "report.html").read_text()
    # A capture alone does not say how far a sender was ahead: two rules may be alike in it.
    found = analysed(out, "windowed")["discipline"]
    assert discipline in (found["discipline"], *found["alike"]), found["statement"]
    assert analysed(out, "credit")["credit"]["rule"] == rule


def analysed(out, transport):
    """Findings of `emu.analyze` in a capture of the run, of the direction with the messages."""
    capture = out / "captures" / f"together@{transport}.c0.pcap.gz"
    analysis = out.parent / f"{transport}.json"
    command = (sys.executable, "-B", "-m", "emu.analyze", str(capture), "--json", str(analysis))
    done = run_program(*command)
    assert done.returncode == 0, done.stderr
    (connection,) = json.loads(analysis.read_text())["connections"]
    return max(connection["directions"], key=lambda each: each["data_bytes"])


def run_program(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=2300)
