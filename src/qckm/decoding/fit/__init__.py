"""From a start to the nearest minimum: clusters and Gaussians fitted to a sketch, and EM of points."""
