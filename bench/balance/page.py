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
        f"| coordinator | {' | '.join(processes)} | Chen et al.: RMSE, time |",
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
    """Batches and step times of four GPUs by step (Chen et al., Fig. 8); a column for each port."""
    import matplotlib.pyplot as plt

    ports = list(dict.fromkeys(row["port"] for row in rows))
    figure, axes = plt.subplots(
        2, len(ports), figsize=(5 * len(ports), 5), sharex=True, sharey="row", squeeze=False
    )
    for port, (above, below) in zip(ports, axes.T, strict=True):
        found = [row for row in rows if row["port"] == port]
        steps = [row["step"] for row in found]
        for worker in range(4):
            batches = [row["batches"][worker] for row in found]
            above.plot(steps, batches, marker=".", label=f"worker {worker}")
            below.plot(steps, [row["s"][worker] for row in found], marker=".")
        above.set_title(f"from step 151 on worker 1's port has {port:.0%} of its rate")
        below.set_xlabel("step")
        below.set_ylim(bottom=0)
    axes[0][0].set_ylabel("batch, examples")
    axes[1][0].legend(*axes[0][0].get_legend_handles_labels(), loc="upper right", fontsize="small")
    axes[1][0].set_ylabel("a step, s")
    figure.suptitle("LB-BSP on four unequal GPUs")
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    plt.close(figure)
    return data.getvalue()
