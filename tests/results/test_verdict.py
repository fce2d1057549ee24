"""The sentence at the end of a cell."""

import pytest

from netcosim.results.summary import Errors, ModelResult
from netcosim.results.verdict import percent, verdict


def result(model: str, mean: float, largest: float | None = None) -> ModelResult:
    most = 3 * mean if largest is None else largest
    errors = Errors(streams=24, mean=mean, median=mean, p95=most, p99=most, max=most)
    return ModelResult(
        model=model,
        level="PREDICT",
        bursts=3,
        orders_equal=0,
        wire=errors,
        wire_secondary=errors,
        delivered=None,
    )


BEST = result("two_visit", 0.0012, 0.006)
NEXT = result("round_robin", 0.098)


def test_a_clear_case_names_the_model_its_errors_and_the_next_best() -> None:
    assert verdict("h2 with flow control on", [BEST, NEXT], 0.3) == (
        "h2 with flow control on follows two_visit: ends off by 0.12 % on average (max 0.60 %),"
        " next best round_robin 9.8 %."
    )


def test_models_that_agree_are_no_evidence() -> None:
    text = verdict("h2", [BEST, result("fifo", 0.02)], 0.049)
    assert text.startswith("h2: this cell cannot tell the models apart")
    assert "follows" not in text


def test_a_best_model_that_is_far_off_does_not_fit() -> None:
    text = verdict("grpc", [result("fifo", 0.0501), NEXT], 0.4)
    assert text.startswith("grpc fits none of the models: the nearest, fifo, is off by 5.0 %")


@pytest.mark.parametrize(("mean", "fits"), [(0.05, True), (0.0500001, False)])
def test_the_bound_of_a_fit(mean: float, fits: bool) -> None:
    assert ("follows" in verdict("x", [result("fifo", mean), NEXT], 0.4)) is fits


@pytest.mark.parametrize(("spread", "told"), [(0.05, True), (0.0499999, False)])
def test_the_bound_of_evidence(spread: float, told: bool) -> None:
    assert ("follows" in verdict("x", [BEST, NEXT], spread)) is told


def test_a_near_twin_is_not_the_next_best() -> None:
    twin = result("fifo", 0.02)
    near = {frozenset(("two_visit", "fifo")): 0.02, frozenset(("two_visit", "round_robin")): 0.3}
    text = verdict("h2", [BEST, twin, NEXT], 0.3, near)
    assert "next best round_robin 9.8 %." in text
    assert "No evidence against fifo (2 %): predicted within 5 % of it." in text


def test_another_discipline_than_configured_is_said_loudly() -> None:
    text = verdict("h2", [BEST, NEXT], 0.3, {}, "round_robin")
    assert text.endswith("It was configured to follow round_robin.")
    assert "configured" not in verdict("h2", [BEST, NEXT], 0.3, {}, "two_visit")


def test_without_valid_bursts_nothing_is_claimed() -> None:
    assert verdict("h2", [], 0.0) == "h2: no valid burst, so no model could be judged."


def test_one_model_alone_can_still_fit() -> None:
    assert verdict("h2", [BEST], 0.0).startswith("h2 follows two_visit")


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0 %"),
        (0.00009, "<0.01 %"),
        (0.0001, "0.01 %"),
        (0.0012, "0.12 %"),
        (0.01, "1 %"),
        (0.098, "9.8 %"),
        (0.5, "50 %"),
        (7.0, "700 %"),
    ],
)
def test_percentages_are_short(fraction: float, text: str) -> None:
    assert percent(fraction) == text
