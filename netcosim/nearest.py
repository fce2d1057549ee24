"""Unknown names in messages: the nearest known one, and a list of what is allowed."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

_MOST_LISTED: Final = 20
_LONGEST: Final = 64
"""Longest text that is compared: what is longer is no name with a typing error."""

_MOST_COMPARED: Final = 2000
"""Most names that one is compared with, letter by letter."""

_ERROR_PER_LETTERS: Final = 4
_SHORTEST_PART: Final = 3


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was most likely meant; None if none is alike, or several are equally.

    One letter in four may be wrong, and one in any case; case and punctuation make no difference.
    What begins or ends a single known name stands for it, if it has three letters or more.
    """
    wanted = _plain(name)
    names = {each: _plain(each) for each in known if each != name}
    if not 0 < len(wanted) <= _LONGEST or not 0 < len(names) <= _MOST_COMPARED:
        return None
    errors = {each: typing_errors(wanted, plain) for each, plain in names.items()}
    fewest = min(errors.values())
    if fewest <= max(1, len(wanted) // _ERROR_PER_LETTERS) and fewest < len(wanted):
        alike = [each for each in names if errors[each] == fewest]
        return alike[0] if len(alike) == 1 else None
    if len(wanted) < _SHORTEST_PART:
        return None
    longer = sorted((each for each in names if names[each].startswith(wanted)), key=len)
    whole = longer and all(names[each].startswith(names[longer[0]]) for each in longer)
    return longer[0] if whole else None


def unknown(name: str, known: Collection[str], what: str = "unknown") -> str:
    """Say that a name is `what`, which one was likely meant, and what is allowed.

    Such as ``unknown; did you mean greedy? allowed: given, greedy, round_robin``.
    """
    asked = question(name, known)
    return f"{what}{asked or ';'} allowed: {listed(list(known))}"


def question(name: str, known: Iterable[str]) -> str:
    """Such as ``; did you mean greedy?``; empty if no known name is alike."""
    meant = nearest(name, known)
    return "" if meant is None else f"; did you mean {meant}?"


def listed(names: Sequence[str]) -> str:
    """Names with commas; of many the first ones and how many there are."""
    if len(names) <= _MOST_LISTED:
        return ", ".join(names) or "none"
    return f"{', '.join(names[: _MOST_LISTED - 1])}, ... ({len(names)} in all)"


def typing_errors(wanted: str, known: str) -> int:
    """Letters to add, leave out, replace or swap with the next one, to get from text to text.

    The optimal string alignment distance.
    """
    before: list[int] = []
    row = list(range(len(known) + 1))
    for i, letter in enumerate(wanted):
        above, row = row, [i + 1]
        for j, other in enumerate(known):
            least = min(above[j + 1] + 1, row[j] + 1, above[j] + (letter != other))
            if i and j and letter == known[j - 1] and wanted[i - 1] == other:
                least = min(least, before[j - 1] + 1)
            row.append(least)
        before = above
    return row[-1]


def _plain(name: str) -> str:
    return re.sub(r"[-_.\s]", "", name).casefold()
