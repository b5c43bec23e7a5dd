import numpy as np
import pytest

from qckm.common.random import as_generator, as_seed, spawn
from qckm.errors import QckmError


def draws(rng):
    return rng.integers(2**32, size=4).tolist()


def test_a_number_gives_the_same_generator_every_time():
    assert draws(as_generator(7)) == draws(as_generator(np.int64(7))) != draws(as_generator(8))


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


def test_a_random_state_is_advanced_by_use():
    state = np.random.RandomState(0)
    assert draws(as_generator(state)) != draws(as_generator(state))


def test_a_seed_stands_for_itself():
    assert as_seed(5) == 5
    assert as_seed(np.random.default_rng(1)) == as_seed(np.random.default_rng(1))


def test_generators_are_independent_of_how_much_is_drawn_from_others():
    first, second = spawn(3, 2)
    draws(first)
    assert draws(second) == draws(spawn(3, 2)[1])


@pytest.mark.parametrize("wrong", [-1, 0.5, "7", [1]])
def test_what_is_no_random_state_is_refused(wrong):
    with pytest.raises(QckmError, match="random_state"):
        as_generator(wrong)
