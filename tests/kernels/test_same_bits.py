"""Every kernel gives the integers of the reference: any shape, type, layout, number of threads and instruction set."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import qckm
from qckm.common.arrays import integers_of
from qckm.errors import OperatorError
from qckm.kernels import reference
from qckm.kernels.portable import GroupSums
from qckm.kernels.sketcher import gather

SIGNATURES = ["one-bit", "exponential", "triangle", "2-bit"]
NUMBERS = [np.float32, np.float64, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, ">i4", ">f4"]


def contributions(op, X):
    """What each row adds, (rows, M), and whether it was clipped, by the reference kernel."""
    codes, clipped = reference.code_rows(X, op.steps, op.origin)
    phases = reference.phases_of(codes, op.frequency_codes, op.dither_codes)
    return reference.measure(phases, op.signature.table, op.paired), clipped


def check(op, X, n_jobs=1):
    expected, clipped = contributions(op, X)
    sketch = op.sketch(X, n_jobs=n_jobs)
    np.testing.assert_array_equal(sketch.total, expected.sum(axis=0, dtype=np.int64))
    assert (sketch.count, sketch.saturated) == (len(X), clipped.sum())
    if len(X):
        np.testing.assert_array_equal(sketch.bounds, [X.min(axis=0), X.max(axis=0)])
        check_columns(sketch, reference.code_rows(X, op.steps, op.origin)[0].astype(np.int64))
        check_groups(op, np.asarray(X, X.dtype.newbyteorder("=")), n_jobs)
    if op.signature.is_one_bit:
        bits = op.encode(X, n_jobs=n_jobs)
        np.testing.assert_array_equal(bits, reference.pack_bits(expected))
        assert op.pool(bits, n_jobs=n_jobs) == sketch


def check_groups(op, X, n_jobs):
    """Rows of three groups, sorted by them, give the sketches of the groups."""
    numbers = np.arange(len(X)) * 7 % 3
    gathered, present, stops = gather(X, numbers, 4)
    found = GroupSums(op.measurement, 4)
    assert op.sketcher.on_cpu.sum_groups(gathered, stops, present, found, n_jobs) is None
    for group in range(3):
        alone = op.sketch(X[numbers == group])
        np.testing.assert_array_equal(found.total[group], alone.total)
        assert (found.count[group], found.saturated[group]) == (alone.count, alone.saturated)
        if alone.count:
            np.testing.assert_array_equal([found.lower[group], found.upper[group]], alone.bounds)
            np.testing.assert_array_equal(found.codes[group], alone.column_sums.codes)
            np.testing.assert_array_equal(found.squares[group], alone.column_sums.squares)
            if found.products is not None:
                np.testing.assert_array_equal(found.products[group], alone.column_sums.products)
    assert not found.count[3]


def check_columns(sketch, codes):
    gram, found = codes.T @ codes, sketch.column_sums
    assert integers_of(found.codes) == codes.sum(axis=0).tolist()
    assert integers_of(found.squares) == np.diag(gram).tolist()
    if codes.shape[1] <= 64:
        assert integers_of(found.products) == gram[np.triu_indices(len(gram), 1)].tolist()
    else:
        assert found.products is None


def layouts(X, name):
    """The same rows, otherwise in memory."""
    if name == "C":
        return X
    if name == "Fortran":
        return np.asfortranarray(X)
    if name == "slice":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if name == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if name == "unaligned":
        raw = np.zeros(X.nbytes + 1, np.uint8)
        raw[1:] = np.frombuffer(X.tobytes(), np.uint8)
        return raw[1:].view(X.dtype).reshape(X.shape)
    X = X.copy()
    X.setflags(write=False)
    return X


@settings(max_examples=150)
@given(st.data())
def test_any_shape_type_layout(data):
    n, m = data.draw(st.integers(1, 70)), data.draw(st.integers(1, 150))
    n_rows, seed = data.draw(st.integers(0, 700)), data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    op = qckm.SketchOperator.draw(
        n_features=n,
        n_frequencies=m,
        scale=data.draw(st.sampled_from([1.0, 20.0])),
        signature=data.draw(st.sampled_from(SIGNATURES)),
        dither=data.draw(st.sampled_from(["paired", "single"])),
        origin=rng.normal(size=n) * data.draw(st.sampled_from([0.0, 1.0, 1e7])),
        random_state=seed,
        frequencies="dense" if n < 30 else data.draw(st.sampled_from(["dense", "structured"])),
    )
    X = rng.standard_normal((n_rows, n)) * data.draw(st.sampled_from([1.0, 30.0, 1000.0]))
    number = np.dtype(data.draw(st.sampled_from(NUMBERS)))
    X = (np.abs(X) % 127 if number.kind in "iu" else X + op.origin).astype(number)
    check(op, layouts(X, data.draw(st.sampled_from(["C", "Fortran", "slice", "backwards", "unaligned", "read-only"]))))


@settings(max_examples=60)
@given(st.data())
def test_octaves_of_any_shape(data):
    """Their projection is shared, and shifted: whatever wraps must wrap as that of each octave alone would."""
    n, m, octaves = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 150)), data.draw(st.integers(2, 6))
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    signature, dither = data.draw(st.sampled_from(SIGNATURES)), data.draw(st.sampled_from(["paired", "single"]))
    try:
        op = qckm.SketchOperator.draw(n, m, 0.3, signature=signature, dither=dither, random_state=seed, octaves=octaves)
    except OperatorError:  # a feature of which all frequencies are so low that they would be rounded away
        reject()
    X = rng.standard_normal((data.draw(st.integers(0, 1100)), n)) * data.draw(st.sampled_from([1.0, 1000.0]))
    check(op, X, n_jobs=data.draw(st.sampled_from([1, 2])))


@pytest.mark.parametrize("frequencies", ["dense", "structured"])
@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_many_chunks_and_threads(frequencies, signature, n_jobs, rng):
    op = qckm.SketchOperator.draw(200, 70, 10.0, signature=signature, random_state=0, frequencies=frequencies)
    check(op, rng.standard_normal((2500, 200)).astype(np.float32), n_jobs)


def test_codes_at_their_limits_do_not_overflow():
    """All codes ±32767 and the largest frequencies: the phase wraps, and wraps the same way."""
    op = qckm.SketchOperator.from_frequencies(np.full((64, 40), 32767 * 2 * np.pi / 2**24), steps=1.0, random_state=0)
    check(op, np.where(np.arange(200)[:, np.newaxis] % 3 == np.arange(64) % 2, 40000.0, -40000.0))


def test_the_largest_steps_and_the_smallest():
    for step in (2.0**-480, 2.0**480):
        op = qckm.SketchOperator.from_frequencies(np.ones((1, 9)) * 1e-3 / step, steps=step, random_state=0)
        check(op, np.array([[0.0], [step * 3], [-step * 1e4], [5e-324], [1e308]]))


@pytest.mark.parametrize("number", [np.int64, np.uint64])
def test_integers_beyond_float64_round_as_numpy_does(number, rng):
    info = np.iinfo(number)
    X = rng.integers(info.min, info.max, (500, 9), number, endpoint=True)
    X >>= rng.integers(0, 63, X.shape).astype(number)
    X[0], X[1] = info.min, info.max
    check(qckm.SketchOperator.draw(9, 30, 2.0**48, random_state=0), X)


@given(st.integers(0, 2**32 - 1), st.sampled_from(SIGNATURES), st.sampled_from([3, 1000, 2**39]))
@settings(max_examples=25)
def test_whole_weights_are_exact(seed, signature, largest):
    rng = np.random.default_rng(seed)
    op = qckm.SketchOperator.draw(5, 33, 2.0, signature=signature, random_state=seed)
    X, weights = rng.standard_normal((57, 5)) * 30, rng.integers(0, largest, 57)
    expected, clipped = contributions(op, X)
    sketch = op.sketch(X, weights)
    assert sketch.total.tolist() == [
        sum(int(w) * int(c) for w, c in zip(weights, column, strict=True)) for column in expected.T
    ]
    assert (sketch.count, sketch.saturated) == (weights.sum(), weights[clipped].sum())


def test_bits_of_any_width_and_layout_are_pooled(rng):
    for m in (1, 7, 8, 63, 64, 65, 511, 513, 1000):
        op = qckm.SketchOperator.draw(2, m, 1.0, dither="single", random_state=0)
        bits = op.encode(rng.standard_normal((600, 2)))
        ones = np.unpackbits(bits, axis=1, count=m, bitorder="little").sum(axis=0, dtype=np.int64)
        for packed in (bits, np.asfortranarray(bits), np.repeat(bits, 2, axis=0)[::2]):
            np.testing.assert_array_equal(op.pool(packed).total, len(bits) - 2 * ones)


@pytest.mark.parametrize("name", ["avx512vnni", "avx512", "avx2", "ssse3", "neon", "plain", "numpy"])
def test_every_instruction_set(name):
    """The same bits with each that this CPU has, in a process of its own; NumPy is what there is without the core."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np, qckm
