"""Named tuples of arrays, handed to compiled functions by reference.

By value, a tuple of a hundred arrays is some seven hundred arguments to every function that gets
it, which takes longer than what most of them do. `borrow` puts the tuple into the caller's frame
and hands on its address; the fields are read as before. In plain Python it is the tuple itself.

What was borrowed must not outlive the function that borrowed it, and nothing counts references:
for functions compiled without them (`_nrt=False`), which allocate nothing.
"""

import operator
from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.types.containers import BaseTuple, UniTuple
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, lower_builtin, register_model
from numba.np import arrayobj

Tuple = TypeVar("Tuple")


class Lane(types.Array):
    """The type of an array of a borrowed named tuple, and of rows of it."""

    @classmethod
    def of(cls, array: types.Array) -> "Lane":
        """The array of this type as one without negative indices."""
        return cls(array.dtype, array.ndim, array.layout, not array.mutable, aligned=array.aligned)

    def copy(self, *arguments: Any, **changes: Any) -> "Lane":  # type: ignore[override]
        """Copy of this type with changes; numba calls it for the type of a row."""
        return self.of(super().copy(*arguments, **changes))


register_model(Lane)(models.ArrayModel)


@lower_builtin(operator.getitem, Lane, types.Integer)  # type: ignore[untyped-decorator]
def _get(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return arrayobj.getitem_arraynd_intp(
        context, builder, *_unsigned(context, builder, signature, values)
    )


@lower_builtin(operator.getitem, Lane, BaseTuple)  # type: ignore[untyped-decorator]
def _get_of_many(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return arrayobj.getitem_array_tuple(
        context, builder, *_unsigned(context, builder, signature, values)
    )


@lower_builtin(operator.setitem, Lane, types.Any, types.Any)  # type: ignore[untyped-decorator]
def _set(context: Any, builder: Any, signature: Any, values: Any) -> Any:
    return arrayobj.setitem_array(context, builder, *_unsigned(context, builder, signature, values))


def _unsigned(context: Any, builder: Any, signature: Any, values: Any) -> tuple[Any, Any]:
    """Cast the index of an access to unsigned numbers, which numba takes as they are."""
    lane, index, *rest = signature.args
    wanted: Any = types.uintp
    if isinstance(index, BaseTuple):
        wanted = UniTuple(types.uintp, len(index))
    values = (values[0], context.cast(builder, values[1], index, wanted), *values[2:])
    return signature.replace(args=(lane, wanted, *rest)), values


class Borrowed(types.Type):
    """The type of a borrowed named tuple."""

    def __init__(self, lent: Any) -> None:
        self.lent = lent
        super().__init__(f"Borrowed({lent})")


@register_model(Borrowed)
class _Address(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, manager.lookup(kind.lent).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Borrowed

    def generic_resolve(self, kind: Borrowed, name: str) -> Any:
        if name not in kind.lent.fields:
            return None
        found = kind.lent.types[kind.lent.fields.index(name)]
        return Lane.of(found) if isinstance(found, types.Array) else found


@lower_getattr_generic(Borrowed)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, kind: Borrowed, address: Any, name: str) -> Any:
    field = kind.lent.fields.index(name)
    return builder.load(cgutils.gep_inbounds(builder, address, 0, field))


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typing: Any, lent: Any) -> Any:
    """`sim.kernels.bound.borrow` as numba compiles it."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return cgutils.alloca_once_value(builder, values[0])

    return Borrowed(lent)(lent), code
