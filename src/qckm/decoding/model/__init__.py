"""What clusters would show in a sketch: models of it, mixtures, and the loops that evaluate them."""
