"""Placements of tensors on servers."""
