"""Speed traces' use of their machines in words, each trace once."""

import numpy as np

from netcosim.training.stragglers import Use, use_texts


def use(times_s: list[int], cpu: list[float] | None, memory_gb: list[float] | None) -> Use:
    return Use(
        time_ns=np.array(times_s) * 1e9,
        cpu=None if cpu is None else np.array(cpu),
        memory_bytes=None if memory_gb is None else np.array(memory_gb) * 1e9,
    )


def test_means_are_over_time_up_to_the_last_row() -> None:
    both = use([0, 30, 40], [0.2, 0.6, 0.9], [1.0, 3.0, 2.0])
    assert use_texts([None, both]) == [
        "w1: processors 30 % on average, 90 % at most; memory 1.50 GB on average, 3.00 GB at most"
    ]


def test_a_single_row_holds_all_the_time() -> None:
    assert use_texts([use([0], None, [2.5])]) == ["w0: memory 2.50 GB on average, 2.50 GB at most"]


def test_a_trace_of_several_workers_is_told_once() -> None:
    one, other = use([0], [0.5], None), use([0], [0.25], None)
    assert use_texts([one, other, one, None, one, one, one, one]) == [
        "w0, w2, w4, w5 and 2 more: processors 50 % on average, 50 % at most",
        "w1: processors 25 % on average, 25 % at most",
    ]
    assert use_texts([None, None]) == []
