"""Conditions of a network's workers under stragglers, if its share strategy can express them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netcosim.scenario import StragglerSpec
from netcosim.training.stragglers import Conditions, conditions
from sim.plan import Network
from sim.settings.share import check_share


def conditions_on(
    network: Network,
    specs: Sequence[StragglerSpec],
    steps: int,
    rng: np.random.SeedSequence,
    *,
    horizon_ns: float,
) -> Conditions:
    """Build the conditions of a run of so many steps; see `netcosim.training.stragglers`.

    Raises
    ------
    ScenarioError
        As `conditions`, and for a slow port that the network's share strategy does not look at.
    """
    under = conditions(
        specs, steps, network.worker_bps, network.delay_ns, rng, horizon_ns=horizon_ns
    )
    check_share(replace(network, worker_bps=under.worker_bps))
    return under
