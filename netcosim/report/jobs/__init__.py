"""Report of a training job over real flows."""
