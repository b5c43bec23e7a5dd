"""Noise for integers, by OpenDP: exact samplers, entropy of the operating system, never a `random_state`.

How much one row can change a sketch is known exactly, as contributions are entries of a table of integers.

What is released is a vector: the sums, and the count times a weight. The weight makes the count's own noise small
beside the count: it costs the sums less than a hundredth (gaussian) or a sixtieth (laplace) of their noise's deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from qckm.errors import MissingExtraError, PrivacyError
from qckm.kernels.reference import TABLE_SIZE
from qckm.operator.operator import Operator

# The share of the count in the sensitivity: 1/64 of the squared L2 norm, and of the L1 norm.
_COUNT_SHARE = 64
# A scale is raised by so much until OpenDP confirms the guarantee, which it computes with safe rounding.
_NUDGE = 1 + 1e-9
# Less noise hides nothing, and its variance is no float's to tell; more would not leave sums within 64 bits.
_LEAST_NOISE, _MOST_NOISE = 1e-2, 2.0**48


class Sensitivity(NamedTuple):
    """The greatest change of the sums, in units of the signature's table: L1 norm, squared L2 norm, largest entry."""

    l1: int
    l2_squared: int
    largest: int


def of_one_row(operator: Operator) -> Sensitivity:
    """Return how much the sums change at most when a row is added or removed; twice that when one is replaced.

    The two measurements of a pair are a quarter turn apart, 1024 entries of the table: both cannot be at their
    greatest, unless the table says so, as that of the one-bit signature does.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> of_one_row(op)
    Sensitivity(l1=100, l2_squared=100, largest=1)
    """
    table = np.abs(operator.signature.table.astype(np.int64))
    m = operator.n_frequencies
    if operator.paired:
        other = np.roll(table, -TABLE_SIZE // 4)
        return Sensitivity(m * int((table + other).max()), m * int((table**2 + other**2).max()), int(table.max()))
    return Sensitivity(m * int(table.max()), m * int((table**2).max()), int(table.max()))


@dataclass(frozen=True)
class Mechanism:
    """A way to add noise to integers, and what it promises.

    Parameters
    ----------
    add : callable
        Takes a list of integers, returns it with noise.
    variance : float
        Of the noise in each.
    rho : float
        What is spent, as ρ-zCDP.
    epsilon : float or None
        The same as pure ε.
    count_weight : int
        What the count is multiplied by before, and its noise divided by after.
    """

    add: Callable[[Sequence[int]], list[int]]
    variance: float
    rho: float
    epsilon: float | None
    count_weight: int


def gaussian(one: Sensitivity, rows: int, counted: bool, rho: float) -> Mechanism:
    """Return discrete Gaussian noise that costs ρ, where up to `rows` rows of that sensitivity change.

    `counted` is whether the count changes with them.
    """
    weight = max(1, math.isqrt(one.l2_squared // _COUNT_SHARE))
    squared = rows**2 * (one.l2_squared + (weight**2 if counted else 0))
    distance = _root_above(squared)
    dp = _opendp()
    scale = _noise_size(distance / math.sqrt(2 * rho))
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    for _ in range(100):
        measurement = space >> dp.m.then_gaussian(scale)
        spent = float(measurement.map(distance))
        if spent <= rho:
            return Mechanism(measurement, scale**2, spent, None, weight)
        scale *= _NUDGE
    raise PrivacyError(f"No noise could be found that costs ρ = {rho:g}.")


def laplace(one: Sensitivity, rows: int, counted: bool, epsilon: float) -> Mechanism:
    """Return discrete Laplace noise that costs a pure ε, where up to `rows` rows of that sensitivity change."""
    weight = max(1, one.l1 // _COUNT_SHARE)
    distance = rows * (one.l1 + (weight if counted else 0))
    dp = _opendp()
    scale = _noise_size(distance / epsilon)
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    for _ in range(100):
        measurement = space >> dp.m.then_laplace(scale)
        spent = float(measurement.map(distance))
        if spent <= epsilon:
            ratio = math.exp(-1 / scale)  # of the chances of k + 1 and k
            return Mechanism(measurement, 2 * ratio / (1 - ratio) ** 2, spent**2 / 2, spent, weight)
        scale *= _NUDGE
    raise PrivacyError(f"No noise could be found that costs ε = {epsilon:g}.")


def _noise_size(scale: float) -> float:
    """Return the size of the noise, if it is one that 64-bit sums can take and that a float knows to be noise."""
    if not _LEAST_NOISE <= scale <= _MOST_NOISE:
        raise PrivacyError(
            f"Expected a budget whose noise is of a size from {_LEAST_NOISE:g} to {_MOST_NOISE:.3g}, got {scale:.3g}."
        )
    return scale


def _root_above(square: int) -> float:
    """Return a float64 that is no less than the square root."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingExtraError(
            'Noise is drawn by OpenDP, which is not installed: pip install "qckm[privacy]".'
        ) from error
    module: ModuleType = dp
    module.enable_features("contrib")
    return module
