"""Redundant execution by what it counts, against counting by hand."""

from hypothesis import given
from hypothesis import strategies as st

from netcosim.policies.coordination.redundant import Redundant
from netcosim.policies.coordinator.observed import Ended, Use


def ended(worker: int, step: int = 0) -> Ended:
    return Ended(worker=worker, step=step, batch=8, taken_ns=1.0)


def idle(worker: int) -> Use:
    return Use()


def test_the_last_of_three_is_not_waited_for_and_begins_the_newest_step():
    coordinator = Redundant(2)
    assert [each.worker for each in coordinator.begin([8, 8, 8])] == [0, 1, 2]
    assert coordinator.ended(ended(0), idle) == []
    assert [each.worker for each in coordinator.ended(ended(2), idle)] == [0, 2]
    assert coordinator.counts(0)
    assert coordinator.counts(2)
    assert [each.worker for each in coordinator.ended(ended(1), idle)] == [1]
    assert not coordinator.counts(1)
    coordinator.ended(ended(1), idle)
    assert coordinator.counts(1)


def test_with_fewer_workers_than_are_to_count_all_do():
    coordinator = Redundant(5)
    coordinator.begin([8, 8])
    assert coordinator.ended(ended(0), idle) == []
    assert len(coordinator.ended(ended(1), idle)) == 2


@given(order=st.lists(st.integers(0, 4), max_size=200), first=st.integers(1, 6))
def test_every_step_counts_as_many_workers_as_it_needs_and_nobody_idles_beside_them(order, first):
    coordinator = Redundant(first)
    coordinator.begin([1] * 5)
    busy, step_of, newest, counted = set(range(5)), [0] * 5, 0, 0
    for worker in order:
        if worker not in busy:
            continue
        busy.remove(worker)
        begun = [each.worker for each in coordinator.ended(ended(worker), idle)]
        late = step_of[worker] < newest
        assert coordinator.counts(worker) == (not late)
        counted += not late
        if counted == min(first, 5):
            counted, newest = 0, newest + 1
        for each in begun:
            step_of[each] = newest
        busy |= set(begun)
        # Whoever is idle has been counted for the newest step.
        assert 5 - len(busy) == counted
