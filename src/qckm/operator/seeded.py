"""The seeded law: frequencies that a device regenerates from 32 bits, with integers only, instead of storing them.

Every frequency has a stream of its own, so that any of them can be made alone. Its components are sums of four bytes,
nearly Gaussian, drawn again until their norm lies in a thin shell: directions are nearly uniform, and norms within some
10 % of each other, much as in the law concentrated-radius. docs/arithmetic.md is the specification; the header that
`op.export_c` writes is the same in C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.codes import Codes
from qckm.operator.request import Drawn, OperatorRequest

LAW = "seeded"
GOLDEN = 0x9E3779B9  # 2**32 over the golden ratio: the step from one draw of a stream to the next
FACTOR = 0x045D9F3B  # of the mixer, whose shifts of 16 cost processors of 8 bits nothing
CENTER = 510  # mean of a sum of four bytes
VARIANCE = 21845  # of such a sum: 4 · (2**16 − 1) / 12, exactly
GREATEST_SUM = 4 * 255 - CENTER
# The shell, in squares: Σ g² from LEAST·n to GREATEST·n, that is 0.72 to 1.34 times its mean. The truncation as a whole
# leaves the mean square where it was, n·VARIANCE, within 1 % for every n; a third of the candidates is kept at n = 3.
LEAST, GREATEST = 15729, 29273
GAIN_SHIFT = 8
LEAST_GAIN = 16  # below, rounding the gain itself would change units by more than 3 %
GREATEST_GAIN = (CODE_LIMIT << GAIN_SHIFT) // GREATEST_SUM
MOST_FEATURES = 8192  # Σ g² stays below 2**32

_TURNS = (TURN << GAIN_SHIFT) / (2 * np.pi)

Uint32s = npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Recipe:
    """All that a device needs to make the frequencies and the dither itself.

    Parameters
    ----------
    seed : int
        0 … 2**32 − 1.
    gains : ndarray of int32, shape (n,)
        What a component of feature k is multiplied by, in 256ths.
    """

    seed: int
    gains: npt.NDArray[np.int32]

    @property
    def law(self) -> str:
        """The note that an operator and its file keep."""
        return f"{LAW} {self.seed}"


def mix(values: Uint32s) -> Uint32s:
    """Scramble 32 bits, reversibly: every bit that goes in changes about half of those that come out.

    Examples
    --------
    >>> [hex(word) for word in mix(np.arange(3, dtype=np.uint32))]
    ['0x0', '0x31251ba7', '0x66a79298']
    """
    for _ in range(2):
        values = (values ^ (values >> np.uint32(16))) * np.uint32(FACTOR)
    return values ^ (values >> np.uint32(16))


def starts(seed: int, m: int) -> Uint32s:
    """Return where the stream of each frequency starts, (m,)."""
    root = mix(np.array([seed], np.uint32))
    return mix(root + np.arange(m, dtype=np.uint32) * np.uint32(GOLDEN))


@dataclass(frozen=True, eq=False)
class Draws:
    """What a seed gives: components g (n, m) before gains, dither codes (m,), and candidates not kept, (m,)."""

    components: npt.NDArray[np.int32]
    dither: npt.NDArray[np.int32]
    rejected: npt.NDArray[np.int64]


def draw(seed: int, n: int, m: int) -> Draws:
    """Draw m frequencies of n components."""
    states = starts(seed, m) + np.uint32(GOLDEN)
    dither = (mix(states) >> np.uint32(8)).astype(np.int32)
    components = np.empty((n, m), np.int32)
    rejected = np.zeros(m, np.int64)
    left = np.arange(m)  # the frequencies that have no vector yet
    places = np.arange(1, n + 1, dtype=np.uint32)[:, np.newaxis] * np.uint32(GOLDEN)
    while len(left):
        candidates = _sum_of_bytes(mix(states[left] + places))
        components[:, left] = candidates
        squares = (candidates.astype(np.int64) ** 2).sum(axis=0)
        states[left] += places[-1, 0]
        left = left[(squares < LEAST * n) | (squares > GREATEST * n)]
        rejected[left] += 1
    return Draws(components, dither, rejected)


def draw_radii(n: int, m: int, rng: np.random.Generator) -> Floats:
    """Draw the norms of m such vectors, (m,)."""
    components = draw(int(rng.integers(2**32)), n, m).components.astype(np.float64)
    norms: Floats = np.sqrt((components**2).sum(axis=0))
    return norms


def frequency_codes(recipe: Recipe, components: npt.NDArray[np.int32]) -> npt.NDArray[np.int16]:
    """Return W = (gain · g + 128) >> 8, (n, m)."""
    products = recipe.gains[:, np.newaxis] * components + (1 << (GAIN_SHIFT - 1))
    return (products >> GAIN_SHIFT).astype(np.int16)


def make_recipe(seed: int, scale: float, units: Floats, steps: Floats) -> Recipe:
    """Return the recipe for a scale: ω = W / step in 2**24ths of a turn, with sqrt(n / E‖ω‖²) = scale, in units.

    The gains are made of correctly rounded operations only, in this order: the same on every machine.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**32:
        raise OperatorError(f"Expected a seed from 0 to 2**32 - 1, got {seed!r}.")
    if len(steps) > MOST_FEATURES:
        raise OperatorError(f"Expected at most {MOST_FEATURES} features of seeded frequencies, got {len(steps)}.")
    gains = np.rint(_TURNS * steps / units / (scale * np.sqrt(float(VARIANCE))))
    for k in np.flatnonzero((gains > GREATEST_GAIN) | (gains < LEAST_GAIN)):
        raise OperatorError(
            f"Seeded frequencies do not fit: feature {k} would need a gain of {gains[k]:.0f}, and gains go from "
            f"{LEAST_GAIN} to {GREATEST_GAIN}. Use a {'smaller' if gains[k] > GREATEST_GAIN else 'larger'} step than "
            f"{steps[k]:.4g} for that feature, or another scale."
        )
    return Recipe(int(seed), gains.astype(np.int32))


def longest_steps(scale: float, units: Floats) -> Floats:
    """Return the longest steps (n,) at which gains fit."""
    steps: Floats = GREATEST_GAIN * units * (scale * np.sqrt(float(VARIANCE))) / _TURNS
    return steps


def draw_codes(request: OperatorRequest, seed: int | np.random.Generator) -> tuple[Drawn, str]:
    """Draw the integers of a seed, or of a generator that draws one; return them and the operator's note."""
    if isinstance(seed, np.random.Generator):
        seed = int(seed.integers(2**32))
    steps = request.steps_up_to(longest_steps(request.scale, request.units))
    recipe = make_recipe(seed, request.scale, request.units, steps)
    draws = draw(recipe.seed, request.n, request.m)
    dither_codes = draws.dither if request.dithered else np.zeros(request.m, np.int32)
    return Drawn(Codes(frequency_codes(recipe, draws.components), dither_codes), steps), recipe.law


def seed_of(law: str) -> int | None:
    """Return the seed that an operator's note names, if it names one."""
    found = re.fullmatch(rf"{LAW} (\d{{1,10}})", law)
    return int(found[1]) if found and int(found[1]) < 2**32 else None


def _sum_of_bytes(words: Uint32s) -> npt.NDArray[np.int32]:
    low = np.uint32(0x00FF00FF)
    pairs = (words & low) + ((words >> np.uint32(8)) & low)
    return ((pairs & np.uint32(0xFFFF)) + (pairs >> np.uint32(16))).astype(np.int32) - CENTER
