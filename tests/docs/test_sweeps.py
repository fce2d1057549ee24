"""Sweeps of the documentation: each has a space, and a wrong one would be noticed."""

from pathlib import Path

import pytest

from netcosim.errors import ScenarioError
from ray_sweeps.space import Space, space_of
from ray_sweeps.sweep_file import parse_sweep, read_sweep
from tests.docs.pages import ROOT, blocks


def sweeps() -> list[tuple[str, str]]:
    return [(where, body) for where, body in blocks("toml") if "[factors]" in body]


EXAMPLES = sorted((ROOT / "examples/sweeps").glob("*.toml"))


def space(where: str, text: str) -> Space:
    return space_of(parse_sweep(text, Path(where)))


@pytest.mark.parametrize(("where", "text"), sweeps(), ids=lambda v: v if ".md" in v else "")
def test_every_sweep_of_the_docs_has_a_space(where: str, text: str) -> None:
    assert space(where, text).count()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_a_space(path: Path) -> None:
    sweep = read_sweep(path)
    assert space_of(sweep).count()
    assert sweep.name == path.stem
    assert sweep.description


def test_a_wrong_sweep_would_be_noticed() -> None:
    where, text = sweeps()[0]
    with pytest.raises(ScenarioError, match="did you mean workers"):
        space(where, text.replace("workers =", "worker ="))
