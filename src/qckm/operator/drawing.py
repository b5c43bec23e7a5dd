"""From a request to integers: how the frequencies, the dither and the steps of an operator are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from qckm.common import memory
from qckm.common.arrays import Floats
from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.codes import LEAST_STRUCTURED, MOST_OCTAVES, Codes, Recipe
from qckm.operator.laws import Law, draw_frequencies, draw_norms, get_law
from qckm.operator.request import (
    SMALLEST,
    STEPS_PER_SCALE,
    Drawn,
    OperatorRequest,
    draw_dither,
    power_of_two_below,
)
from qckm.operator.structured import FINE_TURN, LEAST_RADIUS, block_size, choose_factors, draw_structured

# Rows further away need longer steps. One frequency of so many may be too high for an int16 then, and is lowered …
ONE_OF = 100
# … and structured frequencies, which fit an int32, are rounded by a phase of no more than 0.002·√n with steps so long.
_LONGEST = 8
# Matrices (n, m) of float64 that there are at a time: 3 while dense frequencies are drawn and coded, 4 while they are
# decoded with (decoding/task.py). Structured ones are drawn in less, but take as many operations as the matrix has
# numbers, and nobody who has no room for it could decode with them.
_MATRICES = 4
# Codes of the lowest octave of this size on average are rounded by less than 4 %: still frequencies of their law, and
# the decoder knows what they were rounded to.
_LEAST_CODE = 8
# The highest frequency that fits an int16, in radians per step.
_HIGHEST = CODE_LIMIT * (2 * np.pi / TURN)

_NOT_STRUCTURED = (
    "Structured frequencies need more than a handful of features, and steps that are fine and in proportion to the "
    "units within a factor of 4: leave out steps=, or use frequencies='dense'."
)

Arrangement = Literal["auto", "dense", "structured"]


def draw(
    request: OperatorRequest, law: str | Law, arrangement: Arrangement, rng: np.random.Generator
) -> tuple[Drawn, str]:
    """Draw frequencies of a law; return their integers, and the note that says where they came from."""
    law = get_law(law)
    if arrangement not in ("auto", "dense", "structured"):
        raise OperatorError(f"Expected frequencies 'auto', 'dense' or 'structured', got {arrangement!r}.")
    require_drawable(request.n, request.m)
    if law.draw_codes is not None:
        if arrangement == "structured" or request.octaves > 1:
            raise OperatorError(
                f"Frequencies of the law {law.name!r} are dense, of one scale. Use another law for structured ones, or "
                "for more than one octave."
            )
        return law.draw_codes(request, rng)
    if arrangement == "structured" and request.octaves > 1:
        raise OperatorError("Expected frequencies 'dense' or 'auto' for more than one octave, got 'structured'.")
    recipe: Callable[..., Recipe] | None = None
    if law.degrees is not None:
        seed, degrees = int(rng.integers(2**64, dtype=np.uint64)), law.degrees(request.n)
        recipe = partial(Recipe, n=request.n, seed=seed, degrees=degrees, dithered=request.dithered)
    usually = arrangement == "auto" and request.octaves == 1 and is_faster(request.n, request.m)
    if usually or arrangement == "structured":
        drawn = None if recipe is None else _structured_by_recipe(request, recipe)
        if drawn is None and (recipe is None or arrangement == "structured"):
            drawn = _draw_structured(request, law, rng)
        if drawn is not None:
            return drawn, law.name
        if arrangement == "structured":
            raise OperatorError(_NOT_STRUCTURED)
    if recipe is not None:
        return _dense_by_recipe(request, recipe), law.name
    return (_draw_dense if request.octaves == 1 else _draw_octaves)(request, law, rng), law.name


def _dense_by_recipe(request: OperatorRequest, recipe: Callable[..., Recipe]) -> Drawn:
    """Make dense frequencies from a recipe, of which size, gains and octaves are left open, at one scale or several."""
    steps, octaves = request.usual_steps, request.octaves
    if octaves > 1 or (request.steps is None and request.extent is not None):
        plain = recipe(m=request.m, gains=np.zeros(request.n, np.int64))
        omega = plain.components() / 65536 / (request.scale * request.units)[:, np.newaxis]
        steps = _fitting_steps(omega, request) if octaves == 1 else _steps_for_octaves(omega, request)
    gains = _gains(steps / request.units / request.scale * (TURN / (2 * np.pi)))
    codes = Codes.made_from(recipe(m=octaves * request.m, gains=gains, octaves=octaves))
    clipped = (np.abs(np.asarray(codes.frequency_codes)) == CODE_LIMIT).any(axis=0).sum()
    if clipped > request.m // ONE_OF:
        raise OperatorError(f"{clipped} frequencies do not fit an int16: use smaller steps, or a larger scale.")
    return Drawn(codes, steps)


def _structured_by_recipe(request: OperatorRequest, recipe: Callable[..., Recipe]) -> Drawn | None:
    """Make structured frequencies from a recipe, or None where integers would be too coarse for them."""
    usual = request.usual_steps
    steps = (request.steps_up_to(_LONGEST * usual) / usual).max() * usual
    ratios = steps / request.units
    factors = choose_factors(ratios)
    if factors is None or request.n < LEAST_STRUCTURED:
        return None
    # Entries of a block have a mean square of its size squared.
    size = math.sqrt(request.n / math.fsum((factors / ratios) ** 2)) / block_size(request.n)
    radius = size / request.scale * (FINE_TURN / (2 * np.pi))
    if radius < LEAST_RADIUS:
        return None
    return Drawn(Codes.made_from(recipe(m=request.m, gains=_gains(np.array([radius])), factors=factors)), steps)


def _gains(sizes: Floats) -> npt.NDArray[np.int64]:
    """Return sizes in 65536ths; those that fit no recipe are refused there."""
    return np.rint(np.minimum(65536.0 * sizes, 2.0**40)).astype(np.int64)


def is_faster(n: int, m: int) -> bool:
    """Whether structured frequencies are at least twice as fast to measure as dense ones (benchmarks/structured.py).

    A rule, not a measurement: an operator must not depend on the machine that draws it.
    """
    size = block_size(n)
    return n * m >= 256 * size * -(-m // size)


def steps_of(omega: Floats) -> Floats:
    """Return steps (n,) for frequencies (n, m) of somebody's own, in radians per data unit."""
    rms = np.sqrt((omega**2).mean(axis=1))
    rms[rms == 0] = 1.0  # a feature nobody looks at may have any step
    return power_of_two_below(1 / (rms * STEPS_PER_SCALE))


