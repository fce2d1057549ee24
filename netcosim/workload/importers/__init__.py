"""Importers of profiles, one file a format.

Each has `SUMMARY`, `matches(text)` and `read(text, source, batch)`.
"""

from netcosim.errors import ScenarioError


class UnknownBatchError(ScenarioError):
    """The file is sound, but does not tell the batch of its steps."""
