"""Behind `./dev bench fidelity`: its cells, their runs, their observations, their scores."""
