"""`./dev bench fidelity`: cells, their runs, observations and scores."""
