"""Named straggler presets, to add to any scenario; names combine.

Figures are round ones of ours, chosen to be clearly seen, not measured. "mixed" is the kind of
cluster that LB-BSP was made for (Chen, Weng, Wang, Li, Li: "Semi-dynamic load balancing",
SoCC 2020): machines of different speed that other programs use as well.
"""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import StragglerSpec

_TRANSIENT: Final = StragglerSpec(
    kind="transient", workers="all", options={"every": "60s", "lasting": "10s", "factor": 3.0}
)

_NAMED: Final = MappingProxyType(
    {
        "one-slow": (
            "worker 0 computes half as fast",
            (StragglerSpec(kind="slow", workers=(0,), options={"factor": 2.0}),),
        ),
        "one-slow-link": (
            "worker 0 has a quarter of its port's rate; not with share equal",
            (StragglerSpec(kind="link", workers=(0,), options={"part": 0.25}),),
        ),
        "one-far": (
            "worker 0 is 5 ms further away, one way",
            (StragglerSpec(kind="delay", workers=(0,), options={"delay": "5ms"}),),
        ),
        "jittery": (
            "every step of every worker has a lognormal factor, spread 0.2",
            (
                StragglerSpec(
                    kind="jitter", workers="all", options={"model": "lognormal", "spread": 0.2}
                ),
            ),
        ),
        "heavy-tailed": (
            "every step of every worker has a Pareto factor of shape 4",
            (
                StragglerSpec(
                    kind="jitter", workers="all", options={"model": "pareto", "spread": 0.25}
                ),
            ),
        ),
        "transient": (
            "every worker computes a third as fast for 10 s after every 60 s, on average",
            (_TRANSIENT,),
        ),
        "mixed": (
            "every fourth worker half as fast, slow-downs as in transient, lognormal spread 0.1",
            (
                StragglerSpec(kind="slow", share=0.25, options={"factor": 2.0}),
                _TRANSIENT,
                StragglerSpec(kind="jitter", workers="all", options={"spread": 0.1}),
            ),
        ),
        "leaves": (
            "worker 0 leaves after 60 s and is back after 120 s",
            (StragglerSpec(kind="leave", workers=(0,), options={"at": "60s", "back": "120s"}),),
        ),
    }
)


def named_stragglers() -> dict[str, str]:
    """Names of the presets, each with a description in one line."""
    return {name: text for name, (text, _) in _NAMED.items()}


def named(names: Iterable[str]) -> tuple[StragglerSpec, ...]:
    """The entries of these names, one after the other.

    Raises
    ------
    ScenarioError
        There is none of a name; the message lists those that exist.
    """
    found: list[StragglerSpec] = []
    for name in names:
        if name not in _NAMED:
            raise ScenarioError.at("--straggler", name, unknown(name, _NAMED))
        found += _NAMED[name][1]
    return tuple(found)
