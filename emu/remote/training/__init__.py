"""Nodes of a training job: processes in Mininet hosts, each with all of its connections."""
