"""Identification of the discipline and the credit rule of captured connections."""
