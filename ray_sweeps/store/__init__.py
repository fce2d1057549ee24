"""The folder of a sweep: its dataset, its record."""
