"""`./dev bench sweeps`: what Ray costs and gives a sweep, and what a sweep survives."""
