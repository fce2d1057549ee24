"""`./dev bench door`: how long the first commands take on a machine that has nothing."""
