"""Release orders: in which order tensors are handed to their connection."""
