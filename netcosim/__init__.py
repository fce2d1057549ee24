"""The shared vocabulary of both worlds: scenario, trace, metrics, units, errors."""
