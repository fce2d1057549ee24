"""Arrays of a job's step, from its plan."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from h2model.state import NONE
from netcosim.training.plan import DOWN, WORKER, StepPlan
from sim.engine.calls import with_calls
from sim.engine.gates import gate_tables
from sim.engine.parts import part_tables
from sim.kernels.arrays import Floats, Ints, Step
from sim.plan import Calls


def make_step(plan: StepPlan, workers: int, calls: Calls | None = None) -> Step:
    """Build a plan's arrays for so many workers."""
    plan, call = with_calls(plan, calls)
    channels = len(plan.channels)
    transfer = plan.place < channels
    shared = np.array([p.shared for p in plan.processors], dtype=bool)
    slot = np.full(plan.operations, NONE, dtype=np.int64)
    slot[transfer] = np.arange(transfer.sum())
    all_places = np.array([p.capacity for p in plan.processors], dtype=np.int64)
    capacity = np.where(shared, 0, all_places)
    processor_of = np.where(transfer, NONE, plan.place - channels)
    members = np.bincount(processor_of[~transfer], minlength=len(plan.processors))
    link_of = [c.server if c.direction == DOWN else plan.servers + c.server for c in plan.channels]
    at_worker = np.array([int(p.node == WORKER) for p in plan.processors], dtype=np.int64)
    on_link, leaf_of, channel_at = _on_links(link_of, 2 * plan.servers)
    return Step(
        place=plan.place,
        size_bytes=plan.size_bytes,
        waits=plan.waits,
        priority=plan.priority,
        after_start=plan.after_start,
        after=plan.after,
        sources=plan.sources,
        duration_ns=plan.duration_ns,
        slot=slot,
        slot_op=np.flatnonzero(transfer).astype(np.int64),
        processor_of=processor_of,
        first_place=_starts(capacity),
        places=capacity,
        queue_start=_starts(members),
        at_worker=at_worker,
        place_of=np.repeat(np.arange(len(capacity)), capacity).astype(np.int64),
        link_of=np.array(link_of, dtype=np.int64),
        **_sources(
            workers,
            plan.servers,
            capacity,
            at_worker,
            channels,
            all_places[shared].sum(),
            len(plan.gates),
        ),
        leaf_of=leaf_of,
        on_link=on_link,
        channel_at=channel_at,
        sizes=np.array(
            [
                workers,
                channels,
                plan.servers,
                plan.operations,
                int(transfer.sum()),
                len(plan.processors),
                int(capacity[at_worker == 1].sum()),
                int(capacity.sum()),
                len(plan.gates),
            ],
            dtype=np.int64,
        ),
        **_shared_processors(shared, all_places, members, workers),
        **joined_updates(plan),
        **gate_tables(plan),
        **part_tables(plan, int((call != NONE).sum())),
        call=call,
        ahead=_ahead(plan, calls),
    )


def _ahead(plan: StepPlan, calls: Calls | None) -> Floats:
    """(operations,) what part of each can be done before a server may answer."""
    found = np.zeros(plan.operations)
    if calls is not None:
        found[: len(calls.ahead)] = calls.ahead
    for op in np.flatnonzero(found):
        if not plan.processors[plan.place[op] - len(plan.channels)].shared:
            raise ValueError(f"ahead: {plan.names[op]}: must be on a processor that all share")
    return found


def _shared_processors(
    shared: NDArray[np.bool_], places: Ints, members: Ints, workers: int
) -> dict[str, Ints]:
    """Number, places and queue of each processor that all workers share.

    A queue has room for all that all workers, and the job itself, can have there at one time.
    """
    number = np.full(len(shared), NONE, dtype=np.int64)
    number[shared] = np.arange(shared.sum())
    room = members[shared] * (workers + 1)
    return {
        "shared_of": number,
        "shared_first": np.concatenate([[0], np.cumsum(places[shared])]).astype(np.int64),
        "shared_queue": np.concatenate([[0], np.cumsum(room)]).astype(np.int64),
        "shared_processor": np.repeat(number[shared], places[shared]).astype(np.int64),
    }


def joined_updates(plan: StepPlan) -> dict[str, Ints]:
    """Updates that are done once for all workers, what they wait for, and who waits for them."""
    operations, nothing = plan.operations, np.zeros(0, dtype=np.int64)
    once = np.zeros(operations, dtype=np.int64) if plan.once is None else plan.once
    after = plan.pulled_after
    pulled_after = np.full(operations, NONE, dtype=np.int64) if after is None else after
    pulls = np.flatnonzero(pulled_after != NONE)
    order = np.argsort(pulled_after[pulls], kind="stable")
    edges = np.repeat(np.arange(operations), np.diff(plan.after_start))
    joint = once[edges] == 1
    behind = edges[joint][np.argsort(plan.after[joint], kind="stable")]
    released = nothing.reshape(1, 0) if plan.released is None else plan.released
    return {
        "update": np.flatnonzero(once).astype(np.int64),
        "once": once,
        "pulled_after": pulled_after,
        "pull": pulls[order].astype(np.int64),
        "pull_start": _ranges(pulled_after[pulls], operations),
        "released": released,
        "behind": behind.astype(np.int64),
        "behind_start": _ranges(plan.after[joint], operations),
    }


def _ranges(of: Ints, count: int) -> Ints:
    """(count + 1,) where the entries of each number begin, once they are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64)


def _sources(
    workers: int,
    servers: int,
    capacity: Ints,
    at_worker: Ints,
    channels: int,
    shared_places: int,
    gates: int,
) -> dict[str, Ints]:
    """Sources of events, in the order in which simultaneous events are processed."""
    here = int(capacity[at_worker == 1].sum())
    places = np.arange(capacity.sum(), dtype=np.int64)
    everyone = np.arange(workers, dtype=np.int64)
    flows = np.arange(workers * channels, dtype=np.int64)
    nobody = np.full(servers, NONE, dtype=np.int64)
    classes = [
        (nobody, np.arange(servers)),
        (np.repeat(everyone, here), np.tile(places[:here], workers)),
        (nobody, np.arange(servers, 2 * servers)),
        (np.repeat(everyone, len(places) - here), np.tile(places[here:], workers)),
        (np.full(shared_places, NONE), np.arange(shared_places)),
        (flows // max(channels, 1), flows),
        (everyone, np.zeros(workers)),
        (np.repeat(everyone, gates), np.arange(workers * gates)),
    ]
    return {
        "who": np.concatenate([who for who, _ in classes]).astype(np.int64),
        "what": np.concatenate([what for _, what in classes]).astype(np.int64),
        "first_leaf": np.cumsum([0, *(len(who) for who, _ in classes[:-1])], dtype=np.int64),
    }


def _starts(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)[: len(counts)]


def _on_links(link_of: Sequence[int], links: int) -> tuple[Ints, Ints, Ints]:
    """Number of channels on each link, each channel's index on its link, and the inverse."""
    count = np.bincount(np.array(link_of, dtype=np.int64), minlength=links).astype(np.int64)
    leaf_of = np.zeros(len(link_of), dtype=np.int64)
    channel_at = np.zeros((links, max(1, int(count.max(initial=1)))), dtype=np.int64)
    seen = [0] * links
    for channel, link in enumerate(link_of):
        leaf_of[channel] = seen[link]
        channel_at[link, seen[link]] = channel
        seen[link] += 1
    return count, leaf_of, channel_at
