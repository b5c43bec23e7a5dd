"""Hypothesis runs the same examples every time: a red test is a change of ours, not of the dice.

The fuzzers are the exception: their seed is new with every run, and said at its end. QCKM_FUZZ_SEED repeats one.
"""

import os
import secrets

import numpy as np
import pytest
from hypothesis import settings

from qckm.kernels import library

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")

# In the environment, so that the processes of pytest-xdist have the same.
os.environ.setdefault("QCKM_FUZZ_SEED", str(secrets.randbelow(2**32)))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"The fuzzers' seed: QCKM_FUZZ_SEED={os.environ['QCKM_FUZZ_SEED']}")


def instruction_sets():
    """Return the names of those that this CPU has, and the library is built for."""
    loaded, names = library.load(), ["avx512vnni", "avx512", "avx2", "ssse3", "neon", "plain"]
    if loaded is None:
        return []
    best = loaded.qckm_instructions()
    found = [name for name in names if loaded.qckm_use(name.encode())]
    loaded.qckm_use(best)
    return found


@pytest.fixture(params=instruction_sets())
def core(request):
    """The C core, with each instruction set in turn."""
    loaded = library.load()
    best = loaded.qckm_instructions()
    loaded.qckm_use(request.param.encode())
    yield loaded
    loaded.qckm_use(best)


@pytest.fixture
def rng():
    return np.random.default_rng(20180427)
