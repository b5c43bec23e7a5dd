"""What every room stands on: types, random numbers, memory, text, and files that are replaced whole."""
