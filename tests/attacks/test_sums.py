"""Crashes and wrong sums that an adversarial round found: a test for each finding, by its number in the issue."""

import copy
import dataclasses
import multiprocessing
import pickle
import subprocess
import sys

import cloudpickle
import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.externals.loky import ProcessPoolExecutor

import qckm
from qckm.errors import FileError, MergeError, OperatorError, SignatureError, SketchError
from qckm.operator.codes import InlineCodes
from qckm.operator.laws import LAWS
from qckm.operator.signatures import SIGNATURES, Signature
from qckm.sketch import files

ROWS = np.random.default_rng(0).normal(size=(500, 3))


def used_operator(**how):
    op = qckm.SketchOperator.draw(3, 40, scale=1.0, random_state=0, **how)
    op.sketch(ROWS)
    return op


def sketch_bytes(op):
    return files.dumps(op.sketch(ROWS))


# ---- 1. A used operator does not survive pickling or copying ----


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_01_a_used_operator_works_in_other_processes(how):
    op = used_operator()
    with multiprocessing.get_context(how).Pool(1) as pool:
        assert pool.apply(sketch_bytes, (op,)) == sketch_bytes(op)


def test_01_a_used_operator_works_in_loky_and_joblib():
    op = used_operator()
    with ProcessPoolExecutor(max_workers=1) as executor:
        assert executor.submit(sketch_bytes, op).result() == sketch_bytes(op)
    (found,) = joblib.Parallel(n_jobs=2)([joblib.delayed(sketch_bytes)(op)])
    assert found == sketch_bytes(op)


@pytest.mark.parametrize("module", [pickle, cloudpickle])
def test_01_a_fitted_estimator_goes_on_in_a_new_process(module, tmp_path):
    """The finding itself: dump after fit, load elsewhere, partial_fit."""
    km = qckm.CompressiveKMeans(2, random_state=0).fit(ROWS)
    (tmp_path / "km").write_bytes(module.dumps(km))
    np.save(tmp_path / "rows.npy", ROWS)
    code = """
import pickle, sys, numpy as np
km = pickle.load(open(sys.argv[1] + "/km", "rb"))
km.partial_fit(np.load(sys.argv[1] + "/rows.npy"))
km.sketch_.save(sys.argv[1] + "/both.qckm")
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert qckm.load(tmp_path / "both.qckm") == km.sketch_ + km.sketch_


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda op: pickle.loads(pickle.dumps(op))])
@pytest.mark.parametrize("frequencies", ["dense", "structured"])
def test_01_a_copy_of_a_used_operator_is_right_when_the_original_is_gone(copied, frequencies):
    """A copied cache would point into the original's arrays, which others use by then."""
    op = qckm.SketchOperator.draw(200, 300, scale=20.0, frequencies=frequencies, random_state=0)
    X = np.random.default_rng(1).normal(size=(300, 200))
    expected = files.dumps(op.sketch(X))
    twin = copied(op)
    assert vars(twin).keys() == {field.name for field in op.__dataclass_fields__.values()}
    del op
    filler = [np.full((300, 200), 7, np.int16) for _ in range(200)]
    assert files.dumps(twin.sketch(X)) == expected
    assert len(filler) == 200


def test_01_copies_are_as_read_only_as_originals():
    twin = copy.deepcopy(used_operator())
    for array in (twin.frequency_codes, twin.dither_codes, twin.units, twin.signature.table, twin.empty().total):
        assert not array.flags.writeable


@pytest.mark.parametrize("name", sorted(LAWS))
def test_01_laws_travel_by_name(name):
    law = pickle.loads(pickle.dumps(LAWS[name]))
    assert law is LAWS[name]
    assert copy.deepcopy(law) is law


# ---- 3. int64 sums wrap silently ----


