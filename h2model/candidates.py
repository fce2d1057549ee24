"""Candidate models of a transport's sender, and the model of its receiver.

Of a gRPC release that was not studied the sender's rule is not known: every discipline is tried,
and `followed` names none. Its receiver is taken to give credit as that of the nearest studied
release does. `not_studied` lists such ends.
"""

from collections.abc import Mapping
from typing import Final

from h2model import credit, transports
from h2model.call_headers import CallHeaders
from h2model.connection import Heads, ReceiverModel, SenderModel
from h2model.disciplines import load, names, traits
from h2model.overhead import AT_ONCE, Acceptance, Overhead
from h2model.parameters import (
    Parameters,
    ReceiverRule,
    SenderRule,
    is_studied,
    nearest,
)
from h2model.protocol import DEFAULT_FRAME_BYTES, DEFAULT_WINDOW_BYTES, UNLIMITED_BYTES
from netcosim.scenario import TransportSpec
from netcosim.scenario.unstudied_releases import NotStudied

_AGENT: Final = "grpc-python/"
_ASYNCHRONOUS: Final = "grpc-python-asyncio/"


def speaks_grpc(transport: TransportSpec) -> bool:
    """True if messages carry gRPC's five-byte prefix, as one end asks for it."""
    kinds = (transports.load(kind) for kind in (transport.sender, transport.receiver))
    return any(kind.GRPC_FRAMING for kind in kinds)


def candidate_senders(
    transport: TransportSpec, *, pushes: bool = False, window_bytes: int | None = None
) -> dict[str, SenderModel]:
    """Every discipline as a model of this transport's sender, by name.

    The discipline that our own sender was configured for gets its configured options; the one that
    a gRPC release follows gets that release's constants; all others their defaults. For a release
    that was not studied a discipline gets the constants of the nearest studied one that follows it.
    `pushes` is set if messages are pushed; `window_bytes` is the window that is asked for.
    """
    frame, sender = largest_frame_bytes(transport), transports.load(transport.sender)
    return {
        name: SenderModel(
            discipline=name,
            options=_options(name, transport, frame, pushes=pushes),
            frame_bytes=frame,
            polled=not sender.BOUNDS_UNACKNOWLEDGED,
            heads=_heads(transport, window_bytes, pushes=pushes),
        )
        for name in names()
        if not traits(name).by_priority or transport.discipline == name
    }


def followed(transport: TransportSpec) -> str | None:
    """The discipline that the sender is known to follow.

    None for somebody's own script, and for a gRPC release that was not studied.
    """
    studied = transports.load(transport.sender).STUDIED
    if studied is not None and not is_studied(studied, transport.sender_release):
        return None
    return assumed(transport)


def assumed(transport: TransportSpec) -> str | None:
    """The discipline that the sender is taken to follow where one is needed.

    Of a gRPC release that was not studied it is that of the nearest one that was; None for
    somebody's own script.
    """
    rule = sender_rule(transport)
    return transport.discipline if rule is None else rule.discipline


def not_studied(transport: TransportSpec) -> tuple[NotStudied, ...]:
    """The ends whose gRPC release was not studied, each with the studied one nearest to it."""
    found = []
    for end, files, release in (
        ("sender", [file for file, _ in _sender_rules(transport)], transport.sender_release),
        ("receiver", _receiver_files(transport), transport.receiver_release),
    ):
        if files and release is not None and not is_studied(files[0].implementation, release):
            found.append(NotStudied(end=end, release=release, nearest=files[0].release))
    return tuple(found)


def receiver_model(
    transport: TransportSpec,
    window_bytes: int | None,
    *,
    listens: bool = False,
    acceptance: Acceptance = AT_ONCE,
    overhead: Overhead | None = None,
    ping_delays_ms: tuple[int, ...] = (),
) -> ReceiverModel:
    """The receiver's windows and credit rule, from its configuration alone.

    `listens` is set if messages are pushed to it. How long it leaves them unread and what reading
    takes was measured before, if it was. `ping_delays_ms` are the delays between
    its PINGs that a library logged.
    """
    if not transport.flow_control:
        return ReceiverModel()
    rule = receiver_rule(transport)
    if rule is not None:
        window = rule.window or window_bytes or DEFAULT_WINDOW_BYTES
        return ReceiverModel(
            window_bytes=window,
            connection_window_bytes=max(window, DEFAULT_WINDOW_BYTES),  # no update makes it less
            credit=rule.credit,
            grpc=True,
            progress_bytes=rule.progress or 0,
            probes=rule.probes,
            probes_wait=rule.probes_wait,
            listens=listens,
            one_reader=rule.one_reader,
            acceptance=acceptance,
            overhead=overhead,
            smoothed=rule.smoothed,
            answer_first=rule.answer_first,
            ping_delays_ms=ping_delays_ms,
        )
    return ReceiverModel(
        window_bytes=window_bytes or DEFAULT_WINDOW_BYTES,
        connection_window_bytes=transport.connection_window or UNLIMITED_BYTES,
        credit=transport.credit or credit.DEFAULT,
    )


