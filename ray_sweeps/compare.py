"""``python -m ray_sweeps.compare A B``: what changed between two sweeps' datasets."""

from netcosim.entry import leave, leaving_at_once

with leaving_at_once("ray_sweeps.compare"):
    import argparse
    import sys
    from collections.abc import Sequence
    from typing import TYPE_CHECKING, Final

    from netcosim.cli.columns import Column, print_columns
    from netcosim.cli.console import output
    from netcosim.cli.ending import run_main
    from netcosim.cli.options import Parser, given_path
    from netcosim.extras import require
    from netcosim.failure import CrashSite
    from netcosim.formatting import escaped, one_line, percent
    from netcosim.results.json_files import to_json
    from netcosim.results.training.findings import signed

if TYPE_CHECKING:
    from rich.console import Console

    from ray_sweeps.analysis.changes import ChangedPoint, FactorChange, SweepComparison, SweepSide
    from ray_sweeps.analysis.dataset import Dataset

PROG: Final = "ray_sweeps.compare"
DIFFERENT: Final = 1

_EXIT_CODES: Final = """\
exit codes:
  0 nothing differs beyond its interval   1 something does   2 wrong options, or nothing in common
  6 a dataset can't be read   70 a bug   130 interrupted   141 nobody reads the output
"""
_LISTED: Final = 10
_BY_CHANCE: Final = "chance alone takes one in twenty beyond"


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Compare the datasets of two sweeps; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: "Sequence[str]", _: "CrashSite") -> int:
    parser = Parser(
        prog=PROG,
        description="What changed between two sweeps: points, and figures beyond chance.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", type=given_path, help="the folder of a sweep")
    parser.add_argument(
        "b", metavar="B", type=given_path, nargs="?", help="another; differences are B less A"
    )
    parser.add_argument(
        "--between",
        nargs=3,
        metavar=("FACTOR", "VALUE", "VALUE"),
        help="instead of B: compare the points of A that have one value of a factor with those"
        " that have the other and else the same",
    )
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    found = parser.parse_args(arguments)
    if (found.b is None) == (found.between is None):
        parser.error("give either B or --between FACTOR VALUE VALUE")
    require("sweeps")
    # Only here: polars takes a while to load, and --help needs nothing of it.
    from ray_sweeps.analysis.changes import compare_datasets

    comparison = compare_datasets(*_datasets(found))
    if found.json:
        sys.stdout.write(to_json(comparison))
    else:
        _print(comparison, output(highlight=False))
    return DIFFERENT if comparison.differs else 0


def _datasets(found: argparse.Namespace) -> "tuple[Dataset, Dataset]":
    """Those of two sweeps, or two parts of one."""
    from ray_sweeps.analysis.dataset import read_dataset
    from ray_sweeps.analysis.one_value import with_value

    if found.between is None:
        return read_dataset(found.a), read_dataset(found.b)
    dataset, (factor, one, other) = read_dataset(found.a), found.between
    return with_value(dataset, factor, one), with_value(dataset, factor, other)


def _print(found: "SweepComparison", console: "Console") -> None:
    for name, side in (("A", found.a), ("B", found.b)):
        console.print(_side(name, side), markup=False)
        for problem in side.problems:
            console.print(f"   left out: {one_line(problem)}", markup=False, style="yellow")
    console.print(_engines(found), markup=False)
    if found.matched != "content" and not found.a.at:
        which = "Points" if found.matched == "factors" else "Some points"
        console.print(
            f"{which} are matched by their factors: their content differs otherwise.", markup=False
        )
    console.print(_points(found), markup=False)
    for name, points in (("A", found.only_a_first), ("B", found.only_b_first)):
        for factors in points[:_LISTED]:
            console.print(f"  only in {name}: {_configuration(factors)}", markup=False)
    console.print()
    _print_figures(found, console)
    _print_largest(found.largest, console)
    _print_by_factor(found.by_factor, console)
    console.print(_last(found), markup=False, style="bold")


