"""Results of streams on connections: their tables, summaries and verdicts."""
