"""How far from the best what was found may be, and what to know before relying on it."""
