"""Header blocks of a training job's calls and answers, connection by connection."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from h2model import h2_headers
from h2model.call_headers import CallsOf
from h2model.candidates import call_headers, speaks_grpc
from h2model.framing import SERVER
from h2model.protocol import FRAME_HEADER_BYTES, WINDOW_UPDATE_BYTES
from h2model.way_back import ASKING_BYTES
from netcosim.scenario import TransportSpec

if TYPE_CHECKING:
    from hpack import Encoder

_GRPC_BESIDE_BYTES: Final = ASKING_BYTES + WINDOW_UPDATE_BYTES


def _encoder() -> "Encoder":
    from hpack import Encoder  # only here: a plan is made without it

    return Encoder()


@dataclass(slots=True)
class OwnCalls:
    """Calls of our own HTTP/2 ends: a `CallsOf`. Either end has a table of headers."""

    beside_bytes: int = 0
    _calls: "Encoder" = field(default_factory=_encoder)
    _answers: "Encoder" = field(default_factory=_encoder)

    def call_bytes(self, path: str) -> int:
        """Bytes of the next call's HEADERS frame."""
        return _frame_bytes(self._calls, h2_headers.request(path, SERVER, 0, grpc=False))

    def answer_bytes(self, size_bytes: int) -> int:
        """Bytes of the next answer's HEADERS frame."""
        return _frame_bytes(self._answers, h2_headers.response(size_bytes, grpc=False))


@dataclass(slots=True)
class GrpcCalls:
    """Calls of a gRPC library: a `CallsOf`. Each brings credit for its connection.

    Parameters
    ----------
    block_bytes
        Of the next call's header block, by its path.
    """

    block_bytes: Callable[[str], int]
    beside_bytes: int = _GRPC_BESIDE_BYTES

    def call_bytes(self, path: str) -> int:
        """Bytes of the next call's HEADERS frame."""
        return FRAME_HEADER_BYTES + self.block_bytes(path)

    def answer_bytes(self, size_bytes: int) -> int:
        """None: what the library writes before a message, its sender's model has."""
        return 0


@dataclass(slots=True)
class UnknownCalls:
    """Calls whose HEADERS are not known: a `CallsOf`."""

    beside_bytes: int = _GRPC_BESIDE_BYTES

    def call_bytes(self, path: str) -> int:
        """None."""
        return 0

    def answer_bytes(self, size_bytes: int) -> int:
        """None."""
        return 0


def calls_of(transport: TransportSpec) -> CallsOf:
    """Calls of a new connection of a job."""
    if not speaks_grpc(transport):
        return OwnCalls()
    headers = call_headers(transport, SERVER, asynchronous=True)
    return UnknownCalls() if headers is None else GrpcCalls(headers.block_bytes)


def _frame_bytes(encoder: "Encoder", headers: h2_headers.Headers) -> int:
    return FRAME_HEADER_BYTES + len(encoder.encode(headers))
