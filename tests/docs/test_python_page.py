"""The page on Python: its blocks run as they stand, and print what stands below them."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs/how-to/python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.S)


def test_every_block_prints_what_the_page_says() -> None:
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for code, printed in blocks:
        with redirect_stdout(io.StringIO()) as said:
            exec(code, names)
        assert said.getvalue() == printed
