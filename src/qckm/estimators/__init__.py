"""The faces that scikit-learn knows: they validate, and hand on to planning, sketching and decoding."""
