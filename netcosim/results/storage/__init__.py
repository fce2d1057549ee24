"""Storage of results: safe folders, file ownership, Parquet tables."""
