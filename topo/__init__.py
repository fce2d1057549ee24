"""Cluster topologies: hosts, links, paths, shared rates, and Mininet built from them."""
