"""Hypothesis runs the same examples every time: a red test is a change of ours, not of the dice."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("repeatable")


@pytest.fixture
def rng():
    return np.random.default_rng(20180427)
