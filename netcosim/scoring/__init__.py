"""Scores of predictions against measured streams: figures, separations, decision, verdict."""
