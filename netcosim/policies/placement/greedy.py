"""Each tensor, as listed, to the server that holds the fewest bytes; ties to the lower number.

Source: Li et al. (ICPE 2020), section 5; TensorFlow's greedy load balancing.
"""

from collections.abc import Sequence


def place(sizes_bytes: Sequence[int], servers: int, given: Sequence[int | None] = ()) -> list[int]:
    """Return the server of each tensor."""
    load = [0] * servers
    chosen = []
    for size in sizes_bytes:
        server = min(range(servers), key=load.__getitem__)
        load[server] += size
        chosen.append(server)
    return chosen
