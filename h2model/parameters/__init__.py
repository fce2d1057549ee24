"""Parameters of the endpoint releases that were studied: one frozen file a release.

A file says, for each setting, which discipline a sender follows and which credit rule a receiver
follows, with their constants and sources. It holds for the release that it was measured on and for
no other one. Of any other release the rules are not known; models that need one all the same take
the nearest studied release's, and results say so. Nothing in a file was fitted to a burst that is
scored. The digest of the file that a prediction used goes into the results.
"""

import functools
import hashlib
import re
import tomllib
from collections.abc import Container
from importlib import resources
from typing import Final, Literal

from pydantic import ValidationError

from h2model import credit, disciplines
from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario.fields import Flag, Name, OptionValue, Record, SizeBytes, Whole

_OF_SOME: Final = ("window", "whole_messages")
"""Settings that take effect in some releases only; rules for them say more than a default."""


class SenderRule(Record):
    """The discipline a sender follows under a setting, with its constants.

    `pushed` has those that are others where messages are pushed, as requests.
    """

    discipline: Name
    options: dict[str, OptionValue] = {}
    pushed: dict[str, OptionValue] = {}


class ReceiverRule(Record):
    """Credit rule of a receiver under a setting; `credit` None: windows that never bind.

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


class CallRule(Record):
    """Header block of a call: `fields` in the order of encoding, after the path and the authority.

    `indexed` is how many more the static table has, `table` the capacity of the dynamic one.
    """

    fields: dict[str, str]
    indexed: Whole
    table: SizeBytes


class Parameters(Record):
    """Parameter file of one studied release.

    `serves_from` and `grants_from` are the first releases from which on, as far as was looked, the
    wire shows this one's discipline and its limit on credit. They decide which studied release is
    nearest to others, and nothing else. `calls` is None where the header blocks of calls are not
    known.
    """

    format: Literal["netcosim-parameters"]
    version: Literal[1]
    implementation: Name
    release: Name
    serves_from: Name
    grants_from: Name
    sources: tuple[str, ...]
    sender: dict[str, SenderRule]
    receiver: dict[str, ReceiverRule]
    calls: CallRule | None = None
    sha256: str = ""

    def sends(self, setting: str) -> SenderRule:
        """The sender's rule under a setting, else its default."""
        return self.sender.get(setting, self.sender["default"])

    def receives(self, setting: str) -> ReceiverRule:
        """The receiver's rule under a setting, else its default."""
        return self.receiver.get(setting, self.receiver["default"])


def releases(implementation: str) -> tuple[str, ...]:
    """The releases of an implementation that were studied, oldest first."""
    return tuple(p.release for p in _studied(implementation))


def followed() -> tuple[str, ...]:
    """The disciplines that studied senders follow, in the order of names."""
    return tuple(sorted({rule.discipline for p in _files() for rule in p.sender.values()}))


def is_studied(implementation: str, release: str | None) -> bool:
    """True if a release has a file of its own; None is the newest that has."""
    return parameters(implementation, release) is not None


def parameters(implementation: str, release: str | None = None) -> Parameters | None:
    """The file of a release, None if it was not studied.

    Parameters
    ----------
    implementation
        Such as ``grpc``.
    release
        Such as ``1.59.5``; None for the newest that was studied.
    """
    known = _studied(implementation)
    if release is None:
        return known[-1]
    return next((file for file in known if file.release == release), None)


def nearest(
    implementation: str, release: str | None, end: Literal["sender", "receiver"], setting: str
) -> tuple[Parameters, ...]:
    """All files, the one of the release first, or of the studied release nearest to it.

    Nearest are those whose end behaves as this release's does on the wire, as far as was looked,
    and that have a rule for a setting which only some releases know; then those with the fewest
    minor releases between. Of two equally far the newer one is nearer.

    Parameters
    ----------
    implementation, release
        As for `parameters`.
    end, setting
        The end and the setting that a rule is looked for.

    Raises
    ------
    ScenarioError
        The release is older than any whose wire was seen, or two major versions newer.
    """
    known = _studied(implementation)
    exact = parameters(implementation, release)
    release = known[-1].release if release is None else release
    asked = order_of(release)
    froms = {file.release: order_of(_from(file, end)) for file in known}
    if asked[0] > order_of(known[-1].release)[0] + 1:  # the next major version may come
        studied = ", ".join(file.release for file in known)
        raise ScenarioError(
            f'{implementation} release "{release}": there is none; studied are {studied}'
        )
    begun = [first for first in froms.values() if first <= asked]
    if not begun:
        oldest = min((_from(file, end) for file in known), key=order_of)
        raise ScenarioError(
            f'{implementation} release "{release}": nothing is known of releases before {oldest}'
        )
    alike = max(begun)

    def rank(file: Parameters) -> tuple[bool, bool, bool, int, int]:
        place = _place(file.release)
        last = abs(place - _place(release)), -place
        other = froms[file.release] != alike
        if end == "sender":  # an experiment replaces the rule by which releases were told apart
            return file is not exact, _lacks(file.sender, setting), other, *last
        return file is not exact, other, _lacks(file.receiver, setting), *last

    return tuple(sorted(known, key=rank))


def _place(release: str) -> int:
    """A release's place in the row of minor releases."""
    major, minor, *_ = *order_of(release), 0
    return 1000 * major + minor


def _lacks(rules: Container[str], setting: str) -> bool:
    return setting in _OF_SOME and setting not in rules


def _from(file: Parameters, end: Literal["sender", "receiver"]) -> str:
    return file.serves_from if end == "sender" else file.grants_from


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
                unknown(receives.credit, credit.names()),
            )


def _studied(implementation: str) -> list[Parameters]:
    return [p for p in _files() if p.implementation == implementation]


@functools.cache
def _files() -> tuple[Parameters, ...]:
    folder = resources.files(__name__)
    found = [
        parse(file.read_text("utf-8"), file.name)
        for file in folder.iterdir()
        if file.name.endswith(".toml")
    ]
    return tuple(sorted(found, key=lambda p: (p.implementation, order_of(p.release))))