def _side(name: str, side: "SweepSide") -> str:
    failed = f", {side.failed_runs} of them failed" if side.failed_runs else ""
    part = f", {_configuration(side.at)}" if side.at else ""
    return f"{name}  {escaped(side.path)}{part}  ({side.points} points, {side.runs} runs{failed})"


def _engines(found: "SweepComparison") -> str:
    if found.a.engines == found.b.engines:
        return "simulator: the same source"
    return f"simulator: {', '.join(found.a.engines)} -> {', '.join(found.b.engines)}"


def _points(found: "SweepComparison") -> str:
    parts = [f"{found.common} points in both"]
    parts += [f"{n} only in {side}" for n, side in ((found.only_a, "A"), (found.only_b, "B")) if n]
    if found.newly_failed:
        parts.append(f"{found.newly_failed} failed in B only")
    if found.newly_finished:
        parts.append(f"{found.newly_finished} failed in A only")
    return f"points: {', '.join(parts)}"


def _print_figures(found: "SweepComparison", console: "Console") -> None:
    rows = found.figures
    print_columns(
        [
            Column(heading="figure", cells=[each.figure for each in rows], justify="left"),
            Column(heading="equal", cells=[str(each.equal) for each in rows]),
            Column(heading="within interval", cells=[str(each.within) for each in rows]),
            Column(heading="beyond", cells=[str(each.beyond) for each in rows]),
            *(
                [Column(heading="differ, single run", cells=[str(each.unequal) for each in rows])]
                if any(each.unequal for each in rows)
                else []
            ),
        ],
        console,
        gap=2,
    )


def _print_largest(points: "Sequence[ChangedPoint]", console: "Console") -> None:
    if not points:
        return
    shown = points[:_LISTED]
    console.print("Largest changes of examples/s:", markup=False)
    names = [_configuration(each.factors) for each in shown]
    print_columns(
        [
            Column(heading="point", cells=names, justify="left", folds=True),
            Column(heading="A", cells=[f"{each.a:.5g}" for each in shown]),
            Column(heading="B", cells=[f"{each.b:.5g}" for each in shown]),
            Column(heading="change", cells=[_signed(each.share) for each in shown]),
            Column(heading="+-", cells=[_half(each) for each in shown], rank=1),
        ],
        console,
        gap=2,
    )


def _print_by_factor(rows: "Sequence[FactorChange]", console: "Console") -> None:
    if not any(each.beyond for each in rows):
        return
    console.print("By factor, mean change of examples/s:", markup=False)
    print_columns(
        [
            Column(
                heading="value",
                cells=[_configuration({each.factor: each.value}) for each in rows],
                justify="left",
                folds=True,
            ),
            Column(heading="points", cells=[str(each.points) for each in rows]),
            Column(heading="beyond", cells=[str(each.beyond) for each in rows]),
            Column(heading="change", cells=[_signed(each.mean_share) for each in rows]),
        ],
        console,
        gap=2,
    )


def _last(found: "SweepComparison") -> str:
    beyond, within, unequal, equal = (
        sum(getattr(figure, name) for figure in found.figures)
        for name in ("beyond", "within", "unequal", "equal")
    )
    compared = equal + within + beyond + unequal
    if not beyond + within + unequal:
        return f"All {compared} figures are equal."
    said = []
    if beyond or within:
        said.append(
            f"{beyond} of {compared} figures are beyond their 95 % intervals; {_BY_CHANCE}."
        )
    if unequal:
        said.append(
            f"{unequal} of {compared} figures differ and have no interval, as they are of a single"
            " run: whether chance explains them is not known."
        )
    return " ".join(said)


def _configuration(factors: "dict[str, bool | int | float | str | None]") -> str:
    from ray_sweeps.analysis.levels import value_text

    said = ", ".join(f"{name} {value_text(value)}" for name, value in factors.items())
    return one_line(said) or "the only point"


def _signed(share: float | None) -> str:
    return "-" if share is None else signed(share)


def _half(point: "ChangedPoint") -> str:
    if point.half_width is None or point.a == 0:
        return "-"
    return percent(abs(point.half_width / point.a))


if __name__ == "__main__":
    leave(main())
