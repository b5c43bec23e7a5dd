"""Codes of rows go in, sums and bits come out. `reference` is the truth; core/ is the same in C."""
