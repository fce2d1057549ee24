"""Write the JSON schemas of scenarios and profiles into the package, from their pydantic models."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from netcosim.scenario import Scenario
from netcosim.workload import Profile

FOLDER: Final = Path(__file__).resolve().parents[1] / "netcosim" / "schemas"
MODELS: Final[Mapping[str, type[BaseModel]]] = {"scenario": Scenario, "profile": Profile}

_UNPRINTABLE: Final = (r"\p{C}", r"\u0000-\u001f\u007f-\u009f")
"""Class of characters that not every validator's patterns know, and the part of it that all do."""
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def schema_text(name: str) -> str:
    """The schema of what people write, as in its file."""
    schema = _valid(MODELS[name].model_json_schema(mode="validation"))
    return json.dumps({"$schema": _DIALECT, **schema}, indent=1, ensure_ascii=False) + "\n"


def _valid(part: Any) -> Any:
    """A schema without what pydantic leaves of bounds and defaults of numbers that are texts."""
    if isinstance(part, list):
        return [_valid(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {key: _valid(value) for key, value in part.items()}
    if kept.get("type") == "string":
        if "pattern" in kept:
            kept["pattern"] = kept["pattern"].replace(*_UNPRINTABLE)
        kept = {key: value for key, value in kept.items() if key not in ("ge", "gt", "le", "lt")}
        if not isinstance(kept.get("default", ""), str):
            del kept["default"]
    return kept


def main() -> int:
    """Write all schemas; return the exit code."""
    FOLDER.mkdir(exist_ok=True)
    for name in MODELS:
        (FOLDER / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
