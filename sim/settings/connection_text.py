"""Text on a connection's discipline, schedule, releases and windows."""

from h2model import disciplines, transports
from h2model.candidates import not_studied
from h2model.parameters import releases
from netcosim.policies import load_schedule
from netcosim.scenario import TransportSpec
from netcosim.scenario.unstudied_releases import not_studied_text
from netcosim.units import format_size
from sim.plan import Sending


def sender_text(sending: Sending) -> str:
    """The discipline with its options, where they are not those that it has by default."""
    given = disciplines.changed_options(sending.discipline, sending.options)
    return f"{sending.discipline} ({', '.join(given)})" if given else sending.discipline


def schedule_text(sending: Sending) -> str | None:
    """The schedule with its options, where they are not those that it has by default."""
    if sending.schedule is None:
        return None
    defaults = load_schedule(sending.schedule).OPTIONS
    given = [
        f"{key} {value}"
        for (key, default), value in zip(defaults.items(), sending.schedule_options, strict=True)
        if value != default
    ]
    return f"{sending.schedule} ({', '.join(given)})" if given else sending.schedule


def release_notes(transport: TransportSpec) -> tuple[str, ...]:
    """Say which release a gRPC end without one is, and which ends' releases were not studied."""
    unknown = not_studied_text(not_studied(transport))
    return (
        *(
            [f"none is named: grpcio {releases('grpc')[-1]}, the newest studied"]
            * bool(transports.releases_not_named(transport))
        ),
        *([] if unknown is None else [f"{unknown}; its rule is assumed, not measured"]),
    )


def windows_text(sending: Sending, recorded_bytes: int | None = None) -> str:
    """A stream's window and its connection's; one that never binds is none.

    Parameters
    ----------
    recorded_bytes : the stream's window while the profile was recorded, where that is known;
        mentioned where it was another
    """
    stream, connection = sending.window_bytes, sending.connection_window_bytes
    text = "none: flow control is off"
    if stream is not None or connection is not None:
        shown = ("none" if size is None else format_size(size) for size in (stream, connection))
        text = "stream {}, connection {}".format(*shown)
    if recorded_bytes in (None, stream):
        return text
    return f"{text}; the profile was recorded with {format_size(recorded_bytes)}"
