"""The reference of disciplines: its examples are re-computed, and it leaves none out."""

import doctest
import re
from pathlib import Path

from h2model import credit, disciplines

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "disciplines.md"


def test_examples():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 20
    assert failed == 0


def test_every_discipline_and_option_is_described():
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", PAGE.read_text(), re.M | re.S))
    for name in disciplines.names():
        text = sections[name]
        assert "Source:" in text
        assert f'served("{name}"' in text
        for option, default in disciplines.load(name).OPTIONS.items():
            (row,) = [line for line in text.splitlines() if re.match(rf"\|.*`{option}`", line)]
            assert str(default) in row


def test_every_credit_rule_is_described():
    text = PAGE.read_text()
    for name in credit.names():
        assert f"| `{name}` |" in text
        assert f'grants("{name}")' in text
