"""``netcosim epoch SPEC``: an epoch's terms by Yan et al., the fastest configuration, pictures."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any, Final

import tomli_w
from rich.console import Console
from rich.text import Text

from netcosim.cli import CrashSite, Parser, output, print_path, run_main
from netcosim.cli.columns import Column, print_columns
from netcosim.cli.completion import offer
from netcosim.cli.console import busy_with
from netcosim.cli.options import given_path
from netcosim.errors import ScenarioError
from netcosim.formatting import one_line, percent
from netcosim.results.storage.claimed_folder import ClaimedFolder
from netcosim.results.storage.ownership import calling_user
from netcosim.results.training.points_table import points_csv
from sim.analytic.yan.model import OPTIONS, Problem, Terms, read_as, terms
from sim.analytic.yan.search import Found, optimize
from sim.analytic.yan.spec import EpochSpec, configuration_of, named_spec, names, problem_of

PROG: Final = "sim.cli.epoch"
SHOWN: Final = 6
"""Configurations that are told: the fastest, and the next ones of other resources."""

RESOURCES: Final = "<workers, replicas, servers>"
SPLITS: Final = "P x H x R of each layer"
_TIMES: Final = {
    "U_f, us": "forward_s",
    "M_f, us": "forward_messages_s",
    "U_b, us": "backward_s",
    "M_b, us": "backward_messages_s",
    "U_w, us": "update_s",
    "T, us": "total_s",
}
_COUNTS: Final = {"Q": "concurrency", "A": "activations", "E": "errors", "W": "connections"}

_EPILOG: Final = """\
readings of the paper's damaged equations, the default first:
{readings}

built-in specs: {specs}

exit codes:
  0 done   2 wrong spec or option   6 results can't be written   70 a bug   130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Estimate an epoch by Yan's performance model, and find the fastest configuration."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: Sequence[str], site: CrashSite) -> int:
    options = _parser().parse_args(arguments)
    reading = read_as(options.reading)
    spec = named_spec(options.spec)
    try:
        problem = problem_of(spec, reading)
        asked = configuration_of(spec, problem)
    except ScenarioError as wrong:
        raise ScenarioError(f"{options.spec}: {wrong}") from None
    if asked is None and not options.optimize:
        raise ScenarioError(f"{options.spec}: configuration: is required without --optimize")
    given = None if asked is None else Found(configuration=asked, terms=terms(problem, asked))
    best: tuple[Found, ...] = ()
    if options.optimize:
        with busy_with("looking for the fastest configuration"):
            best = optimize(problem, mapping=options.mapping, most=SHOWN)
    if options.out is None:
        _print(spec, problem, given, best)
        return 0
    owner = calling_user(os.environ, os.geteuid())
    with ClaimedFolder.claim(options.out, owner, "pictures") as folder:
        site.keep(folder)
        _write(folder, spec, problem, named(given, best))
        _print(spec, problem, given, best)  # last: whoever reads may have gone
    print_path("results", options.out)
    return 0


def named(given: Found | None, best: Sequence[Found]) -> dict[str, Found]:
    """Configurations by the names that tables and pictures have for them."""
    listed = {} if given is None else {"given": given}
    return listed | {f"{place}": found for place, found in enumerate(best, 1)}


def _parser() -> argparse.ArgumentParser:
    listed = [f"  {name}={'|'.join(values)}" for name, values in OPTIONS.items()]
    parser = Parser(
        prog=PROG,
        description="How long a training epoch takes by the model of Yan et al. (KDD 2015).",
        epilog=_EPILOG.format(readings="\n".join(listed), specs=", ".join(names())),
        allow_abbrev=False,
    )
    parser.add_argument("spec", metavar="SPEC", help="a TOML file, or a built-in spec by name")
    parser.add_argument(
        "--optimize", action="store_true", help="find the fastest configuration, and the next ones"
    )
    parser.add_argument(
        "--mapping",
        choices=("best", "greedy"),
        default="best",
        help="of segments to workers while optimizing: the best, or the paper's (default: best)",
    )
    parser.add_argument(
        "--reading",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="read a damaged equation another way; may be given several times",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=given_path, help="a new or empty folder for tables and picture"
    )
    readings = [f"{name}={value}" for name, values in OPTIONS.items() for value in values]
    offer(parser, {"spec": names, "--reading": lambda: readings}, or_files=["spec"])
    return parser


def _print(spec: EpochSpec, problem: Problem, given: Found | None, best: Sequence[Found]) -> None:
    console = output(highlight=False)
    lines = [f"{spec.name}: {spec.about}", *(f"assumed: {text}" for text in spec.assumed)]
    readings = " ".join(f"{name}={getattr(problem.reading, name)}" for name in OPTIONS)
    for line in (*lines, f"readings: {readings}"):
        console.print(Text(one_line(line)))
    if given is not None:
        console.print(Text("\nas given", "bold"))
        _print_terms(given, console)
    if best:
        console.print(Text("\nthe fastest", "bold"))
        _print_terms(best[0], console)
        console.print(Text("\nthe fastest of each resources", "bold"))
        _print_ranks(named(given, best), console)


