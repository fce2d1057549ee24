"""Models of how an HTTP/2 connection shares its link among streams."""
