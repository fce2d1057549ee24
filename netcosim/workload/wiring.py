"""Dependencies among layers of networks that branch, from torchvision's module names.

Facts of the architectures: GoogLeNet (Szegedy et al., "Going deeper with convolutions", 2015,
figure 2 and table 1), Inception-v3 (Szegedy et al., "Rethinking the Inception architecture for
computer vision", 2016, figures 5 to 8 and 10), ResNet (He et al., "Deep residual learning for image
recognition", 2016, figures 2 and 5).

Layers outside of blocks are a chain. A block is a set of branches, each a chain that begins with
what the block reads; what follows the block reads the ends of all of them. A dependency that others
imply is left out: a residual block's identity, and a branch that only pools and has no module.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

Wiring = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Architecture:
    """Patterns by which the names of a network tell its branches.

    Attributes
    ----------
    layer : matches a layer in a block; groups `block`, `branch` (none: the main one), `split` (the
        branch forks there), `join` (the layer reads the ends of all branches)
    heads : classifiers beside the main path, by what their names begin with: the block they read
    """

    layer: re.Pattern[str]
    heads: dict[str, str] = field(default_factory=dict)


_RESIDUAL: Final = _Architecture(
    layer=re.compile(r"(?P<block>layer\d+\.\d+)\.((?P<branch>downsample)\.|(?P<join>relu$))?")
)
_ARCHITECTURES: Final[dict[str, _Architecture]] = {
    "googlenet": _Architecture(
        layer=re.compile(r"(?P<block>inception\d[a-e])\.(?P<branch>branch\d)\."),
        heads={"aux1.": "inception4a", "aux2.": "inception4d"},
    ),
    "inception_v3": _Architecture(
        layer=re.compile(
            r"(?P<block>Mixed_\d[a-e])\."
            r"(?P<branch>branch(_pool|\d+x\d+(x\d+|dbl)?))(_\d(?P<split>[ab])?)?\."
        ),
        heads={"AuxLogits.": "Mixed_6e"},
    ),
    **dict.fromkeys(("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"), _RESIDUAL),
}
_CHAIN: Final = _Architecture(layer=re.compile(r"(?P<block>)(?!)"))


def wire(model: str, names: Sequence[str]) -> Wiring:
    """Dependencies of every layer: those whose outputs it reads.

    Parameters
    ----------
    model : torchvision's name of the network; an unknown one is taken for a chain
    names : the layers' module names, in the order in which they run
    """
    architecture = _ARCHITECTURES.get(model, _CHAIN)
    found: Wiring = {}
    ends: tuple[str, ...] = ()
    ends_of: dict[str, tuple[str, ...]] = {}
    main = [name for name in names if not name.startswith(tuple(architecture.heads))]
    for block, members in itertools.groupby(main, lambda name: _block(architecture, name)):
        if block is None:
            ends = _chain(list(members), ends, found)
        else:
            ends_of[block] = ends = _branches(architecture, list(members), ends, found)
    for prefix, block in architecture.heads.items():
        _chain([n for n in names if n.startswith(prefix)], ends_of.get(block, ()), found)
    return found


def _block(architecture: _Architecture, name: str) -> str | None:
    match = architecture.layer.match(name)
    return None if match is None else match["block"]


def _chain(names: list[str], ends: tuple[str, ...], found: Wiring) -> tuple[str, ...]:
    """Add layers one after another, behind `ends`; return the ends of the last."""
    for name in names:
        found[name] = ends
        ends = (name,)
    return ends


def _branches(
    architecture: _Architecture, names: list[str], entry: tuple[str, ...], found: Wiring
) -> tuple[str, ...]:
    """Add the layers of one block behind `entry`; return the ends of its branches."""
    ends: dict[str, tuple[str, ...]] = {}
    forked: set[str] = set()
    joins = []
    for name in names:
        match = architecture.layer.match(name)
        groups = match.groupdict() if match else {}
        branch, split = groups.get("branch") or "", groups.get("split") or ""
        if groups.get("join"):
            joins.append(name)
            continue
        if split:
            forked.add(branch)
        before = ends.get(branch + split, ends.get(branch, entry))
        ends[branch + split] = _chain([name], before, found)
    tails = tuple(itertools.chain(*(end for key, end in ends.items() if key not in forked)))
    return _chain(joins, tails or entry, found)
