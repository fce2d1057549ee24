"""Calibration of the models' inputs before the cells: links, receivers, acceptance."""
