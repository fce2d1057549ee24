"""The kinds of stragglers, one file each; the folder is the registry.

A kind has ``Options``, a record with the options of a scenario's entry, and ``bind(options)``,
which gives a function from a worker's `Run` to its `Effect`
(`netcosim.training.stragglers.effect`). What is the same for all workers, such as a file, is read
in `bind`. Only the run's own generator may be drawn from.
"""
