"""Print a benchmark's recorded figures as the Markdown table of docs/benchmarks.md.

``python -m bench.common.table NAME``
"""

import json
import sys
from collections.abc import Sequence

from bench.common.record import RESULTS
from netcosim.cli import run_main
from netcosim.errors import ScenarioError


def main(arguments: Sequence[str]) -> int:
    """Print one table; return the exit code."""
    names = sorted(path.stem for path in RESULTS.glob("*.json"))
    if len(arguments) != 1 or arguments[0] not in names:
        allowed = f"must be one of: {', '.join(names)}"
        raise ScenarioError.at("NAME", " ".join(arguments), allowed)
    content = json.loads((RESULTS / f"{arguments[0]}.json").read_text(encoding="utf-8"))
    print(
        f"`{content['command']}` on {content['cores']} cores, {content['date']},"
        f" commit {content['commit']}.\n"
    )
    print("| figure | value | target | met |\n|---|---|---|---|")
    for f in content["figures"]:
        met = {True: "yes", False: "**no**", None: ""}[f["met"]]
        note = f" ({f['note']})" if f["note"] else ""
        print(f"| {f['name']} | {f['value']:.4g} {f['unit']}{note} | {f['target']} | {met} |")
    for note in content["notes"]:
        print(f"\nNote: {note}.")
    return 0


if __name__ == "__main__":
    sys.exit(run_main(lambda _: main(sys.argv[1:]), "bench.common.table"))
