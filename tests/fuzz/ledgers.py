"""Ledgers of private sketches, in files whose checksum is right: what loads states no less than it says was spent."""

import json
import math
import random
from pathlib import Path

import numpy as np

import qckm
from fuzz.mutations import mutate_json
from fuzz.sketch_files import joined
from qckm.errors import MergeError, QckmError
from qckm.privacy import LocalReporter, pool_reports, release
from qckm.sketch import files, sections

OPERATOR = qckm.SketchOperator.from_ranges([-5.0], [5.0], n_clusters=2, n_frequencies=3, octaves=1, random_state=0)
ROWS = np.random.default_rng(0).normal(size=(60, 1)).clip(-5, 5)


def _examples() -> dict[str, bytes]:
    exact, alike = OPERATOR.sketch(ROWS), {"neighbours": "replace"}
    local = pool_reports(OPERATOR, [LocalReporter(OPERATOR, 1.0, device=i).report(row) for i, row in enumerate(ROWS)])
    gaussian = release(exact, epsilon=1.0, delta=1e-6, **alike)
    laplace = release(exact, epsilon=0.5, mechanism="laplace", **alike)
    made = {
        "gaussian": gaussian,
        "laplace": laplace,
        "local": local,
        "both": gaussian + local,
        "after": release(exact, rho=0.1, after=[local, laplace], **alike),
        "many": sum(release(exact, epsilon=1.0 + i, delta=1e-6, **alike) for i in range(5)) + laplace,
    }
    return {name: files.dumps(sketch) for name, sketch in made.items()}


EXAMPLES = _examples()


def make(rng: random.Random) -> bytes:
    """Return a file whose ledger says something else than it did."""
    parts = {tag: bytes(content) for tag, content in sections.split(rng.choice(list(EXAMPLES.values()))).items()}
    facts = json.loads(parts[sections.LEDGER])
    for _ in range(rng.choice((1, 1, 2, 3))):
        facts = mutate_json(facts, rng)
    if isinstance(facts, dict) and rng.random() < 0.5:
        _agree(facts)
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    if rng.random() < 0.05:
        text = text.replace('"', '"rho":0.1,"', 1)
    parts[sections.LEDGER] = text.encode("ascii")
    return joined(sorted(parts.items()), rng)


def _agree(facts: dict) -> None:
    """Make ρ and ε what the parts say, where they say something, so that what lies behind that check is reached."""
    try:
        facts["rho"] = max(pure_rho + gaussian for _, pure_rho, gaussian in facts["spent"])
        facts["epsilon"] = None if any(part[2] for part in facts["spent"]) else max(part[0] for part in facts["spent"])
    except (KeyError, TypeError, ValueError):
        pass


def check(data: bytes, folder: Path) -> None:
    """Load; the ledger is written as it was read, states an ε that its parts imply, and is not added to itself."""
    sketch = files.loads(data)
    ledger = sketch.ledger
    if ledger is None:
        return
    assert sections.split(files.dumps(sketch)) == sections.split(data)
    assert ledger.in_words()
    for delta in (1e-9, 1e-3):
        told = ledger.epsilon_at(delta)
        assert told >= 0
        for pure, pure_rho, gaussian in ledger.spent:
            by_rho = _epsilon(pure_rho + gaussian, delta)
            apart = pure + (_epsilon(gaussian, delta) if gaussian else 0.0)
            assert told >= min(by_rho, apart) * (1 - 1e-6) - 1e-9
    try:
        sketch + sketch
    except MergeError:
        pass
    else:
        raise AssertionError("a release was added to itself")
    try:
        added = sketch + files.loads(EXAMPLES["gaussian"])
    except QckmError:
        return
    assert added.ledger.epsilon_at(1e-6) >= ledger.epsilon_at(1e-6) * (1 - 1e-12)
    assert added.ledger.sum_variance >= ledger.sum_variance


def _epsilon(rho: float, delta: float) -> float:
    """Return the ε that ρ implies at δ, by another search for the order than the ledger's."""
    low, high = -380.0, 380.0  # of log(α − 1)

    def bound(at: float) -> float:
        above = math.exp(at)
        one = math.log1p(above)
        return (1 + above) * rho + (-math.log(delta) - one) / above + at - one

    for _ in range(200):
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if bound(one) < bound(two) else (one, high)
    return max(0.0, bound((low + high) / 2))
