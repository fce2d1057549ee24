"""Conditions over factors: a small part of Python's expressions, parsed and never executed.

Each part of an expression has a type that is known beforehand, so that a comparison of a number
with text is refused when the file is read, and a condition can't fail at a point. A factor that
does not vary at a point is None there. Whatever is computed from None, and whatever has no value,
such as a division by zero, is None; ``and``, ``or`` and ``not`` take None for "not known".
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from netcosim.errors import ScenarioError
from netcosim.formatting import printable, quoted
from netcosim.nearest import unknown
from ray_sweeps.sweep_file.quantities import QuantityKind, measured

Type = Literal["number", "flag", "text", "null"] | QuantityKind
Values = Mapping[str, Any]
Evaluate = Callable[[Values], Any]

_LONGEST: Final = 1000
_DEEPEST: Final = 30
_LARGEST: Final = 10**18

_QUANTITIES: Final = ("rate", "size", "duration")
_ARITHMETIC: Final[Mapping[type[ast.operator], Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
    }
)
_ORDER: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = MappingProxyType(
    {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
)
_ALLOWED: Final = "allowed: and, or, not, == != < <= > >= in, + - * / // %, factors, numbers, text"


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition: called with the factors' values it is True, False, or None if not known.

    Attributes
    ----------
    text : as the file has it
    types : of the factors in it, by name
    """

    text: str
    types: tuple[tuple[str, Type], ...]
    _evaluate: Evaluate

    def __call__(self, values: Values) -> bool | None:
        """True if the condition holds for these values of the factors."""
        found: bool | None = self._evaluate(values)
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the factors in it."""
        return tuple(name for name, _ in self.types)

    @classmethod
    def of(cls, text: str, types: Mapping[str, Type], field: str) -> Self:
        """Compile a condition.

        Parameters
        ----------
        text : as the file has it
        types : of all factors, by name
        field : where the text stands in the file, for errors

        Raises
        ------
        ScenarioError
            It is no such expression, or has a name that is no factor.
        """
        try:
            compiler = _Compiler(types)
            part = compiler.condition(_parsed(text))
            if not compiler.used:
                raise _RefusedError("looks at no factor")
        except _RefusedError as problem:
            raise ScenarioError(f"{field}: {quoted(printable(text))}: {problem}") from None
        used = tuple((name, types[name]) for name in sorted(compiler.used))
        return cls(text, used, part.value)

    def __eq__(self, other: object) -> bool:
        """Equal text over factors of equal types."""
        if not isinstance(other, Expression):
            return NotImplemented
        return (self.text, self.types) == (other.text, other.types)

    def __hash__(self) -> int:
        """Of the text."""
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the text alone."""
        return partial(Expression.of, field=""), (self.text, dict(self.types))


def type_of(kind: str, values: Sequence[object] | None, unit: str | None = None) -> Type:
    """Type of a factor in expressions: texts that are all quantities of one kind are these."""
    if kind in ("whole", "number"):
        return "number"
    if kind == "flag":
        return "flag"
    texts = [f"1{unit}"] if values is None else [str(value) for value in values]
    found = {quantity[0] if (quantity := measured(text)) else None for text in texts}
    only = found.pop() if len(found) == 1 else None
    return only or "text"


class _RefusedError(Exception):
    """Problem of an expression."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of an expression: its type, and how its value is found; a list has `parts` alone."""

    type: Type
    value: Evaluate
    parts: tuple["_Part", ...] | None = None
    constant: bool = False


