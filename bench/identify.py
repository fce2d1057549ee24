"""`./dev bench identify`: right answers of `identify` by discipline, credit rule, gRPC release.

A round runs all subjects over one network, each in the cells in which the identify scenario would
run it, and judges them from the captures as that scenario does. Rounds are kept as they are done.

    ./dev bench identify                    ten rounds, going on where the last run stopped
    ./dev bench identify --rounds 1         one more round at most
    ./dev bench identify --only grpc        the releases alone, or h2
    ./dev bench identify --clock virtual    in virtual time, beside the others

By the virtual clock a round is a run of `emu.run`, each cell in a guest; rounds differ by seed.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from bench.common.clock import REAL, add_clock_option, by_clock
from bench.common.kept_lines import add_line, read_lines
from bench.common.record import RESULTS, Figure, record
from emu.endpoints.releases import newest, not_ready
from emu.identify.credit import judge_credit
from emu.identify.discipline import judge_discipline
from emu.identify.from_results import Seen, look, read_cells
from emu.identify.subject import with_hand_overs
from emu.isolation import isolate
from emu.measurement.round import run_round
from emu.network.live import open_network
from emu.plan import Plan, make_plan
from emu.session import resolved_tcp
from h2model import credit, disciplines
from h2model.protocol import DEFAULT_WINDOW_BYTES
from h2model.transports.grpc import holds_window
from netcosim.cli import run_main
from netcosim.errors import NetworkError
from netcosim.results.folder import ResultsFolder
from netcosim.scenario import Scenario, build_scenario, dump_scenario

ROOT = Path(__file__).parent.parent
ROUNDS = 10
RUN_S = 600
WINDOW = "256KiB"

Transport = dict[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A rule to be named: the transports that show it, its kind, and the right answers."""

    name: str
    transports: tuple[str, ...]
    asks: str
    right: tuple[str, ...]


def h2_transports() -> Iterator[Transport]:
    """Our own ends: every discipline alone and under every credit rule, every rule alone."""
    for sender in disciplines.names():
        ends = {"sender": "h2", "receiver": "h2", "discipline": sender}
        yield {"name": f"unlimited.{sender}", **ends, "flow_control": False}
        for rule in credit.names():
            yield {"name": f"windowed.{sender}.{rule}", **ends, "window": WINDOW, "credit": rule}
    for rule in credit.names():
        ends = {"sender": "h2", "receiver": "h2", "discipline": "fifo"}
        yield {"name": f"credit.{rule}", **ends, "window": WINDOW, "credit": rule}


def h2_questions() -> Iterator[Question]:
    """Questions on our own ends: discipline and credit rule of each pair."""
    for sender in disciplines.names():
        for rule in credit.names():
            windowed = f"windowed.{sender}.{rule}"
            yield Question(
                name=f"h2 {sender} under {rule}",
                transports=(windowed, f"unlimited.{sender}"),
                asks="discipline",
                right=(sender,),
            )
            yield Question(
                name=f"h2 {rule} to {sender}", transports=(windowed,), asks="credit", right=(rule,)
            )
    for rule in credit.names():
        yield Question(
            name=f"h2 {rule}", transports=(f"credit.{rule}",), asks="credit", right=(rule,)
        )


_RELEASES = {
    # Release: discipline, credit rule, both ends with flow control off.
    "newest": ("write_cycle", "grpc_progress", "write_cycle"),
    "1.59.5": ("two_visit", "grpc_progress", None),
    "1.39.0": ("two_visit", "rest_at_header", "fifo"),
    "1.17.0": ("two_visit", "rest_at_header", "fifo"),
}


def releases() -> list[str]:
    """Names of the releases whose environments are there."""
    return [name for name in _RELEASES if name == "newest" or not_ready(name) is None]


