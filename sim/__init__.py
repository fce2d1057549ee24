"""Discrete-event simulator of training on parameter servers, from the profile of one worker."""
