"""Recorder of a PyTorch model's steps: hooks on modules and on nodes of the autograd graph.

Hooks on modules' backward passes would not do: PyTorch refuses them for modules that work in place.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from types import ModuleType
from typing import Any, Final

from netcosim.errors import ScenarioError
from sim.profiling.autograd_layers import Call, Ownership, ownership
from sim.profiling.records import RecordedLayer, RecordedTensor, Span, StepRecord, Structure
from sim.profiling.step_timers import Clock, CudaClock, ProcessorClock
from sim.profiling.target import Target, calling
from sim.profiling.tensors import tensors_in

_LEARNING_RATE: Final = 1e-6


@dataclass(slots=True)
class _Watched:
    """Marks of one watched step: their indices, by what they mark."""

    marks: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    forward: list[tuple[int, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    backward: list[tuple[int, int, int]] = field(default_factory=list)
    ready: dict[str, int] = field(default_factory=dict)


class TorchRecorder:
    """Recorder that trains a PyTorch model; see `sim.profiling.records.Recorder`."""

    def __init__(self, torch: ModuleType, target: Target, optimizer: str) -> None:
        """Find the layers in a first forward pass.

        Raises
        ------
        ScenarioError
            The model can't run, or has nothing to train.
        """
        self._torch, self._target, self._optimizer_name = torch, target, optimizer
        self._parameters = {
            name: p for name, p in target.model.named_parameters() if p.requires_grad and p.numel()
        }
        if not self._parameters:
            raise ScenarioError(f"{target.name}: no parameters that need a gradient; must have one")
        devices = {p.device.type for p in self._parameters.values()}
        self._device = "cuda" if "cuda" in devices else "cpu"
        if devices - {self._device} or devices - {"cpu", "cuda"}:
            allowed = "must all be on the CPU or all on CUDA"
            raise ScenarioError.at(f"{target.name}: devices", ", ".join(sorted(devices)), allowed)
        self._clock: Clock = CudaClock(torch) if self._device == "cuda" else ProcessorClock()
        self._optimizer = _optimizer(torch, optimizer, list(self._parameters.values()))
        self._modules = {module: name or "model" for name, module in self._discover().items()}
        self._structure: Structure | None = None
        self._first: tuple[list[str], list[str]] | None = None

    def record(self) -> StepRecord:
        """Train one step, watched.

        Raises
        ------
        ScenarioError
            The model fails, or runs other layers than in the first step.
        """
        seen = _Watched()
        with contextlib.ExitStack() as hooks:
            owned, bounds = self._train(seen, hooks)
        self._check(seen)
        at = self._clock.read(seen.marks)
        if self._structure is None:
            self._structure = self._describe(seen, owned)
        begin, forward_end, loss_end, backward_begin, backward_end, end = bounds
        forward = [(i, start, stop) for i, (start, stop) in enumerate(seen.forward)]
        return StepRecord(
            begin_ns=at[begin],
            forward=_spans(at, forward),
            forward_end_ns=at[forward_end],
            loss_end_ns=at[loss_end],
            backward_begin_ns=at[backward_begin],
            backward=_spans(at, seen.backward),
            backward_end_ns=at[backward_end],
            end_ns=at[end],
            ready_ns={name: at[moment] for name, moment in seen.ready.items()},
        )

    def _train(
        self, seen: _Watched, hooks: contextlib.ExitStack
    ) -> tuple[Ownership, tuple[int, ...]]:
        """Train one watched step; the owners of graph nodes, and the marks of the step's bounds."""
        mark = self._marking(seen)
        self._watch_modules(seen, hooks)
        begin = mark()
        output = self._forward()
        forward_end = mark()
        loss = self._loss(output)
        del output
        loss_end = mark()
        owned = ownership(seen.calls)
        self._watch_nodes(seen, owned, hooks)
        backward_begin = mark()
        self._backward(loss)
        backward_end = mark()
        self._update()
        return owned, (begin, forward_end, loss_end, backward_begin, backward_end, mark())

    def plain(self) -> int:
        """Train one step that nothing watches; its time in nanoseconds."""
        begin = self._clock.mark()
        self._backward(self._loss(self._forward()))
        self._update()
        return self._clock.read([begin, self._clock.mark()])[1]

    def structure(self) -> Structure:
        """The layers, as the first step ran them."""
        if self._structure is None:
            raise RuntimeError("no step was recorded")
        return self._structure

    def about(self) -> str:
        """PyTorch's version, device, threads, batch and optimizer."""
        threads = f"{self._torch.get_num_threads()} CPU thread(s)"
        where = f"CUDA and {threads}" if self._device == "cuda" else threads
        mode = "training" if self._target.model.training else "evaluation"
        return (
            f"PyTorch {self._torch.__version__} on {where}, batch {self._target.batch},"
            f" optimizer {self._optimizer_name}, {mode} mode"
        )

    def _forward(self) -> Any:
        target = self._target
        return calling(target.name, lambda: target.model(*target.arguments, **target.keywords))

    def _loss(self, output: Any) -> Any:
        target = self._target
        loss = calling(f"{target.name}: loss", lambda: target.loss(output))
        if not isinstance(loss, self._torch.Tensor) or loss.numel() != 1 or not loss.requires_grad:
            allowed = "must be a tensor of one value that needs a gradient"
            raise ScenarioError.at(f"{target.name}: loss", type(loss).__name__, allowed)
        return loss

    def _backward(self, loss: Any) -> None:
        calling(f"{self._target.name}: backward", loss.backward)

    def _update(self) -> None:
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _marking(self, seen: _Watched) -> Any:
        clock, marks = self._clock.mark, seen.marks

        def mark() -> int:
            marks.append(clock())
            return len(marks) - 1

        return mark

    def _discover(self) -> dict[str, Any]:
        """Find the layers: modules that are called and call no other, by name, in order of call."""
        stack: list[Any] = []
        called: dict[Any, bool] = {}

        def enter(module: Any, _: Any) -> None:
            if stack:
                called[stack[-1]] = False
            called.setdefault(module, True)
            stack.append(module)

        def leave(*_: Any) -> None:
            stack.pop()

        names = {module: name for name, module in self._target.model.named_modules()}
        with contextlib.ExitStack() as hooks:
            for module in names:
                hooks.callback(module.register_forward_pre_hook(enter).remove)
                hooks.callback(module.register_forward_hook(leave).remove)
            self._forward()
        return {names[module]: module for module, is_layer in called.items() if is_layer}

    def _watch_modules(self, seen: _Watched, hooks: contextlib.ExitStack) -> None:
        mark, torch = self._marking(seen), self._torch
        counts: Counter[str] = Counter()
        started: list[tuple[list[Any], int]] = []

        def enter(_: Any, arguments: Any, keywords: Any) -> None:
            inputs = [t.grad_fn for t in tensors_in(torch, (arguments, keywords))]
            started.append((inputs, mark()))

        def leave(module: Any, _: Any, __: Any, output: Any) -> None:
            end = mark()
            inputs, start = started.pop()
            outputs = [t.grad_fn for t in tensors_in(torch, output) if t.grad_fn is not None]
            name = self._modules[module]
            counts[name] += 1
            seen.names.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
            seen.kinds.append(type(module).__name__)
            seen.forward.append((start, end))
            seen.calls.append(Call(inputs=inputs, outputs=outputs))

        for module in self._modules:
            before = module.register_forward_pre_hook(enter, with_kwargs=True)
            after = module.register_forward_hook(leave, with_kwargs=True)
            hooks.callback(before.remove)
            hooks.callback(after.remove)

    def _watch_nodes(self, seen: _Watched, owned: Ownership, hooks: contextlib.ExitStack) -> None:
        """Watch graph nodes, and modules no more: checkpoints call them again, going backward."""
        hooks.pop_all().close()
        mark = self._marking(seen)
        for node, layer in owned.owner.items():
            if layer >= 0:
                for handle in _watch_node(node, layer, mark, seen.backward):
                    hooks.callback(handle.remove)
        for name, parameter in self._parameters.items():
            handle = parameter.register_post_accumulate_grad_hook(_noting(name, mark, seen.ready))
            hooks.callback(handle.remove)

    def _check(self, seen: _Watched) -> None:
        """Refuse a step that is not like the first."""
        found = (seen.names, sorted(seen.ready))
        if self._first is None:
            self._first = found
        for what, now, first in zip(("layer", "gradient of"), found, self._first, strict=True):
            pairs = zip_longest(now, first, fillvalue="none")
            differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
            if differing is not None:
                allowed = f'the first step had "{differing[1]}"; all must run the same layers'
                raise ScenarioError.at(f"{self._target.name}: {what}", differing[0], allowed)

    def _describe(self, seen: _Watched, owned: Ownership) -> Structure:
        own = self._own(seen)
        inside: dict[int, list[RecordedTensor]] = {}
        before: dict[int, list[RecordedTensor]] = {}
        behind = len(seen.names)
        for name, parameter in self._parameters.items():
            if name in seen.ready:
                size_bytes = parameter.numel() * parameter.element_size()
                held, i = before, owned.loose.get(id(parameter), behind)
                if id(parameter) in own:
                    held, i = inside, own[id(parameter)]
                held.setdefault(i, []).append(RecordedTensor(name=name, size_bytes=size_bytes))
        layers = tuple(
            RecordedLayer(
                name=name,
                kind=seen.kinds[i],
                reads=owned.reads[i],
                tensors=tuple(inside.get(i, ())),
                tensors_before=tuple(before.get(i, ())),
            )
            for i, name in enumerate(seen.names)
        )
        passed = {layer for layer, _, _ in seen.backward}
        return Structure(
            layers=layers,
            tensors_behind=tuple(before.get(behind, ())),
            remarks=tuple(self._remarks(seen, [seen.names[i] for i in inside if i not in passed])),
        )

    def _own(self, seen: _Watched) -> dict[int, int]:
        """Index of the layer that first needs each parameter of a layer, by its identity."""
        found: dict[int, int] = {}
        first = {name: i for i, name in reversed(list(enumerate(seen.names)))}
        for module, name in self._modules.items():
            for parameter in module.parameters():
                i = first[name]
                found[id(parameter)] = min(i, found.get(id(parameter), i))
        return found

    def _remarks(self, seen: _Watched, unseen: list[str]) -> Iterator[str]:
        frozen = [n for n, p in self._target.model.named_parameters() if not p.requires_grad]
        unused = [name for name in self._parameters if name not in seen.ready]
        for names, text in (
            (frozen, "parameter(s) need no gradient, and are left out: they are not sent"),
            (unused, "parameter(s) got no gradient, and are left out"),
            (
                unseen,
                "layer(s) have a backward pass that was not seen; it counts as between layers",
            ),
        ):
            if names:
                shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
                yield f"{len(names)} {text} ({shown})"
        if not self._target.model.training:
            yield "the model is in evaluation mode; call train() for what training takes"


def _spans(at: list[int], found: list[tuple[int, int, int]]) -> tuple[Span, ...]:
    return tuple(
        Span(layer=layer, start_ns=at[start], end_ns=at[end]) for layer, start, end in found
    )


def _watch_node(node: Any, layer: int, mark: Any, found: list[tuple[int, int, int]]) -> list[Any]:
    started = [0]

    def enter(_: Any) -> None:
        started[0] = mark()

    def leave(_: Any, __: Any) -> None:
        found.append((layer, started[0], mark()))

    return [node.register_prehook(enter), node.register_hook(leave)]


def _noting(name: str, mark: Any, ready: dict[str, int]) -> Any:
    def note(_: Any) -> None:
        ready[name] = mark()

    return note


def _optimizer(torch: ModuleType, name: str, parameters: list[Any]) -> Any:
    if name == "adam":
        return torch.optim.Adam(parameters, lr=_LEARNING_RATE)
    momentum = 0.9 if name == "momentum" else 0.0
    return torch.optim.SGD(parameters, lr=_LEARNING_RATE, momentum=momentum)
