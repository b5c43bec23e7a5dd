"""What numba compiles. Nothing here is imported where the compiled code is already on disk: see `native`."""
