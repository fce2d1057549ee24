"""Cross-check of training jobs: what was predicted and sealed against what was measured."""
