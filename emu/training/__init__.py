"""Training jobs over real flows: nodes started and commanded, what they logged."""
