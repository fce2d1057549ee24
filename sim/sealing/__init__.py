"""Predictions of a training job from one worker's record, sealed before the job is run."""
