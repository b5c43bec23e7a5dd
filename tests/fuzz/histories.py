"""Histories of sketches: rows are sketched, named, weighted, added, subtracted, saved, released, and the truth is kept.

A history is a list of steps, as JSON. Beside every sketch stands what it should be: which rows are in it how often, the
names of its parts, and of a private one which releases it has and what they spent on which rows. A step that the truth
forbids must be refused; one that it allows must give the sketch of those rows.
"""

import json
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import qckm
from qckm.errors import QckmError, SketchError
from qckm.privacy import release
from qckm.sketch import Sketch, files

OPERATOR = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=4, octaves=1, random_state=0)
# Rows that are far from each other, so that sums tell them apart; the last is clipped.
BATCHES = [np.random.default_rng(i).uniform(-5, 5, size=(1 + i % 3, 2)) for i in range(6)] + [np.array([[1e9, 0.0]])]
NAMES = (None, None, "berlin/1", "berlin/2", "paris/1")
BUDGETS = (0.05, 0.1, 0.4)  # ρ
VERBS = ("sketch", "sketch", "weigh", "add", "add", "add", "subtract", "subtract", "save", "release", "empty", "unname")
EXAMPLES = {
    "a window": json.dumps(
        [["sketch", 0, 2], ["sketch", 1, 3], ["add", 0, 1], ["subtract", 2, 0], ["save", 3], ["release", 3, [], 0.1]]
    ).encode(),
    "shops": json.dumps(
        [
            ["sketch", 0, 0],
            ["sketch", 1, 0],
            ["release", 0, [], 0.1],
            ["release", 1, [], 0.4],
            ["add", 2, 3],
            ["add", 4, 2],
        ]
    ).encode(),
}


def make(rng: random.Random) -> bytes:
    """Return some steps; their numbers are those of earlier results, or of none."""
    steps = []
    for number in range(rng.randint(2, 14)):
        verb = rng.choice(VERBS) if number > 1 else "sketch"
        steps.append([verb, *(rng.randrange(max(1, number)) for _ in range(2))])
        if verb in ("sketch", "weigh"):
            steps[-1][1:] = [rng.randrange(len(BATCHES)), rng.randrange(len(NAMES))]
        elif verb == "release":
            steps[-1][2:] = [[rng.randrange(number) for _ in range(rng.choice((0, 0, 1, 2)))], rng.choice(BUDGETS)]
    return json.dumps(steps).encode()


@dataclass(frozen=True)
class Truth:
    """What a sketch is of: how often each row, by batch; names; whether a row was weighed; releases, by batch."""

    rows: Counter = field(default_factory=Counter)
    weights: int = 1  # the greatest
    names: frozenset = frozenset()
    releases: dict = field(default_factory=dict)  # name: (ρ, batches)
    before: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Known:
    """A sketch and its truth."""

    sketch: Sketch
    truth: Truth


def check(data: bytes, folder: Path) -> None:
    """Follow a history; every result is what it should be, or was refused and may be."""
    known: list[Known] = []
    refused = 0
    for verb, *arguments in json.loads(data):
        before = [(one.sketch, files.dumps(one.sketch)) for one in known]
        try:
            found = globals()[f"_{verb}"](known, *arguments)
        except QckmError:
            refused += 1
            found = known[0] if known else Known(OPERATOR.empty(), Truth())
        assert all(files.dumps(sketch) == bytes_ for sketch, bytes_ in before), "a step changed what it was given"
        _require_true(found)
        known.append(found)
    if refused == len(known):
        raise SketchError("nothing of it was possible")


def _require_true(known: Known) -> None:
    sketch, truth = known.sketch, known.truth
    assert files.loads(files.dumps(sketch)) == sketch
    assert {name for name in NAMES if name and name in sketch.parts} == set(truth.names)
    if not truth.releases:
        expected = _sketch_of(truth.rows)
        assert (sketch.count, sketch.saturated) == (expected.count, expected.saturated)
        assert sketch.total.tolist() == expected.total.tolist()
        assert not sketch.private
        if truth.weights > 1:
            assert sketch.weighted, "a weight was forgotten"
        return
    ledger = sketch.ledger
    assert set(ledger.releases) == set(truth.releases)
    assert set(ledger.before) >= set(truth.before) - set(truth.releases)
    # As long as no row is in two releases of a sum that were not named to each other, each spends what is stated.
    batches = [batch for _, some in truth.releases.values() for batch in some]
    if len(set(batches)) == len(batches):
        for batch in set(batches):
            spent = sum(rho for rho, some in (truth.releases | truth.before).values() if batch in some)
            assert ledger.rho >= spent * (1 - 1e-9), (ledger.rho, spent)


