"""Prediction of a burst's schedule from inputs that are known before it."""

from collections.abc import Sequence

from h2model.connection import (
    Connection,
    LinkModel,
    ReceiverModel,
    Schedule,
    SenderModel,
    StreamPlan,
)


def predict(
    plans: Sequence[StreamPlan],
    sender: SenderModel,
    link: LinkModel,
    receiver: ReceiverModel | None = None,
) -> Schedule:
    """Predict one burst on a new connection.

    Parameters
    ----------
    plans
        The messages: flow-controlled bytes and hand-over times in nanoseconds.
    sender, link, receiver
        The discipline, the calibrated path, the windows; no receiver means no flow control.

    Returns
    -------
    Schedule
        Ends, service intervals and stalls, in nanoseconds on the burst's clock.

    Raises
    ------
    ValueError
        An unknown discipline, option or credit rule.
    StandstillError
        The credit rule never lets the burst finish.
    """
    return Connection(sender, receiver or ReceiverModel(), link).burst(plans)