def grpc_transports() -> Iterator[Transport]:
    """The transports of the identify scenario, for each release."""
    for name in releases():
        release = newest() if name == "newest" else name
        sends = {"sender": "grpc", "sender_release": release}
        receives = {"receiver": "grpc", "receiver_release": release}
        exact = {"receiver": "h2"}
        yield {"name": f"windowed.{name}", **sends, **exact, "window": WINDOW,
               "credit": "rest_at_header"}  # fmt: skip
        yield {"name": f"unlimited.{name}", **sends, **exact, "flow_control": False}
        window = WINDOW if holds_window(release) else f"{DEFAULT_WINDOW_BYTES}B"
        yield {"name": f"credit.{name}", "sender": "h2", "discipline": "fifo", **receives,
               "window": window}  # fmt: skip
        if _RELEASES[name][2] is not None:
            yield {"name": f"off.{name}", **sends, **receives, "flow_control": False}


def grpc_questions() -> Iterator[Question]:
    """Questions on each release: discipline, credit rule, and the discipline when switched off."""
    for name in releases():
        sends, gives, off = _RELEASES[name]
        yield Question(
            name=f"grpcio {name}",
            transports=(f"windowed.{name}", f"unlimited.{name}"),
            asks="discipline",
            right=(sends,),
        )
        yield Question(
            name=f"grpcio {name}", transports=(f"credit.{name}",), asks="credit", right=(gives,)
        )
        if off is not None:
            yield Question(
                name=f"grpcio {name}, off",
                transports=(f"off.{name}",),
                asks="discipline",
                right=(off,),
            )


def subjects(kind: str) -> tuple[list[Transport], list[Question]]:
    """Transports to run and questions to ask: of our own ends (h2), or of the releases (grpc)."""
    if kind == "h2":
        return [*h2_transports()], [*h2_questions()]
    return [*grpc_transports()], [*grpc_questions()]


def plan_of(transports: Sequence[Transport]) -> Plan:
    """The identify scenario's workloads and network, over other transports."""
    return make_plan(scenario_of(transports))


def scenario_of(transports: Sequence[Transport], **changes: Any) -> Scenario:
    """The identify scenario over other transports."""
    text = (resources.files("emu") / "scenarios" / "identify.toml").read_text("utf-8")
    data = tomllib.loads(text) | {"name": "identify-bench", "transport": list(transports)}
    return build_scenario(data | changes, "bench identify")


def run(kind: str, number: int) -> Row:
    """Run one round inside private namespaces: each cell's burst, and at once its evidence."""
    transports, questions = subjects(kind)
    plan, scratch = plan_of(transports), isolate.scratch_dir()
    tcp = resolved_tcp(plan)
    seen: list[Seen] = []
    with open_network(plan.net, tcp=tcp) as live:
        for cell in plan.cells:
            planned = plan.connections(cell)
            done = run_round(
                live, cell, planned, tcp, scratch, bursts=[0],
                expected_s=plan.burst_seconds(cell), on_burst=lambda _: None,
            )  # fmt: skip
            if done.failure is not None:
                raise done.failure
            past = done.logs[0][0].past_scheduler
            for host, path in done.captures.items():
                seen += look(
                    path,
                    host,
                    cell=cell.name,
                    transport=cell.transport.name,
                    priorities={m.index: m.priority for m in planned[0].messages},
                    ahead=None if past is None else past.max_bytes,
                )
                path.unlink()
    return {"kind": kind, "round": number, "answers": [ask(each, seen) for each in questions]}


def run_virtually(kind: str, number: int) -> Row:
    """Run one round in virtual time; a run that did not come to its end raises its failure."""
    transports, questions = subjects(kind)
    scenario = with_hand_overs(scenario_of(transports, clock="virtual", seed=1 + number))
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as name:
        folder = Path(name)
        (folder / "scenario.toml").write_text(dump_scenario(scenario), encoding="utf-8")
        files = ("--scenario", str(folder / "scenario.toml"), "--out", str(folder / "out"))
        command = [sys.executable, "-P", "-m", "emu.run", *files]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise NetworkError(f"{kind}, round {number}: {done.stderr.strip().splitlines()[-1]}")
        with ResultsFolder.open(folder / "out") as results:
            seen = read_cells(results)
    return {"kind": kind, "round": number, "answers": [ask(each, seen) for each in questions]}