def _sketch_of(rows: Counter) -> Sketch:
    there = [(batch, times) for batch, times in sorted(rows.items()) if times]
    if not there:
        return OPERATOR.empty()
    return OPERATOR.sketch(
        np.concatenate([BATCHES[batch] for batch, _ in there]),
        np.concatenate([np.full(len(BATCHES[batch]), times) for batch, times in there]),
    )


def _sketch(known: list[Known], batch: int, name: int) -> Known:
    part = NAMES[name]
    truth = Truth(Counter({batch: 1}), names=frozenset({part} if part else ()))
    return Known(OPERATOR.sketch(BATCHES[batch], part=part), truth)


def _weigh(known: list[Known], batch: int, name: int) -> Known:
    part = NAMES[name]
    weights = np.full(len(BATCHES[batch]), 3)
    truth = Truth(Counter({batch: 3}), 3, frozenset({part} if part else ()))
    return Known(OPERATOR.sketch(BATCHES[batch], weights, part=part), truth)


def _empty(known: list[Known], *_: int) -> Known:
    return Known(OPERATOR.empty(), Truth())


def _add(known: list[Known], one: int, two: int) -> Known:
    first, second = known[one], known[two]
    a, b = first.truth, second.truth
    forbidden = (
        bool(a.names & b.names)
        or (bool(a.releases) != bool(b.releases))
        or bool(set(a.releases) & {*b.releases, *b.before})
        or bool(set(b.releases) & {*a.releases, *a.before})
    )
    total = first.sketch + second.sketch
    assert not forbidden, "it should have been refused"
    rows, weights, names = a.rows + b.rows, max(a.weights, b.weights), a.names | b.names
    return Known(total, Truth(rows, weights, names, a.releases | b.releases, a.before | b.before))


def _subtract(known: list[Known], one: int, two: int) -> Known:
    first, second = known[one], known[two]
    a, b = first.truth, second.truth
    forbidden = bool(a.releases or b.releases) or bool(a.names and b.names - a.names)
    possible = not forbidden and all(times <= a.rows[batch] for batch, times in b.rows.items())
    try:
        left = first.sketch - second.sketch
    except QckmError:
        assert not possible, "rows that are there cannot be forgotten"
        raise
    assert not forbidden, "it should have been refused"
    if not possible:  # sums that happen to be possible are not noticed: nothing is known of what is left
        raise SketchError("rows were taken out that were never added")
    rows = Counter({batch: a.rows[batch] - b.rows[batch] for batch in a.rows})
    # A row that was weighed and one that was added three times are the same sum: which is left is not known.
    weights = 1 if a.weights == 1 or _nothing(rows) or b.weights > 1 else a.weights
    return Known(left, replace(a, rows=rows, weights=weights, names=a.names - b.names))


def _nothing(rows: Counter) -> bool:
    return not any(rows.values())


def _save(known: list[Known], one: int, *_: int) -> Known:
    return replace(known[one], sketch=files.loads(files.dumps(known[one].sketch)))


def _unname(known: list[Known], one: int, *_: int) -> Known:
    truth = replace(known[one].truth, names=frozenset())
    return Known(known[one].sketch.without_parts(), truth)


def _release(known: list[Known], one: int, after: list[int], rho: float) -> Known:
    """Release; name the earlier releases that are private."""
    exact, earlier = known[one], [known[number] for number in after if known[number].sketch.private]
    public = release(exact.sketch, rho=rho, after=[each.sketch for each in earlier])
    assert not exact.truth.releases, "a private sketch was released again"
    assert exact.truth.weights == 1, "a row's weight was lost"
    (name,) = public.ledger.releases
    batches = frozenset(batch for batch, times in exact.truth.rows.items() if times)
    before = {}
    for each in earlier:
        before |= each.truth.releases | each.truth.before
    # A row that is there several times is several rows: neighbours differ in one of them.
    return Known(public, Truth(names=frozenset(), releases={name: (rho, batches)}, before=before))
