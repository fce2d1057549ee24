"""From steps as a recorder hands them over to a profile: every nanosecond is somewhere."""

import math
import types
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.workload import Profile, Transfer, dump_profile, parse_profile
from netcosim.workload.lint import lint
from sim.profiling.assemble import Settings, build_profile
from sim.profiling.attribute import attribute
from sim.profiling.autograd_layers import BETWEEN, Call, Ownership, ownership
from sim.profiling.measure import Measured, measure
from sim.profiling.records import RecordedLayer, RecordedTensor, Span, StepRecord
from sim.profiling.target import calling, users_own
from tests.sim.profiling.made import TWO_WAYS, MadeRecorder, Times, layer, times

CHAIN = Settings(name="made", batch=4)
BRANCHES = Settings(name="made", batch=4, branches=True)


def measured_of(*steps: Times, layers: tuple[RecordedLayer, ...] = TWO_WAYS) -> Measured:
    return measure(MadeRecorder(layers, steps), len(steps), 0)


def row(profile: Profile, step: int = 0) -> dict[str, int]:
    names = [op.name for op in profile.step.computes]
    return dict(zip(names, profile.duration_ns[step], strict=True))


def after(profile: Profile, name: str) -> tuple[str, ...]:
    return next(op.after for op in profile.step.operations if op.name == name)


def test_every_step_after_the_warm_up_is_a_row_as_it_was():
    recorder = MadeRecorder(TWO_WAYS, [times(scale) for scale in (9, 9, 1, 2, 3)])
    profile = build_profile(measure(recorder, 3, 2), CHAIN)
    assert [row(profile, step)["left/forward"] for step in range(3)] == [2000, 4000, 6000]
    assert [sum(values) for values in profile.duration_ns] == [times(s).total for s in (1, 2, 3)]
    assert (profile.samples, profile.jitter, profile.batch) == ("measured", None, 4)
    assert "3 steps as they were, after 2 of warm-up" in profile.provenance


def test_steps_that_nothing_watches_lie_between_the_others():
    recorder = MadeRecorder(TWO_WAYS, [times()])
    found = measure(recorder, 4, 1)
    assert recorder.log == ["record", "plain", *2 * ["plain", "record", "record"]]
    assert found.plain_ns == (5000, 5000)
    assert "not watched: 0.005 ms" in build_profile(found, CHAIN).provenance


def test_progress_is_told_after_each_step():
    told: list[int] = []
    measure(MadeRecorder(TWO_WAYS, [times()]), 3, 1, told.append)
    assert told == [1, 2, 3]


@pytest.mark.parametrize("settings", [CHAIN, BRANCHES])
def test_the_profile_has_no_faults_and_is_read_back(settings):
    profile = build_profile(measured_of(times(), times(2, between=3000)), settings)
    assert lint(profile) == ()
    assert parse_profile(dump_profile(profile)) == profile


def test_a_chain_waits_for_the_layer_before_and_branches_for_what_they_read():
    measured = measured_of(times())
    chain, branches = build_profile(measured, CHAIN), build_profile(measured, BRANCHES)
    assert after(chain, "right/forward") == ("left/forward",)
    assert after(branches, "right/forward") == ("first/forward",)
    assert after(branches, "last/forward") == ("last.weight/pull", "left/forward", "right/forward")
    assert after(branches, "first/backward") == ("left/backward", "right/backward")


def test_short_gaps_are_one_operation_behind_the_last_layer():
    profile = build_profile(measured_of(times(between=10)), CHAIN)
    found = row(profile)
    assert (found["other/forward"], found["other/backward"]) == (4 * 10 + 10, 4 * 10)
    assert after(profile, "loss") == ("other/forward",)
    assert not any(name.startswith("other.before") for name in found)


def test_long_gaps_are_operations_where_they_were():
    step = replace(
        times(),
        forward=[(0, 1000), (0, 2000), (4000, 3000), (1, 4000)],
        backward=[(0, 2000), (0, 4000), (900, 6000), (2, 8000)],
    )
    profile = build_profile(measured_of(step), BRANCHES)
    found = row(profile)
    assert found["other.before.right/forward"] == 4000
    assert found["other.before.right/backward"] == 900
    assert (found["other/forward"], found["other/backward"]) == (1 + 10, 2)
    assert after(profile, "right/forward") == ("other.before.right/forward",)
    assert after(profile, "other.before.right/forward") == ("first/forward",)
    assert sum(found.values()) == step.total
    assert lint(profile) == ()