def _parsed(text: str) -> ast.expr:
    if len(text) > _LONGEST:
        raise _RefusedError(f"has {len(text)} characters; must have at most {_LONGEST}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as problem:
        raise _RefusedError(f"is no expression: {problem.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise _RefusedError("is no expression, or nested too deeply") from None


class _Compiler:
    """From a parsed expression to functions of the factors' values."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types
        self.used: set[str] = set()

    def condition(self, node: ast.expr, depth: int = 0) -> _Part:
        part = self.part(node, depth)
        if part.type != "flag" or part.parts is not None:
            raise _RefusedError(f"{_source(node)} is {_said(part)}; must be true or false")
        return part

    def part(self, node: ast.expr, depth: int) -> _Part:
        if depth > _DEEPEST:
            raise _RefusedError("is nested too deeply")
        match node:
            case ast.Constant():
                return _constant(node.value)
            case ast.Name():
                return self._name(node.id)
            case ast.UnaryOp(op=ast.Not()):
                return _Part("flag", _not(self.condition(node.operand, depth + 1).value))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                operand = self._number(node.operand, depth + 1)
                zero = _Part("number", lambda _given: 0).value
                sign = operator.sub if isinstance(node.op, ast.USub) else operator.add
                return _Part("number", _computed(sign, zero, operand))
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left, right = (self._number(n, depth + 1) for n in (node.left, node.right))
                return _Part("number", _computed(_ARITHMETIC[type(node.op)], left, right))
            case ast.BoolOp():
                parts = [self.condition(value, depth + 1).value for value in node.values]
                return _Part("flag", _all(parts) if isinstance(node.op, ast.And) else _any(parts))
            case ast.Compare():
                return self._compared(node, depth + 1)
            case ast.List() | ast.Tuple():
                return self._list(node.elts, depth + 1)
        raise _RefusedError(self._refusal(node))

    def _name(self, name: str) -> _Part:
        if name not in self.types:
            known = [each for each in self.types if each.isidentifier()]
            raise _RefusedError(f"{name}: {unknown(name, known, 'is no factor')}")
        self.used.add(name)
        return _Part(self.types[name], operator.itemgetter(name))

    def _refusal(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute) and (name := ast.unparse(node)) in self.types:
            return (
                f"{name}: in expressions a factor needs a name of one word, such as"
                f' {node.attr} = {{ path = "{name}", values = ... }}'
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return f"{_source(node)}: no powers; {_ALLOWED}"
        return f"{_source(node)}: {_ALLOWED}"

    def _number(self, node: ast.expr, depth: int) -> Evaluate:
        part = self.part(node, depth)
        if part.type != "number" or part.parts is not None:
            raise _RefusedError(f"{_source(node)} is {_said(part)}; must be a number")
        return part.value

    def _list(self, nodes: Sequence[ast.expr], depth: int) -> _Part:
        parts = tuple(self.part(node, depth) for node in nodes)
        if any(part.parts is not None for part in parts):
            raise _RefusedError("lists in lists are not allowed")
        return _Part("null", lambda _given: None, parts)

    def _compared(self, node: ast.Compare, depth: int) -> _Part:
        nodes = [node.left, *node.comparators]
        parts = [self.part(each, depth) for each in nodes]
        sources = [f"{_source(one)} and {_source(other)}" for one, other in pairwise(nodes)]
        pairs = zip(node.ops, pairwise(parts), sources, strict=True)
        found = [self._pair(op, *both, source) for op, both, source in pairs]
        return _Part("flag", found[0] if len(found) == 1 else _all(found))

    def _pair(self, op: ast.cmpop, left: _Part, right: _Part, source: str) -> Evaluate:
        if isinstance(op, ast.In | ast.NotIn):
            found = _contained(left, right, source)
            return _not(found) if isinstance(op, ast.NotIn) else found
        if left.parts is not None or right.parts is not None:
            raise _RefusedError(f"{source}: a list may only stand behind 'in'")
        if isinstance(op, ast.Eq | ast.NotEq):
            same = _same(left, right, source)
            return same if isinstance(op, ast.Eq) else (lambda given: not same(given))
        if type(op) not in _ORDER:
            raise _RefusedError(f"{source}: 'is' is not allowed; use == None")
        if left.type != right.type or left.type not in ("number", *_QUANTITIES):
            said = f"{_said(left)} and {_said(right)}"
            allowed = "only numbers, and quantities of one kind, are less or more"
            raise _RefusedError(f"{source} are {said}: {allowed}")
        return _computed(_ORDER[type(op)], _sized(left), _sized(right))


def _constant(value: object) -> _Part:
    found: Type
    if value is None:
        found = "null"
    elif isinstance(value, bool):
        found = "flag"
    elif isinstance(value, int | float):
        if not math.isfinite(value) or abs(value) > _LARGEST:
            raise _RefusedError("numbers must be finite, up to 1e18")
        found = "number"
    elif isinstance(value, str):
        quantity = measured(value)
        found = quantity[0] if quantity else "text"
    else:
        raise _RefusedError(f"{quoted(str(value))}: {_ALLOWED}")
    return _Part(found, lambda _given: value, constant=True)


def _same(left: _Part, right: _Part, source: str) -> Evaluate:
    """True if two values are equal, quantities by their sizes."""
    types = {left.type, right.type}
    if len(types) == 1 and left.type in _QUANTITIES:
        a, b = _sized(left), _sized(right)
    elif "null" in types or len(types) == 1 or _may_be_equal(left, right):
        a, b = left.value, right.value
    else:
        raise _RefusedError(f"{source} are {_said(left)} and {_said(right)}: never equal")
    return lambda given: bool(a(given) == b(given))


def _may_be_equal(left: _Part, right: _Part) -> bool:
    """True if one is a factor with texts of any kind, and the other one text or a quantity."""
    text, other = (left, right) if left.type == "text" else (right, left)
    return text.type == "text" and not text.constant and other.type in _QUANTITIES


def _contained(left: _Part, right: _Part, source: str) -> Evaluate:
    """True if a value is in a list, or a text in a text."""
    if left.parts is not None:
        raise _RefusedError(f"{source}: a list may only stand behind 'in'")
    if right.parts is not None:
        return _among([_same(left, part, source) for part in right.parts])
    if left.type != "text" or right.type != "text":
        said = f"{_said(left)} and {_said(right)}"
        raise _RefusedError(f"{source} are {said}: 'in' needs a list, or text in text")
    return _computed(lambda a, b: a in b, left.value, right.value)


def _among(equal: Sequence[Evaluate]) -> Evaluate:
    return lambda given: any(same(given) for same in equal)


def _sized(part: _Part) -> Evaluate:
    """The size of a quantity; a number as it is."""
    if part.type not in _QUANTITIES:
        return part.value
    value = part.value

    def size(given: Values) -> int | None:
        text = value(given)
        quantity = None if text is None else measured(text)
        return None if quantity is None else quantity[1]

    return size


def _computed(compute: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    """Result of arithmetic on two values; None if one is None, or if there is no such value."""

    def value(given: Values) -> Any:
        a, b = left(given), right(given)
        if a is None or b is None:
            return None
        try:
            return compute(a, b)
        except ArithmeticError:
            return None

    return value


def _not(part: Evaluate) -> Evaluate:
    def value(given: Values) -> bool | None:
        found = part(given)
        return None if found is None else not found

    return value


def _all(parts: Sequence[Evaluate]) -> Evaluate:
    def value(given: Values) -> bool | None:
        known: bool | None = True
        for part in parts:
            found = part(given)
            if found is None:
                known = None
            elif not found:
                return False
        return known

    return value


def _any(parts: Sequence[Evaluate]) -> Evaluate:
    def value(given: Values) -> bool | None:
        known: bool | None = False
        for part in parts:
            found = part(given)
            if found is None:
                known = None
            elif found:
                return True
        return known

    return value


def _source(node: ast.expr) -> str:
    """The text of a part, cut off where it is long."""
    return quoted(printable(ast.unparse(node))).strip('"')


def _said(part: _Part) -> str:
    if part.parts is not None:
        return "a list"
    names = {"flag": "true or false", "text": "text", "null": "None"}
    return names.get(part.type, f"a {part.type}")
