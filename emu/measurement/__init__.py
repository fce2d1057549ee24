"""One cell measured: rounds of bursts, their validity, and their rows."""
