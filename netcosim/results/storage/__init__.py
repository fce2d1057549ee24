"""How results are stored: safe folders, ownership, tables."""
