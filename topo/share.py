"""Who gets how much when several flows share links: max-min fairness."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from topo.spec import NetLink


def max_min_bps(flows: Mapping[str, Sequence[NetLink]]) -> dict[str, int]:
    """Return each flow's max-min fair rate over the links of its path, in bits per second.

    Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): all rates grow
    alike until a link is full; the flows through it stay, the rest grow on.
    """
    rates: dict[str, Fraction] = {}
    left = {link.name: Fraction(link.link.rate) for path in flows.values() for link in path}
    while len(rates) < len(flows):
        growing = {name: path for name, path in flows.items() if name not in rates}
        crossing = {
            name: [flow for flow, path in growing.items() if any(k.name == name for k in path)]
            for name in left
        }
        level, tightest = min(
            (left[name] / len(through), name) for name, through in crossing.items() if through
        )
        for flow in crossing[tightest]:
            rates[flow] = level
            for link in flows[flow]:
                left[link.name] -= level
    return {name: int(rate) for name, rate in rates.items()}
