"""Evidence of a discipline in words, from the structure of bursts."""

import numpy as np

from emu.identify.turns import Turns


def turn_evidence(turns: Turns) -> tuple[str, ...]:
    """Describe the structure of bursts, line by line."""
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
    if turns.connection_ended:
        lines.append(f"visits that ended with the connection's credit: {turns.connection_ended}")
    if turns.turn_bytes:
        lines.append(_sizes(turns))
    if turns.returned:
        lines.append(
            "streams that came again before one that had certainly waited for longer, with fewer"
            f" bytes: {turns.out_of_turn} of {turns.returned}"
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
