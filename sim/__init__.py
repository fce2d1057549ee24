"""The simulated world: training on parameter servers, from the profile of one worker."""
