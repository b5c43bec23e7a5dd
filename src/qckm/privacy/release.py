"""From a sketch to one that may be published: noise in every sum and in the count, and nothing else of the rows."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.errors import OperatorError, PrivacyError
from qckm.operator.request import as_ranges
from qckm.privacy import mechanisms
from qckm.privacy.mechanisms import of_one_row
from qckm.sketch import Sketch, SketchOperator
from qckm.sketch.ledger import NEIGHBOURS, Ledger, Spent, both, rho_of

# δ in the ledger where the user has named none (ρ or pure ε): at what δ ε is told.
_TOLD_AT = 1e-6


# Beyond these, a budget promises nothing or leaves nothing, and its accounting is beyond float64.
_LEAST_EPSILON, _MOST_EPSILON = 1e-6, 1e6


def release(
    sketch: Sketch,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    mechanism: Literal["gaussian", "laplace"] = "gaussian",
    neighbours: Literal["add-remove", "replace"] = "add-remove",
    rows_per_person: int = 1,
    max_weight: int | None = None,
    operator_is_public: bool = False,
    ranges: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    after: Sketch | Ledger | Iterable[Sketch | Ledger] = (),
) -> Sketch:
    """Return a private sketch: whoever sees it, with whatever else they know, hardly learns whether a row was there.

    Noise is added to each sum and to the count; what else a sketch knows of its rows (bounds, rows clipped or skipped)
    is left out. The private sketch can be saved, merged with other private ones and decoded like any other; decoding
    knows how large the noise is. Whatever is done with it spends nothing more.

    Parameters
    ----------
    sketch : Sketch
        Of whole rows. Release it once, and keep it secret.
    epsilon, delta : float
        (ε, δ)-differential privacy. The Laplace mechanism takes ε alone.
    rho : float
        ρ-zCDP, instead of ε and δ, for the Gaussian mechanism.
    mechanism : {"gaussian", "laplace"}
        Discrete Gaussian noise, or discrete Laplace noise: a pure ε, and much more noise.
    neighbours : {"add-remove", "replace"}
        What is protected: whether a row is there, or which one is, their number being public.
    rows_per_person : int, default 1
        How many rows one person has at most: all of them are protected together.
    max_weight : int, optional
        The greatest weight of a row, where whole-number weights say how often rows count.
    operator_is_public : bool, default False
        Say True where the operator was not made from the rows that it has sketched: of one from `from_ranges` it is
        known, of another not.
    ranges : pair of array-like of shape (n,), optional
        Public ranges of the columns, for decoding; by default the operator's own, or how far it reaches.
    after : Sketch, Ledger or an iterable of them, optional
        Earlier releases that any of the same rows are in, overlapping windows too: what they have spent is added.

    Returns
    -------
    Sketch
        With a `ledger`: the noise, and what was spent.

    Examples
    --------
    >>> import numpy as np, qckm
    >>> X = np.random.default_rng(0).normal(size=(20_000, 2)).clip(-5, 5)
    >>> op = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=3, random_state=0, private=True)
    >>> public = qckm.privacy.release(op.sketch(X), epsilon=1.0, delta=1e-6)
    >>> public.private, round(public.ledger.epsilon_at(1e-6), 3)
    (True, 1.0)
    """
    if not isinstance(sketch, Sketch):
        raise PrivacyError(f"Expected a Sketch, got {type(sketch).__name__}: make one with op.sketch(X).")
    _require_protectable(sketch, operator_is_public, max_weight)
    rows = _as_rows("rows_per_person", rows_per_person) * (
        1 if max_weight is None else _as_rows("max_weight", max_weight)
    )
    if neighbours not in NEIGHBOURS:
        raise PrivacyError(f"Expected neighbours 'add-remove' or 'replace', got {neighbours!r}.")
    changed = rows * (2 if neighbours == "replace" else 1)
    epsilon, delta, rho = _as_budget("epsilon", epsilon), _as_budget("delta", delta), _as_budget("rho", rho)
    how = _choose(mechanism, sketch.operator, changed, neighbours == "add-remove", epsilon, delta, rho)
    earlier = _spent_before(after, neighbours, rows)
    bounds = _public_bounds(sketch.operator, ranges)

    noisy = how.add([*sketch.total.tolist(), how.count_weight * int(sketch.count)])
    count = max(1, round(noisy[-1] / how.count_weight))
    spent: tuple[Spent, ...] = (Spent(0.0, 0.0, how.rho) if how.epsilon is None else Spent(how.epsilon, how.rho, 0.0),)
    for before in earlier:
        spent = both(spent, before.spent)
    ledger = Ledger(
        sum_variance=how.variance,
        count_variance=how.variance / how.count_weight**2,
        spent=spent,
        delta=_TOLD_AT if delta is None else delta,
        mechanism=mechanism,
        neighbours=neighbours,
        rows_per_person=rows,
        releases=(secrets.token_hex(8),),
        before=tuple(sorted({name for ledger in earlier for name in (*ledger.releases, *ledger.before)})),
    )
    return Sketch(sketch.operator, np.array(noisy[:-1], np.int64), count, 0, bounds, ledger=ledger)


def _require_protectable(sketch: Sketch, operator_is_public: bool, max_weight: int | None) -> None:
    """Refuse what cannot be protected. Nothing here depends on a row: a refusal tells nothing of any."""
    if sketch.private:
        raise PrivacyError("The sketch is private already: release the exact one, with a budget of its own.")
    if not sketch.exact:
        raise PrivacyError(
            "Real-valued weights cannot be protected: a row's part in the sum has no bound. Sketch rows without "
            "sample_weight, or with whole-number weights."
        )
    if sketch.weighted and max_weight is None:
        raise PrivacyError(
            "Whole-number weights need a bound to be protected: give max_weight, which no weight exceeds, whatever the "
            "rows are."
        )
    if sketch.operator.ranges is None and not operator_is_public:
        raise PrivacyError(
            "The operator may have been drawn from the rows themselves, which its scale and origin would then tell of. "
            "Make it from public ranges (SketchOperator.from_ranges), or say operator_is_public=True if it was made "
            "without these rows.",
            about="public operator",
        )


def _choose(
    mechanism: str,
    operator: SketchOperator,
    rows: int,
    counted: bool,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
) -> mechanisms.Mechanism:
    if epsilon is not None and not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
        raise PrivacyError(f"Expected epsilon from {_LEAST_EPSILON:g} to {_MOST_EPSILON:g}, got {epsilon:g}.")
    one = of_one_row(operator)
    if mechanism == "gaussian":
        if (rho is None) == (epsilon is None) or (epsilon is None) != (delta is None) or (delta or 0) >= 1:
            raise PrivacyError("The Gaussian mechanism takes epsilon and a delta < 1, or rho: one of the two.")
        budget = rho if epsilon is None or delta is None else rho_of(epsilon, delta)
        return mechanisms.gaussian(one, rows, counted, float(budget or 0))
    if mechanism == "laplace":
        if epsilon is None or delta is not None or rho is not None:
            raise PrivacyError("The Laplace mechanism takes epsilon alone: its δ is 0.")
        return mechanisms.laplace(one, rows, counted, float(epsilon))
    raise PrivacyError(f"Expected mechanism 'gaussian' or 'laplace', got {mechanism!r}.")


def _spent_before(after: Sketch | Ledger | Iterable[Sketch | Ledger], neighbours: str, rows: int) -> list[Ledger]:
    """Return the ledgers of earlier releases, if they make the same promise: what is spent adds up then."""
    if not isinstance(after, (Sketch, Ledger, Iterable)):
        raise PrivacyError(f"Expected private sketches as earlier releases, got {type(after).__name__}.")
    ledgers: list[Ledger] = []
    for each in (after,) if isinstance(after, (Sketch, Ledger)) else after:
        ledger = each.ledger if isinstance(each, Sketch) else each
        if not isinstance(ledger, Ledger):
            raise PrivacyError("Expected private sketches as earlier releases, got one that is not.")
        ledgers.append(ledger)
    found: list[Ledger] = []
    seen: set[str] = set()
    # Those that count others in come first.
    for ledger in sorted(ledgers, key=lambda ledger: -len(ledger.releases) - len(ledger.before)):
        if (ledger.neighbours, ledger.rows_per_person) != (neighbours, rows):
            raise PrivacyError(
                f"An earlier release protects {ledger.promise}: what is spent adds up only where promises are the same."
            )
        names = {*ledger.releases, *ledger.before}
        if names <= seen:
            continue  # counted in another one already
        if names & seen:
            raise PrivacyError(
                "Earlier releases share some releases and differ in others: name those that were released, not sums or "
                "ledgers of them, so that nothing is counted twice."
            )
        seen |= names
        found.append(ledger)
    return found


def _public_bounds(operator: SketchOperator, ranges: Any) -> tuple[Floats, Floats]:
    if ranges is not None:
        try:
            lower, upper = (np.asarray(bound, np.float64) for bound in ranges)
            if not lower.shape == upper.shape == (operator.n_features,):
                raise PrivacyError(
                    f"Expected ranges as a pair (lower, upper) of {operator.n_features} numbers each, one per column, "
                    f"got shapes {lower.shape} and {upper.shape}."
                )
            return as_ranges(lower, upper, operator.n_features)
        except PrivacyError:
            raise
        except (OperatorError, TypeError, ValueError) as error:
            raise PrivacyError(
                f"Expected ranges as a pair (lower, upper), one number per column each: {error}"
            ) from error
    lower, upper = operator.reach if operator.ranges is None else operator.ranges
    return lower.copy(), upper.copy()


def _as_budget(name: str, value: object) -> float | None:
    """Return a finite number > 0, of Python or NumPy, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise PrivacyError(f"Expected {name} to be a number, got {value!r}.")
    number = value.item() if isinstance(value, np.generic) else value  # whose arithmetic is not that of float16
    if not 0 < number <= sys.float_info.max:
        raise PrivacyError(f"Expected {name} to be a finite number > 0, got {value!r}.")
    return float(number)


def _as_rows(name: str, value: object) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise PrivacyError(f"Expected {name} to be a whole number >= 1, got {value!r}.")
    return int(value)
