"""Other people's simulators, given the same job as ours: to agree with, and to time."""