def ask(question: Question, seen: Sequence[Seen]) -> Row:
    """Answer a question, with the statement that shows why it is wrong, if so."""
    mine = [each for each in seen if each.transport in question.transports]
    if question.asks == "credit":
        verdict = judge_credit([(each.connection, True) for each in mine])
        answer, said = verdict.rule, verdict.statement
    else:
        found = judge_discipline([e for each in mine for e in each.evidence])
        answer, said = found.discipline, found.statement
    return {
        "question": f"{question.name}: {question.asks}",
        "answer": answer,
        "right": answer in question.right,
        "said": said,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench identify")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most so many more rounds")
    parser.add_argument("--only", choices=("h2", "grpc"))
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    add_clock_option(parser)
    found = parser.parse_args(arguments)
    if found.inside:
        kind, number = found.inside
        isolate.ensure_isolated([sys.executable, "-m", "bench.identify", "--inside", kind, number])
        _keep(run(kind, int(number)), REAL)
        return 0
    kinds = [found.only] if found.only else ["grpc", "h2"]
    RESULTS.mkdir(exist_ok=True)
    for kind in kinds:
        known = [row for row in _known(found.clock) if row["kind"] == kind]
        for number in range(len(known), min(ROUNDS, len(known) + found.rounds)):
            if not _run_round(kind, number, found.clock):
                return 1
            _say(_known(found.clock)[-1])
    return _report(found.clock)


def _run_round(kind: str, number: int, clock: str) -> bool:
    """Run one round and keep it; False if it failed, and said why."""
    if clock != REAL:
        _keep(run_virtually(kind, number), clock)
        return True
    command = [sys.executable, "-m", "bench.identify", "--inside", kind, str(number)]
    return subprocess.run(command, check=False, timeout=RUN_S).returncode == 0


def _state(clock: str) -> Path:
    """File of the rounds by this clock that are done."""
    return RESULTS / f".{by_clock('identify', clock)}.jsonl"


def _keep(row: Row, clock: str) -> None:
    add_line(_state(clock), row)


def _say(row: Row) -> None:
    wrong = [answer for answer in row["answers"] if not answer["right"]]
    counts = f"{len(row['answers'])} questions, {len(wrong)} wrong"
    print(f"{row['kind']}, round {row['round']}: {counts}")
    for answer in wrong:
        print(f"  {answer['question']}: {answer['said']}", flush=True)


def _known(clock: str) -> list[Row]:
    return read_lines(_state(clock))


def _report(clock: str) -> int:
    asked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    wrong: list[str] = []
    for row in _known(clock):
        for answer in row["answers"]:
            # A line for each rule and release; the other rule is named where it went wrong.
            name = re.sub(r" (under|to) [a-z_]+", "", answer["question"])
            asked[name] += 1
            right[name] += answer["right"]
            if not answer["right"]:
                wrong.append(f"{answer['question']}: {answer['said']}")
    figures = [
        Figure(
            name=question,
            value=right[question],
            unit=f"of {count}",
            target=f"= {count}",
            met=right[question] == count,
        )
        for question, count in asked.items()
    ]
    rounds = Counter(row["kind"] for row in _known(clock))
    missing = [name for name in _RELEASES if name not in releases()]
    notes = [f"not run, no environment: grpcio {name}" for name in missing]
    notes.append(f"rounds: {rounds['h2']} of our own ends, {rounds['grpc']} of the releases")
    return record("identify", figures, notes=[*notes, *wrong], clock=clock)


if __name__ == "__main__":
    sys.exit(run_main(lambda _: main(sys.argv[1:]), "bench identify"))
