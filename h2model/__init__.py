"""How one HTTP/2 connection shares its link among streams."""