def test_03_weights_that_would_wrap_a_sum_are_refused():
    op = qckm.SketchOperator.draw(1, 8, scale=1.0, signature="exponential", random_state=0)
    heavy = np.full(600, 2**40 - 1)
    with pytest.raises(SketchError, match="64 bits"):
        op.sketch(np.zeros((600, 1)), heavy)
    assert op.sketch(np.zeros((200, 1)), heavy[:200]).values().max() == pytest.approx(1.0)


def test_03_merging_is_refused_where_the_sum_would_wrap():
    op = qckm.SketchOperator.draw(1, 8, scale=1.0, signature="exponential", random_state=0)
    part = op.sketch(np.zeros((200, 1)), np.full(200, 2**40 - 1))
    with pytest.raises(MergeError, match="64 bits"):
        part + part
    with pytest.raises(MergeError, match="64 bits"):
        qckm.sketch_batches(op, []) + part + part


def test_03_the_last_row_that_fits_is_exact():
    op = qckm.SketchOperator.draw(1, 4, scale=1.0, signature="exponential", random_state=0)
    most = (2**63 - 1) // 32767
    one = op.sketch([[0.0]])
    full = qckm.Sketch(op, one.total * most, most, 0, one.bounds)
    assert full.values().tolist() == one.values().tolist()
    assert files.loads(files.dumps(full)) == full
    with pytest.raises(MergeError, match="64 bits"):
        full + one


def test_03_counts_of_numpy_do_not_wrap_either():
    op = qckm.SketchOperator.draw(1, 4, scale=1.0, random_state=0)
    one = op.sketch([[0.0]])
    with pytest.raises(SketchError, match="64 bits"):
        qckm.Sketch(op, one.total, np.uint64(2**63), 0, one.bounds)
    assert type(qckm.Sketch(op, one.total, np.int64(1), np.int64(0), one.bounds).count) is int


@pytest.mark.parametrize("signature", ["one-bit", "exponential"])
def test_03_the_least_integer_is_no_sum(signature):
    """Its magnitude is no int64: abs() of it is negative, and less than any bound (found by fuzzing)."""
    op = qckm.SketchOperator.draw(2, 5, scale=1.0, signature=signature, random_state=0)
    sketch = op.sketch(np.eye(2))
    total = sketch.total.copy()
    total[0] = -(2**63)
    with pytest.raises(SketchError, match="no rows have this sketch"):
        dataclasses.replace(sketch, total=total).require_consistent()


def test_03_real_weights_whose_sum_is_no_number_are_refused():
    op = qckm.SketchOperator.draw(1, 4, scale=1.0, random_state=0)
    with pytest.raises(SketchError, match="divide them"), np.errstate(over="ignore", invalid="ignore"):
        op.sketch(np.zeros((4, 1)), np.full(4, 1e308))


# ---- 4. One row of 1e20 makes a sketch undecodable, for good ----


@pytest.mark.filterwarnings("ignore::qckm.errors.SaturationWarning", "ignore::qckm.errors.PoorFitWarning")
@pytest.mark.parametrize("far", [1e20, -1e150, 1e300])
def test_04_a_row_far_away_leaves_a_sketch_decodable(far):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-4, 1, (1000, 2)), rng.normal(4, 1, (1000, 2))])
    op = qckm.SketchOperator.draw(2, 100, scale=2.0, random_state=0)
    outlier = op.sketch([[far, 0.0]])
    for sketch in (op.sketch(X) + outlier, op.sketch(X) + outlier - outlier):
        centers = qckm.decode(sketch, 2, random_state=0).centers
        np.testing.assert_allclose(np.sort(centers[:, 1]), [-4, 4], atol=0.5)
        assert qckm.choose_n_clusters(sketch, ks=[1, 2], random_state=0).n_clusters == 2
        assert qckm.decode(sketch, 2, decoder="clompr", random_state=0).centers.shape == (2, 2)


# ---- 5. Whatever is written can be read ----

SIZES = st.sampled_from([1e-300, 1e-150, 1e-100, 1e-20, 0.3, 1.0, 1e20, 1e100, 1e149, 1e300])
NAMES = st.none() | st.lists(st.text(max_size=8), min_size=3, max_size=3, unique=True)


