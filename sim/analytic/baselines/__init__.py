"""One file a baseline: ``predict(one, workers)``, steps per second of all workers together."""
