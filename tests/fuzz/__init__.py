"""Fuzzers: `make fuzz`. What is read loads and is consistent, or is refused by an error of ours; nothing else happens.

Each target is a module with three names. `EXAMPLES` are valid inputs by name. `make(rng)` returns the bytes of an
input. `check(data, folder)` reads them: it returns if they load and are what they should be, raises a `QckmError` if
they are refused, and fails an assertion if they load wrongly. It may return a word of its own for what became of them.

Whatever else happens is a finding: another exception, a crash, too much time or memory (`limits.py`).
"""
