"""Prints examples a second of results folders as a table: the form that pages have them in."""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

from netcosim.results.training.findings import interval
from netcosim.results.training.summary import Estimate

USAGE = "usage: points.py FOLDER... KEY=ROW,... KEY=COLUMN,... [KEY=VALUE ...]"


def table(folders: Sequence[str], rows: str, columns: str, given: Sequence[str]) -> list[str]:
    """Lines of a Markdown table.

    Parameters
    ----------
    folders : of simulations or sweeps; the key ``folder`` tells them apart
    rows, columns : a column of ``points.csv``, or a factor, and its values, as ``workers=1,2,4``;
        a value may have more behind it, as in ``transport=grpc/workers=2,h2/workers=4``
    given : what all cells have in common, as ``rate=10gbit``
    """
    points = [point for folder in folders for point in points_of(Path(folder))]
    down, across = _wanted(rows), _wanted(columns)
    common = dict(one.split("=", 1) for one in given)
    lines = [[rows.partition("=")[0], *map(_label, across)], ["---"] * (1 + len(across))]
    lines += [
        [_label(row), *(_cell(points, {**common, **row, **more}) for more in across)]
        for row in down
    ]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def points_of(folder: Path) -> list[dict[str, str]]:
    """Rows of a folder's ``points.csv``; ``figure`` is the throughput as a page has it."""
    with (folder / "points.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        mean, half = (float(row[f"examples_per_s{end}"] or 0) for end in ("", "_half_width"))
        row["figure"] = interval(Estimate(mean=mean, half_width=half, values=()))
    return [{"folder": str(folder), **row} for row in rows]


def _wanted(values: str) -> list[dict[str, str]]:
    """What each row or column asks for."""
    key, _, listed = values.partition("=")
    asked = [f"{key}={value}".split("/") for value in listed.split(",")]
    return [dict(pair.split("=", 1) for pair in pairs) for pairs in asked]


def _label(asked: dict[str, str]) -> str:
    return " ".join(asked.values())


def _cell(points: Sequence[dict[str, str]], wanted: dict[str, str]) -> str:
    found = [
        point["figure"]
        for point in points
        if all(point.get(f"factor_{key}", point.get(key)) == value for key, value in wanted.items())
    ]
    if len(found) != 1:
        sys.exit(f"points.py: {wanted}: {len(found)} points")
    return found[0]


def main() -> None:
    """Print the table that the arguments ask for."""
    folders = [word for word in sys.argv[1:] if "=" not in word]
    keys = [word for word in sys.argv[1:] if "=" in word]
    if len(keys) < 2:
        sys.exit(USAGE)
    print("\n".join(table(folders, keys[0], keys[1], keys[2:])))


if __name__ == "__main__":
    main()
