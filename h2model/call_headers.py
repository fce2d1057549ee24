"""Header blocks of a connection's calls: a table of fields sent before shortens the later ones."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

_ENTRY_BYTES: Final = 32
"""Size of an entry beside its name and value (RFC 7541, section 4.1)."""

_STATIC_ENTRIES: Final = 61
"""Entries of the static table; indices of the dynamic table follow (RFC 7541, section 2.3.3)."""

_PATH: Final = ":path"


class CallsOf(Protocol):
    """Calls of one connection, one after the other: each shortens those behind it.

    Attributes
    ----------
    beside_bytes : of each call, beside its HEADERS
    """

    @property
    def beside_bytes(self) -> int:
        """Bytes of a call beside its HEADERS."""

    def call_bytes(self, path: str) -> int:
        """Bytes of the next call's HEADERS frame."""

    def answer_bytes(self, size_bytes: int) -> int:
        """Bytes of the next answer's HEADERS frame; 0 where the sender's model has them."""


@dataclass(slots=True)
class _Table:
    """An encoder's dynamic table: the newest entry has the lowest index."""

    capacity_bytes: int
    used_bytes: int = 0
    inserted: int = 0
    sizes: deque[int] = field(default_factory=deque)

    def insert(self, size_bytes: int) -> int:
        """Insert an entry, evicting the oldest as long as it does not fit; return its number."""
        while self.sizes and self.used_bytes + size_bytes > self.capacity_bytes:
            self.used_bytes -= self.sizes.popleft()
        self.sizes.append(size_bytes)
        self.used_bytes += size_bytes
        self.inserted += 1
        return self.inserted

    def index(self, number: int) -> int | None:
        """Index of an entry by its number, None if it was evicted."""
        age = self.inserted - number
        return _STATIC_ENTRIES + 1 + age if age < len(self.sizes) else None


class CallHeaders:
    """Length of the header blocks of one connection's calls, one after the other.

    Each call has a path of its own, which is a literal and enters the table, and the same other
    fields: literals in the first call, and again when their entry was evicted, else an index. Names
    are literals as well, as C-core writes them, without Huffman's code.

    Source: RFC 7541, sections 2.3 and 6; C-core
    src/core/ext/transport/chttp2/transport/hpack_encoder.cc.

    Parameters
    ----------
    fields : names and values after the path, in the order of encoding
    indexed : fields that the static table has, a byte each
    table_bytes : capacity of the dynamic table
    """

    def __init__(
        self, fields: Sequence[tuple[str, str]], *, indexed: int, table_bytes: int
    ) -> None:
        self._fields = tuple(fields)
        self._indexed = indexed
        self._table = _Table(table_bytes)
        self._numbers: dict[str, int] = {}

    def block_bytes(self, path: str) -> int:
        """Length of the next call's header block."""
        size = self._indexed + self._literal(_PATH, path)
        for name, value in self._fields:
            number = self._numbers.get(name)
            index = None if number is None else self._table.index(number)
            size += self._literal(name, value) if index is None else integer_bytes(index, 7)
        return size

    def _literal(self, name: str, value: str) -> int:
        self._numbers[name] = self._table.insert(_ENTRY_BYTES + len(name) + len(value))
        return 1 + _string_bytes(name) + _string_bytes(value)


def integer_bytes(value: int, prefix_bits: int) -> int:
    """Length of an integer whose first byte has so many bits for it (RFC 7541, section 5.1)."""
    rest = value - ((1 << prefix_bits) - 1)
    if rest < 0:
        return 1
    return 1 + max(1, -(-rest.bit_length() // 7))


def _string_bytes(text: str) -> int:
    return integer_bytes(len(text), 7) + len(text)
