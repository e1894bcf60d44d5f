"""The scheduler: what waits is judged in batches, then bound, or told why not."""