@st.composite
def any_operator(draw):
    """Whatever `draw` and its siblings accept, at any size; None for what they refuse with a reason."""
    n, seed = 3, draw(st.integers(0, 2**32 - 1))
    how = {
        "signature": draw(st.sampled_from([*sorted(SIGNATURES), np.cos])),
        "dither": draw(st.sampled_from(["paired", "single"])),
        "origin": draw(st.none() | st.lists(st.floats(allow_nan=False), min_size=n, max_size=n)),
        "units": draw(st.none() | st.lists(SIZES, min_size=n, max_size=n)),
        "feature_names": draw(NAMES),
    }
    kind = draw(st.sampled_from(["draw", "seed", "frequencies"]))
    try:
        if kind == "seed":
            return qckm.SketchOperator.from_seed(n, 5, draw(SIZES), seed, **how)
        if kind == "frequencies":
            omega = np.random.default_rng(seed).normal(size=(n, 5)) * draw(SIZES)
            return qckm.SketchOperator.from_frequencies(
                omega, law=draw(st.text(max_size=5)), scale=draw(st.none() | SIZES), random_state=seed, **how
            )
        return qckm.SketchOperator.draw(
            n,
            draw(st.sampled_from([5, 130])),
            draw(SIZES),
            law=draw(st.sampled_from(sorted(LAWS))),
            frequencies=draw(st.sampled_from(["auto", "structured"])),
            octaves=draw(st.integers(1, 3)),
            extent=draw(st.none() | SIZES),
            random_state=seed,
            **how,
        )
    except OperatorError:
        return None


@st.composite
def any_sketch(draw):
    op = draw(any_operator())
    if op is None:
        return None
    values = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-100, 100)
    rows = draw(st.lists(st.lists(values, min_size=3, max_size=3), max_size=6))
    weights = draw(
        st.none()
        | st.lists(st.floats(0, 1e308, exclude_min=False), min_size=len(rows), max_size=len(rows))
        | st.lists(st.integers(0, 2**62), min_size=len(rows), max_size=len(rows))
    )
    try:
        with np.errstate(all="ignore"):
            return op.sketch(np.reshape(np.array(rows, np.float64), (len(rows), 3)), weights)
    except SketchError:
        return None


def check_readable(sketch):
    back = files.loads(files.dumps(sketch))
    assert files.dumps(back) == files.dumps(sketch)
    assert back == sketch
    assert pickle.loads(pickle.dumps(sketch)) == sketch


@given(any_sketch())
def test_05_what_is_written_can_be_read(sketch):
    if sketch is not None:
        check_readable(sketch)


@given(st.data())
def test_05_so_can_sums_and_differences(data):
    one = data.draw(any_sketch().filter(lambda sketch: sketch is not None))
    rows = np.random.default_rng(data.draw(st.integers(0, 99))).normal(size=(4, 3))
    weights = data.draw(st.none() | st.lists(st.floats(0, 1e6), min_size=4, max_size=4))
    other = one.operator.sketch(rows, weights)
    for combine in (lambda: one + other, lambda: one - other, lambda: one + other - other, lambda: one + other - one):
        try:
            found = combine()
        except MergeError:
            continue
        check_readable(found)


@pytest.mark.parametrize("scale", [1e19, 1e20, 1e149])
def test_05_large_scales_survive_a_file(scale):
    op = qckm.SketchOperator.draw(2, 8, scale=scale, random_state=0)
    assert files.loads(files.dumps(op.empty())).operator.scale == scale


def test_05_bounds_around_an_origin_beyond_all_floats_in_grains_are_unknown_in_a_file():
    op = qckm.SketchOperator.draw(1, 5, scale=1e-100, origin=[3.95e202], random_state=0)
    assert files.loads(files.dumps(op.empty())) == op.empty()
    back = files.loads(files.dumps(op.sketch([[3.95e202]])))
    assert np.isnan(back.bounds).all()
    assert files.dumps(back) == files.dumps(op.sketch([[3.95e202]]))


