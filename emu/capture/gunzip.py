"""Unpacking of compressed captures into a temporary file, as far as that is worth it."""

import tempfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import IO, Final

from netcosim.errors import CaptureError

MOST_BYTES: Final = 4 << 30
"""Most bytes that are unpacked: zeros shrink to a thousandth."""

_WBITS: Final = 16 + zlib.MAX_WBITS
_BLOCK_BYTES: Final = 1 << 15


def gunzip(
    path: Path,
    file: IO[bytes],
    problems: list[str],
    magics: Collection[bytes],
    most_bytes: int = MOST_BYTES,
) -> IO[bytes]:
    """Unpack a gzip file into a temporary one, and list problems.

    Nothing more is unpacked of what does not begin with one of the `magics`, four bytes each.

    Raises
    ------
    CaptureError
        There is no room for it.
    """
    plain = tempfile.TemporaryFile()  # noqa: SIM115 - closed once it is mapped
    packed = zlib.decompressobj(wbits=_WBITS)
    try:
        while block := file.read(_BLOCK_BYTES):
            while block:
                if packed.eof:  # several gzip files, one after the other
                    packed = zlib.decompressobj(wbits=_WBITS)
                _write(path, plain, packed.decompress(block))
                block = packed.unused_data
            if plain.tell() >= most_bytes:
                problems.append(
                    f"only the first {plain.tell()} bytes that the gzip file unpacks to are read:"
                    f" unpack it (gzip -d) to have all"
                )
                break
            if not _begins_with(plain, magics):
                break
        else:
            if not packed.eof:
                problems.append("the gzip file is cut off")
    except zlib.error as problem:
        problems.append(f"the gzip file is damaged: {problem}")
    plain.seek(0)
    return plain


def _write(path: Path, plain: IO[bytes], content: bytes) -> None:
    try:
        plain.write(content)
        plain.flush()
    except OSError as problem:
        where = tempfile.gettempdir()
        raise CaptureError(f"{path}: can't be unpacked to {where}: {problem.strerror}") from None


def _begins_with(plain: IO[bytes], magics: Collection[bytes]) -> bool:
    """True unless the file has four bytes that are none of the magics."""
    end = plain.tell()
    plain.seek(0)
    found = plain.read(4)
    plain.seek(end)
    return len(found) < 4 or found in magics
