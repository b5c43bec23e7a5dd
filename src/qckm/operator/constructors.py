"""The ways to make an operator: drawn at random, from public ranges, of frequencies of one's own, of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.common.random import RandomStateLike, as_generator
from qckm.errors import OperatorError
from qckm.kernels import reference as kernel
from qckm.operator import drawing, seeded, signatures
from qckm.operator import ranges as public
from qckm.operator.arguments import (
    as_count,
    as_extent,
    as_names,
    as_origin,
    as_ranges,
    as_scale,
    as_steps,
    as_units,
    per_frequency,
    require_lengths,
)
from qckm.operator.codes import Codes
from qckm.operator.frequency_count import choose_n_frequencies
from qckm.operator.laws import Law, get_law
from qckm.operator.operator import Operator
from qckm.operator.request import Dither, OperatorRequest, draw_dither
from qckm.operator.signatures import Signature, SignatureLike


class ConstructedOperator(Operator):
    """An operator with the ways to make one."""

    @classmethod
    def draw(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        law: str | Law = "integer-gaussian",
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        random_state: RandomStateLike = None,
        frequencies: drawing.Arrangement = "auto",
        feature_names: Sequence[str] | None = None,
        octaves: int = 1,
        extent: npt.ArrayLike | None = None,
    ) -> Self:
        """Draw an operator at random.

        Parameters
        ----------
        n_features, n_frequencies : int
            n and m.
        scale : float
            The kernel's length s = sqrt(n / E‖ω‖²), in units.
        law : str or Law, default "integer-gaussian"
            "integer-gaussian", "integer-balanced" or "integer-concentrated": made by integers alone from a seed that is
            drawn, so that a file holds a few bytes in place of the frequencies. "gaussian", "balanced-radius" and
            "concentrated-radius" are spread as these and are written whole, as are "folded-gaussian", "adapted-radius"
            and "seeded", which is that of `from_seed`.
        signature : str, Signature or callable, default "one-bit"
            "exponential" is CKM. A callable must be 2π-periodic, centred and in [−1, 1].
        dither : {"paired", "single"}, default "paired"
            Whether each frequency is measured at ξ and ξ + π/2, or at ξ alone.
        origin : array-like of shape (n,), optional
            The point from which phases count, best near the middle of the data; 0 by default. Rounded to whole steps.
        units : array-like of shape (n,), optional
            The size of a unit of each feature, 1 by default: the standard deviations, to sketch standardised rows.
        steps : array-like of shape (n,), optional
            Resolution of each feature, a power of two; by default between 1/2048 and 1/1024 of scale · unit, which
            reaches 16 to 32 scales from the origin. Rows beyond `op.reach` are clipped.
        random_state : None, int, Generator or RandomState
        frequencies : {"auto", "dense", "structured"}, default "auto"
            "dense": independent directions. "structured": orthogonal blocks of Hadamard transforms, of the same law,
            that take m·log n rather than m·n operations a row. "auto": structured where that is at least twice as
            fast, from about 256 features on, dense elsewhere.
        feature_names : sequence of str, optional
            The columns, in order: a note that travels with the operator.
        octaves : int, default 1
            Where the scale is not known: at how many scales to measure the m frequencies, from `scale`, the finest, to
            2**(octaves − 1) times that; `decode` then takes the one that suits. octaves · m frequencies in all, dense.
        extent : array-like of shape (n,), optional
            How far rows go from the origin, in data units. Where that is further than steps reach by default, they are
            longer, as far as the frequencies fit; one in a hundred of these may be lowered for it.

        Returns
        -------
        SketchOperator
        """
        octaves = as_count("octaves", octaves)
        n, m = as_count("n_features", n_features), as_count("n_frequencies", n_frequencies)
        if frequencies not in ("auto", "dense", "structured"):
            raise OperatorError(f"Expected frequencies 'auto', 'dense' or 'structured', got {frequencies!r}.")
        sizes, signature, law = as_units(units, n), signatures.get(signature), get_law(law)
        request = _request(n, m, scale, sizes, steps, extent, signature, dither)
        drawn, note = drawing.draw(request, law, frequencies, octaves, as_generator(random_state))
        start = as_origin(origin, drawn.steps)
        return cls(*drawn, start, signature, dither, note, request.scale, sizes, as_names(feature_names, n))

    @classmethod
    def from_ranges(
        cls,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        n_clusters: int,
        n_frequencies: int | None = None,
        octaves: int | None = None,
        law: str | Law = public.LAW,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        units: npt.ArrayLike | None = None,
        random_state: RandomStateLike = None,
        feature_names: Sequence[str] | None = None,
        private: bool = False,
    ) -> Self:
        """Draw an operator from what the columns may be, and look at no row.

        The origin is the middle of the ranges. Clusters are at most as wide as K of them that fill the ranges, and may
        be much narrower: frequencies are measured at several scales, and decoding takes what suits. Where ranges are
        public, so is the operator, and a sketch of it may be released (`qckm.privacy.release`). Values beyond the
        ranges are clipped, where they are further from the middle than `op.reach`.

        Parameters
        ----------
        lower, upper : array-like of shape (n,)
            The least and the greatest value that each column may have: public knowledge, not the rows' own extremes.
        n_clusters : int
            K.
        n_frequencies : int, optional
            How many frequencies to measure at each scale; 20nK by default, or 5nK if sketches are to be private.
        octaves : int, optional
            How many scales, each half of the one before; 5 by default, or as many as fit, in one column of many
            clusters.
        law : str or Law, default "integer-balanced"
        signature, dither, random_state, feature_names
            As those of `draw`.
        units : array-like of shape (n,), optional
            The size of a unit of each feature, 1 by default: `upper − lower`, to count each column by its range.
        private : bool, default False
            Whether sketches are to be released with noise, of which each measurement has the more, the more there are.

        Returns
        -------
        SketchOperator

        Examples
        --------
        >>> import qckm
        >>> op = qckm.SketchOperator.from_ranges([0, 0, 0], [255, 255, 255], n_clusters=10, random_state=0)
        >>> op.octaves, op.n_frequencies, op.origin
        (5, 3000, array([127.5, 127.5, 127.5]))
        """
        low, high = as_ranges(lower, upper)
        n, K = low.size, as_count("n_clusters", n_clusters)
        m = (
            choose_n_frequencies(n, K, not private)
            if n_frequencies is None
            else as_count("n_frequencies", n_frequencies)
        )
        sizes, signature, law = as_units(units, n), signatures.get(signature), get_law(law)
        coarsest = public.coarsest_scale((high - low) / sizes, K)
        steps = public.choose_steps((high - low) / 2, coarsest * sizes)
        octaves = public.choose_octaves(steps, coarsest * sizes) if octaves is None else as_count("octaves", octaves)
        request = _request(n, m, coarsest / 2 ** (octaves - 1), sizes, steps, None, signature, dither)
        drawn, note = drawing.draw(request, law, "dense", octaves, as_generator(random_state))
        start = as_origin((low + high) / 2, drawn.steps)
        names = as_names(feature_names, n)
        return cls(*drawn, start, signature, dither, note, request.scale, sizes, names, (low, high))

    @classmethod
    def from_frequencies(
        cls,
        frequencies: npt.ArrayLike,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        phases: npt.ArrayLike | None = None,
        origin: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        law: str = "custom",
        scale: float | None = None,
        random_state: RandomStateLike = None,
        units: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        octaves: int = 1,
    ) -> Self:
        """Make an operator of frequencies of your own, (n, m) in radians a data unit, and dither `phases` in radians.

        The frequencies are rounded to 2π / (2**24 · step); `op.frequencies` gives back what is measured. Phases are
        drawn uniformly unless given, except that a pair of a pure tone (the exponential signature) needs none: 0.
        `units` and `feature_names` are notes: the frequencies are those given, in data units. Several `octaves` are
        blocks of frequencies, the lowest first, each exactly twice the one before.

        Examples
        --------
        >>> import numpy as np, qckm
        >>> op = qckm.SketchOperator.from_frequencies(np.eye(3), "exponential")
        >>> op.law, op.n_measurements, op.phases
        ('custom', 6, array([0., 0., 0.]))
        """
        omega = np.array(frequencies, np.float64)
        if omega.ndim != 2 or omega.size == 0 or not np.isfinite(omega).all():
            raise OperatorError(f"Expected finite frequencies of shape (n, m), got shape {omega.shape}.")
        n, m = omega.shape
        require_lengths("frequencies", np.abs(omega[omega != 0]))
        signature = signatures.get(signature)
        sizes = as_steps(drawing.steps_of(omega) if steps is None else steps, n)
        codes = drawing.code_frequencies(omega, sizes)
        if phases is None:
            dither_codes = draw_dither(m, signature, dither, as_generator(random_state))
        else:
            turns = per_frequency("phases", phases, m) * (kernel.TURN / (2 * np.pi))
            dither_codes = (np.rint(turns).astype(np.int64) % kernel.TURN).astype(np.int32)
        start = as_origin(origin, sizes)
        notes = (law, scale, as_units(units, n), as_names(feature_names, n))
        return cls(Codes(codes, dither_codes, as_count("octaves", octaves)), sizes, start, signature, dither, *notes)

    @classmethod
    def from_seed(
        cls,
        n_features: int,
        n_frequencies: int,
        scale: float,
        seed: int,
        signature: SignatureLike = "one-bit",
        dither: Dither = "paired",
        origin: npt.ArrayLike | None = None,
        units: npt.ArrayLike | None = None,
        steps: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        extent: npt.ArrayLike | None = None,
    ) -> Self:
        """Make the operator of the seeded law: a device with little memory can make its frequencies itself.

        The same seed gives the same operator for ever, on every machine: the generator is written down in
        docs/arithmetic.md, and `op.export_c(path, regenerate=True)` writes it in C. Parameters are those of `draw`.

        Examples
        --------
        >>> import qckm
        >>> op = qckm.SketchOperator.from_seed(3, 64, scale=2.0, seed=7)
        >>> op.law, op == qckm.SketchOperator.from_seed(3, 64, scale=2.0, seed=7)
        ('seeded 7', True)
        """
        n, m = as_count("n_features", n_features), as_count("n_frequencies", n_frequencies)
        sizes, signature = as_units(units, n), signatures.get(signature)
        request = _request(n, m, scale, sizes, steps, extent, signature, dither)
        drawn, law = seeded.draw_codes(request, seed)
        start = as_origin(origin, drawn.steps)
        return cls(*drawn, start, signature, dither, law, request.scale, sizes, as_names(feature_names, n))


def _request(
    n: int,
    m: int,
    scale: float,
    units: Floats,
    steps: npt.ArrayLike | None,
    extent: npt.ArrayLike | None,
    signature: Signature,
    dither: Dither,
) -> OperatorRequest:
    grid = None if steps is None else as_steps(steps, n)
    reach = None if extent is None else as_extent(extent, n)
    require_lengths("scale times units", as_scale(scale) * units)
    return OperatorRequest(n, m, as_scale(scale), units, grid, reach, signature, dither)
