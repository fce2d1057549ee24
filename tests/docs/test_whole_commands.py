"""Commands of the documentation that take a second or two are run whole, but for simulations.

They run in a folder where small files and folders stand for those that a page only names.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sim.run
from netcosim.results.collection import Collection
from tests.docs.pages import ROOT, command_lines
from tests.docs.parsing import ENDS_AT_ONCE, MAINS, heard
from tests.docs.shell import Call, calls_if_understood
from tests.emu.identify.scenes import World, capture
from tests.emu.identify.test_verdicts import staggered

WHOLE = {
    "emu.analyze": 0,
    "emu.predict": 0,
    "netcosim.cli.compare": 1,  # something differs
    "netcosim.cli.completion": 0,
    "netcosim.cli.lint_profile": 0,
    "netcosim.cli.main": 0,
    "netcosim.cli.schema": 0,
    "netcosim.report": 0,
}
"""Programs that are run with whatever the pages give them, and the exit code."""

PROFILE = ROOT / "netcosim/workload/data/alexnet.json"
OBSERVED = ROOT / "bench/fidelity/observations/grpc-newest"
TINY = ["--workload", "alexnet", "--workers", "1,2", "--steps", "20", "--repetitions", "2"]


def chosen() -> list[Call]:
    """What is run, each once."""
    found = {}
    for line in command_lines():
        for call in map(filled, calls_if_understood(line.text)):
            said_at_once = call.program in MAINS and ENDS_AT_ONCE & set(call.arguments)
            if said_at_once or call.program in WHOLE:
                found[call.title] = call
    return list(found.values())


def filled(call: Call) -> Call:
    """The call with what stands in the folder for what the page names."""
    words = [word.removesuffix("...") for word in call.arguments]
    if ENDS_AT_ONCE & set(words):
        return call
    match call.program:
        case "emu.analyze" if not words:
            words = ["mine.pcap"]
        case "netcosim.cli.compare":
            words = [*(word for word in words if word.startswith("-")), "A", "B"]
        case "netcosim.report":
            words = ["A"]
        case "emu.predict":
            run = Collection(path=OBSERVED).names()[0]
            words = [f"{OBSERVED.relative_to(ROOT)}#{run}", *words[1:]]
    return Call(program=call.program, arguments=tuple(words))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with what commands read."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "bench").symlink_to(ROOT / "bench")
    for name in ("FILE", "profile.json"):
        shutil.copy(PROFILE, folder / name)
    world = World("two_visit", staggered("two_visit"), credit="rest_at_header", window=1 << 16)
    for name in ("FILE.pcap", "mine.pcap"):
        capture(folder / name, world)
    for name, order in (("A", "as_listed"), ("B", "smallest_first")):
        quick = [*TINY, "--no-report", "--no-recommendation", "--order", order]
        code, _, errors = heard(
            lambda q=quick, n=name: sim.run.main([*q, "--out", str(folder / n)])
        )
        assert code == 0, errors
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("call", chosen(), ids=lambda call: call.title)
def test_it_runs(call, folder, monkeypatch):
    monkeypatch.chdir(folder)
    code, said, errors = heard(lambda: MAINS[call.program](list(call.arguments)))
    wanted = 0 if ENDS_AT_ONCE & set(call.arguments) else WHOLE[call.program]
    assert code == wanted, errors
    assert re.search(r"\w", said)
