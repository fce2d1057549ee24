"""The sentence that says which rule a cell follows, how sure it is, and what else might be."""

from netcosim.results.streams.summary import Answer, ModelResult
from netcosim.scoring.decision import decide
from netcosim.scoring.verdict import verdict
from tests.netcosim.scoring.models import ranked, result, separations

BEST = result("two_visit", 0.0012, 0.0012, 0.0012, largest=0.006, time=0.002)
NEXT = result("round_robin", 0.098, 0.098, 0.098)


def said(
    *models: ModelResult, grade: str | None = None, configured: str | None = None, **near: float
) -> str:
    answer = decide(ranked(*models), separations(**near), configured)
    return verdict("h2 with flow control on", answer, ranked(*models), 0.3, grade, configured)


def test_a_clear_case_names_the_model_how_sure_it_is_its_errors_and_the_next_best() -> None:
    assert said(BEST, NEXT, grade="B") == (
        "h2 with flow control on follows two_visit (3 of 3 bursts, grade B): order error 0.12 % on"
        " average (max 0.60 %), next best round_robin 9.8 %; time error 0.20 % (max 0.20 %)."
    )


def test_where_the_link_lost_much_the_sentence_speaks_of_the_order_only() -> None:
    assert said(BEST, NEXT, grade="C").endswith("next best round_robin 9.8 %.")


def test_rivals_are_named() -> None:
    near = result("fifo", 0.01, 0.01, 0.1)
    assert said(BEST, near, NEXT).startswith(
        "h2 with flow control on: undecided between two_visit and fifo (1 of 3 bursts): order error"
        " 0.12 % on average"
    )


def test_models_that_agree_are_no_evidence() -> None:
    answer = Answer(kind="alike", model="two_visit", agreeing=3, bursts=3)
    text = verdict("h2", answer, [BEST, NEXT], 0.03)
    assert text == (
        "h2: this cell cannot tell the models apart; their orders differ by 3 % at most, and the"
        " nearest, two_visit, has an order error of 0.12 % on average."
    )


def test_a_best_model_that_is_far_off_does_not_fit() -> None:
    text = said(result("fifo", 0.0501, 0.0501, 0.0501), result("two_visit", 0.4, 0.4, 0.4))
    assert text == (
        "h2 with flow control on fits none of the models: the nearest, fifo, has an order error of"
        " 5.0 % on average (max 5.0 %)."
    )


def test_bursts_that_contradict_each_other_are_said_to() -> None:
    text = said(result("two_visit", 0.0, 0.1), result("fifo", 0.2, 0.0))
    assert text == (
        "h2 with flow control on: the bursts contradict each other: two_visit is nearest in most,"
        " and excluded in as many. Its order error is 5 % on average (max 10 %)."
    )


def test_a_twin_is_not_the_next_best() -> None:
    twin = result("fifo", 0.004, 0.004, 0.004)
    text = said(BEST, twin, NEXT, two_visit__fifo=0.002)
    assert "next best round_robin 9.8 %;" in text
    assert text.endswith("Predicted alike here: fifo.")


def test_another_discipline_than_configured_is_said_loudly() -> None:
    assert said(BEST, NEXT, configured="round_robin").endswith(
        "It was configured to follow round_robin."
    )
    assert "configured" not in said(BEST, NEXT, configured="two_visit")


def test_one_model_alone_has_no_next_best() -> None:
    text = said(BEST)
    assert text.startswith("h2 with flow control on follows two_visit (3 of 3 bursts)")
    assert "next best" not in text
