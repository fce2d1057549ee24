"""Parts that all report pages share: template environment, warning banners, machine facts."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from netcosim.formatting import percent, short_size
from netcosim.results.run_record import RunRecord
from netcosim.results.streams.summary import Summary
from netcosim.results.training.job_summary import JobSummary
from netcosim.results.training.summary import TrainingSummary
from netcosim.units import format_size

Banner = tuple[str, str, Sequence[str]]


def environment() -> Environment:
    """Template environment that escapes every value and raises an error if one is missing."""
    made = Environment(
        loader=PackageLoader("netcosim.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        percent=percent, size=short_size, exact=format_size, ms=_ms, mbit=_mbit, data_url=_data_url
    )
    return made


def banners(summary: Summary | TrainingSummary | JobSummary | None) -> list[Banner]:
    """(class, headline, reasons) of the warnings that a page begins with."""
    if summary is None:
        return [("incomplete", "This run is incomplete: it ended before its summary", ())]
    found: list[Banner] = []
    if not summary.trusted:
        found.append(("untrusted", "Do not trust these figures", summary.reasons))
    if not summary.complete:
        reasons = summary.reasons if summary.trusted else ()
        found.append(("incomplete", "This run is incomplete: it ended on its way", reasons))
    return found


def machine(run: RunRecord | None) -> list[tuple[str, str]]:
    """Facts of the run and its machine, as (name, text)."""
    if run is None:
        return []
    facts = [
        ("command", " ".join(run.command)),
        ("started", run.started),
        ("clock", _clock(run.clock)),
        ("took", f"{run.duration_s:.1f} s"),
        ("phases", _pairs({name: f"{time_s:.1f} s" for name, time_s in run.phases_s.items()})),
        ("host", _pairs(run.host)),
        ("versions", _pairs(run.versions)),
    ]
    if run.bounds:
        facts += [
            ("bounds of a valid burst", _pairs(run.bounds)),
            ("SHA-256 of the predictions", run.predictions_sha256 or "-"),
        ]
    return [*facts, *(("reported", problem) for problem in run.problems)]


def _clock(clock: Mapping[str, Any]) -> str:
    """Name of a run's clock; of a virtual one with its kernel."""
    kernel = clock.get("kernel")
    return f"{clock['name']}, kernel {_pairs(kernel)}" if kernel else str(clock["name"])


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in values.items())


def _ms(time_ns: float) -> str:
    return f"{time_ns / 1e6:.4g} ms"


def _mbit(rate_bps: float) -> str:
    return f"{rate_bps / 1e6:.4g} Mbit/s"


def _data_url(image: bytes) -> str:
    return "data:image/png;base64," + b64encode(image).decode("ascii")