def largest_frame_bytes(transport: TransportSpec) -> int:
    """The largest frame that the sender writes, which is the largest that the receiver allows."""
    rule = receiver_rule(transport)
    if rule is not None and transports.load(transport.sender).STUDIED is not None:
        return rule.frame or DEFAULT_FRAME_BYTES
    return transport.frame_size or DEFAULT_FRAME_BYTES


def sender_rule(transport: TransportSpec) -> SenderRule | None:
    """The rule of a gRPC sender's release under the transport's settings, or of the nearest one."""
    return next((rule for _, rule in _sender_rules(transport)), None)


def receiver_rule(transport: TransportSpec) -> ReceiverRule | None:
    """The rule of a gRPC receiver's release under the transport's settings, or of the nearest."""
    found = _receiver_files(transport)
    return found[0].receives(_setting(transport)) if found else None


def credit_waits_for_reader(transport: TransportSpec) -> bool:
    """True if credit for pushed messages depends on when the receiver's application reads them.

    Older releases begin with a window that outlasts that.
    """
    rule = receiver_rule(transport)
    name = None if rule is None else rule.credit
    return name is not None and credit.load(name).WAITS_FOR_READER


def reads_in_turn(transport: TransportSpec) -> bool:
    """True if the receiver reads pushed calls one after the other, in the order of arrival."""
    rule = receiver_rule(transport)
    return rule is not None and rule.one_reader


def call_headers(
    transport: TransportSpec, authority: str, *, asynchronous: bool = False
) -> CallHeaders | None:
    """Header blocks of a connection's calls to such a server; None if they are not known.

    Calls that are made `asynchronous` tell so, as Python's user agent.
    """
    files = _sender_rules(transport)
    rule = files[0][0].calls if files else None
    if rule is None:
        return None
    fields = [(":authority", authority), *rule.fields.items()]
    if asynchronous:
        fields = [(name, value.replace(_AGENT, _ASYNCHRONOUS)) for name, value in fields]
    return CallHeaders(fields, indexed=rule.indexed, table_bytes=rule.table)


def parameter_digests(transport: TransportSpec) -> dict[str, str]:
    """The digests of the parameter files that predictions of this transport rest on."""
    files = [*(file for file, _ in _sender_rules(transport)), *_receiver_files(transport)[:1]]
    return {f"{file.implementation}-{file.release}": file.sha256 for file in files}


def _sender_rules(transport: TransportSpec) -> list[tuple[Parameters, SenderRule]]:
    """Rules of a studied sender: its release's, or the nearest of each discipline."""
    studied = transports.load(transport.sender).STUDIED
    if studied is None:
        return []
    setting = "whole_messages" if transport.whole_messages else _setting(transport)
    files = nearest(studied, transport.sender_release, "sender", setting)
    if is_studied(studied, transport.sender_release):
        files = files[:1]
    found: dict[str, tuple[Parameters, SenderRule]] = {}
    for file in files:
        rule = file.sends(setting)
        found.setdefault(rule.discipline, (file, rule))
    return list(found.values())


def _receiver_files(transport: TransportSpec) -> tuple[Parameters, ...]:
    """The parameters of a studied receiver's release, or of those near to it, the nearest first."""
    studied = transports.load(transport.receiver).STUDIED
    if studied is None:
        return ()
    return nearest(studied, transport.receiver_release, "receiver", _setting(transport))


def _setting(transport: TransportSpec) -> str:
    if not transport.flow_control:
        return "off"
    return "default" if transport.window is None else "window"


def _heads(transport: TransportSpec, window_bytes: int | None, *, pushes: bool) -> Heads:
    rule = sender_rule(transport)
    known = {} if rule is None else _constants(rule, pushes=pushes)
    return Heads(
        first=int(known.get("head_first", 0)),
        each=int(known.get("head", 0)),
        first_tail=int(known.get("tail_first", 0)),
        tail=int(known.get("tail", 0)),
        pushed=pushes and "head" in known,
        updates=pushes and "head" in known and _lacks_for_replies(transport, window_bytes),
    )


def _lacks_for_replies(transport: TransportSpec, window_bytes: int | None) -> bool:
    """True if a call makes its connection lack credit, which is never below the default window."""
    window = window_bytes if transport.flow_control else None
    return window is None or window >= DEFAULT_WINDOW_BYTES


def _constants(rule: SenderRule, *, pushes: bool) -> Mapping[str, int | bool | str]:
    return {**rule.options, **rule.pushed} if pushes else rule.options


def _options(
    name: str, transport: TransportSpec, frame_bytes: int, *, pushes: bool
) -> Mapping[str, int | bool | str]:
    if transport.discipline == name:
        return transport.options
    rules = {rule.discipline: rule for _, rule in _sender_rules(transport)}
    known = _constants(rules[name], pushes=pushes) if name in rules else {}
    if "frame" in load(name).OPTIONS:
        return {"frame": frame_bytes, **known}
    return known
