"""Findings of a simulation, in words and in the terminal's tables."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from netcosim.cli.table import print_training
from netcosim.results.training.findings import (
    comparisons,
    deviations,
    findings,
    interval,
    observed,
    rate_text,
    recommendation_sentences,
    recommended,
    signed,
    speed_up,
)
from netcosim.results.training.summary import AsMeasured, Estimate, Series, TrainingSummary
from netcosim.scenario.unstudied_releases import NotStudied
from sim.experiment.statistics import estimate
from tests.netcosim.results.synthetic_training import (
    CHANGES,
    Job,
    point,
    recommendation,
    series,
    training_summary,
)
from tests.snapshots import assert_kept, sections

SNAPSHOTS = Path(__file__).parent / "snapshots"
JOB = Job(counts=(1, 4, 6, 8), runs=3, steps=20, traced_steps=2)
OTHER = Job(transport="grpc-on", counts=(1, 4), runs=3, steps=20, traced_steps=2, slow=2.0, lead=0)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (812.34, 3.21, "812.3 +- 3.3"),
        (812.34, 32.1, "812 +- 33"),
        (812.34, None, "812.3"),
        (812.34, 0.0, "812.3"),
        (812.34, 1e-7, "812.34 +- 0.01"),
        (81234.5, 0.3, "81234 +- 1"),
        (0.00123, 0.0004, "0.00123 +- 0.00040"),
        (7.0, 0.1, "7.00 +- 0.10"),
        (0.0, 0.5, "0.00 +- 0.50"),
    ],
)
def test_figures_have_the_digits_that_their_interval_allows(mean, half, text) -> None:
    assert interval(Estimate(mean=mean, half_width=half, values=(mean,))) == text


@given(st.floats(1e-6, 1e9), st.floats(1e-9, 1e9))
def test_no_interval_looks_narrower_than_it_is(mean: float, half: float) -> None:
    shown = interval(Estimate(mean=mean, half_width=half, values=(mean,)))
    assert float(shown.split(" +- ")[1]) >= half * (1 - 1e-6)
    assert float(shown.split(" +- ")[0]) == pytest.approx(mean, rel=1e-4, abs=0.05 * half)


@pytest.mark.parametrize(
    ("rate", "text"), [(7.85, "7.850"), (1234.4, "1234"), (98765.0, "98765"), (0.0, "0.000")]
)
def test_rates_have_four_digits(rate: float, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.123, "+12 %"), (-0.004, "-0.40 %"), (0.0, "0 %"), (-0.00001, "-<0.01 %")]
)
def test_differences_carry_their_sign(share: float, text: str) -> None:
    assert signed(share) == text


def only(one: Series, **changes: object) -> Series:
    """The series with its last point alone, changed."""
    return one.model_copy(update={"points": (one.points[-1].model_copy(update=changes),)})


def with_runs(values: dict[int, tuple[float, float, float]]) -> Series:
    """The job's series with these runs, in examples/s, at some numbers of workers."""
    made = series(JOB)
    points = (
        p.model_copy(update={"examples_per_s": estimate(values[p.workers])})
        if p.workers in values
        else p
        for p in made.points
    )
    return made.model_copy(update={"points": tuple(points)})


def with_measured(*values: float) -> Series:
    """Four workers of 100 settled examples per second, and these in a short measurement."""
    measured = AsMeasured(
        first=3,
        last=12,
        steps_per_s=estimate(values),
        sd_steps_per_s=1.0,
        examples_per_s=estimate(values),
    )
    made = series(Job(counts=(4,), runs=3, steps=20, traced_steps=2))
    return only(made, examples_per_s=estimate((100.0, 100.1, 99.9)), as_measured=measured)


def compared(*made: Series) -> tuple[str, ...]:
    return comparisons(training_summary(()).model_copy(update={"series": made}))


def faster(by: float, name: str) -> Series:
    """The job's last point with a narrow interval at a multiple of its rate."""
    one = series(JOB)
    mean = one.points[-1].examples_per_s.mean * by
    rate = Estimate(mean=mean, half_width=1e-6, values=(mean,))
    return only(one, examples_per_s=rate).model_copy(update={"transport": name})


STRAGGLING = replace(JOB, slow=4.0, stragglers=("worker 0: slow factor 4.0",))


