"""From a model of PyTorch to a profile: what its training steps take, layer by layer.

`torch_recorder` measures; only it, `target`, `loss`, `tensors` and `clocks` know PyTorch.
The others work on what a `Recorder` hands over.
"""