def test_parameters_between_layers_wait_for_what_is_there_and_come_back_behind_it():
    scale = (RecordedTensor(name="scale", size_bytes=12),)
    layers = (*TWO_WAYS[:3], replace(TWO_WAYS[3], tensors_before=scale))
    last = (RecordedTensor(name="temperature", size_bytes=4),)
    recorder = MadeRecorder(layers, [times(between=10)], tensors_behind=last)
    profile = build_profile(measure(recorder, 1, 1), BRANCHES)
    before = ("scale/pull", "left/forward", "right/forward")
    assert after(profile, "other.before.last/forward") == before
    assert after(profile, "last/forward") == ("last.weight/pull", "other.before.last/forward")
    assert after(profile, "scale/push") == ("other.before.last/backward",)
    assert after(profile, "other/forward") == ("temperature/pull", "last/forward")
    assert after(profile, "temperature/push") == ("other/backward",)
    assert sum(row(profile).values()) == times(between=10).total
    assert lint(profile) == ()


def test_the_loss_has_its_way_back_and_none_of_the_recorders_own_work():
    assert row(build_profile(measured_of(times()), CHAIN))["loss"] == 30 + 5


def test_the_optimizer_is_shared_by_bytes_to_the_last_nanosecond():
    found = row(build_profile(measured_of(times()), CHAIN))
    updates = {name: ns for name, ns in found.items() if name.endswith("/update")}
    assert sum(updates.values()) == 1501
    assert updates["left.weight/update"] == pytest.approx(1501 * 1000 / 1500, abs=1)
    assert updates["last.weight/update"] == pytest.approx(1501 * 60 / 1500, abs=1)


def test_parsing_is_given_at_both_ends_or_not_known():
    assert build_profile(measured_of(times()), CHAIN).parsing == ()
    given_ = build_profile(measured_of(times()), replace(CHAIN, parsing=(0.4, 2e4)))
    assert [(p.destination, p.alpha_ns_per_byte, p.beta_ns) for p in given_.parsing] == [
        ("worker", 0.4, 2e4),
        ("server", 0.4, 2e4),
    ]
    assert lint(given_) == ()


def test_tensors_go_each_way_once():
    profile = build_profile(measured_of(times()), CHAIN)
    moved = [(op.name, op.size_bytes) for op in profile.step.transfers]
    sizes = {t.name: t.size_bytes for one in TWO_WAYS for t in one.tensors}
    assert sorted(moved) == sorted(
        (f"{name}/{way}", size) for name, size in sizes.items() for way in ("pull", "push")
    )
    assert all(isinstance(op, Transfer) for op in profile.step.transfers)


def test_names_that_profiles_use_themselves_do_no_harm():
    layers = (layer("input"), layer("other", [0], w=8), layer("loss", [1], w=8), layer("other_"))
    profile = build_profile(measured_of(times(), layers=layers), CHAIN)
    assert lint(profile) == ()
    assert "input_/forward" in row(profile)
    assert sum(row(profile).values()) == times().total


@pytest.mark.parametrize("name", ["", "x" * 151, "a\nb"])
def test_names_that_no_profile_can_have_are_refused(name):
    layers = (*TWO_WAYS[:3], layer(name, [2], w=8))
    with pytest.raises(ScenarioError, match=r"name of a layer or tensor.*must be printable"):
        build_profile(measured_of(times(), layers=layers), CHAIN)


def test_a_model_without_layers_or_without_gradients_is_refused():
    nothing = replace(times(), forward=[], backward=[])
    with pytest.raises(ScenarioError, match="calls no modules"):
        measured_of(nothing, layers=())
    with pytest.raises(ScenarioError, match="no parameter of the model gets a gradient"):
        measured_of(times(), layers=tuple(layer(name) for name in "abcd"))


def test_parts_of_one_layer_are_one_and_what_is_between_layers_is_behind_the_first():
    record = StepRecord(
        begin_ns=0,
        forward=(Span(layer=0, start_ns=1, end_ns=5), Span(layer=1, start_ns=7, end_ns=10)),
        forward_end_ns=10,
        loss_end_ns=11,
        backward_begin_ns=100,
        backward=(
            Span(layer=0, start_ns=140, end_ns=150),
            Span(layer=1, start_ns=103, end_ns=110),
            Span(layer=1, start_ns=112, end_ns=120),
        ),
        backward_end_ns=160,
        end_ns=165,
        ready_ns={},
    )
    found = attribute(record, 2)
    assert (found.forward_ns, found.before_ns) == ((4, 3), (1, 2))
    assert found.backward_ns == (10, 7 + 2 + 8)
    assert found.behind_ns == (10, 20)
    assert (found.loss_ns, found.optimizer_ns) == (1 + 3, 5)
    assert found.step_ns == record.step_ns == 11 + 65


