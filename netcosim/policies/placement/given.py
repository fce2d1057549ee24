"""Each tensor to the server that the scenario gives for it."""

from collections.abc import Sequence

from netcosim.errors import ScenarioError


def place(sizes_bytes: Sequence[int], servers: int, given: Sequence[int | None] = ()) -> list[int]:
    """Return the server of each tensor.

    Raises
    ------
    ScenarioError
        A tensor without a server, or a server that there is not.
    """
    chosen = [server for server in given if server is not None]
    if len(chosen) < len(sizes_bytes):
        missing = len(sizes_bytes) - len(chosen)
        raise ScenarioError(f"policy.servers: {missing} tensor(s) have none; each needs one")
    for server in chosen:
        if not 0 <= server < servers:
            allowed = f"no such server; must be 0 to {servers - 1}"
            raise ScenarioError.at("policy.servers", server, allowed)
    return chosen
