"""``netcosim epoch SPEC``: an epoch's terms by Yan et al., the fastest configuration, pictures."""

import argparse
import os
import sys
from collections.abc import Sequence
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
from sim.analytic.yan.model import OPTIONS, Configuration, Problem, Reading, Terms, read_as, terms
from sim.analytic.yan.search import Found, optimize
from sim.analytic.yan.spec import EpochSpec, configuration_of, named_spec, names, problem_of

PROG: Final = "sim.cli.epoch"
SHOWN: Final = 6
"""Configurations that are told: the fastest, and the next ones of other resources."""

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
    problem = problem_of(spec, reading)
    asked = configuration_of(spec, problem)
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
        _print(spec, problem, given, best)
        _write(folder, spec, problem, named(given, best))
    print_path("results", options.out)
    return 0


def named(given: Found | None, best: Sequence[Found]) -> dict[str, Found]:
    """Configurations by the names that tables and pictures have for them."""
    listed = {} if given is None else {"given": given}
    return listed | {f"{place}": found for place, found in enumerate(best, 1)}


def resources_text(shape: Configuration) -> str:
    """Workers of a replica, replicas and servers, as the paper writes them: ``<2, 9, 2>``."""
    return f"<{shape.workers}, {shape.replicas}, {shape.servers}>"


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
    for line in (*lines, f"readings: {_reading_text(problem.reading)}"):
        console.print(Text(one_line(line)))
    if given is not None:
        console.print(Text("\nas given", "bold"))
        _print_terms(given, console)
    if best:
        console.print(Text("\nthe fastest", "bold"))
        _print_terms(best[0], console)
        console.print(Text("\nthe fastest of each resources", "bold"))
        _print_ranks(named(given, best), console)


def _reading_text(reading: Reading) -> str:
    return " ".join(f"{name}={getattr(reading, name)}" for name in OPTIONS)


def _print_terms(found: Found, console: Console) -> None:
    """Print an epoch's parts, then each layer's terms for one sample."""
    shape, all_terms = found.configuration, found.terms
    heading = "<workers, replicas, servers>"
    console.print(Text(f"{heading} = {resources_text(shape)}: {_epoch_text(all_terms)}"))
    parts = [
        ("compute", all_terms.compute_s),
        ("update", all_terms.update_s),
        ("messages", all_terms.messages_s),
        ("reads", all_terms.reads_s),
    ]
    print_columns(
        [
            Column(heading="epoch", cells=[name for name, _ in parts], justify="left"),
            Column(heading="s", cells=[f"{seconds:.6g}" for _, seconds in parts]),
            Column(
                heading="share",
                cells=[percent(seconds / all_terms.epoch_s) for _, seconds in parts]
                if all_terms.epoch_s
                else ["-"] * len(parts),
            ),
        ],
        console,
    )
    console.print(
        Text(
            f"A read takes {all_terms.read_best_s:.6g} to {all_terms.read_worst_s:.6g} s; so the"
            f" epoch {all_terms.epoch_best_s:.6g} to {all_terms.epoch_worst_s:.6g} s."
        )
    )
    splits = shape.splits
    rows = all_terms.layers
    times = [
        ("U_f", [row.forward_s for row in rows]),
        ("M_f", [row.forward_messages_s for row in rows]),
        ("U_b", [row.backward_s for row in rows]),
        ("M_b", [row.backward_messages_s for row in rows]),
        ("U_w", [row.update_s for row in rows]),
        ("T", [row.total_s for row in rows]),
    ]
    counts = [
        ("A", [row.activations for row in rows]),
        ("E", [row.errors for row in rows]),
        ("W", [row.connections for row in rows]),
    ]
    print_columns(
        [
            Column(heading="layer", cells=[one_line(row.name) for row in rows], justify="left"),
            Column(heading="P", cells=[str(split.parts) for split in splits]),
            Column(heading="H", cells=[str(split.threads) for split in splits]),
            Column(heading="R", cells=[str(split.copies) for split in splits]),
            *(
                Column(heading=f"{name}, us", cells=[f"{1e6 * s:.5g}" for s in seconds], rank=1)
                for name, seconds in times
            ),
            Column(heading="Q", cells=[str(row.concurrency) for row in rows]),
            *(
                Column(heading=name, cells=[f"{value:.9g}" for value in values], rank=2)
                for name, values in counts
            ),
        ],
        console,
    )


def _epoch_text(found: Terms) -> str:
    bound = f"{found.binding} binds"
    if found.bounded_s > found.epoch_s:
        return f"{found.epoch_s:.6g} s, which can't be: {bound}, {found.bounded_s:.6g} s"
    return f"{found.epoch_s:.6g} s, {bound}"


def _print_ranks(listed: dict[str, Found], console: Console) -> None:
    each = list(listed.values())
    print_columns(
        [
            Column(heading="", cells=list(listed)),
            Column(
                heading="<workers, replicas, servers>",
                cells=[resources_text(found.configuration) for found in each],
                justify="left",
            ),
            Column(heading="epoch, s", cells=[f"{found.terms.epoch_s:.6g}" for found in each]),
            Column(heading="binds", cells=[found.terms.binding for found in each], justify="left"),
            Column(heading="at least, s", cells=[f"{found.terms.bounded_s:.6g}" for found in each]),
            Column(
                heading="P x H x R of each layer",
                cells=[_splits_text(found.configuration) for found in each],
                justify="left",
                folds=True,
            ),
        ],
        console,
    )


def _splits_text(shape: Configuration) -> str:
    return " ".join(f"{s.parts}x{s.threads}x{s.copies}" for s in shape.splits)


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
    shape, all_terms = found.configuration, found.terms
    return {
        "configuration": name,
        "workers": shape.workers,
        "replicas": shape.replicas,
        "servers": shape.servers,
        **{
            field: getattr(all_terms, field)
            for field in Terms.__dataclass_fields__
            if field != "layers"
        },
    }


def _rows(name: str, found: Found) -> list[dict[str, Any]]:
    shape = found.configuration
    return [
        {
            "configuration": name,
            "layer": layer.name,
            "parts": split.parts,
            "threads": split.threads,
            "copies": split.copies,
            "map": " ".join(map(str, workers)),
            **{
                field: getattr(layer, field)
                for field in type(layer).__dataclass_fields__
                if field != "name"
            },
        }
        for layer, split, workers in zip(found.terms.layers, shape.splits, shape.maps, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main())
