"""What is behind ``python -m sim.run``: its options, checks, plan and exit codes."""
