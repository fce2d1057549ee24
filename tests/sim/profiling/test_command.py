"""The command without PyTorch: options, what is missing, the file, the table.

The part that measures needs PyTorch, which neither CI nor the locked environment has:
tools/check_profiling.py checks it.
"""

import io
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from netcosim.errors import ScenarioError, StorageError
from netcosim.workload import read_profile
from netcosim.workload.lint import lint
from sim import profile
from sim.profiling import command
from sim.profiling.file import check_place, write_whole
from sim.profiling.measure import Measured, measure
from sim.profiling.options import read_asked
from sim.profiling.records import RecordedTensor
from sim.profiling.table import print_measured, readiness
from tests.sim.profiling.made import TWO_WAYS, MadeRecorder, layer, times

SCALE = RecordedTensor(name="scale", size_bytes=12)
LAST = RecordedTensor(name="temperature", size_bytes=4)


def shown(recorder: MadeRecorder, steps: int = 4) -> str:
    text = io.StringIO()
    print_measured(measure(recorder, steps, 1), Console(file=text, width=100))
    return text.getvalue()


def test_without_pytorch_it_says_how_to_install_it(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(sys.modules, "torch", None)
    code = profile.main(["mine:build", "--out", str(tmp_path / "p.json")])
    error = capsys.readouterr().err
    assert code == 3
    said = "torch is not installed: pip install '.[profile]', in a checkout of netcosim"
    assert error == f"sim.profile: {said}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_pytorch_that_cant_be_loaded_says_why(monkeypatch, capsys, tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libsomething.so: no such file')\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert profile.main(["mine:build", "--out", str(tmp_path / "p.json")]) == 3
    assert "torch can't be loaded: libsomething.so: no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give one of MODULE:FUNCTION and --torchvision NAME"),
        (["a:b", "--torchvision", "resnet50"], "give one of MODULE:FUNCTION and --torchvision"),
        (["a:b", "--batch", "0"], "--batch: 0: must be from 1 to 1000000"),
        (["a:b", "--steps", "0"], "--steps: 0: must be from 1 to 100000"),
        (["a:b", "--warmup", "0"], "--warmup: 0: must be from 1 to 100000"),
        (["a:b", "--threads", "2000"], "--threads: 2000: must be from 1 to 1024"),
        (["a:b", "--input", "3,0"], '--input: "3,0": must be up to 8 sizes'),
        (["a:b", "--parsing", "1"], '--parsing: "1": must be two numbers'),
        (["a:b", "--parsing", "1,nan"], '--parsing: "1,nan": must be two numbers'),
        (["a:b", "--parsing", "-1,2"], "expected one argument"),
        (["a:b", "--name", "x\ty"], "--name: .*must be printable"),
        (["a:b", "--optimizer", "lion"], "--optimizer: invalid choice: 'lion'"),
        (["a:b", "--out", "/nowhere/p.json"], "is in no folder that exists"),
        (["a:b", "--out", "/"], '--out: "/": is a folder; must be a file'),
    ],
)
def test_a_wrong_option_is_one_line_before_anything_is_loaded(arguments, message, capsys):
    assert profile.main(arguments) == 2
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""
    with pytest.raises(ScenarioError, match=message):
        check_place(read_asked("sim.profile", arguments).out)


def test_options_are_as_asked():
    line = "--torchvision vgg11 --batch 2 --input 3x32x32 --parsing 0.5,100 --branches --name x"
    asked = read_asked("sim.profile", line.split())
    assert (asked.torchvision, asked.batch, asked.shape) == ("vgg11", 2, (3, 32, 32))
    assert (asked.parsing, asked.branches, asked.name) == ((0.5, 100.0), True, "x")
    assert (asked.steps, asked.warmup, asked.threads, asked.optimizer) == (20, 3, 1, "sgd")
    assert asked.out == Path("profile.json")


