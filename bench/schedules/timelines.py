"""Timelines of the schedules above each other: what a worker computes, sends and receives."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import sim
from bench.schedules.scaled import scaled
from bench.schedules.transfers import Setting
from netcosim.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN: Final = ("fifo", "p3", "bytescheduler", "prophet")
_STEPS: Final = 3
_LANES: Final = (("worker", "computes"), ("up", "sends"), ("down", "receives"))


def timelines_png(setting: Setting, folder: Path) -> bytes:
    """Draw the same steps of a setting's first worker under each schedule, as PNG."""
    from matplotlib.colors import Normalize

    figure = style.new_figure(style.WIDTH_IN, 1.15 * len(DRAWN) + 1.0)
    all_axes = figure.subplots(len(DRAWN), 1, sharex=True)
    runs = [_rows(replace(setting, schedule=name), folder) for name in DRAWN]
    end_s = max(row["end_ns"] for rows in runs for row in rows) / 1e9
    turn = _turns(setting)
    norm = Normalize(0, max(turn.values()))
    for axes, name, rows in zip(all_axes, DRAWN, runs, strict=True):
        _draw(axes, rows, turn, norm)
        axes.set_title(_title(name, rows), fontsize=9, loc="left")
        axes.set_xlim(0, end_s)
    all_axes[-1].set_xlabel("time since the run began, s")
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    figure.text(
        0.01,
        0.985,
        f"{setting.network}, {setting.rate_bps / 1e9:g} Gbit/s,"
        f" {setting.cost_ns / 1e6:g} ms for each message; dark: needed first by the next forward"
        " pass",
        fontsize=9,
        va="top",
    )
    return style.png(figure)


def _rows(setting: Setting, folder: Path) -> list[dict[str, Any]]:
    scenario = setting.scenario(folder / f"{setting.network}.json")
    scenario["repetitions"] = 1
    scenario["training"] |= {"steps": _STEPS, "warmup": 0, "trace_steps": _STEPS}
    found = sim.simulate(scenario, trace=[setting.workers]).operations.to_pylist()
    return [row for row in found if row["worker"] == 0]


def _turns(setting: Setting) -> dict[str, int]:
    """Place of each tensor in the order of the forward pass."""
    pulls = [op for op in scaled(setting.network).step.transfers if op.source == "server"]
    return {op.tensor: i for i, op in enumerate(pulls)}


def _title(name: str, rows: Sequence[dict[str, Any]]) -> str:
    ends_ns = [
        max(row["end_ns"] for row in rows if row["step"] == step and row["place"] == "worker")
        for step in range(_STEPS)
    ]
    lengths = ", ".join(f"{ns / 1e9:.2f}" for ns in np.diff([0, *ends_ns]))
    return f"{name}: steps of {lengths} s"


def _draw(axes: "Axes", rows: Sequence[dict[str, Any]], turn: dict[str, int], norm: Any) -> None:
    from matplotlib import colormaps

    colours = colormaps["viridis"]
    for lane, (ending, _) in enumerate(_LANES):
        mine = [row for row in rows if row["place"].split()[-1] == ending]
        spans = [(row["start_ns"] / 1e9, (row["end_ns"] - row["start_ns"]) / 1e9) for row in mine]
        shades = [
            _compute_colour(row) if ending == "worker" else colours(norm(turn[_tensor(row)]))
            for row in mine
        ]
        axes.broken_barh(spans, (lane - 0.4, 0.8), facecolors=shades, linewidth=0)
    axes.set_yticks(range(len(_LANES)), [text for _, text in _LANES], fontsize=8)
    axes.set_ylim(len(_LANES) - 0.5, -0.5)
    axes.tick_params(axis="x", labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _compute_colour(row: dict[str, Any]) -> str:
    return "#9aa5b1" if row["operation"].endswith("/backward") else "#4a5a6a"


def _tensor(row: dict[str, Any]) -> str:
    name: str = row["operation"]
    return name.partition("#")[0].removesuffix("/push").removesuffix("/pull")
