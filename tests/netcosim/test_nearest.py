"""The nearest known name: what a typing error is taken for, and what it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.nearest import listed, nearest, question, typing_errors, unknown

PROFILES = ("alexnet", "googlenet", "inception_v3", "resnet50", "resnet50_b4", "vgg11")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("resnet", PROFILES, "resnet50"),
        ("ResNet-50", PROFILES, "resnet50"),
        ("inceptionv3", PROFILES, "inception_v3"),
        ("lenet", PROFILES, None),
        ("nosuch", PROFILES, None),
        ("maxmin", ("equal", "max_min"), "max_min"),
        ("clutser", ("cluster", "policy"), "cluster"),
        ("--wokers", ("--workers", "--workload"), "--workers"),
        ("dsp", ("asp", "bsp", "ssp"), None),
        ("re", ("random", "reverse"), None),
        ("s", ("star",), None),
        ("", ("star",), None),
        ("x" * 10_000, ("x" * 9_999,), None),
    ],
)
def test_what_is_taken_for_what(name, known, meant):
    assert nearest(name, known) == meant


words = st.text("abcd", max_size=6)


@given(words, words, words)
def test_typing_errors_count_edits(a, b, c):
    assert typing_errors(a, a) == 0
    assert typing_errors(a, b) == typing_errors(b, a) <= max(len(a), len(b))
    assert typing_errors(a, b) >= abs(len(a) - len(b))
    assert typing_errors(a + c, b + c) <= typing_errors(a, b)


@given(st.sampled_from(PROFILES), st.data())
def test_one_typing_error_finds_the_name(name, data):
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("qzx"))
    wrong = data.draw(
        st.sampled_from(
            [name[:at] + letter + name[at:], name[:at] + letter + name[at + 1 :]]
            + [name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :]] * (at > 0)
        )
    )
    assert nearest(wrong, PROFILES) == (name if wrong != name else nearest(name, PROFILES))


def test_messages():
    assert unknown("gredy", ("given", "greedy")) == (
        "unknown; did you mean greedy? allowed: given, greedy"
    )
    assert unknown("all", ("given", "greedy")) == "unknown; allowed: given, greedy"
    assert unknown("x", ()) == "unknown; allowed: none"
    assert question("all", ("given",)) == ""
    many = [f"w{i}" for i in range(1024)]
    assert listed(many) == f"{', '.join(many[:19])}, ... (1024 in all)"