def test_what_is_measured_is_written_and_shown(monkeypatch, capsys, tmp_path):
    recorder = MadeRecorder(TWO_WAYS, [times(), times(2)])
    monkeypatch.setattr(command, "_recorder", lambda asked: (recorder, "mine", 4))
    out = tmp_path / "mine.json"
    assert profile.main(["my:model", "--steps", "6", "--branches", "--out", str(out)]) == 0
    written = read_profile(out)
    assert (written.name, written.batch, len(written.duration_ns)) == ("mine-b4", 4, 6)
    assert lint(written) == ()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.json"]
    captured = capsys.readouterr().out
    assert f"profile     {out}" in captured
    assert "left" in captured


def test_a_failed_measurement_leaves_the_old_file(monkeypatch, capsys, tmp_path):
    nothing_trained = tuple(layer(name) for name in "abcd")
    recorder = MadeRecorder(nothing_trained, [times()])
    monkeypatch.setattr(command, "_recorder", lambda asked: (recorder, "mine", 4))
    out = tmp_path / "mine.json"
    out.write_text("old")
    assert profile.main(["my:model", "--out", str(out)]) == 2
    assert out.read_text() == "old"
    assert "no parameter of the model gets a gradient" in capsys.readouterr().err


def test_a_file_that_cant_be_written_leaves_nothing(tmp_path):
    gone = tmp_path / "gone"
    with pytest.raises(StorageError, match="can't be written: No such file"):
        write_whole(gone / "p.json", "text")
    folder = tmp_path / "p.json"
    folder.mkdir()
    with pytest.raises(StorageError, match="can't be written: Is a directory"):
        write_whole(folder, "text")
    assert [path.name for path in tmp_path.iterdir()] == ["p.json"]


def test_the_table_has_the_longest_layers_first_and_all_of_the_step():
    text = shown(MadeRecorder(TWO_WAYS, [times()], plain_ns=times().total))
    lines = [line.split() for line in text.splitlines()]
    names = [words[0] for words in lines if words and words[0] in {"first", "left", "last"}]
    assert names == ["last", "left", "first"]
    total_ms = times().total / 1e6
    assert f"step        {total_ms:.3f} ms (median of 4; {total_ms:.3f} to" in text
    assert "4 layers, 4 tensors" in text
    assert "watched ones +0.0%" in text
    assert "note: made up" in text
    assert "warning" not in text


def test_long_models_are_cut_in_the_table():
    layers = tuple(layer(f"l{i}", [i - 1] if i else [], w=8) for i in range(30))
    step = times()
    pairs = [(0, 1000)] * 30
    many = type(step)(
        forward=pairs, tail=1, loss=1, watching=1, head=1, backward=pairs, optimizer=1
    )
    assert "10 more" in shown(MadeRecorder(layers, [many]))


def test_figures_that_may_mislead_are_said_to():
    slow = shown(MadeRecorder(TWO_WAYS, [times()], plain_ns=times().total // 2))
    assert "warning: watched steps differ from others by +100%" in slow
    uneven = shown(MadeRecorder(TWO_WAYS, [times(), times(3)], plain_ns=times(2).total))
    assert "warning: steps vary by" in uneven


def test_gradients_are_compared_with_their_operations_ends():
    layers = (*TWO_WAYS[:3], replace(TWO_WAYS[3], tensors_before=(SCALE,)))
    measured = measure(MadeRecorder(layers, [times(between=50)], tensors_behind=(LAST,)), 1, 1)
    record = measured.records[0]
    of_last, of_right = (
        next(s for s in record.backward if layers[s.layer].name == name)
        for name in ("last", "right")
    )
    exact = {**record.ready_ns, "scale": of_right.start_ns, "temperature": of_last.start_ns}
    assert readiness(with_ready(measured, exact)) == (0.0, 0.0)
    for name, off, found in (
        ("left.weight", -100, (100, 0)),
        ("scale", 70, (0, 70)),
        ("temperature", 80, (0, 80)),
    ):
        early, late = readiness(with_ready(measured, {**exact, name: exact[name] + off}))
        assert (early, late) == tuple(pytest.approx(ns / record.step_ns) for ns in found)


def with_ready(measured: Measured, ready_ns: dict[str, int]) -> Measured:
    record = replace(measured.records[0], ready_ns=ready_ns)
    return replace(measured, records=(record,))
