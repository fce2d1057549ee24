"""Performance model and optimizer of Yan et al., KDD 2015: how long an epoch takes, and when least.

`network` has layers and stripes, `model` an epoch's terms, `search` the optimizer, `spec` the files
that people write. What is read how, and why: docs/background/yan.md.
"""
