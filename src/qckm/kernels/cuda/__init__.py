"""The same sums on a GPU: rows there, or copied there, to the integers of kernels/reference.py. Needs CuPy."""
