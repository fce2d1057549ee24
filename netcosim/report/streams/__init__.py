"""The report of measured and predicted streams."""
