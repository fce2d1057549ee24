"""Networks for real: built, shaped, read back, measured, torn down."""
