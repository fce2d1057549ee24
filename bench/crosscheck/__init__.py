"""`./dev bench crosscheck`: training jobs predicted from one worker, measured with many."""
