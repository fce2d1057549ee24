"""What a cluster looks like: hosts, links, paths, and Mininet built from them."""