def _table(
    console: Console,
    columns: Sequence[tuple[str, Sequence[str]]],
    *,
    left: Sequence[str] = (),
    ranks: Mapping[str, int] = MappingProxyType({}),
) -> None:
    """Print columns by their headings; those in `left` are text, which may be folded."""
    shown = [
        Column(
            heading=heading,
            cells=cells,
            rank=ranks.get(heading, 0),
            justify="left" if heading in left else "right",
            folds=heading in left,
        )
        for heading, cells in columns
    ]
    print_columns(shown, console)


def _print_terms(found: Found, console: Console) -> None:
    """Print an epoch's parts, then each layer's terms for one sample."""
    shape, whole = found.configuration, found.terms
    console.print(Text(f"{RESOURCES} = {shape.resources}: {_epoch_text(whole)}"))
    seconds = (whole.compute_s, whole.update_s, whole.messages_s, whole.reads_s)
    parts = ("epoch", ("compute", "update", "messages", "reads"))
    shares = [percent(one / (whole.epoch_s or 1)) for one in seconds]
    listed = [parts, ("s", [f"{one:.6g}" for one in seconds]), ("share", shares)]
    _table(console, listed, left=["epoch"])
    reading = f"A read takes {whole.read_best_s:.6g} to {whole.read_worst_s:.6g} s"
    epochs = f"{whole.epoch_best_s:.6g} to {whole.epoch_worst_s:.6g} s"
    console.print(Text(f"{reading}; so the epoch {epochs}."))
    columns = [("layer", [one_line(layer.name) for layer in whole.layers])]
    for heading, field in (("P", "parts"), ("H", "threads"), ("R", "copies")):
        columns.append((heading, [str(getattr(split, field)) for split in shape.splits]))
    for heading, field in _TIMES.items():
        columns.append((heading, [f"{1e6 * getattr(layer, field):.5g}" for layer in whole.layers]))
    for heading, field in _COUNTS.items():
        columns.append((heading, [f"{getattr(layer, field):.9g}" for layer in whole.layers]))
    ranks = dict.fromkeys(_TIMES, 1) | dict.fromkeys(_COUNTS, 2)
    _table(console, columns, left=["layer"], ranks=ranks)


def _epoch_text(found: Terms) -> str:
    bound = f"{found.binding} binds"
    if found.bounded_s > found.epoch_s:
        return f"{found.epoch_s:.6g} s, which can't be: {bound}, {found.bounded_s:.6g} s"
    return f"{found.epoch_s:.6g} s, {bound}"


def _print_ranks(listed: Mapping[str, Found], console: Console) -> None:
    shapes = [found.configuration for found in listed.values()]
    ends = [found.terms for found in listed.values()]
    splits = [[f"{s.parts}x{s.threads}x{s.copies}" for s in shape.splits] for shape in shapes]
    columns: list[tuple[str, Sequence[str]]] = [
        ("", list(listed)),
        (RESOURCES, [shape.resources for shape in shapes]),
        ("epoch, s", [f"{found.epoch_s:.6g}" for found in ends]),
        ("binds", [found.binding for found in ends]),
        ("at least, s", [f"{found.bounded_s:.6g}" for found in ends]),
        (SPLITS, [" ".join(each) for each in splits]),
    ]
    _table(console, columns, left=[RESOURCES, "binds", SPLITS])


def _write(
    folder: ClaimedFolder, spec: EpochSpec, problem: Problem, listed: dict[str, Found]
) -> None:
    """Write the spec as resolved, the tables and the picture.

    Raises
    ------
    StorageError
        The file system refuses.
    """
    from sim.cli.epoch_picture import epoch_png  # only here: pictures take a while to load

    kept = spec.model_dump(mode="json", exclude_none=True)
    folder.write("spec.toml", tomli_w.dumps(kept).encode())
    folder.write("configurations.csv", _csv([_row(name, one) for name, one in listed.items()]))
    folder.write("layers.csv", _csv([r for name, one in listed.items() for r in _rows(name, one)]))
    folder.write("pictures/epoch.png", epoch_png(problem, listed))


def _csv(rows: Sequence[dict[str, Any]]) -> bytes:
    import pyarrow as pa

    return points_csv(pa.Table.from_pylist(list(rows)))


def _row(name: str, found: Found) -> dict[str, Any]:
    shape = found.configuration
    resources = {key: getattr(shape, key) for key in ("workers", "replicas", "servers")}
    values = {field.name: getattr(found.terms, field.name) for field in fields(Terms)}
    del values["layers"]
    return {"configuration": name, **resources, **values}


def _rows(name: str, found: Found) -> list[dict[str, Any]]:
    shape = found.configuration
    placed = [" ".join(map(str, workers)) for workers in shape.maps]
    rows = []
    for layer, split, workers in zip(found.terms.layers, shape.splits, placed, strict=True):
        values = asdict(layer)
        named_layer = {"layer": values.pop("name"), **asdict(split), "map": workers}
        rows.append({"configuration": name, **named_layer, **values})
    return rows


if __name__ == "__main__":
    sys.exit(main())
