"""Files of a registry, held against the protocol that they follow."""

import ast
import inspect
from collections.abc import Collection
from types import ModuleType


def check_file(module: ModuleType, protocol: type, optional: Collection[str] = ()) -> None:
    """Refuse a file that lacks a name of its protocol, or has a public one that nobody reads.

    Parameters
    ----------
    protocol
        The constants and functions that every file has.
    optional
        Names that it may have, too.

    Raises
    ------
    ValueError
        Names the file and the name.
    """
    file = module.__name__.replace(".", "/") + ".py"
    required = {name for name in (*protocol.__annotations__, *vars(protocol)) if name[0] != "_"}
    for name in sorted(required):
        if not hasattr(module, name):
            raise ValueError(f"{file}: {name}: is required")
    known = {*required, *optional}
    for name in _defined(module):
        if name[0] != "_" and name not in known:
            allowed = ", ".join(sorted(known))
            raise ValueError(f"{file}: {name}: unknown name; allowed: {allowed}, or _{name}")


def _defined(module: ModuleType) -> list[str]:
    """Names that a file itself gives something to; not those that it imports."""
    found: list[str] = []
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            found.append(statement.name)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found += [
                node.id
                for target in targets
                for node in ast.walk(target)
                if isinstance(node, ast.Name)
            ]
    return found
