"""What is found in a sketch: centroids, mixtures, principal components, the number of clusters."""
