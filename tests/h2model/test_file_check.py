"""A file of a registry that nobody would read as it was meant is refused."""

import importlib.util

import pytest

from h2model import credit, disciplines
from h2model.file_check import check_file

FILE = """\
from h2model.disciplines import Traits
from h2model.disciplines.fifo import cancelled, credited, enqueued, select, sent, start
from h2model.state import OWN

ABOUT = "as fifo"
OPTIONS = {}
TRAITS = Traits()
_PLACE = OWN
"""


def check(tmp_path, text):
    path = tmp_path / "odd.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("folder.odd", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    check_file(module, disciplines.Discipline, ("visits",))


@pytest.mark.parametrize("more", ["", "def visits(options):\n    return 1\n", "def _own(s): ...\n"])
def test_what_the_protocol_knows_is_taken(tmp_path, more):
    check(tmp_path, FILE + more)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ("PREEMTPS = True\n", "PREEMTPS"),
        ("PACED: bool = True\n", "PACED"),
        ("A, _B = 1, 2\n", "A"),
        ("def suggests(observed): ...\n", "suggests"),
    ],
)
def test_another_public_name_is_refused(tmp_path, more, name):
    with pytest.raises(ValueError, match=rf"^folder/odd\.py: {name}: unknown name; allowed: ABOUT"):
        check(tmp_path, FILE + more)


def test_what_is_lacking_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^folder/odd\.py: TRAITS: is required$"):
        check(tmp_path, FILE.replace("TRAITS = Traits()\n", ""))


def test_a_misspelled_trait_is_refused(tmp_path):
    with pytest.raises(TypeError, match="preemtps"):
        check(tmp_path, FILE.replace("Traits()", "Traits(preemtps=True)"))


@pytest.mark.parametrize("rule", credit.names())
def test_every_credit_rule_has_words(rule):
    assert credit.load(rule).ABOUT


def test_who_waits_for_a_reader():
    assert [name for name in credit.names() if credit.load(name).WAITS_FOR_READER] == [
        "grpc_progress"
    ]
