"""Measurement of one cell: rounds of bursts, their validity, and their rows."""
