"""The hot loops. `reference` is the truth: whatever else computes a sketch must give the same integers."""
