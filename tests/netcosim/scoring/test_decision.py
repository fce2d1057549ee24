"""Decision on the rule that a cell follows, from errors burst by burst."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.metrics import summarise
from netcosim.results.streams.summary import Answer, BurstErrors, Errors, ModelResult
from netcosim.scoring.bounds import FACTOR, FITS, MARGIN
from netcosim.scoring.decision import Limits, decide, undecided_between
from netcosim.scoring.separations import Separations
from netcosim.scoring.verdict import verdict
from tests.snapshots import assert_kept, sections


def errors_of(values: Sequence[float], largest: float | None = None) -> Errors:
    found = asdict(summarise(np.array(values)))
    return Errors(**found | ({} if largest is None else {"max": largest}))


def result(model, *order_means, first=(), largest=None, time=0.001) -> ModelResult:
    """A model with these mean order errors, burst by burst; `first` are first on connections."""
    times = [time] * len(order_means) if isinstance(time, float) else time
    in_time = errors_of(times)
    begun = [e for i, e in enumerate(order_means) if i in first]
    later = [e for i, e in enumerate(order_means) if i not in first]
    return ModelResult(
        model=model,
        level="PREDICT",
        bursts=len(order_means),
        orders_equal=0,
        order=errors_of(order_means, largest),
        order_first=errors_of(begun) if begun else None,
        order_later=errors_of(later) if later else None,
        share=None,
        by_burst=tuple(
            BurstErrors(
                burst=i,
                first=i in first,
                order_mean=e,
                order_max=3 * e,
                time_mean=times[i],
                time_max=times[i],
                order_equal=e == 0,
            )
            for i, e in enumerate(order_means)
        ),
        wire=in_time,
        wall=in_time,
        wire_secondary=in_time,
        delivered=None,
    )


def ranked(*models: ModelResult) -> list[ModelResult]:
    return sorted(models, key=lambda m: (m.order.mean, m.model))


def separations(spread: float = 0.3, **pairs: float) -> Separations:
    """Separations of all pairs: `spread`, but for those given, such as two_visit__fifo."""
    names = ("two_visit", "fifo", "round_robin")
    found = {frozenset(pair): spread for pair in itertools.combinations(names, 2)}
    return found | {frozenset(pair.split("__")): far for pair, far in pairs.items()}


TWO_VISIT = result("two_visit", 0.0, 0.0, 0.0)
ROUND_ROBIN = result("round_robin", 0.1, 0.12, 0.09)


CASES: Mapping[str, tuple[tuple[ModelResult, ...], str, str, int, set[str]]] = {
    "all bursts": ((TWO_VISIT, ROUND_ROBIN), "follows", "two_visit", 3, set()),
    "one burst alone": (
        (result("two_visit", 0.0), result("fifo", 0.0101)),
        *("follows", "two_visit", 1, set()),
    ),
    "one odd burst of three": (
        (result("two_visit", 0.0, 0.2, 0.0), result("fifo", 0.1, 0.0, 0.1)),
        *("follows", "two_visit", 2, set()),
    ),
    "a tie in one burst of three": (
        (result("two_visit", 0.01, 0.01, 0.01), result("fifo", 0.1, 0.011, 0.1)),
        *("follows", "two_visit", 2, set()),
    ),
    "ties in two bursts of three": (
        (result("two_visit", 0.01, 0.01, 0.01), result("fifo", 0.1, 0.011, 0.011)),
        *("undecided", "two_visit", 1, {"fifo"}),
    ),
    "half of the bursts are not most": (
        (result("two_visit", 0.0, 0.02), result("fifo", 0.1, 0.025)),
        *("undecided", "two_visit", 1, {"fifo"}),
    ),
    "worse by a point and not by a factor of two": (
        (result("two_visit", 0.03, 0.03, 0.03), result("fifo", 0.05, 0.05, 0.05)),
        *("undecided", "two_visit", 0, {"fifo"}),
    ),
    "worse by a factor of two and not by a point": (
        (result("two_visit", 0.001, 0.001, 0.001), result("fifo", 0.01, 0.01, 0.01)),
        *("undecided", "two_visit", 0, {"fifo"}),
    ),
    "one rival of two is left": (
        (TWO_VISIT, ROUND_ROBIN, result("fifo", 0.005, 0.005, 0.1)),
        *("undecided", "two_visit", 1, {"fifo"}),
    ),
    "far off": (
        (result("two_visit", 0.06, 0.01, 0.06), result("fifo", 0.3, 0.3, 0.3)),
        *("fits none", "two_visit", 3, set()),
    ),
    "far off in one burst of three": (
        (result("two_visit", 0.5, 0.05, 0.0), result("fifo", 0.6, 0.6, 0.3)),
        *("follows", "two_visit", 2, set()),
    ),
    "one burst against one": (
        (result("two_visit", 0.0, 0.1), result("fifo", 0.1, 0.0)),
        *("contradiction", "fifo", 1, {"two_visit"}),
    ),
    "two bursts against two": (
        (result("two_visit", 0.0, 0.1, 0.0, 0.1), result("fifo", 0.2, 0.0, 0.2, 0.0)),
        *("contradiction", "two_visit", 2, {"fifo"}),
    ),
    "a different model in each burst": (
        (result("a", 0.0, 0.1, 0.1), result("b", 0.1, 0.0, 0.1), result("c", 0.1, 0.1, 0.0)),
        *("fits none", "a", 1, {"b", "c"}),
    ),
    "one model alone": ((result("two_visit", 0.02),), "follows", "two_visit", 1, set()),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_decided(name: str) -> None:
    models, kind, best, agreeing, rivals = CASES[name]
    answer = decide(ranked(*models))
    assert (answer.kind, answer.model, answer.agreeing) == (kind, best, agreeing)
    assert set(answer.rivals) == rivals
    assert answer.bursts == models[0].bursts


def test_without_a_burst_nothing_is_known() -> None:
    answer = decide(())
    assert (answer.kind, answer.model, answer.bursts) == ("no evidence", None, 0)
    assert undecided_between(()) == answer
    assert verdict("h2", answer, (), 0.0).startswith("h2: no burst was valid")


@pytest.mark.parametrize(
    ("shown", "kind", "rivals"),
    [(0, "follows", ()), (2, "follows", ()), (3, "undecided", ("a", "b"))],
)
def test_a_minority_of_the_valid_bursts_excludes_nobody(shown, kind, rivals) -> None:
    models = (TWO_VISIT, result("a", 0.1, 0.1, 0.1), result("b", 0.2, 0.2, 0.2))
    limits = Limits(shown=shown)
    answer = decide(models, limits=limits)
    assert (answer.kind, answer.model, answer.rivals) == (kind, "two_visit", rivals)
    text = verdict("gRPC", answer, models, 0.3, limits=limits)
    few = "A pause delayed an input of the models in 3 of 6 valid bursts: too few are judged."
    assert (few in text) == (kind == "undecided")


@pytest.mark.parametrize(
    ("kind", "models"),
    [
        ("fits none", (result("a", 0.06, 0.06), result("b", 0.3, 0.3))),
        ("contradiction", (result("a", 0.0, 0.1), result("b", 0.2, 0.0))),
    ],
)
def test_a_minority_says_neither_that_nothing_fits_nor_that_bursts_contradict(kind, models) -> None:
    assert decide(ranked(*models), limits=Limits(shown=1)).kind == kind
    assert decide(ranked(*models), limits=Limits(shown=2)).kind == "undecided"


WINDOWED = {"two_visit": "fifo"}


def test_a_burst_in_which_no_window_bound_tells_no_rule_from_what_it_is_without() -> None:
    """Two rules that are one without windows differ there by the predicted credit alone."""
    fifo, visits = result("fifo", 0.19, 0.0, 0.0, 0.0), result("two_visit", 0.0, 0.1, 0.1, 0.1)
    other = result("round_robin", 0.3, 0.3, 0.3, 0.3)
    models = ranked(fifo, visits, other)
    assert decide(models).kind == "follows"
    limits = Limits(unbound=frozenset({1, 2, 3}), without_windows=WINDOWED)
    answer = decide(models, limits=limits)
    assert (answer.kind, answer.model, answer.rivals) == ("undecided", "fifo", ("two_visit",))
    text = verdict("gRPC", answer, models, 0.3, limits=limits)
    assert text.endswith("In 3 of 4 bursts no window bound, where fifo and two_visit are one rule.")
    # Where windows bound in most bursts, these decide.
    bound = Limits(unbound=frozenset({0}), without_windows=WINDOWED)
    assert decide(models, limits=bound).kind == "follows"
    # Of a rule that is another one without windows it tells as much as any burst.
    assert decide(ranked(fifo, other), limits=limits).kind == "follows"


def test_bursts_that_may_not_be_judged_leave_all_models_undecided() -> None:
    models = ranked(ROUND_ROBIN, TWO_VISIT)
    answer = undecided_between(models)
    assert (answer.kind, answer.model) == ("undecided", "two_visit")
    assert (answer.rivals, answer.agreeing, answer.bursts) == (("round_robin",), 0, 0)
    text = verdict("h2", answer, models, 0.3)
    assert text == (
        "h2: undecided: in every burst a pause delayed an input of the models; the nearest there is"
        " two_visit, with an order error of 0 %."
    )


class TestAlike:
    """Models that predict the same positions, within a point, are not held against each other."""

    TWIN = result("fifo", 0.004, 0.004, 0.004)

    def test_a_twin_is_no_rival(self) -> None:
        near = separations(two_visit__fifo=0.0099)
        answer = decide(ranked(TWO_VISIT, self.TWIN, ROUND_ROBIN), near)
        assert (answer.kind, answer.model, answer.agreeing) == ("follows", "two_visit", 3)
        assert (answer.alike, answer.rivals) == (("fifo",), ())

    def test_a_point_apart_is_no_twin(self) -> None:
        near = separations(two_visit__fifo=0.01)
        answer = decide(ranked(TWO_VISIT, self.TWIN, ROUND_ROBIN), near)
        assert (answer.kind, answer.rivals, answer.alike) == ("undecided", ("fifo",), ())

    def test_of_twins_the_configured_one_is_named(self) -> None:
        near = separations(two_visit__fifo=0.001)
        models = ranked(TWO_VISIT, self.TWIN, ROUND_ROBIN)
        answer = decide(models, near, "fifo")
        assert (answer.kind, answer.model, answer.alike) == ("follows", "fifo", ("two_visit",))

    def test_the_configured_one_is_not_named_where_it_is_no_twin(self) -> None:
        answer = decide(ranked(TWO_VISIT, ROUND_ROBIN), separations(), "round_robin")
        assert (answer.model, answer.alike) == ("two_visit", ())

    @pytest.mark.parametrize(("spread", "kind"), [(0.0499, "alike"), (0.05, "follows")])
    def test_a_cell_whose_models_are_all_near_is_no_evidence(self, spread, kind) -> None:
        answer = decide(ranked(TWO_VISIT, ROUND_ROBIN), separations(spread))
        assert (answer.kind, answer.model) == (kind, "two_visit")

    def test_near_models_are_no_evidence_for_one_that_fits_nowhere(self) -> None:
        far_off = [result("two_visit", 0.4), result("fifo", 0.42)]
        assert decide(far_off, separations(0.03)).kind == "alike"


class TestFirstBursts:
    """A library's first burst on a connection can differ from those that follow."""

    def test_one_that_differs_stands_by_itself(self) -> None:
        models = ranked(
            result("write_cycle", 0.2, 0.0, 0.0, first=[0], time=[0.3, 0.01, 0.03]),
            result("fifo", 0.01, 0.1, 0.1, first=[0]),
        )
        answer = decide(models)
        assert (answer.kind, answer.model) == ("follows", "write_cycle")
        assert (answer.agreeing, answer.bursts) == (2, 2)
        text = verdict("grpc", answer, models, 0.3)
        assert "follows write_cycle (2 of 2 bursts): order error 0 % on average (max 0 %)" in text
        # Every figure of the sentence is of the two bursts that it names.
        assert "next best fifo 10 %; time error 2 % (max 3 %)." in text
        first = "The first burst on a connection by itself: order error 20 % (max 20 %)."
        assert text.endswith(first)

    def test_a_model_that_fits_none_is_off_by_what_decided(self) -> None:
        models = ranked(result("fifo", 0.9, 0.2, 0.2, first=[0]))
        text = verdict("grpc", decide(models), models, 0.3)
        assert text.startswith("grpc fits none of the models: the nearest, fifo, has an order")
        assert "error of 20 % on average (max 20 %)" in text

    def test_one_that_does_not_counts_with_the_others(self) -> None:
        models = [result("fifo", 0.0009, 0.0, 0.0, first=[0]), result("two_visit", 0.1, 0.1, 0.1)]
        answer = decide(models)
        assert (answer.kind, answer.agreeing, answer.bursts) == ("follows", 3, 3)
        assert "first burst" not in verdict("grpc", answer, models, 0.3)

    def test_where_there_is_no_other_it_counts(self) -> None:
        models = [result("fifo", 0.0, first=[0]), result("two_visit", 0.1, first=[0])]
        answer = decide(models)
        assert (answer.kind, answer.model, answer.bursts) == ("follows", "fifo", 1)

    def test_a_wrong_model_s_first_burst_decides_nothing(self) -> None:
        """It is the model that later bursts follow whose first burst must differ."""
        models = [
            result("fifo", 0.0, 0.0, 0.0, first=[0]),
            result("two_visit", 0.3, 0.1, 0.1, first=[0]),
        ]
        assert decide(models).bursts == 3


