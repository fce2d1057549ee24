"""Finding and calling the user's function; what it returns needs PyTorch to be looked at."""

import types

import pytest

from netcosim.errors import ScenarioError
from sim.profiling.target import calling, users_own

NO_TORCH = types.ModuleType("torch")

SOURCE = """\
COUNT = 3

def fails(batch):
    raise ValueError(f"no luck with {batch}")

def needs(size):
    return size

def leaves():
    raise SystemExit("bye")
"""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("fails", r"mine_\w+:fails: raised ValueError: no luck with 5 \(at .*/mine_\w+\.py:4\)$"),
        ("needs", r"mine_\w+:needs: parameter size: must have a default; only batch is given$"),
        ("leaves", r"mine_\w+:leaves: raised SystemExit: bye \(at .*/mine_\w+\.py:10\)$"),
        ("nothing", r"mine_\w+ has no such function: nothing$"),
        ("COUNT", r"mine_\w+ is no function: COUNT$"),
    ],
)
def test_a_function_that_cant_be_used_is_one_line(function, message, tmp_path, monkeypatch):
    name = f"mine_{function.lower()}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    with pytest.raises(ScenarioError, match=message):
        users_own(NO_TORCH, f"{name}:{function}", 5, None)


def test_a_module_that_is_not_there_or_is_broken_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken_one.py").write_text("x = (\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere"])
    with pytest.raises(ScenarioError, match=r"ModuleNotFoundError: No module named 'not_there'$"):
        users_own(NO_TORCH, "not_there:build", None, None)
    with pytest.raises(ScenarioError, match="broken_one:build: raised SyntaxError"):
        users_own(NO_TORCH, "broken_one:build", None, None)


@pytest.mark.parametrize("where", ["mine", "mine:", ":build", "mine:a.b", "mine:a b"])
def test_what_is_no_module_and_function_is_refused(where):
    with pytest.raises(ScenarioError, match="must be MODULE:FUNCTION, such as mymodel:build"):
        users_own(NO_TORCH, where, None, None)


def test_own_complaints_and_the_persons_interruption_pass():
    complaint = ScenarioError("as it is")

    def complain() -> None:
        raise complaint

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(ScenarioError) as caught:
        calling("mine", complain)
    assert caught.value is complaint
    with pytest.raises(KeyboardInterrupt):
        calling("mine", interrupt)
