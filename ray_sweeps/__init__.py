"""Sweeps over scenarios: a space of points, simulated on Ray or in this process, analysed."""
