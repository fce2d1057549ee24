"""Measure the training steps of a PyTorch model layer by layer, and write a profile.

`torch_recorder` measures. `measure`, `attribute`, `assemble` and `table` work on what a
`Recorder` hands over, and need no PyTorch.
"""
