"""Layers that a layer reads, by the graph of gradients; nodes here are as PyTorch's look."""

from dataclasses import dataclass, field

from sim.profiling.autograd_layers import BETWEEN, Call, ownership


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


def test_a_layer_owns_what_is_between_its_inputs_and_outputs():
    weight, bias = Leaf("weight"), Leaf("bias")
    inside = Node("transpose", [weight])
    first = Node("first", [None, inside, bias])
    second = Node("second", [first])
    found = ownership(
        [Call(inputs=[None], outputs=[first]), Call(inputs=[first], outputs=[second])]
    )
    assert found.owner == {first: 0, inside: 0, weight: 0, bias: 0, second: 1}
    assert found.reads == ((), (0,))
    assert found.loose == {}


def test_functions_between_layers_belong_to_none_and_branches_meet_in_them():
    first = Node("first", [Leaf("weight")])
    left, right = Node("left", [first]), Node("right", [first])
    scale = Leaf("scale")
    added = Node("add", [left, Node("multiply", [right, scale])])
    last = Node("last", [added])
    calls = [
        Call(inputs=[], outputs=[first]),
        Call(inputs=[first], outputs=[left]),
        Call(inputs=[first], outputs=[right]),
        Call(inputs=[added], outputs=[last]),
    ]
    found = ownership(calls)
    assert found.reads == ((), (0,), (0,), (1, 2))
    assert found.owner[added] == found.owner[scale] == BETWEEN
    assert found.loose == {id(scale.variable): 3}


def test_two_layers_may_read_through_the_same_function():
    first = Node("first", [Leaf("weight")])
    pooled = Node("pool", [first])
    calls = [
        Call(inputs=[], outputs=[first]),
        Call(inputs=[pooled], outputs=[Node("left", [pooled])]),
        Call(inputs=[pooled], outputs=[Node("right", [pooled])]),
    ]
    assert ownership(calls).reads == ((), (0,), (0,))


def test_a_layer_that_hands_on_its_input_is_read_all_the_same():
    first = Node("first", [Leaf("weight")])
    calls = [
        Call(inputs=[], outputs=[first]),
        Call(inputs=[first], outputs=[first]),
        Call(inputs=[first], outputs=[Node("last", [first])]),
    ]
    found = ownership(calls)
    assert found.owner[first] == 0
    assert found.reads == ((), (0,), (1,))


def test_layers_without_gradients_are_a_chain_that_the_next_one_reads():
    trained = Node("trained", [Leaf("weight")])
    calls = [
        Call(inputs=[None], outputs=[]),
        Call(inputs=[None], outputs=[]),
        Call(inputs=[None], outputs=[trained]),
        Call(inputs=[trained], outputs=[Node("last", [trained])]),
    ]
    assert ownership(calls).reads == ((), (0,), (1,), (2,))
