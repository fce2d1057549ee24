"""Findings of a simulation, in words and in the terminal's tables."""

import io
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from netcosim.cli.table import print_training
from netcosim.results.training.findings import (
    comparisons,
    deviations,
    findings,
    formulas_note,
    interval,
    observed,
    rate_text,
    recommendation_sentences,
    recommended,
    signed,
    speed_up,
)
from netcosim.results.training.summary import (
    AsMeasured,
    Change,
    Estimate,
    Point,
    Series,
    TrainingSummary,
)
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
def test_figures_have_the_digits_that_their_interval_allows(
    mean: float, half: float | None, text: str
) -> None:
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


def test_the_words_of_a_job_whose_link_fills_up() -> None:
    made = series(JOB)
    speed, limit, time = findings(made)
    last = made.points[-1]
    assert speed.startswith(f"8 workers: {interval(last.examples_per_s)} examples/s (7.")
    assert f"{last.steps_per_s.mean / made.alone.mean:.3g} times one worker (" in speed
    assert limit == (
        "From 6 workers on one more adds less than 5 % of what one alone does:"
        " the downlink of server 0 is full (96 %)."
    )
    busy = f"{100 * last.worker_utilisation:.0f} %"
    assert time.startswith(f"With 8 workers each computes for {busy} of its time, ")
    assert "other workers" not in time


def test_the_words_of_a_job_that_still_scales() -> None:
    made = series(OTHER)
    _, limit, _ = findings(made)
    assert limit.startswith("Up to 4 workers each further one is of use; there ")
    alone = made.model_copy(update={"points": made.points[:1], "saturation": None})
    assert findings(alone)[0].startswith("1 worker: ")
    assert "times one worker" not in findings(alone)[0]
    assert findings(alone)[1].startswith("Here the workers compute")
    assert findings(alone)[2].startswith("The worker computes for ")
    assert findings(made.model_copy(update={"points": ()})) == ("No run was finished.",)


def test_a_rule_that_was_assumed_is_told_as_such() -> None:
    unknown = (NotStudied(end="sender", release="1.62.3", nearest="1.59.5"),)
    plain, made = findings(series(JOB)), series(JOB).model_copy(update={"not_studied": unknown})
    said = (
        "grpcio 1.62.3 is not studied: nearest is grpcio 1.59.5;"
        " its rule was assumed, not measured."
    )
    assert said in findings(made)
    assert [text for text in findings(made) if text != said] == list(plain)


def test_the_one_worker_is_no_straggler() -> None:
    made = series(replace(JOB, slow=4.0, stragglers=("worker 0: slow factor 4.0",)))
    assert made.alone == series(JOB).alone
    text = printed(training_summary((replace(JOB, slow=4.0, stragglers=made.stragglers),)), 200)
    gain = speed_up(made.points[0], made.alone)
    assert gain < 0.5
    assert f" {gain:.2f} " in next(line for line in text.splitlines() if line[:9].split() == ["1"])
    assert " times one worker without stragglers (" in findings(made)[0]
    only = made.model_copy(update={"points": made.points[:1]})
    assert f", {gain:.3g} times one worker without stragglers (" in findings(only)[0]
    assert "without stragglers" not in findings(series(JOB))[0]


@pytest.mark.parametrize("stragglers", [(), ("all workers: jitter spread 0.1",)])
def test_formulas_that_know_nothing_of_stragglers_are_called_so(stragglers: tuple[str]) -> None:
    said = "Formulas know nothing of stragglers; where one is faster, perfect_overlap is no bound."
    made = replace(JOB, stragglers=stragglers)
    assert (formulas_note(series(made)) == said) == bool(stragglers)
    assert (said in printed(training_summary((made,)), 200)) == bool(stragglers)


def test_the_sentences_of_a_recommendation_begin_with_what_to_take() -> None:
    assert recommendation_sentences(recommendation()) == (
        "Take 6 workers: 10.00 +- 0.10 examples/s; one more adds less than 5 % of what one alone"
        " does, as the downlink of server 0 is full (96 %).",
        "One step more: rate 1 Gbit/s -> 2 Gbit/s helps most (+90 %: 19.00 +- 0.10 examples/s);"
        " servers 1 -> 2 (+42 %).",
        "No difference beyond chance shows with workers 6 -> 7 or batch 32 -> 64.",
        "Slower with transport h2-on -> h2-off (-12 %).",
    )


