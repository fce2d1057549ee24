"""A training job as both worlds read it: the plan of a step, what chance drew, its conditions."""
