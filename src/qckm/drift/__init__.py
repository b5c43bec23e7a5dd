"""Two sketches of one operator go in; whether their rows are alike, and what has changed, comes out."""