def test_a_recommendation_below_the_knee_names_what_was_simulated() -> None:
    (only,) = recommendation_sentences(recommendation((), reached=False))
    assert only == (
        "Take 6 workers or more: 10.00 +- 0.10 examples/s; more were not simulated, and of"
        " those that were each is of use. There the downlink of server 0 is full (96 %)."
    )


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (CHANGES[1:2], "One step more: servers 1 -> 2 helps (+42 %: 14.20 +- 0.10 examples/s)."),
        (CHANGES[:1], "No difference beyond chance shows with workers 6 -> 7."),
        (CHANGES[3:4], "Slower with transport h2-on -> h2-off (-12 %)."),
        ((CHANGES[1].model_copy(update={"gain": 0.0049}),), "Less than 0.5 % with servers 1 -> 2."),
    ],
)
def test_a_single_change_has_a_sentence_of_its_own(kept: tuple[Change], said: str) -> None:
    assert recommendation_sentences(recommendation(kept))[1:] == (said,)


def test_the_recommendation_comes_first_and_takes_the_place_of_the_limit() -> None:
    plain = series(JOB)
    made = plain.model_copy(update={"recommendation": recommendation()})
    assert recommended(plain) == ()
    assert findings(made)[:4] == recommended(made) == recommendation_sentences(recommendation())
    assert [s for s in findings(plain) if s not in findings(made)] == [findings(plain)[1]]
    assert findings(made)[4:] == observed(made)


def test_the_recommendation_is_printed_before_the_table_the_best_change_first() -> None:
    made = training_summary((JOB,))
    advised = made.series[0].model_copy(update={"recommendation": recommendation()})
    lines = printed(made.model_copy(update={"series": (advised,)})).splitlines()
    assert lines[1].startswith("Take 6 workers: 10.00 +- 0.10 examples/s;")
    assert max(map(len, lines)) <= 80
    table = lines[next(i for i, line in enumerate(lines) if line.startswith(" one step more")) :]
    rows = [line.split("  ")[0].strip() for line in table[2:8]]
    assert rows == [
        "as recommended",
        "rate 1 Gbit/s -> 2 Gbit/s",
        "servers 1 -> 2",
        "transport h2-on -> h2-off",
        "workers 6 -> 7",
        "batch 32 -> 64",
    ]
    assert [line.split()[-3:] for line in table[6:8]] == [["within", "the", "intervals"]] * 2
    assert "19.00 +- 0.10" in table[3] and "+90 %" in table[3] and "-12 %" in table[5]


def test_waiting_is_named_where_there_is_some() -> None:
    made = series(OTHER)
    last = made.points[-1]
    time = last.time.model_copy(update={"waiting": 0.25, "idle": 0.125})
    changed = made.model_copy(update={"points": (last.model_copy(update={"time": time}),)})
    assert findings(changed)[2].endswith(
        "waits for other workers for 25 %, waits within its step for 12 %."
    )


def test_transports_are_compared_at_the_most_workers_that_all_have() -> None:
    made = training_summary((JOB, OTHER, Job(workload="vgg", counts=(1,), steps=3)))
    (text,) = comparisons(made)
    assert text.startswith("alexnet, 4 workers: h2-on is fastest with ")
    assert text.endswith(" times grpc-on.")
    assert comparisons(training_summary((JOB,))) == ()
    same = made.model_copy(update={"series": (made.series[0],) * 3})
    assert comparisons(same) == (
        "alexnet, 8 workers: no difference between the transports shows in these runs.",
    )
    slow = made.series[1].model_copy(update={"transport": "another"})
    assert comparisons(made.model_copy(update={"series": (made.series[0], made.series[1], slow)}))[
        0
    ].endswith(", the slowest.")
    empty = made.series[1].model_copy(update={"points": ()})
    assert comparisons(made.model_copy(update={"series": (made.series[0], empty)})) == ()


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1.003, "the transports are within 0.50 % of each other."), (1.006, "times h2-on.")],
)
def test_a_difference_that_means_nothing_is_no_winner(factor: float, said: str) -> None:
    """However narrow the intervals are."""

    def faster(one: Series, by: float, name: str) -> Series:
        mean = one.points[-1].examples_per_s.mean * by
        rate = Estimate(mean=mean, half_width=1e-6, values=(mean,))
        last = one.points[-1].model_copy(update={"examples_per_s": rate})
        return one.model_copy(update={"points": (*one.points[:-1], last), "transport": name})

    made = training_summary((JOB,))
    both = (faster(made.series[0], 1.0, "h2-on"), faster(made.series[0], factor, "other"))
    (text,) = comparisons(made.model_copy(update={"series": both}))
    assert text.endswith(said)


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


