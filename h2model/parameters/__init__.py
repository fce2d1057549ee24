"""What each release of an endpoint does: one frozen file a release, and the way to the right one.

A file says, for each setting, which discipline a sender follows and which credit rule a receiver
follows, with their constants and sources. Nothing in it was fitted to a burst that is scored. The
digest of the file that a prediction used goes into the results.
"""

import functools
import hashlib
import re
import tomllib
from importlib import resources
from typing import Final, Literal

from pydantic import ValidationError

from h2model import credit, disciplines
from netcosim.errors import ScenarioError
from netcosim.scenario.fields import Flag, Name, OptionValue, Record, SizeBytes

NEWEST: Final = "newest"
"""Stands for the release in the project's own environment."""


class SenderRule(Record):
    """The discipline a sender follows under a setting, with its constants."""

    discipline: Name
    options: dict[str, OptionValue] = {}


class ReceiverRule(Record):
    """How a receiver gives credit under a setting; `credit` None: windows that never bind.

    `window` None: as the scenario configures it. `progress` is how much of a message still to come
    is allowed beyond the window; `frame` the largest frame that it announces; `probes` whether it
    measures its path with PINGs, `probes_wait` whether a PING that is due waits for the next write,
    `smoothed` whether it has the old account, whose window follows
    that slowly, `answer_first` whether a PING's answer is heard before the frame behind it counts,
    `one_reader` whether our server, which has no asyncio there, reads pushed calls in turn.
    """

    credit: Name | None = None
    window: SizeBytes | None = None
    progress: SizeBytes | None = None
    frame: SizeBytes | None = None
    probes: Flag = False
    probes_wait: Flag = False
    smoothed: Flag = False
    answer_first: Flag = False
    one_reader: Flag = False


class Parameters(Record):
    """One release.

    `since` is the first release for which this file stands when there is no nearer one.
    """

    format: Literal["netcosim-parameters"]
    version: Literal[1]
    implementation: Name
    release: Name
    since: Name
    sources: tuple[str, ...]
    sender: dict[str, SenderRule]
    receiver: dict[str, ReceiverRule]
    sha256: str = ""

    def sends(self, setting: str) -> SenderRule:
        """The sender's rule under a setting, else its default."""
        return self.sender.get(setting, self.sender["default"])

    def receives(self, setting: str) -> ReceiverRule:
        """The receiver's rule under a setting, else its default."""
        return self.receiver.get(setting, self.receiver["default"])


def releases(implementation: str) -> tuple[str, ...]:
    """The releases of an implementation that have a file, oldest first."""
    return tuple(p.release for p in _files() if p.implementation == implementation)


def parameters(implementation: str, release: str | None = None) -> Parameters:
    """The file of a release, or the one that stands for it.

    Parameters
    ----------
    implementation
        Such as ``grpc``.
    release
        Such as ``1.59.5``; None for the newest there is a file for.

    Raises
    ------
    ScenarioError
        The release is older than every file.
    """
    known = [p for p in _files() if p.implementation == implementation]
    if release in (None, NEWEST):
        return known[-1]
    exact = [p for p in known if p.release == release]
    older = [p for p in known if order_of(p.since) <= order_of(release or "")]
    if not exact and not older:
        oldest = known[0].since if known else "none"
        raise ScenarioError(
            f'{implementation} release "{release}": nothing is known of releases before {oldest}'
        )
    return (exact or older)[-1]


def order_of(release: str) -> tuple[int, ...]:
    """A release as numbers that compare as releases do; text after them is not looked at."""
    return tuple(int(part) for part in re.findall(r"\d+", release.partition("-")[0]))


def parse(text: str, name: str) -> Parameters:
    """Read a parameter file.

    Raises
    ------
    ScenarioError
        Not TOML, an unknown field, discipline, option or credit rule.
    """
    try:
        found = Parameters.model_validate(
            {**tomllib.loads(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        )
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{name}: {problem}") from None
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"{name}: {where}: {first['msg']}") from None
    for rules in (found.sender, found.receiver):
        if "default" not in rules:
            raise ScenarioError(f"{name}: sender and receiver each need a rule named default")
    _check_names(found, name)
    return found


def _check_names(found: Parameters, name: str) -> None:
    for setting, sends in found.sender.items():
        try:
            disciplines.resolve_options(sends.discipline, sends.options)
        except ValueError as problem:
            raise ScenarioError(f"{name}: sender.{setting}: {problem}") from None
    for setting, receives in found.receiver.items():
        if receives.credit is not None and receives.credit not in credit.names():
            raise ScenarioError.at(
                f"{name}: receiver.{setting}.credit",
                receives.credit,
                f"must be one of {', '.join(credit.names())}",
            )


@functools.cache
def _files() -> tuple[Parameters, ...]:
    folder = resources.files(__name__)
    found = [
        parse(file.read_text("utf-8"), file.name)
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    ]
    return tuple(sorted(found, key=lambda p: (p.implementation, order_of(p.release))))