def code_frequencies(omega: Floats, steps: Floats) -> npt.NDArray[np.int16]:
    """Return the codes of frequencies (n, m) in radians per data unit."""
    codes = np.rint(omega * steps[:, np.newaxis] * (TURN / (2 * np.pi)))
    if np.abs(codes).max() > CODE_LIMIT:
        k, j = np.unravel_index(np.abs(codes).argmax(), codes.shape)
        raise OperatorError(
            f"Frequency {j} does not fit: {omega[k, j]:.4g} radians per unit at a step of {steps[k]:.4g} in feature "
            f"{k} is {abs(codes[k, j]):.0f} in 2**24ths of a turn, and int16 holds {CODE_LIMIT}. "
            f"Use a smaller step for that feature or a larger scale."
        )
    return codes.astype(np.int16)


def require_drawable(n: int, m: int) -> None:
    """Refuse, before anything is drawn, m frequencies of n features that there is no room for, written out."""
    needed = _MATRICES * 8 * n * m
    why = memory.lacking(needed)
    if why is not None:
        more = f"; or allow more: QCKM_MEMORY={-(-needed // 2**30)}G" if needed <= (memory.free() or needed) else ""
        raise OperatorError(
            f"Drawing {m} frequencies of {n} features {why}. Look for fewer clusters, take fewer columns, or give "
            f"fewer frequencies{more}.",
            about="frequencies",
        )


def _draw_radians(request: OperatorRequest, law: Law, rng: np.random.Generator) -> Floats:
    """Draw frequencies (n, m) in radians per data unit."""
    return draw_frequencies(request.n, request.m, request.scale, law, rng) / request.units[:, np.newaxis]


def _draw_dense(request: OperatorRequest, law: Law, rng: np.random.Generator) -> Drawn:
    omega = _draw_radians(request, law, rng)
    steps = _fitting_steps(omega, request)
    if (steps > request.usual_steps).any():
        omega /= np.maximum(1, (np.abs(omega) * steps[:, np.newaxis] / _HIGHEST).max(axis=0))
    return Drawn(Codes(code_frequencies(omega, steps), draw_dither(request.m, request.dithered, rng)), steps)


