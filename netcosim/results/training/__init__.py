"""Results of simulated training: tables, summary, findings."""
