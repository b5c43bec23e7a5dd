"""What all packages stand on; no data flow here: types, random numbers, memory, text, files replaced whole."""
