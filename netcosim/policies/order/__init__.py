"""In which order tensors are handed to their connection."""
