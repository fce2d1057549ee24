"""Analysis of a sweep's dataset: points, best ones, Pareto fronts, effects, stragglers, changes."""
