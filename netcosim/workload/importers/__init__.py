"""One file a format: `SUMMARY`, `matches(text)`, `read(text, source, batch)`."""

from netcosim.errors import ScenarioError


class UnknownBatchError(ScenarioError):
    """The file is sound, but does not tell of how many examples its steps are."""