def test_05_large_sums_of_real_weights_survive_a_file():
    op = qckm.SketchOperator.draw(1, 8, scale=1.0, random_state=0)
    check_readable(op.sketch([[0.0], [1.0]], [1e30, 0.5]))


def test_05_a_table_that_a_file_could_not_hold_is_refused():
    ones = np.where(np.arange(4096) < 2048, 1, -1).astype(np.int16)
    for wrong in (
        lambda: Signature("steep", ones, full_scale=1),
        lambda: Signature("steep", ones, full_scale=5),
        lambda: Signature("steep", np.full(4096, -32768, np.int16)),
        lambda: Signature("steep", ones.astype(np.int32)),
        lambda: Signature("nothing", np.zeros(4096, np.int16)),
    ):
        with pytest.raises(SignatureError):
            wrong()


# ---- 6. Subtracting what was never added destroys the total ----


def test_06_rows_that_were_never_added_are_not_forgotten():
    op = qckm.SketchOperator.draw(3, 40, scale=1.0, random_state=0)
    total, never = op.sketch(ROWS[:20]), op.sketch(ROWS[20:39] + 3)
    with pytest.raises(MergeError, match="never added"):
        total - never


def test_06_parity_tells_where_sizes_do_not():
    op = qckm.SketchOperator.draw(1, 4, scale=1.0, random_state=0)
    total = op.sketch(np.zeros((1000, 1)))
    forged = qckm.Sketch(op, total.total - 1, 1000, 0, total.bounds)
    with pytest.raises(SketchError, match="contradict"):
        forged.require_consistent()
    with pytest.raises(SketchError, match="contradict"):
        files.dumps(forged)


def test_06_a_refused_subtraction_leaves_the_file(tmp_path, capfd):
    from qckm.cli import run

    op = qckm.SketchOperator.draw(3, 40, scale=1.0, random_state=0)
    op.sketch(ROWS[:20]).save(tmp_path / "all.qckm")
    op.sketch(ROWS[20:39] + 3).save(tmp_path / "never.qckm")
    before = (tmp_path / "all.qckm").read_bytes()
    paths = [str(tmp_path / name) for name in ("all.qckm", "never.qckm", "all.qckm")]
    assert run(["subtract", *paths[:2], "-o", paths[2]]) == 1
    assert "never added" in capfd.readouterr().err
    assert (tmp_path / "all.qckm").read_bytes() == before
    assert qckm.load(tmp_path / "all.qckm").count == 20


def test_06_all_of_real_weights_can_be_forgotten_in_any_order():
    op = qckm.SketchOperator.draw(1, 8, scale=1.0, random_state=0)
    parts = [op.sketch([[x]], [w]) for x, w in ((0.0, 0.1), (1.0, 0.2), (2.0, 0.3))]
    left = sum(parts)
    for part in parts:
        left = left - part
    assert left.count == 0
    assert left == op.empty()


# ---- 7. Two operators that compare equal decode alike ----


def test_07_operators_of_unlike_units_are_not_equal():
    one = qckm.SketchOperator.from_frequencies(np.ones((2, 4)), random_state=0, units=[1.0, 1.0])
    other = qckm.SketchOperator.from_frequencies(np.ones((2, 4)), random_state=0, units=[1.0, 5.0])
    assert one.fingerprint == other.fingerprint
    assert one != other
    with pytest.raises(MergeError, match="different units"):
        one.empty() + other.empty()


def test_07_operators_of_unlike_octaves_are_not_equal():
    drawn = qckm.SketchOperator.draw(2, 10, scale=1.0, octaves=3, random_state=0)
    custom = qckm.SketchOperator(drawn.codes, drawn.steps, drawn.origin, drawn.signature, drawn.dither)
    assert (drawn.octaves, custom.octaves) == (3, 1)
    assert drawn.fingerprint == custom.fingerprint
    assert drawn != custom
    with pytest.raises(MergeError, match="octaves"):
        drawn.empty() - custom.empty()


