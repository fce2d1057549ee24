"""Emulation with real packets: Mininet networks, real endpoints, captures, predictions."""
