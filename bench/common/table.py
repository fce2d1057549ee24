"""Print a benchmark's recorded figures as the Markdown table of docs/benchmarks.md.

``python -m bench.common.table NAME``
"""

import json
import sys

from bench.common.record import RESULTS


def main(name: str) -> None:
    """Print one table."""
    content = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
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


if __name__ == "__main__":
    main(sys.argv[1])
