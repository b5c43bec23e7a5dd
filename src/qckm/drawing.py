"""From wishes to integers: how the frequencies, the dither and the steps of an operator are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from qckm import seeded
from qckm.arguments import SMALLEST, as_steps, power_of_two_below
from qckm.errors import OperatorError
from qckm.frequencies import Law, draw_frequencies, draw_norms
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.octaves import octave_codes, steps_for
from qckm.signatures import Signature
from qckm.structured import StructuredCodes, draw_structured, is_faster

Dither = Literal["paired", "single"]
Floats = npt.NDArray[np.float64]

# Default resolution: a scale is cut into at least this many steps. A phase then moves by at most about
# ‖ω‖·scale/2048, and 32767 steps reach 16 to 32 scales either side of the origin.
STEPS_A_SCALE = 1024
# Rows further away need longer steps. One frequency of so many may be too high for an int16 then, and is lowered …
_ONE_OF = 100
# … and structured frequencies, which fit an int32, are rounded by a phase of no more than 0.002·√n with steps so long.
_LONGEST = 8
# The highest frequency that fits an int16, in radians a step.
_HIGHEST = CODE_LIMIT * (2 * np.pi / TURN)


class Drawn(NamedTuple):
    """The integers of an operator: frequencies (n, m), dither (m,), and what a unit of a row's code is worth, (n,)."""

    frequency_codes: npt.NDArray[np.int16] | StructuredCodes
    dither_codes: npt.NDArray[np.int32]
    steps: Floats


@dataclass(frozen=True, eq=False)
class Wishes:
    """What an operator should measure.

    Parameters
    ----------
    n, m : int
    scale : float
        In units.
    units : ndarray of shape (n,)
    steps : ndarray of shape (n,), optional
        As they should be; by default as they must be for the scale and the extent.
    extent : ndarray of shape (n,), optional
        How far rows go from the origin, in data units.
    signature : Signature
    dither : {"paired", "single"}
    """

    n: int
    m: int
    scale: float
    units: Floats
    steps: Floats | None
    extent: Floats | None
    signature: Signature
    dither: Dither

    @property
    def usual_steps(self) -> Floats:
        """The steps (n,) that are wanted, or else as fine as the scale asks for."""
        if self.steps is not None:
            return self.steps
        return as_steps(power_of_two_below(self.scale * self.units / STEPS_A_SCALE), self.n)

    def steps_up_to(self, longest: Floats | float) -> Floats:
        """Return steps (n,) that reach as far as the extent, but are no longer than `longest` unless the usual are.

        They cost nothing that could be measured: phases are rounded to some 0.002, much less than a cluster is wide.
        """
        usual = self.usual_steps
        if self.steps is not None or self.extent is None:
            return usual
        needed = 2 * power_of_two_below(np.maximum(self.extent / CODE_LIMIT, usual / 2))
        return np.maximum(usual, power_of_two_below(np.minimum(needed, longest)))


def draw(
    wishes: Wishes, law: Law, how: Literal["auto", "dense", "structured"], octaves: int, rng: np.random.Generator
) -> Drawn:
    """Draw frequencies of a law, dense or structured, at one scale or several."""
    if octaves > 1:
        if how == "structured":
            raise OperatorError("Expected frequencies 'dense' or 'auto' for more than one octave, got 'structured'.")
        return _draw_octaves(wishes, law, octaves, rng)
    if how == "structured" or (how == "auto" and is_faster(wishes.n, wishes.m)):
        drawn = _draw_structured(wishes, law, rng)
        if drawn is not None:
            return drawn
        if how == "structured":
            raise OperatorError(
                "Structured frequencies need more than a handful of features, and steps that are fine and in "
                "proportion to the units within a factor of 4: leave out steps=, or use frequencies='dense'."
            )
    return _draw_dense(wishes, law, rng)


def draw_seeded(wishes: Wishes, seed: Any) -> tuple[Drawn, str]:
    """Draw the frequencies and the dither of a seed; return them and the note that says so."""
    steps = wishes.steps_up_to(seeded.longest_steps(wishes.scale, wishes.units))
    recipe = seeded.make_recipe(seed, wishes.scale, wishes.units, steps)
    draws = seeded.draw(recipe.seed, wishes.n, wishes.m)
    undithered = wishes.dither == "paired" and wishes.signature.is_pure_tone
    dither_codes = np.zeros(wishes.m, np.int32) if undithered else draws.dither
    return Drawn(seeded.frequency_codes(recipe, draws.components), dither_codes, steps), recipe.law


