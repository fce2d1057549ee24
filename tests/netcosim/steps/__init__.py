"""Steps of workers, random and by hand, and naive twins of what is worked out of them."""