ERRORS = st.sampled_from([0.0, 0.004, 0.01, 0.02, 0.03, 0.05, 0.06, 0.2]) | st.floats(0, 1)
TABLES = st.integers(1, 6).flatmap(
    lambda bursts: st.lists(
        st.lists(ERRORS, min_size=bursts, max_size=bursts), min_size=2, max_size=4
    )
)


def beats(one: Sequence[float], other: Sequence[float]) -> int:
    """In how many bursts the one excludes the other."""
    return sum(b >= a + MARGIN and b >= FACTOR * a for a, b in zip(one, other, strict=True))


@given(TABLES)
def test_no_model_is_named_that_a_rival_beats_in_most_bursts(table: list[list[float]]) -> None:
    errors = dict(zip("abcd", table, strict=False))
    answer = decide(ranked(*(result(name, *each) for name, each in errors.items())))
    assert answer.model is not None
    named = errors[answer.model]
    others = {name: each for name, each in errors.items() if name != answer.model}
    bursts = len(named)
    if answer.kind == "follows":
        assert all(2 * beats(named, each) > bursts for each in others.values())
        assert sorted(named)[bursts // 2] <= FITS
    if answer.kind in ("follows", "undecided", "fits none"):
        assert all(2 * beats(each, named) < bursts for each in others.values())
    rivals = {name for name, each in others.items() if 2 * beats(named, each) <= bursts}
    assert set(answer.rivals) == rivals
    assert answer.agreeing == sum(
        all(beats([named[i]], [each[i]]) for each in others.values()) for i in range(bursts)
    )


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_bursts_does_not_matter(table: list[list[float]], shuffle: Any) -> None:
    places = list(range(len(table[0])))
    shuffle.shuffle(places)
    forward = ranked(*(result(n, *each) for n, each in zip("abcd", table, strict=False)))
    mixed = [result(m.model, *(m.by_burst[place].order_mean for place in places)) for m in forward]
    assert decide(mixed) == decide(forward)


@pytest.mark.parametrize(("mean", "fits"), [(0.05, True), (0.0500001, False)])
def test_the_bound_of_a_fit(mean: float, fits: bool) -> None:
    answer = decide([result("fifo", mean), result("two_visit", 0.4)])
    assert (answer.kind == "follows") is fits


BEST = result("two_visit", 0.0012, 0.0012, 0.0012, largest=0.006, time=0.002)
NEXT = result("round_robin", 0.098, 0.098, 0.098)


def said(*models, grade=None, configured=None, **near) -> str:
    answer = decide(ranked(*models), separations(**near), configured)
    return verdict("h2 with flow control on", answer, ranked(*models), 0.3, grade, configured)


def sentences() -> dict[str, str]:
    """What is said of cells that differ in one thing each."""
    alike = Answer(kind="alike", model="two_visit", agreeing=3, bursts=3)
    near, twin = result("fifo", 0.01, 0.01, 0.1), result("fifo", 0.004, 0.004, 0.004)
    far = (result("fifo", 0.0501, 0.0501, 0.0501), result("two_visit", 0.4, 0.4, 0.4))
    opposed = (result("two_visit", 0.0, 0.1), result("fifo", 0.2, 0.0))
    return {
        "a clear case": said(BEST, NEXT, grade="B"),
        "a link that lost much": said(BEST, NEXT, grade="C"),
        "a rival": said(BEST, near, NEXT),
        "models that agree": verdict("h2", alike, [BEST, NEXT], 0.03),
        "a best model that is far off": said(*far),
        "bursts that contradict each other": said(*opposed),
        "a twin": said(BEST, twin, NEXT, two_visit__fifo=0.002),
        "configured to follow it": said(BEST, NEXT, configured="two_visit"),
        "configured to follow another one": said(BEST, NEXT, configured="round_robin"),
        "one model alone": said(BEST),
    }


def test_what_is_said_of_a_cell() -> None:
    assert_kept(Path(__file__).parent / "snapshots/verdicts.txt", sections(sentences()))
