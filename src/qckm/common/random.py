"""One random_state in at the top, generators down from there; no global generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qckm.errors import QckmError

if TYPE_CHECKING:
    from types import ModuleType

# The module is numpy.random, whose functions are those of a global RandomState. In quotes: NumPy imports it when it is
# first used, and `import qckm` does not use it.
RandomStateLike: TypeAlias = "int | np.integer | np.random.Generator | np.random.RandomState | ModuleType | None"


def as_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Return a generator of a None, an int, a Generator (itself, advanced by use) or a RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(_seed(random_state))


def as_seed(random_state: RandomStateLike) -> int:
    """Return a whole number that stands for a random_state: itself, or one drawn from it."""
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    return int(as_generator(random_state).integers(2**63))


def spawn(random_state: RandomStateLike, n: int) -> list[np.random.Generator]:
    """Return n independent generators: drawing more from one leaves the others as they were."""
    return [np.random.default_rng(seed) for seed in _seed(random_state).spawn(n)]


def _seed(random_state: RandomStateLike) -> np.random.SeedSequence:
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return np.random.SeedSequence(random_state.randint(2**32, size=4, dtype=np.uint32).tolist())
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return np.random.SeedSequence(int(random_state))
    raise QckmError(
        f"Expected random_state to be None, an int >= 0, a Generator or a RandomState, got {random_state!r}."
    )