def test_without_a_backward_pass_in_layers_it_is_the_losss():
    record = StepRecord(
        begin_ns=0,
        forward=(Span(layer=0, start_ns=0, end_ns=5),),
        forward_end_ns=5,
        loss_end_ns=6,
        backward_begin_ns=6,
        backward=(),
        backward_end_ns=16,
        end_ns=17,
        ready_ns={},
    )
    assert attribute(record, 1).loss_ns == 11


moments = st.lists(st.integers(0, 1000), min_size=2, max_size=2).map(sorted)


@given(
    forward=st.lists(moments, max_size=6),
    backward=st.lists(st.tuples(st.integers(0, 5), moments), max_size=12),
)
def test_nothing_is_lost_even_where_spans_overlap(forward, backward):
    record = StepRecord(
        begin_ns=0,
        forward=tuple(Span(layer=i, start_ns=a, end_ns=b) for i, (a, b) in enumerate(forward)),
        forward_end_ns=1000,
        loss_end_ns=1010,
        backward_begin_ns=2000,
        backward=tuple(Span(layer=i, start_ns=2000 + a, end_ns=2000 + b) for i, (a, b) in backward),
        backward_end_ns=3000,
        end_ns=3005,
        ready_ns={},
    )
    found = attribute(record, 6)
    assert found.step_ns == record.step_ns
    parts = [found.forward_ns, found.backward_ns, found.before_ns, found.behind_ns]
    assert min(min(part) for part in parts) >= 0
    assert math.isclose(found.forward_total_ns, 1000)


@dataclass(eq=False)
class Node:
    name: str
    behind: list["Node | None"] = field(default_factory=list)

    @property
    def next_functions(self) -> tuple[tuple["Node | None", int], ...]:
        return tuple((node, 0) for node in self.behind)


class Leaf(Node):
    """Node at which a parameter's gradient arrives."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.variable = object()


def owned(*calls: tuple[list[Node | None], list[Node]]) -> Ownership:
    """What belongs to layers that are called with these inputs and outputs."""
    return ownership([Call(inputs=inputs, outputs=outputs) for inputs, outputs in calls])


def test_a_layer_owns_what_is_between_its_inputs_and_outputs():
    weight, bias = Leaf("weight"), Leaf("bias")
    inside = Node("transpose", [weight])
    first = Node("first", [None, inside, bias])
    second = Node("second", [first])
    found = owned(([None], [first]), ([first], [second]))
    assert found.owner == {first: 0, inside: 0, weight: 0, bias: 0, second: 1}
    assert found.reads == ((), (0,))
    assert found.loose == {}


def test_functions_between_layers_belong_to_none_and_branches_meet_in_them():
    first = Node("first", [Leaf("weight")])
    left, right = Node("left", [first]), Node("right", [first])
    scale = Leaf("scale")
    added = Node("add", [left, Node("multiply", [right, scale])])
    last = Node("last", [added])
    found = owned(([], [first]), ([first], [left]), ([first], [right]), ([added], [last]))
    assert found.reads == ((), (0,), (0,), (1, 2))
    assert found.owner[added] == found.owner[scale] == BETWEEN
    assert found.loose == {id(scale.variable): 3}


def test_two_layers_may_read_through_the_same_function():
    first = Node("first", [Leaf("weight")])
    pooled = Node("pool", [first])
    left, right = (Node(name, [pooled]) for name in ("left", "right"))
    found = owned(([], [first]), ([pooled], [left]), ([pooled], [right]))
    assert found.reads == ((), (0,), (0,))


def test_a_layer_that_hands_on_its_input_is_read_all_the_same():
    first = Node("first", [Leaf("weight")])
    found = owned(([], [first]), ([first], [first]), ([first], [Node("last", [first])]))
    assert found.owner[first] == 0
    assert found.reads == ((), (0,), (1,))


def test_layers_without_gradients_are_a_chain_that_the_next_one_reads():
    trained = Node("trained", [Leaf("weight")])
    last = Node("last", [trained])
    found = owned(([None], []), ([None], []), ([None], [trained]), ([trained], [last]))
    assert found.reads == ((), (0,), (1,), (2,))


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
