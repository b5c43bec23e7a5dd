"""What reference rows, of the usual kind, tell of two sketches: how their measurements vary together.

If two windows are alike, the difference d of their sketches is normal, of covariance C·(1/N + 1/N′), where C is that of
one row's contributions: M × M numbers that no sketch holds, and that some thousand rows tell. Two quadratic forms of d:

    squares     ‖d‖²                          every measurement counts alike
    whitened    dᵀ (C₁ + ρI)⁻¹ d              what hardly varies by chance counts most

C₁ is of one half of the reference. How the form is distributed is learnt from the other half, of which C₁ knows nothing
(cross-fitting): over the rows that made C₁, whitened forms are too small. Mean, variance and third moment of the form
are traces, estimated without bias from products of two and three rows; a shifted chi-square matches them (Satterthwaite
with one moment more, as Hall, Buckley and Eagleson have it: with two, false alarms at 1 % are 2 %). To the variance
comes that of the mean's estimate. Rare rows have large whitened forms, and a reference has more or fewer of them than
the windows. So the mean is corrected by what the windows' own sketches tell: a linear function of the contributions
that follows the forms (a control variate), whose mean over the windows is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.decoding.clouds.calibration import as_sample
from qckm.decoding.clouds.totals import Singles, measure
from qckm.errors import RowsError
from qckm.kernels.threads import one_thread
from qckm.sketch import Sketch, SketchOperator

LEAST_ROWS = 2000
# Of more rows, so many are drawn: the work grows with their square, and what they tell hardly does.
MOST_ROWS = 4000
# ρ, as a share of the greatest eigenvalue of C. From a third of it to three times as much, levels and power of the
# whitened test were the same to a standard error (200 pairs, seeds from 1000; `python -m drift ridge` measures it).
RIDGE = 0.03
_POWER_STEPS = 30
_LEAST_RIDGE = 1e-9


@dataclass(frozen=True, eq=False)
class Whitening:
    """(C + ρI)⁻¹ = (I − FᵀF)/ρ, for the covariance C = QᵀQ of R rows: F is L⁻¹Q, where LLᵀ = QQᵀ + ρI.

    So the work is that of R × R matrices, however many measurements there are.
    """

    ridge: float
    factor: Singles  # (R, M)

    @classmethod
    def of(cls, rows: Singles) -> Whitening:
        """Take the covariance from rows (R, M) that are centred and scaled so that their squares add up to it."""
        from scipy.linalg import solve_triangular

        products = (rows @ rows.T).astype(np.float64)
        ridge = max(RIDGE * _greatest_eigenvalue(products), _LEAST_RIDGE)
        products[np.diag_indices_from(products)] += ridge
        lower = np.linalg.cholesky(products)
        factor = solve_triangular(lower, rows.astype(np.float64), lower=True, overwrite_b=True)
        return cls(ridge, factor.astype(np.float32))

    def apply(self, vectors: Floats) -> Floats:
        """Return (C + ρI)⁻¹v, for vectors in columns (M, …)."""
        through = self.factor.T @ (self.factor @ vectors.astype(np.float32))
        return (vectors - through.astype(np.float64)) / self.ridge

    def form(self, vector: Floats) -> float:
        """Return vᵀ(C + ρI)⁻¹v."""
        along = (self.factor @ vector.astype(np.float32)).astype(np.float64)
        return max(0.0, float(vector @ vector - along @ along) / self.ridge)

    def products(self, rows: Singles) -> Singles:
        """Return the forms of all pairs of rows (R′, M)."""
        along = rows @ self.factor.T
        products: Singles = (rows @ rows.T - along @ along.T) / np.float32(self.ridge)
        return products


def _greatest_eigenvalue(matrix: Floats) -> float:
    vector, size = np.ones(len(matrix)), 0.0
    for _ in range(_POWER_STEPS):
        vector = matrix @ vector
        size = float(np.linalg.norm(vector))
        if not size > 0:
            break
        vector /= size
    return size


@dataclass(frozen=True)
class Moments:
    """What is known of a quadratic form of contributions, from rows that did not shape it.

    Parameters
    ----------
    mean : float
        Of the form of one centred row: the trace of T, form times covariance.
    of_pairs, of_triples : float
        Of the products of two different rows, squared, and of three, around: the traces of T² and T³.
    variance : float
        Variance of the form of one row.
    error : float
        Variance of the estimate of the mean.
    """

    mean: float
    of_pairs: float
    of_triples: float
    variance: float
    error: float

    @classmethod
    def of(cls, products: Singles, control: Floats | None = None) -> Moments:
        """Take the moments from the products of all pairs of centred rows, (R, R).

        A control (R,), of mean 0 over the rows, explains a part of their forms: the mean errs by the rest only.
        """
        rows = len(products)
        forms = np.diag(products).astype(np.float64) * (rows / (rows - 1))
        different = products.copy()
        np.fill_diagonal(different, 0.0)
        left = forms if control is None else forms - control
        return cls(
            float(forms.mean()),
            float(np.einsum("ij,ij->", different, different, dtype=np.float64)) / (rows * (rows - 1)),
            float(np.einsum("ij,ij->", different @ different, different, dtype=np.float64))
            / (rows * (rows - 1) * (rows - 2)),
            float(forms.var()),
            float(left.var()) / rows,
        )

    def pvalue(self, form: float, a: float, b: float, shift: float = 0.0) -> float:
        """Return the probability that means over a and b rows that are alike differ by a form as large.

        The mean of the form is off that of the reference by `shift`. The mean of few rows is not normal: the variance
        of its form has a term in their number.
        """
        from scipy.special import chdtrc

        if not self.mean + shift > 0 or not self.of_pairs > 0:
            return 1.0 if form <= 0 else 0.0
        factor = 1 / a + 1 / b
        few = (1 / a**3 + 1 / b**3) / factor**2
        variance = 2 * self.of_pairs + few * max(self.variance - 2 * self.of_pairs, 0.0) + self.error
        # T³ has a trace of (tr T²)^1.5 at most, that of one direction, where chi-square has one degree of freedom.
        third = 8 * min(max(self.of_triples, 1e-12 * self.of_pairs**1.5), self.of_pairs**1.5)
        freedom = 8 * variance**3 / third**2
        deviations = (form / factor - self.mean - shift) / np.sqrt(variance)
        return float(chdtrc(freedom, max(freedom + np.sqrt(2 * freedom) * deviations, 0.0)))


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """Rows of the usual kind, prepared for comparing many sketches of one operator.

    Parameters
    ----------
    operator : SketchOperator
    rows : ndarray of shape (R, n)
    shaping, judging : ndarray of shape (R / 2, M)
        Centred contributions of the half that C₁ is of, and of the half that tells how a form is distributed.
    center : ndarray of shape (M,)
        The mean of the latter, before it was taken away.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> op = qckm.SketchOperator.draw(n_features=2, n_frequencies=50, scale=1.0, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> reference = qckm.Reference.of(op, rng.normal(size=(3000, 2)))
    >>> a, b = (op.sketch(rng.normal(size=(5000, 2))) for _ in range(2))
    >>> qckm.compare(a, b, reference).statistic_name
    'whitened'
    """

    operator: SketchOperator
    rows: Floats
    shaping: Singles
    judging: Singles
    center: Floats

    @classmethod
    def of(cls, operator: SketchOperator, rows: npt.ArrayLike, random_state: int = 0) -> Reference:
        """Prepare rows (R, n), 2000 or more, that are like those of usual windows, and of none of them.

        Of more than 4000, as many are drawn.
        """
        usual = as_sample(operator, rows)
        if len(usual) < LEAST_ROWS:
            raise RowsError(
                f"Expected a reference of {LEAST_ROWS} rows or more, got {len(usual)}: so few do not tell how "
                "measurements vary together, and alarms would be false. Give more, or compare without a reference."
            )
        usual = usual[np.random.default_rng(random_state).permutation(len(usual))[:MOST_ROWS]]
        matrix = measure(operator, usual)
        half = len(matrix) // 2
        center = matrix[half:].mean(axis=0, dtype=np.float64)
        return cls(operator, usual, _centred(matrix[:half]), _centred(matrix[half:]), center)

    def __repr__(self) -> str:
        return f"Reference(rows={len(self.rows)}, n_features={self.rows.shape[1]})"

    @cached_property
    def sketch(self) -> Sketch:
        """The sketch of the rows."""
        return self.operator.sketch(self.rows)

    @cached_property
    def _squares(self) -> Moments:
        with one_thread():
            return Moments.of(self.judging @ self.judging.T)

    @cached_property
    def _whitening(self) -> Whitening:
        with one_thread():
            return Whitening.of(self.shaping / np.float32(np.sqrt(len(self.shaping) - 1)))

    @cached_property
    def _whitened(self) -> tuple[Moments, Floats]:
        """Return the moments of the whitened form, and the control's slopes (M,).

        Any slopes give an unbiased mean: those of a regression on the shaping half, where forms are too small but
        rise and fall with the contributions as they do elsewhere, make its error small.
        """
        with one_thread():
            forms = np.diag(self._whitening.products(self.shaping)).astype(np.float64)
            along = self.shaping.T.astype(np.float64) @ (forms - forms.mean()) / len(forms)
            slopes = self._whitening.apply(along)
            products = self._whitening.products(self.judging)
            return Moments.of(products, self.judging.astype(np.float64) @ slopes), slopes

    def squares(self, a: Sketch, b: Sketch) -> tuple[float, float]:
        """Return ‖d‖² over its expectation, and the p-value."""
        difference = a.values() - b.values()
        form, moments = float(difference @ difference), self._squares
        shift = 0.0
        if self.operator.signature.is_one_bit:  # the sum of the variances is known, not only estimated
            shift = float((1 - pooled_values(a, b) ** 2).sum()) - moments.mean
            moments = replace(moments, error=0.0)
        expected = (moments.mean + shift) * (1 / a.count + 1 / b.count)
        return form / max(expected, 1e-300), moments.pvalue(form, a.count, b.count, shift)

    def whitened(self, a: Sketch, b: Sketch) -> tuple[float, float]:
        """Return dᵀ(C₁ + ρI)⁻¹d over its expectation, and the p-value."""
        moments, slopes = self._whitened
        shift = float(slopes @ (pooled_values(a, b) - self.center))
        with one_thread():
            form = self._whitening.form(a.values() - b.values())
        expected = (moments.mean + shift) * (1 / a.count + 1 / b.count)
        return form / max(expected, 1e-300), moments.pvalue(form, a.count, b.count, shift)

    def form(self, difference: Floats) -> float:
        """Return dᵀ(C₁ + ρI)⁻¹d."""
        with one_thread():
            return self._whitening.form(difference)


def pooled_values(a: Sketch, b: Sketch) -> Floats:
    """Return the mean of all rows of both."""
    return (a.count * a.values() + b.count * b.values()) / (a.count + b.count)


def _centred(matrix: Singles) -> Singles:
    centred: Singles = matrix - matrix.mean(axis=0, dtype=np.float64).astype(np.float32)
    return centred
