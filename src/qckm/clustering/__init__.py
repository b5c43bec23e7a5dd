"""Rows and centroids: the nearest centroid of each row, and k-means of weighted rows that are in memory."""
