"""Questions about speed, one a file, each answered by a ratio against a peer measured in the same run."""
