"""Which discipline and which credit rule a captured connection followed, with the evidence."""
