"""Orders of release and schedules of transfers, held against what is best."""