# ---- 8. What the clusters explain is what these clusters explain ----


def test_08_explained_is_said_of_the_very_centroids_that_are_returned():
    """Not of a richer density from which they were taken, whether they come from rows or from the sketch alone."""
    from qckm.decoding.model.mixture import Density, predict

    rng = np.random.default_rng(0)
    X = rng.exponential(size=(4000, 2)) + 5 * rng.integers(0, 2, size=(4000, 1))  # no Gaussians
    sketch = qckm.SketchOperator.draw(2, 50, scale=2.0, random_state=0).sketch(X)
    for rows in (None, X[:200]):
        found = qckm.decode(sketch, 2, rows=rows, random_state=0)
        clusters = Density(found.centers, found.weights, found.spreads, np.zeros((2, 0, 2)))
        left = ((sketch.values() - predict(sketch.operator, clusters)) ** 2).sum()
        assert found.explained == pytest.approx(1 - left / (sketch.values() ** 2).sum(), rel=1e-9)
        assert found.explained < 1 - found.objective / (sketch.values() ** 2).sum()  # what the cloud explains is more


# ---- 13. Operators of one seed and different data merge never, and not by luck ----


def test_13_fits_of_different_data_never_merge():
    """Shifted by a thousandth, the data round to the same scale and origin: one seed would give one operator."""
    data = [np.random.default_rng(0).normal(size=(2000, 2)) + 1e-3 * shift for shift in range(6)]
    operators = [qckm.CompressiveKMeans(2, random_state=0, compute_labels=False).fit(X).operator_ for X in data]
    assert len({op.scale for op in operators}) < len(operators)
    assert len({op.fingerprint for op in operators}) == len(operators)
    with pytest.raises(MergeError, match=r"as a file of op\.empty\(\)"):
        operators[0].empty() + operators[1].empty()


def test_13_the_same_data_and_seed_give_the_same_operator():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    one, other = (qckm.CompressiveKMeans(2, random_state=0, compute_labels=False).fit(X).operator_ for _ in range(2))
    assert one == other


# ---- 19. The reader accepts steps of 3.0, −1, inf ----


@pytest.mark.parametrize("step", [3.0, -1.0, np.inf, np.nan, 0.0])
def test_19_steps_that_are_no_powers_of_two_are_refused(step):
    op = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0)
    with pytest.raises(OperatorError), np.errstate(all="ignore"):
        qckm.SketchOperator(op.codes, op.steps * step, op.origin * 0, op.signature, "paired")


def test_19_codes_out_of_range_are_refused():
    op = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0)
    low = op.frequency_codes.copy()
    low[0, 0] = -32768
    with pytest.raises(OperatorError, match="int16"):
        InlineCodes(low, op.dither_codes)
    with pytest.raises(OperatorError, match="int32"):
        InlineCodes(op.frequency_codes, op.dither_codes.astype(np.int64))


def test_19_a_file_of_such_steps_is_refused():
    import hashlib
    import struct
    from pathlib import Path

    old = (
        Path(__file__).parents[1] / "golden" / "v1-empty.qckm"
    ).read_bytes()  # since version 3, exponents are written
    body, op = old[:-32], files.loads(old).operator
    at = body.index(struct.pack("<2d", *op.steps))
    body = body[:at] + struct.pack("<2d", 3.0, 3.0) + body[at + 16 :]
    with pytest.raises(FileError, match="powers of two"):
        files.loads(body + hashlib.sha256(body).digest())


# ---- 20. Forgetting kept extremes ----


def test_20_bounds_of_forgotten_rows_are_forgotten():
    op = qckm.SketchOperator.draw(1, 8, scale=1.0, random_state=0)
    everyone, customer = op.sketch([[0.0], [1.0]]), op.sketch([[7.5]])
    lower, upper = (everyone + customer - customer).bounds
    assert lower.tolist() == [0.0]
    assert np.isnan(upper).all()
