"""The simulator's peers: other people's simulators, given the same job to time and to agree with."""
