"""Facts of a cell besides its rows: its settings, its path, and what its bursts are worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from netcosim.scenario.unstudied_releases import NotStudied
from netcosim.scoring.bounds import GRADE_A, GRADE_B
from netcosim.units import format_size


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFacts:
    """Facts of a cell besides its rows: its settings, path and bursts.

    `capacity_bps` is the TCP goodput that the cell's links delivered before the run, 0 if unknown;
    `invalid_bursts` counts bursts whose evidence was lost, `shown_bursts` are those with an input
    that a pause delayed; `first_bursts` were the first on their connections. `lost_share` is what a
    bottleneck lost of the judged bursts' length, `unexplained_share` the part without a recorded
    pause; None where nothing was recorded. `seen_window_bytes` is the stream window that the
    receiver announced, `past_bytes` the most unacknowledged bytes that the models assume,
    `bdp_bytes` what a round trip holds; None where it is not known. A release is None unless the
    scenario names it. `without_windows` says of disciplines which one they are where no window
    binds.
    """

    workload: str
    transport: str
    sender: str
    receiver: str
    direction: str
    flow_control: bool
    windowed: bool
    window_bytes: int | None
    configured_discipline: str | None
    capacity_bps: float
    invalid_bursts: int
    shown_bursts: frozenset[int] = frozenset()
    first_bursts: frozenset[int] = frozenset()
    lost_share: float | None = None
    unexplained_share: float | None = None
    seen_window_bytes: int | None = None
    past_bytes: int | None = None
    bdp_bytes: float | None = None
    sender_release: str | None = None
    receiver_release: str | None = None
    without_windows: Mapping[str, str] = field(default_factory=dict)
    not_studied: tuple[NotStudied, ...] = ()

    @property
    def cell(self) -> str:
        """The cell's name in traces."""
        return f"{self.workload}/{self.transport}"

    @property
    def subject(self) -> str:
        """Subject of a sentence about this cell: its ends and their flow control."""
        sender = _named(self.sender, self.sender_release)
        receiver = _named(self.receiver, self.receiver_release)
        ends = sender if sender == receiver else f"{sender} to {receiver}"
        control = "on" if self.flow_control else "off"
        window = "" if self.window_bytes is None else f" (window {format_size(self.window_bytes)})"
        return f"{ends} with flow control {control}{window}"


def _named(implementation: str, release: str | None) -> str:
    return implementation if release is None else f"{implementation} {release}"


def grade_of(lost_share: float | None) -> Literal["A", "B", "C"] | None:
    """Grade by the link's lost share: A up to 0.5 %, B up to 5 %; at C only the order is of use."""
    if lost_share is None:
        return None
    return "A" if lost_share <= GRADE_A else "B" if lost_share <= GRADE_B else "C"
