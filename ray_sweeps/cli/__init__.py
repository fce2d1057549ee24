"""The command line of sweeps."""
