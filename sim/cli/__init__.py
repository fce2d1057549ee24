"""Command line of ``python -m sim.run``: options, checks, plan and exit codes."""