def draw_dither(m: int, signature: Signature, dither: Dither, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Draw the dither; a pair of a pure tone needs none, as in CKM."""
    if dither == "paired" and signature.is_pure_tone:
        return np.zeros(m, np.int32)
    return rng.integers(0, TURN, size=(m,), dtype=np.int32)


def steps_of(omega: Floats) -> Floats:
    """Return steps (n,) for frequencies (n, m) of somebody's own, in radians a data unit."""
    rms = np.sqrt((omega**2).mean(axis=1))
    rms[rms == 0] = 1.0  # a feature nobody looks at may have any step
    return power_of_two_below(1 / (rms * STEPS_A_SCALE))


def code_frequencies(omega: Floats, steps: Floats) -> npt.NDArray[np.int16]:
    """Return the codes of frequencies (n, m) in radians a data unit."""
    codes = np.rint(omega * steps[:, np.newaxis] * (TURN / (2 * np.pi)))
    if np.abs(codes).max() > CODE_LIMIT:
        k, j = np.unravel_index(np.abs(codes).argmax(), codes.shape)
        raise OperatorError(
            f"Frequency {j} does not fit: {omega[k, j]:.4g} radians a unit at a step of {steps[k]:.4g} in feature "
            f"{k} is {abs(codes[k, j]):.0f} in 2**24ths of a turn, and int16 holds {CODE_LIMIT}. "
            f"Use a smaller step for that feature or a larger scale."
        )
    return codes.astype(np.int16)


def _draw_dense(wishes: Wishes, law: Law, rng: np.random.Generator) -> Drawn:
    omega = draw_frequencies(wishes.n, wishes.m, wishes.scale, law, rng) / wishes.units[:, np.newaxis]
    steps, usual = wishes.steps_up_to(_longest(omega)), wishes.usual_steps
    while (longer := steps > usual).any():
        too_high = np.abs(omega) * steps[:, np.newaxis] > _HIGHEST
        if too_high.any(axis=0).sum() <= wishes.m // _ONE_OF:
            omega /= np.maximum(1, (np.abs(omega) * steps[:, np.newaxis] / _HIGHEST).max(axis=0))
            break
        steps = np.where(longer & too_high.any(axis=1), steps / 2, steps)
    return Drawn(code_frequencies(omega, steps), draw_dither(wishes.m, wishes.signature, wishes.dither, rng), steps)


def _longest(omega: Floats) -> Floats:
    """Return steps (n,) at which one frequency in a hundred does not fit for that feature alone."""
    few = omega.shape[1] // _ONE_OF
    steps: Floats = _HIGHEST / np.maximum(np.partition(np.abs(omega), -1 - few, axis=1)[:, -1 - few], SMALLEST)
    return steps


def _draw_structured(wishes: Wishes, law: Law, rng: np.random.Generator) -> Drawn | None:
    """Draw structured frequencies, or None where integers would be too coarse for them."""
    usual = wishes.usual_steps
    longer = (wishes.steps_up_to(_LONGEST * usual) / usual).max()  # all of them, as they must be in proportion
    norms = draw_norms(wishes.n, wishes.m, wishes.scale, law, rng)
    codes = draw_structured(wishes.m, norms, wishes.units, longer * usual, rng)
    if codes is None:
        return None
    return Drawn(codes, draw_dither(wishes.m, wishes.signature, wishes.dither, rng), longer * usual)


def _draw_octaves(wishes: Wishes, law: Law, octaves: int, rng: np.random.Generator) -> Drawn:
    omega = draw_frequencies(wishes.n, wishes.m, wishes.scale, law, rng) / wishes.units[:, np.newaxis]
    steps = wishes.usual_steps
    if wishes.steps is None:
        steps = steps_for(omega, steps, wishes.steps_up_to(np.inf), octaves)
    codes = octave_codes(omega, steps, octaves)
    return Drawn(codes, draw_dither(octaves * wishes.m, wishes.signature, wishes.dither, rng), steps)
