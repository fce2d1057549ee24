"""Page and pictures of the benchmark, in `bench/results/balance.md`."""

import io
from collections.abc import Sequence
from typing import Any

from bench.balance.processes import PUBLISHED
from bench.common.record import RESULTS

Json = dict[str, Any]


def write_page(rows: Sequence[Json]) -> None:
    """Write the tables, and the picture of batches and times of four GPUs."""
    (RESULTS / "balance.md").write_text(page(rows))
    (RESULTS / "balance-gpus.png").write_bytes(gpus_png([r for r in rows if r["part"] == "gpus"]))


def page(rows: Sequence[Json]) -> str:
    """Table of iteration times over BSP's, and of errors of predictions, by process."""
    found = [r for r in rows if r["part"] == "processes"]
    processes = list(dict.fromkeys(r["process"] for r in found))
    names = list(dict.fromkeys(r["coordinator"] for r in found))
    lines = [
        f"| coordinator | {' | '.join(processes)} | 003: RMSE, time |",
        "|---" * (len(processes) + 2) + "|",
    ]
    for name in names:
        cells = []
        for process in processes:
            row = next(r for r in found if (r["process"], r["coordinator"]) == (process, name))
            rmse = row.get("rmse")
            cells.append(f"{row['over_bsp']:.3f}" + ("" if rmse is None else f" ({rmse:.2f})"))
        published = PUBLISHED.get(name.removeprefix("lb_bsp "))
        theirs = "" if published is None else f"{published[0]}, {published[1]}"
        lines.append(f"| {name} | {' | '.join(cells)} | {theirs} |")
    return "\n".join(lines) + "\n"


def gpus_png(rows: Sequence[Json]) -> bytes:
    """Batches and step times of four GPUs, by step, as Fig. 8 of 003."""
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
    steps = [row["step"] for row in rows]
    for worker in range(4):
        above.plot(
            steps, [r["batches"][worker] for r in rows], marker=".", label=f"worker {worker}"
        )
        below.plot(steps, [r["s"][worker] for r in rows], marker=".")
    above.set_ylabel("batch, examples")
    above.legend(loc="upper right", ncols=4, fontsize="small")
    above.set_title(
        "LB-BSP on four unequal GPUs; from step 151 on worker 1's port has a quarter of its rate",
        fontsize="small",
    )
    below.set_ylabel("a step, s")
    below.set_xlabel("step")
    below.set_ylim(bottom=0)
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    plt.close(figure)
    return data.getvalue()
