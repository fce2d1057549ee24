"""Simulated jobs whose workers a coordinator lets begin their steps, with batches of its choice."""
