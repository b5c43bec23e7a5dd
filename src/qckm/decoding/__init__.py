"""A sketch goes in, clusters come out: two decoders, the choice of K, and a verdict."""
