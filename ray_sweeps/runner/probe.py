"""Probe of a cluster's machine before it gets work; sent as source, it needs no project."""

from typing import Any, Final

AS_HERE: Final = "install the same there, or say --ship-code"
"""Advice where a machine has another engine."""


def probe() -> dict[str, Any]:
    """Find the versions of Python and of the project, and the engine's hash, on this machine."""
    import platform

    try:
        import netcosim
        from ray_sweeps.keys import engine

        return {
            "python": platform.python_version(),
            "version": netcosim.__version__,
            "engine": engine(),
        }
    except Exception as problem:  # noqa: BLE001 - told by the driver
        return {"python": platform.python_version(), "missing": str(problem)}
