"""`identify.json`: the rules that a run's subject was found to follow, and the evidence."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

IDENTIFICATION: Final = "identify.json"


class Record(BaseModel):
    """A frozen record; its schema is in the documentation."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )


class CandidateScore(Record):
    """Score of one discipline against the captures."""

    name: str
    options: dict[str, int] = Field(description="the options that fitted best")
    order_error: float = Field(
        description="where streams end in bytes of their connection, over its bytes; mean"
    )
    misplaced: float = Field(description="share of the bytes served out of place, mean")
    turns: float = Field(description="how different its turns are, in octaves")
    score: float = Field(
        description="misplaced + 0.02 * turns, and 0.02 where strained; the smallest fits best"
    )
    ahead_bytes: int = Field(description="how far ahead of the wire its sender had to be")
    strained: bool = Field(description="that is more than the sender's kernel was seen to hold")
    excluded: bool = Field(description="clearly worse than the best")


class DisciplineVerdict(Record):
    """Discipline that the sender followed, with the evidence."""

    discipline: str | None = Field(description="null: none fits, or it can't be told")
    options: dict[str, int] = Field(description="what was read off the wire, such as a quantum")
    alike: tuple[str, ...] = Field(description="disciplines that this evidence does not exclude")
    statement: str
    evidence: tuple[str, ...]
    candidates: tuple[CandidateScore, ...] = Field(description="best first")


class CreditVerdict(Record):
    """Credit rule that the receiver followed, with the evidence."""

    rule: str | None = Field(description="null: none fits, or it can't be told")
    alike: tuple[str, ...] = Field(description="rules that this evidence does not exclude")
    probing: bool = Field(description="the initial window moved while streams were open")
    statement: str
    evidence: tuple[str, ...]


class CellEvidence(Record):
    """Verdict and evidence of one cell by itself."""

    cell: str
    capture: str
    shows: Literal["discipline", "credit"]
    verdict: str
    evidence: tuple[str, ...]


class SettingVerdict(Record):
    """Verdicts on the subject at both ends, under one setting of its own."""

    setting: str = Field(description="default, or off: flow control switched off")
    discipline: DisciplineVerdict
    credit: CreditVerdict


class Identification(Record):
    """Result of an identification: verdicts on the subject, and the evidence."""

    format: Literal["netcosim-identify"] = "netcosim-identify"
    version: Literal[1] = 1
    subject: str
    statement: str
    discipline: DisciplineVerdict = Field(description="of the subject as a sender, pooled")
    credit: CreditVerdict = Field(description="of the subject as a receiver")
    settings: tuple[SettingVerdict, ...] = Field(description="the subject at both ends")
    cells: tuple[CellEvidence, ...]
    missing: tuple[str, ...] = Field(description="cells without a capture that could be read")