def printed(made: TrainingSummary, width: int = 80) -> str:
    out = io.StringIO()
    print_training(made, Console(file=out, width=width))
    return out.getvalue()


def test_the_table_fits_eighty_columns_and_has_all_points() -> None:
    text = printed(training_summary((JOB, OTHER)))
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in text
    full = next(line for line in lines if line.strip().startswith("*6"))
    assert "server 0 down 96 %" in full
    assert "alexnet/h2-on" in lines and "4 workers: h2-on is fastest" in text
    row = next(line.split() for line in lines if line.split()[:1] == ["8"])
    assert row[2] == "+-" and row[-5:-2] == ["server", "0", "down"]
    assert "cynthia" in text and "undefined" not in text


def test_the_table_of_an_untrusted_run_begins_with_the_warning() -> None:
    text = printed(training_summary((), trusted=False, complete=False, reasons=("a [red]b[/]",)))
    assert text.splitlines() == [
        "DO NOT TRUST THESE FIGURES",
        "This run is incomplete",
        "- a [red]b[/]",
        "No run was finished: there is nothing to show.",
    ]


def test_names_do_not_steer_the_terminal() -> None:
    made = training_summary((OTHER,))
    cell = made.series[0].model_copy(update={"cell": "a[bold]\x1b[2J/b"})
    text = printed(made.model_copy(update={"series": (cell,)}))
    assert "\x1b" not in text and r"a[bold]\x1b[2J/b" in text


def test_speed_up_needs_no_point_of_one_worker() -> None:
    made = training_summary((OTHER,))
    only: Series = made.series[0].model_copy(update={"points": made.series[0].points[1:]})
    text = printed(made.model_copy(update={"series": (only,)}))
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == ["4"])
    assert row[5] == f"{speed_up(only.points[0], only.alone):.2f}"
    assert "times one worker (" in text


def _with_runs(values: dict[int, tuple[float, float, float]]) -> Series:
    """The job's series with these runs, in examples/s, at some numbers of workers."""
    plain = series(JOB)

    def changed(one: Point) -> Point:
        if one.workers not in values:
            return one
        runs = estimate(values[one.workers])
        return one.model_copy(update={"examples_per_s": runs})

    return plain.model_copy(update={"points": tuple(map(changed, plain.points))})


def test_runs_that_are_far_apart_are_told() -> None:
    assert not [s for s in findings(series(JOB)) if "far apart" in s]
    assert not [s for s in findings(_with_runs({4: (10.0, 10.3, 9.7)})) if "far apart" in s]
    two = _with_runs({4: (5.44, 8.98, 5.4), 6: (10.0, 12.0, 9.0)})
    (said,) = [s for s in findings(two) if "far apart" in s]
    assert said == (
        "With 4, 6 workers runs are far apart (with 4 from 5.4 to 8.98 examples/s):"
        " their mean says little; more steps may say more."
    )


def with_measured(values: tuple[float, ...], settled: tuple[float, ...]) -> Series:
    """A series of one number of workers, 4, with these runs' examples per second."""
    made = series(Job(counts=(4,), runs=3, steps=20, traced_steps=2))
    measured = AsMeasured(
        first=3,
        last=12,
        steps_per_s=estimate(values),
        sd_steps_per_s=1.0,
        examples_per_s=estimate(values),
    )
    changed = {"examples_per_s": estimate(settled), "as_measured": measured}
    return made.model_copy(update={"points": (made.points[0].model_copy(update=changed),)})


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ((70.0, 70.1, 70.2), "With 4 workers steps 3 to 12 behind the common start would measure"),
        ((70.0, 70.1, 70.2), "30 % below the settled rate."),
        ((130.0, 130.1, 130.2), "30 % above the settled rate."),
        ((40.0, 70.0, 100.0), None),  # within their interval
        ((98.5, 98.5, 98.5), None),  # less than 2 %
    ],
)
def test_a_short_measurement_that_is_off_is_told(
    measured: tuple[float, ...], said: str | None
) -> None:
    found = " ".join(observed(with_measured(measured, (100.0, 100.1, 99.9))))
    assert ("common start" in found) is (said is not None)
    assert said is None or said in found


def test_a_short_measurement_has_a_column_of_the_terminals_table() -> None:
    printed = io.StringIO()
    console = Console(file=printed, width=120)
    summary = training_summary((JOB,))
    print_training(summary, console)
    assert "as measured" not in printed.getvalue()
    made = with_measured((70.0, 70.0, 70.0), (100.0, 100.0, 100.0))
    print_training(summary.model_copy(update={"series": (made,)}), console)
    assert "as measured" in printed.getvalue()
