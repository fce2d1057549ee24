"""Evidence in words."""

from collections.abc import Mapping

import numpy as np

from emu.identify.turns import Turns

_ABOUT = {
    "fifo": "whole streams in the order of hand-over",
    "priority": "the most urgent stream first; a more urgent one preempts",
    "two_visit": "a first visit of at most the window, then the rest to completion",
    "round_robin": "equal turns",
    "processor_sharing": "equal shares in grains below a frame",
    "write_cycle": "turns of an adaptive write target that grows by half",
}


def describe(name: str, options: Mapping[str, int]) -> str:
    """A discipline in a few words, with what was read off the wire."""
    text = f"{name} ({_ABOUT[name]})" if name in _ABOUT else name
    if name == "round_robin":
        return f"{text} of {options['quantum']} bytes"
    if name == "processor_sharing":
        return f"{text}, {options['grain']} bytes"
    if name == "two_visit" and options.get("requeue_at_completion"):
        return f"{text}; the rest waits behind streams that come during the first visit"
    if name == "two_visit" and options.get("write"):
        return f"{text}; gathered into writes of some {options['write']} bytes"
    return text


def turn_evidence(turns: Turns) -> tuple[str, ...]:
    """What was read off the bursts, line by line."""
    if not turns.contested:
        return ()
    lines = [
        f"{turns.contested} of {turns.streams} streams met another unfinished one;"
        f" {turns.visits / turns.contested:.1f} visits a stream, {turns.whole} in one visit",
        f"first service against the order of requests: {turns.overtaken} pairs",
        f"an unfinished stream preempted by one that just came: {turns.preempted} times",
    ]
    if turns.limited:
        lines.append(
            f"first visit = the stream's window at that time: {turns.first_is_window} of"
            f" {turns.limited} larger streams; {turns.second_finishes} of these finished with the"
            " second visit"
        )
    if turns.credit_ended:
        lines.append(f"visits that ended with the stream's credit: {turns.credit_ended}")
    if turns.turn_bytes:
        lines.append(_sizes(turns))
    if turns.returned:
        lines.append(
            f"streams that came again before one that had waited for longer: {turns.out_of_turn} of"
            f" {turns.returned}"
        )
    return tuple(lines)


def _sizes(turns: Turns) -> str:
    sizes = np.array(turns.turn_bytes)
    usual = turns.usual_turn_bytes
    text = (
        f"{sizes.size} other visits left data behind: {sizes.min()} to {sizes.max()} bytes,"
        f" median {int(np.median(sizes))}"
    )
    return text + (f", most of them {usual}" if usual else ", without a usual size")
