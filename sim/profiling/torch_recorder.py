"""Measures a model's steps under PyTorch: hooks on modules, and on nodes of the graph of gradients.

Hooks on modules' backward passes would not do: PyTorch refuses them for modules that work in place.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from netcosim.errors import ScenarioError
from sim.profiling.clocks import Clock, CudaClock, ProcessorClock
from sim.profiling.graph import Call, Ownership, ownership
from sim.profiling.records import RecordedLayer, RecordedTensor, Span, StepRecord, Structure
from sim.profiling.target import Target, calling
from sim.profiling.tensors import tensors_in

_LEARNING_RATE: Final = 1e-6


@dataclass(slots=True)
class _Watched:
    """What one step left: numbers of marks, by what they mark."""

    marks: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    forward: list[tuple[int, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    backward: list[tuple[int, int, int]] = field(default_factory=list)
    ready: dict[str, int] = field(default_factory=dict)


class TorchRecorder:
    """Trains the model and watches; see `sim.profiling.records.Recorder`."""

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
        self._order: list[str] = []

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
        """One watched step; the marks of its bounds, as a step's record has them."""
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
        """Layers: modules that are called, and call no other. By name, as they are first called."""
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
        """From here on modules are not watched: checkpoints call them again, going backward."""
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
        if self._structure is not None and seen.names != self._order:
            pairs = zip([*seen.names, ""], [*self._order, ""], strict=False)
            now, first = next(pair for pair in pairs if pair[0] != pair[1])
            allowed = f'must be "{first}" as in the first step: every step must run the same layers'
            raise ScenarioError.at(f"{self._target.name}: layer", now, allowed)
        self._order = seen.names

    def _describe(self, seen: _Watched, owned: Ownership) -> Structure:
        at, loose = self._places(seen, owned)
        tensors: list[list[RecordedTensor]] = [[] for _ in seen.names]
        for name in seen.ready:
            parameter = self._parameters[name]
            size_bytes = parameter.numel() * parameter.element_size()
            tensors[at[name]].append(RecordedTensor(name=name, size_bytes=size_bytes))
        place = {name: i for i, name in enumerate(self._parameters)}
        layers = tuple(
            RecordedLayer(
                name=name,
                kind=kind,
                reads=reads,
                tensors=tuple(sorted(held, key=lambda tensor: place[tensor.name])),
            )
            for name, kind, reads, held in zip(
                seen.names, seen.kinds, owned.reads, tensors, strict=True
            )
        )
        return Structure(layers=layers, remarks=tuple(self._remarks(seen, loose)))

    def _places(self, seen: _Watched, owned: Ownership) -> tuple[dict[str, int], list[str]]:
        """Which layer needs each parameter first; and the parameters that are in no layer."""
        own: dict[int, int] = {}
        first = {name: i for i, name in reversed(list(enumerate(seen.names)))}
        for module, name in self._modules.items():
            for parameter in module.parameters():
                i = first[name]
                own[id(parameter)] = min(i, own.get(id(parameter), i))
        last = len(seen.names) - 1
        loose = [name for name in seen.ready if id(self._parameters[name]) not in own]
        return {
            name: own.get(id(p), owned.loose.get(id(p), last))
            for name, p in self._parameters.items()
        }, loose

    def _remarks(self, seen: _Watched, loose: list[str]) -> Iterator[str]:
        frozen = [n for n, p in self._target.model.named_parameters() if not p.requires_grad]
        unused = [name for name in self._parameters if name not in seen.ready]
        for names, text in (
            (frozen, "need no gradient, and are left out: they are not sent"),
            (unused, "got no gradient, and are left out"),
            (loose, "are in no layer; each is taken for the next layer's"),
        ):
            if names:
                shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
                yield f"{len(names)} parameter(s) {text} ({shown})"
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
