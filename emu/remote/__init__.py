"""Scripts that run inside Mininet hosts: connection endpoints, their confinement, link probe."""