def _fitting_steps(omega: Floats, request: OperatorRequest) -> Floats:
    """Return steps (n,) as long as the extent asks for and frequencies allow, all but one in a hundred of them."""
    steps, usual = request.steps_up_to(_longest(omega)), request.usual_steps
    while (longer := steps > usual).any():
        too_high = np.abs(omega) * steps[:, np.newaxis] > _HIGHEST
        if too_high.any(axis=0).sum() <= request.m // ONE_OF:
            break
        steps = np.where(longer & too_high.any(axis=1), steps / 2, steps)
    return steps


def _longest(omega: Floats) -> Floats:
    """Return steps (n,) at which one frequency in a hundred does not fit for that feature alone."""
    few = omega.shape[1] // ONE_OF
    steps: Floats = _HIGHEST / np.maximum(np.partition(np.abs(omega), -1 - few, axis=1)[:, -1 - few], SMALLEST)
    return steps


def _draw_structured(request: OperatorRequest, law: Law, rng: np.random.Generator) -> Drawn | None:
    """Draw structured frequencies, or None where integers would be too coarse for them."""
    usual = request.usual_steps
    longer = (request.steps_up_to(_LONGEST * usual) / usual).max()  # all of them, as they must be in proportion
    norms = draw_norms(request.n, request.m, request.scale, law, rng)
    codes = draw_structured(request.m, norms, request.units, longer * usual, rng)
    if codes is None:
        return None
    return Drawn(Codes(codes, draw_dither(request.m, request.dithered, rng)), longer * usual)


def _draw_octaves(request: OperatorRequest, law: Law, rng: np.random.Generator) -> Drawn:
    omega, octaves = _draw_radians(request, law, rng), request.octaves
    steps = _steps_for_octaves(omega, request)
    lowest = _lowest(omega, steps, octaves)
    codes = np.concatenate([np.ldexp(lowest, j) for j in range(octaves)], axis=1).astype(np.int16)
    return Drawn(Codes(codes, draw_dither(octaves * request.m, request.dithered, rng), octaves), steps)


def _steps_for_octaves(omega: Floats, request: OperatorRequest) -> Floats:
    """Return steps (n,) for octaves of frequencies omega: (n, m) of the finest, longer than that alone would have.

    Wanted are at least those of the middle octave: the data may be as large as the coarsest suits, and would saturate
    in the steps of the finest. Where the finest frequencies do not fit an int16 then, steps are as long as lets them.
    Octaves are refused of which the finest does not fit, or the lowest would be rounded away.
    """
    usual, octaves = request.usual_steps, request.octaves
    steps = usual
    if request.steps is None:
        wanted = request.steps_up_to(np.inf)
        most = max((octaves - 1) // 2, int((np.frexp(wanted)[1] - np.frexp(usual)[1]).max()))
        for longer in range(min(most, MOST_OCTAVES), 0, -1):
            if _largest(omega, np.ldexp(usual, longer), octaves) <= CODE_LIMIT:
                steps = np.ldexp(usual, longer)
                break
    largest = _largest(omega, steps, octaves)
    if largest > CODE_LIMIT:
        raise OperatorError(
            f"The finest of {octaves} octaves does not fit: a frequency of {largest:.0f} in 2**24ths of a turn per "
            f"step, and int16 holds {CODE_LIMIT}. Use smaller steps or a larger scale."
        )
    lowest = _lowest(omega, steps, octaves)
    seen = (omega != 0).any(axis=1)
    least = np.sqrt((lowest[seen] ** 2).mean(axis=1)).min(initial=np.inf)
    if least < _LEAST_CODE:
        raise OperatorError(
            f"The lowest of {octaves} octaves would be rounded away: its frequencies are {least:.2g} in 2**24ths of a "
            f"turn per step, and at least {_LEAST_CODE} are needed. Use fewer octaves or larger steps."
        )
    return steps


def _lowest(omega: Floats, steps: Floats, octaves: int) -> Floats:
    codes: Floats = np.rint(omega * steps[:, np.newaxis] * (TURN / (2 * np.pi) / 2 ** (octaves - 1)))
    return codes


def _largest(omega: Floats, steps: Floats, octaves: int) -> float:
    return float(np.ldexp(np.abs(_lowest(omega, steps, octaves)).max(), octaves - 1))
