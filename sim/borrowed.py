"""Named tuples of arrays, handed to compiled functions by reference.

By value, a tuple of a hundred arrays is some seven hundred arguments to every function that gets
it, which takes longer than what most of them do. `borrow` puts the tuple into the caller's frame
and hands on its address; the fields are read as before. In plain Python it is the tuple itself.

What was borrowed must not outlive the function that borrowed it, and nothing counts references:
for functions compiled without them (`_nrt=False`), which allocate nothing.
"""

from typing import Any, TypeVar

from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

Tuple = TypeVar("Tuple")


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
        if name in kind.lent.fields:
            return kind.lent.types[kind.lent.fields.index(name)]
        return None


@lower_getattr_generic(Borrowed)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, kind: Borrowed, address: Any, name: str) -> Any:
    field = kind.lent.fields.index(name)
    return builder.load(cgutils.gep_inbounds(builder, address, 0, field))


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typing: Any, lent: Any) -> Any:
    """Compiled `borrow`."""

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return cgutils.alloca_once_value(builder, values[0])

    return Borrowed(lent)(lent), code
