"""Predictions of a cell's bursts by every model, and the inputs that they are made from."""
