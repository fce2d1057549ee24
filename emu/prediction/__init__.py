"""Predictions of a cell, from what its models may know of it."""
