"""Rows go in, settings come out: one pilot, and from it the scale, the law and the number of frequencies."""
