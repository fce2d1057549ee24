"""Coordinators of unequal and straggling workers, beside the figures of Chen et al. (SoCC 2020)."""
