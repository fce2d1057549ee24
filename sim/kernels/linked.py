"""Functions that only kernels call, compiled as a part of the kernel.

numba optimises each function, translates it to machine code and makes wrappers to call it from
Python, before it is inlined where it is called; for each function on the way from the bottom to the
top anew. Here functions are only typed and lowered, and the one at the top, which links them all,
is optimised.
"""

from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from sim.kernels.inlining import functions_under, inlined

_NO_WRAPPERS: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def options_of(
    top: FunctionType, replaced: Mapping[object, object]
) -> dict[FunctionType, dict[str, Any]]:
    """Options of `numba.njit` for each function under `top`."""
    small = inlined(top, replaced)
    return {
        function: {"forceinline": function in small, "pipeline_class": Linked, **_NO_WRAPPERS}
        for function in functions_under(top, replaced)
    }


class _Code(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into its callers', and neither optimised nor translated before."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """numba's lowering without what makes a function callable from Python."""

    _name = "lowering_of_linked_functions"

    def run_pass(self, state: Any) -> bool:
        target = state.targetctx
        state.library = _Code(target.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        found = state["cr"]
        handle = list[None]().append  # numba names a function by a builtin of its own
        target.insert_user_function(handle, found.fndesc, [state.library])
        state["cr"] = _LowerResult(found.fndesc, found.call_helper, cfunc=handle, env=found.env)
        return True


class Linked(CompilerBase):  # type: ignore[misc]
    """numba's pipeline for a function that only other compiled functions call."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state, "linked")
        manager.passes = [
            (_Lowering if found is NativeLowering else found, said)
            for found, said in manager.passes
        ]
        manager._finalized = False
        manager.finalize()
        return [manager]
