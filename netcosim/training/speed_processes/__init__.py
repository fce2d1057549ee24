"""Speed processes of workers' machines: a speed for each second, and the use that goes with it.

One file each, with a function `draw(rows, rng)`. They are ours, chosen before any predictor ran on
them: what production machines do is in no paper that we have. In Chen et al. (SoCC 2020, Fig. 10)
speeds have levels that last, which processor and memory show, and spikes, which nothing shows.
"""