from qckm.kernels import library
try:
    assert library.instructions() == {name!r}
except qckm.errors.QckmError:
    print("not here")
    sys.exit()
from test_same_bits import check
for seed, (signature, dither, frequencies, n, octaves) in enumerate([
    ("one-bit", "paired", "dense", 13, 1),
    ("one-bit", "single", "dense", 3, 1),
    ("exponential", "paired", "dense", 14, 1),
    ("exponential", "single", "dense", 2, 1),
    ("triangle", "single", "dense", 15, 1),
    ("triangle", "paired", "dense", 40, 1),
    ("one-bit", "single", "structured", 150, 1),
    ("exponential", "single", "structured", 128, 1),
    ("2-bit", "paired", "structured", 300, 1),
    ("one-bit", "paired", "dense", 5, 3),
    ("exponential", "single", "dense", 6, 4),
    ("one-bit", "single", "dense", 1, 1),
    ("one-bit", "single", "dense", 16, 1),
    ("one-bit", "single", "dense", 64, 1),
    ("one-bit", "single", "dense", 65, 1),
]):
    op = qckm.SketchOperator.draw(n, 71, 2.0, signature=signature, dither=dither, random_state=seed,
                                  frequencies=frequencies, octaves=octaves)
    for rows, number, spread in ((1300, np.float32, 40), (511, np.float64, 2), (5, np.int16, 40), (64, np.float64, 8)):
        check(op, (spread * np.random.default_rng(seed).standard_normal((rows, n))).astype(number))
print("same")
"""
    environment = {**os.environ, "QCKM_INSTRUCTIONS": name}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.stdout.strip() == "not here":
        pytest.skip(f"this CPU has no {name}")
    assert done.stdout.strip() == "same", done.stderr
