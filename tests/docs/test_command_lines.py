"""Command lines of the documentation: their programs exist, and take what the pages give them.

`emu.run` and `sim.run` plan; any other program goes as far as its own parser has its options.
What is not ours is listed in `tests.docs.shell`; a line that nothing knows is a failure.
"""

import pytest

from tests.docs.pages import blocks, command_lines, prompted
from tests.docs.parsing import MAINS, check
from tests.docs.shell import Call, NotUnderstoodError, calls, calls_if_understood

LINES = command_lines()


LONG = "examples/sweeps/balance.toml"
"""A sweep whose points take three seconds of processor time to be planned."""


def marks_of(call: Call) -> list[pytest.MarkDecorator]:
    needs_guest, is_long = "virtual" in call.arguments, LONG in call.arguments
    return [pytest.mark.guest] * needs_guest + [pytest.mark.pages] * is_long


def programs_of_the_pages() -> list[Call]:
    """Each call once, planned or not."""
    found: dict[str, Call] = {}
    for line in LINES:
        for call in calls_if_understood(line.text):
            found[call.title.removesuffix(" --plan")] = call
    return list(found.values())


@pytest.mark.parametrize("line", LINES, ids=lambda line: f"{line.page}: {line.text}")
def test_every_line_starts_what_exists(line):
    calls(line.text)


@pytest.mark.parametrize(
    "call",
    [pytest.param(c, id=c.title, marks=marks_of(c)) for c in programs_of_the_pages()],
)
def test_every_program_takes_its_arguments(call):
    check(call)


def test_every_terminal_on_a_page_shows_a_command():
    silent = [where for where, text in blocks("console") if not list(prompted(where, text))]
    assert not silent


def test_every_program_is_on_some_page():
    """So none of them is checked in vain."""
    named = {call.program for call in programs_of_the_pages()}
    assert set(MAINS) <= named
    assert {"bench.noise", "bench.fidelity", "tools/grpc_releases.py"} <= named


@pytest.mark.parametrize(
    "wrong",
    [
        "make all",
        "./dev simulate",
        "./dev check --quick",
        "./dev docs --check",
        "./dev bench nosuch",
        "./dev bench fidelity --nosuch",
        "./dev bench delay --quick",
        "./dev setup nosuch",
        "./dev bare bookworm --nosuch -- ./dev run",
        "./dev bare bookworm --user -- bash -c 'cd && ./dev nosuch'",
        "./dev grpc-releases --nosuch",
        "./dev virtual-kernel nosuch",
        "./dev run --scenario examples/nosuch.toml",
        "./dev sim --worker 8",
        "./dev sweep examples/sweeps/nosuch.toml",
        "./dev sweep --plan",
        "python -m ray_sweeps.run examples/sweeps/transport.toml --nosuch",
        "python -m ray_sweeps.compare",
        "sudo python -m emu.run --scenario nosuch",
        "python -m sim.nosuch",
        "python -m sim.run --workload nosuch",
        "python -m sim.run --synchronisation asp --gap 3",
        "python -m sim.profile mymodel:build --nosuch",
        "python -m emu.analyze mine.pcap --nosuch",
        "python -m emu.predict",
        "python -m netcosim.cli.compare A",
        "python -m netcosim.report",
        "python -m bench.noise.load 0.1",
        "netcosim nosuch",
        "netcosim schema nosuch",
        'eval "$(netcosim completion nosuch)"',
        "git clone URL netcosim && netcosim sim --nosuch",
        "pip install 'netcosim[nosuch]'",
        "pipx install '.[emu,nosuch]'",
        "pip install --require-hashes -r requirements/nosuch.lock",
    ],
)
def test_a_wrong_line_would_be_noticed(wrong):
    with pytest.raises(NotUnderstoodError):
        for call in calls(wrong):
            check(call)


def test_lines_are_found_wherever_a_page_has_them():
    text = (
        "$ ./dev sim \\\n    --plan  # says it\nshown\n# tcpdump -i eth0\nvagrant@box:~$ git pull\n"
    )
    found = list(prompted("page", text))
    assert [line.text for line in found] == ["./dev sim      --plan", "tcpdump -i eth0", "git pull"]
    assert found[0].shown == ("shown",)
