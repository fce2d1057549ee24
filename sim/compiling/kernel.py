"""A kernel by name: the fast path or the generic engine, for a discipline and a share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from h2model import disciplines
from netcosim.errors import ScenarioError
from netcosim.policies import schedule_names
from sim.fast.engine import compile_fast
from sim.kernels.compiled import compile_engine
from sim.shares import share_names

FAST: Final = "fast"
EXTENDED: Final = "extended"


@dataclass(frozen=True, slots=True, order=True)
class Kernel:
    """One kernel.

    Attributes
    ----------
    discipline : that it asks; None for the fast path that asks none
    share : of links, for the generic engine; None for the fast path
    extended : whether that engine joins gradients and shares processors among workers
    schedule : of the gates before that engine's connections; None: there are none
    """

    discipline: str | None
    share: str | None = None
    extended: bool = False
    schedule: str | None = None

    @classmethod
    def named(cls, name: str) -> Self:
        """The kernel of a name such as ``fast``, ``fast/write_cycle`` or ``write_cycle/equal``.

        Raises
        ------
        ScenarioError
            There is none; the message says what is allowed.
        """
        known, shares = disciplines.names(), share_names()
        match name.split("/"):
            case ["fast"]:
                return cls(None)
            case ["fast", discipline] if discipline in known:
                return cls(discipline)
            case [discipline, share] if discipline in known and share in shares:
                return cls(discipline, share)
            case [discipline, share, *more] if discipline in known and share in shares:
                extended = more[:1] == [EXTENDED]
                rest = more[1:] if extended else more
                if not rest:
                    return cls(discipline, share, extended)
                if len(rest) == 1 and rest[0] in schedule_names():
                    return cls(discipline, share, extended, rest[0])
        allowed = (
            f"must be {FAST}, {FAST}/DISCIPLINE or DISCIPLINE/SHARE, this one with /{EXTENDED},"
            f" /SCHEDULE or both behind it; disciplines: {', '.join(disciplines.names())};"
            f" shares: {', '.join(share_names())}; schedules: {', '.join(schedule_names())}"
        )
        raise ScenarioError.at("kernel", name, allowed)

    def __str__(self) -> str:
        if self.share is not None:
            more = (EXTENDED if self.extended else None, self.schedule)
            return "/".join([f"{self.discipline}/{self.share}", *filter(None, more)])
        return FAST if self.discipline is None else f"{FAST}/{self.discipline}"

    @property
    def seconds(self) -> float:
        """Time that compiling it takes on a processor of its own; `bench sim` measures it."""
        if self.extended:
            return 16.0
        return 28.0 if self.share == "max_min" else 22.0

    def is_kept(self) -> bool:
        """True if the cache has its machine code, as far as can be told without loading it."""
        if self.share is None or self.discipline is None:
            kernel: Any = compile_fast(self.discipline)
        else:
            kernel = compile_engine(
                self.discipline, self.share, extended=self.extended, schedule=self.schedule
            )
        return _is_found(kernel)


def _is_found(kernel: Any) -> bool:
    """True if numba will find a kernel's machine code: asked as numba does, not by files' ages.

    Sources that are written anew, as by a checkout, are newer than all that is kept and make no
    difference: newer releases of numba look at their content, and so does the folder's name.
    """
    kept = getattr(kernel._cache, "_cache_file", None)
    if kept is None:
        return False
    try:
        named = set(kept._load_index().values())
    except Exception:  # noqa: BLE001 - of a damaged index; a pickle may raise any
        return False
    return any(Path(kept._data_path(name)).is_file() for name in named)
