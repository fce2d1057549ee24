"""The default scenario under a load that takes the processors away; what is left of its answers."""
