"""The Monte Carlo engine: counter-based random numbers, compiled kernels, chunked and distributed runs."""
