"""Compiled code of the engines, and where it is kept."""
