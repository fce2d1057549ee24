"""`./dev bench noise`: the default scenario on a machine whose processors are taken away."""
