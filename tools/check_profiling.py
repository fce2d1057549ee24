"""Check sim.profile under a real PyTorch, which the project's environment does not have.

    python tools/check_profiling.py [NETWORK OF TORCHVISION ...]

Run it with a Python that has PyTorch and the project, on a machine that does nothing else. Each
line is a check with its figures; it ends with 1 if one fails.
"""

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from netcosim.workload import dump_profile, parse_profile
from netcosim.workload.lint import lint
from sim.profiling.assemble import Settings, build_profile
from sim.profiling.library import load_torch
from sim.profiling.loss import SomeLoss
from sim.profiling.measure import Measured, measure
from sim.profiling.table import readiness
from sim.profiling.target import Target, torchvisions
from sim.profiling.torch_recorder import TorchRecorder

STEPS, WARMUP = 12, 3
MOST_APART = 0.1
MOST_EARLY = 0.02
Check = tuple[bool, str]

torch: Any = load_torch()


class Small(torch.nn.Module):  # type: ignore[misc]
    """A network: branches, functions between modules, a module called twice, a lone parameter."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.first = nn.Conv2d(3, 32, 3, padding=1)
        self.left = nn.Conv2d(32, 32, 3, padding=1)
        self.right = nn.Conv2d(32, 32, 1)
        self.scale = nn.Parameter(torch.ones(1, 32, 1, 1))
        self.relu = nn.ReLU(inplace=True)
        self.last = nn.Linear(32 * 16 * 16, 10)

    def forward(self, images: Any) -> Any:
        """Classes of images of 32 x 32."""
        found = self.relu(self.first(images))
        found = self.relu(self.left(found)) + self.scale * self.right(found)
        return self.last(torch.nn.functional.avg_pool2d(found, 2).flatten(1))


SMALL_READS = {
    "first": [],
    "relu": ["first"],
    "left": ["relu"],
    "relu#2": ["left"],
    "right": ["relu"],
    "last": ["relu#2", "right"],
}
SMALL_TENSORS = {
    "first": ["first.weight", "first.bias"],
    "relu": [],
    "left": ["left.weight", "left.bias"],
    "relu#2": [],
    "right": ["right.weight", "right.bias"],
    "last": ["last.weight", "last.bias"],
}


def main(networks: list[str]) -> int:
    """Check a small network of its own, and those named."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images = torch.randn(32, 3, 32, 32)
    small = Target(name="small", model=Small(), arguments=(images,), loss=SomeLoss(torch), batch=32)
    failed = _report("small", [*_checks(small), *_small(small)])
    for name in networks:
        failed |= _report(name, list(_checks(torchvisions(torch, name, 4, None))))
    return int(failed)


def _report(name: str, checks: list[Check]) -> bool:
    for good, text in checks:
        print(f"{'ok    ' if good else 'FAILED'} {name}: {text}")
    return not all(good for good, _ in checks)


def _small(target: Target) -> Iterator[Check]:
    recorder = TorchRecorder(torch, target, "adam")
    recorder.record()
    layers = recorder.structure().layers
    reads = {layer.name: [layers[i].name for i in layer.reads] for layer in layers}
    yield reads == SMALL_READS, f"which layer reads which: {reads}"
    tensors = {layer.name: [t.name for t in layer.tensors] for layer in layers}
    yield tensors == SMALL_TENSORS, f"tensors of layers: {tensors}"
    between = [t.name for layer in layers for t in layer.tensors_before]
    yield between == ["scale"], f"tensors between layers: {between}"


def _checks(target: Target) -> Iterator[Check]:
    measured = measure(TorchRecorder(torch, target, "sgd"), STEPS, WARMUP)
    yield _apart(measured)
    held = [tensor.size_bytes for tensor in measured.structure.tensors]
    parameters = [p.numel() * p.element_size() for p in target.model.parameters()]
    yield (
        sorted(held) == sorted(parameters),
        f"{len(held)} tensors, {sum(held)} bytes; the model has {len(parameters)} parameters,"
        f" {sum(parameters)} bytes",
    )
    behind = sum(bool(ns) for ns in measured.steps[0].backward_ns)
    yield behind > 0, f"{behind} of {len(measured.structure.layers)} layers have a backward pass"
    early, late = readiness(measured)
    yield (
        max(early, late) < MOST_EARLY,
        f"gradients are ready {early:.2%} of a step before their operation's end to {late:.2%}"
        " after",
    )
    for branches in (False, True):
        yield from _profile(measured, Settings(name=target.name, batch=4, branches=branches))


def _apart(measured: Measured) -> Check:
    watched, plain = measured.step_ns / 1e6, measured.plain_step_ns / 1e6
    spread = statistics.pstdev(step.step_ns / 1e6 for step in measured.steps)
    return (
        abs(watched / plain - 1) < MOST_APART,
        f"a step takes {watched:.2f} ms watched, {plain:.2f} ms not watched"
        f" ({watched / plain - 1:+.1%}; standard deviation {spread:.2f} ms)",
    )


def _profile(measured: Measured, settings: Settings) -> Iterator[Check]:
    profile = build_profile(measured, settings)
    shape = "branches" if settings.branches else "chain"
    sums = [sum(row) for row in profile.duration_ns]
    off = max(
        abs(total - record.step_ns) for total, record in zip(sums, measured.records, strict=True)
    )
    yield off == 0, f"{shape}: operations come to the {len(sums)} steps' times within {off} ns"
    layers = statistics.median(
        (sum(step.forward_ns) + sum(step.backward_ns)) / step.step_ns for step in measured.steps
    )
    yield layers > 0, f"{shape}: layers' passes are {layers:.1%} of a step"
    findings = [str(finding) for finding in lint(profile)]
    yield not findings, f"{shape}: the linter says {findings or 'nothing'}"
    yield parse_profile(dump_profile(profile)) == profile, f"{shape}: is read back as it was"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
