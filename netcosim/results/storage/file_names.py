"""Names of files in a results folder: made of names that people give, checked before use."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
_PLAIN: Final = re.compile(f"{_WORD}(/{_WORD}(@{_WORD})?)?")  # each in one way as a file's name
_ODD: Final = re.compile(r"[^A-Za-z0-9_.+-]")
_LONGEST_PLAIN: Final = 160
_LONGEST_READABLE: Final = 60
_DIGITS: Final = 12


def file_name(name: str, among: Iterable[str] = ()) -> str:
    """The part of a file's name that stands for a name that somebody gave.

    Names of the kind that scenarios and their cells have stay as they are, and the slash becomes
    ``@``: ``mixed8/h2-on`` is ``mixed8@h2-on``. Of any other name the readable characters stay,
    with a digest behind them: ``resnet50 at 1gbit`` is ``resnet50-at-1gbit@-`` and twelve digits.
    Two names never have the same part: ``@-`` stands in no plain one.

    Parameters
    ----------
    name
        Any text.
    among
        Names whose files lie beside it, itself or not. Those that differ from it in upper and
        lower case alone would be one file where a file system ignores case; they get digests.

    Returns
    -------
    str
        At most 160 ASCII characters: letters, digits and ``._+@-``, a letter or digit first.
    """
    plain = len(name) <= _LONGEST_PLAIN and _PLAIN.fullmatch(name) is not None
    if plain and not any(o != name and o.casefold() == name.casefold() for o in among):
        return name.replace("/", "@")
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    return f"{readable(name) or 'name'}@-{digest[:_DIGITS]}"


def readable(name: str) -> str:
    """What a name of a scenario's kind can keep of any text: 60 characters at most, or nothing."""
    return _ODD.sub("-", name).lstrip("_.+-")[:_LONGEST_READABLE]


def split_name(name: str) -> tuple[str, str]:
    """The folder below the results folder, or nothing, and the file's own name.

    Raises
    ------
    ValueError
        It is not the name of a file in the folder, or in one below it.
    """
    above, _, last = name.rpartition("/")
    if not all(_SAFE.fullmatch(part) for part in (above or last, last)):
        raise ValueError(f"{name!r} is not a name within the results folder")
    return above, last
