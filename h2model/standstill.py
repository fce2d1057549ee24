"""The failure of models that never come to an end."""


class StandstillError(RuntimeError):
    """Nothing goes on any more, while messages or steps are left."""