def sentences() -> dict[str, tuple[str, ...]]:
    """What is said of jobs that differ in one thing each."""
    made, other, slow = series(JOB), series(OTHER), series(STRAGGLING)
    unstudied = NotStudied(end="sender", release="1.62.3", nearest="1.59.5")
    assumed = made.model_copy(update={"not_studied": (unstudied,)})
    time = other.points[-1].time.model_copy(update={"waiting": 0.25, "idle": 0.125})
    first = other.model_copy(update={"points": other.points[:1], "saturation": None})
    vgg = series(Job(workload="vgg", counts=(1,), steps=3))
    changes = {
        "one change that helps": CHANGES[1:2],
        "one change of chance": CHANGES[:1],
        "one change that harms": CHANGES[3:4],
        "one change of little": (CHANGES[1].model_copy(update={"gain": 0.0049}),),
    }
    return {
        "a link that fills up": findings(made),
        "workers that still scale": findings(other),
        "one worker": findings(first),
        "nothing finished": findings(made.model_copy(update={"points": ()})),
        "a release that was not studied": findings(assumed),
        "a straggler": findings(slow),
        "a straggler alone": findings(slow.model_copy(update={"points": slow.points[:1]})),
        "workers that wait": findings(only(other, time=time)),
        "advised": findings(made.model_copy(update={"recommendation": recommendation()})),
        "advised below the knee": recommendation_sentences(recommendation((), reached=False)),
        **{n: recommendation_sentences(recommendation(c))[1:] for n, c in changes.items()},
        "runs far apart": findings(with_runs({4: (5.44, 8.98, 5.4), 6: (10.0, 12.0, 9.0)})),
        "runs less far apart": findings(with_runs({4: (10.0, 10.3, 9.7)})),
        "measured below": observed(with_measured(70.0, 70.1, 70.2)),
        "measured above": observed(with_measured(130.0, 130.1, 130.2)),
        "measured within the interval": observed(with_measured(40.0, 70.0, 100.0)),
        "measured near enough": observed(with_measured(98.5, 98.5, 98.5)),
        "transports": compared(made, other, vgg),
        "a transport alone": compared(made),
        "transports that are one": compared(made, made, made),
        "the slowest of three": compared(made, other, other.model_copy(update={"transport": "t"})),
        "a transport without points": compared(made, other.model_copy(update={"points": ()})),
        "0.3 % apart": compared(faster(1.0, "h2-on"), faster(1.003, "other")),
        "0.6 % apart": compared(faster(1.0, "h2-on"), faster(1.006, "other")),
    }


def printed(made: TrainingSummary, width: int = 80) -> str:
    out = io.StringIO()
    print_training(made, Console(file=out, width=width))
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "…" not in out.getvalue()
    return out.getvalue()


def tables() -> dict[str, str]:
    """The terminal's tables of runs that differ in one thing each."""
    whole = training_summary((JOB, OTHER))
    made, other = whole.series
    advised = made.model_copy(update={"recommendation": recommendation()})
    no_one = other.model_copy(update={"points": other.points[1:], "cell": "a[bold]\x1b[2J/b"})
    with_series = [
        whole.model_copy(update={"series": (each,)})
        for each in (advised, no_one, with_measured(70.0, 70.0, 70.0))
    ]
    why = ("a [red]b[/]",)
    return {
        "two transports": printed(whole),
        "a straggler": printed(training_summary((STRAGGLING,)), 200),
        "advised": printed(with_series[0]),
        "a hostile name, without one worker": printed(with_series[1]),
        "measured": printed(with_series[2], 120),
        "untrusted": printed(training_summary((), trusted=False, complete=False, reasons=why)),
    }


def test_what_is_said_of_a_run() -> None:
    said = sections({name: "\n".join(each) for name, each in sentences().items()})
    assert_kept(SNAPSHOTS / "findings.txt", said)


def test_what_is_printed_of_a_run() -> None:
    assert_kept(SNAPSHOTS / "tables.txt", sections(tables()))


def test_the_one_worker_is_no_straggler() -> None:
    slow = series(STRAGGLING)
    assert slow.alone == series(JOB).alone
    assert speed_up(slow.points[0], slow.alone) < 0.5
    assert recommended(slow) == ()


def test_formulas_without_an_answer_are_left_out() -> None:
    one = point(JOB, 4)
    found = deviations(one)
    assert "undefined" not in found and len(found) == 4
    name, value = next(iter(found.items()))
    assert one.steps_per_s.mean * (1 + value) == pytest.approx(one.baselines[name])
    nothing = one.steps_per_s.model_copy(update={"mean": 0.0})
    assert deviations(one.model_copy(update={"steps_per_s": nothing})) == {}
    two = Estimate(mean=2.0, half_width=None, values=(2.0,))
    assert math.isclose(speed_up(one, two), one.steps_per_s.mean / 2)
