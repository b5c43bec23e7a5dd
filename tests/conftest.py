"""Hypothesis runs the same examples every time: a red test is a change of ours, not of the dice.

The fuzzers are the exception: their seed is new with every run, and said at its end. QCKM_FUZZ_SEED repeats one.
"""

import os
import secrets

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")

# In the environment, so that the processes of pytest-xdist have the same.
os.environ.setdefault("QCKM_FUZZ_SEED", str(secrets.randbelow(2**32)))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"The fuzzers' seed: QCKM_FUZZ_SEED={os.environ['QCKM_FUZZ_SEED']}")


@pytest.fixture
def rng():
    return np.random.default_rng(20180427)
