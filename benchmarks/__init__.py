"""Questions about speed, one per file, each answered by a ratio against a peer measured in the same run."""
