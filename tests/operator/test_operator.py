import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError, RowsError
from qckm.kernels import reference


def draw(**how):
    return qckm.SketchOperator.draw(**{"n_features": 3, "n_frequencies": 16, "scale": 2.0, "random_state": 0, **how})


def test_a_sketch_is_the_mean_signature_of_the_phases(rng):
    """The definition, in floats: z_j = mean f(ω_j·(x − origin) + ξ_j), up to the coding of the rows."""
    op = draw(signature="triangle", origin=[1.0, -2.0, 0.5], n_frequencies=50)
    X = rng.normal(size=(2000, 3)) * 2
    phases = (X - op.origin) @ op.frequencies + op.phases
    triangle = lambda t: 2 / np.pi * np.arcsin(np.cos(t))  # noqa: E731
    expected = np.concatenate([triangle(phases).mean(axis=0), triangle(phases + np.pi / 2).mean(axis=0)])
    np.testing.assert_allclose(op.sketch(X).values(), expected, atol=2e-4)


def test_the_exponential_pair_is_the_characteristic_function(rng):
    op = draw(signature="exponential")
    X = rng.normal(size=(500, 3))
    z = op.sketch(X).values()
    ckm = np.exp(-1j * X @ op.frequencies).mean(axis=0)
    np.testing.assert_allclose(z[:16] + 1j * z[16:], ckm, atol=2e-3)


def test_frequencies_are_what_is_measured():
    omega = np.random.default_rng(1).normal(size=(3, 40))
    op = qckm.SketchOperator.from_frequencies(omega, steps=2.0**-12)
    np.testing.assert_allclose(op.frequencies, omega, atol=2 * np.pi / 2**24 / 2.0**-12)
    again = qckm.SketchOperator.from_frequencies(op.frequencies, phases=op.phases, steps=op.steps)
    assert again == op


def test_default_steps_cut_a_scale_into_1024_to_2048():
    for scale in (1e-9, 0.3, 1.0, 7.7, 2.0**40):
        for unit in (1.0, 3.3):
            op = draw(scale=scale, units=[unit] * 3)
            ratio = scale * unit / op.steps
            assert ((ratio >= 1024) & (ratio < 2048)).all()
            assert (np.log2(op.steps) % 1 == 0).all()


@pytest.mark.parametrize("law", ["gaussian", "balanced-radius", "concentrated-radius", "seeded"])
def test_steps_are_longer_where_rows_go_further(law, rng):
    far = {"n_features": 2, "n_frequencies": 500, "scale": 1.0, "law": law, "random_state": 0}
    plain, near = (qckm.SketchOperator.draw(**far, extent=extent) for extent in (None, [10.0, 1.0]))
    assert near == plain
    op = qckm.SketchOperator.draw(**far, extent=[50.0, 1.0])
    lower, upper = op.reach
    assert upper[0] >= 50
    assert lower[0] <= -50
    assert op.steps[1] == plain.steps[1]
    X = rng.uniform(-50, 50, size=(1000, 2)) * [1, 0.02]
    assert op.sketch(X).saturated == 0 < plain.sketch(X).saturated
    changed = np.abs(op.frequencies - plain.frequencies) > 0.01
    assert changed.any(axis=0).mean() <= 0.01
    assert op.scale == plain.scale


def test_steps_are_no_longer_than_frequencies_fit():
    endless = draw(n_frequencies=1000, scale=1.0, extent=1e9)
    assert (endless.steps > draw(n_frequencies=1000, scale=1.0).steps).all()
    assert (endless.steps < 1 / 128).all()
    assert (np.abs(endless.frequency_codes) <= 32767).all()
    assert draw(extent=1e9, steps=2.0**-11) == draw(steps=2.0**-11)  # steps that are given stay


def test_structured_frequencies_and_octaves_reach_further_too():
    for how in ({"n_features": 300, "frequencies": "structured"}, {"octaves": 3, "law": "concentrated-radius"}):
        plain = draw(n_frequencies=300, scale=1.0, **how)
        further = draw(n_frequencies=300, scale=1.0, extent=100.0, **how)
        assert plain.reach[1].max() < 70
        assert (further.reach[1] >= 100).all()
        np.testing.assert_allclose(further.frequencies, plain.frequencies, atol=0.02)


def test_units_standardise(rng):
    units = np.array([0.01, 1.0, 500.0])
    plain, scaled = draw(), draw(units=units)
    np.testing.assert_allclose(scaled.frequencies * units[:, None], plain.frequencies, rtol=2e-2, atol=1e-3)
    X = rng.normal(size=(5000, 3))
    np.testing.assert_allclose(scaled.sketch(X * units).values(), plain.sketch(X).values(), atol=0.02)


def test_origin_becomes_a_whole_number_of_steps():
    op = draw(origin=[0.1, 1e6 + 0.1, -3.0])
    np.testing.assert_allclose(op.origin, [0.1, 1e6 + 0.1, -3.0], atol=op.steps.max() / 2)
    assert (op.origin / op.steps % 1 == 0).all()


def test_draw_is_repeatable_and_takes_every_kind_of_random_state():
    assert draw(random_state=7) == draw(random_state=7)
    assert draw(random_state=7) != draw(random_state=8)
    assert draw(random_state=np.random.default_rng(7)) == draw(random_state=np.random.default_rng(7))
    assert draw(random_state=np.random.RandomState(7)) == draw(random_state=np.random.RandomState(7))
    assert draw(random_state=None) != draw(random_state=None)
    with pytest.raises(ValueError, match="random_state"):
        draw(random_state="seven")


def test_the_fingerprint_depends_on_all_that_bits_depend_on():
    ops = [
        draw(),
        draw(random_state=1),
        draw(dither="single"),
        draw(signature="triangle"),
        draw(origin=[1.0, 0.0, 0.0]),
        draw(steps=2.0**-11),
    ]
    assert len({op.fingerprint for op in ops}) == len(ops)
    assert len({hash(op) for op in ops}) == len(ops)
    assert draw(law="integer-gaussian").fingerprint == draw(origin=[-0.0, 0.0, 0.0]).fingerprint


def test_an_operator_cannot_be_changed():
    op = draw()
    for array in (op.frequency_codes, op.dither_codes, op.steps, op.origin, op.signature.table):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("layout", ["F", "rows", "reversed", "columns", "memmap"])
def test_any_memory_layout(layout, rng, tmp_path):
    X = rng.normal(size=(50, 3))
    expected = draw().sketch(X)
    if layout == "F":
        X = np.asfortranarray(X)
    elif layout == "rows":
        X = np.repeat(X, 2, axis=0)[::2]
    elif layout == "reversed":
        X = X[::-1][::-1]
    elif layout == "columns":
        X = np.repeat(X, 2, axis=1)[:, ::2]
    else:
        np.save(tmp_path / "X.npy", X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert draw().sketch(X) == expected


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, bool])
def test_every_kind_of_number(dtype, rng):
    X = rng.integers(0, 2, (30, 3)).astype(dtype)
    assert draw().sketch(X) == draw().sketch(X.astype(np.float64))


def test_integer_sensor_rows_have_step_one(rng):
    """The code is the ADC's own."""
    op = draw(scale=1500.0, steps=1.0)
    X = rng.integers(-32767, 32768, (100, 3)).astype(np.int16)
    codes, clipped = reference.code_rows(X, op.steps, op.origin)
    np.testing.assert_array_equal(codes, X)
    assert not clipped.any()


def test_clipped_rows_are_counted(rng):
    X = rng.normal(size=(10, 3))
    X[3, 1], X[7, 0] = 1e9, -1e30
    sketch = draw().sketch(X)
    assert sketch.saturated == 2
    assert sketch.bounds[1][1] == 1e9
    assert draw().sketch(X, np.arange(10)).saturated == 3 + 7


def test_real_weights(rng):
    X, w = rng.normal(size=(40, 3)), rng.random(40)
    sketch = draw().sketch(X, w)
    assert not sketch.exact
    assert sketch.count == pytest.approx(w.sum())
    signs = np.array([draw().sketch(row[None]).values() for row in X])
    np.testing.assert_allclose(sketch.values(), w @ signs / w.sum(), atol=1e-12)
    assert not (sketch + draw().sketch(X)).exact


def test_rows_of_weight_zero_are_no_rows(rng):
    X = rng.normal(size=(5, 3))
    X[2] = 100.0
    sketch = draw().sketch(X, [1, 1, 0, 1, 1])
    assert sketch.bounds[1].max() < 100
    assert draw().sketch(X, np.zeros(5)) == draw().empty()


def test_no_rows_are_the_empty_sketch():
    assert draw().sketch(np.empty((0, 3))) == draw().empty()
    assert draw().pool(draw().encode(np.empty((0, 3)))) == draw().empty()


@pytest.mark.parametrize("bad, name", [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("verb", ["sketch", "encode"])
def test_bad_values_are_named_by_row_and_column(bad, name, verb, rng):
    X = rng.normal(size=(60_000, 3)).astype(np.float32)  # several chunks
    X[50_001, 2] = bad
    with pytest.raises(RowsError, match=f"{name} at row 50001, column 2"):
        getattr(draw(), verb)(X)


@pytest.mark.parametrize(
    "how, reason",
    [
        ({"scale": 0}, "a scale from"),
        ({"scale": np.nan}, "a scale from"),
        ({"scale": 1e-300}, "rescale the data"),
        ({"scale": "wide"}, "a scale from"),
        ({"n_features": 0}, "n_features"),
        ({"n_frequencies": 2.5}, "n_frequencies"),
        ({"dither": "triple"}, "dither"),
        ({"units": [1.0, 0.0, 1.0]}, "units > 0"),
        ({"units": [1.0, 2.0]}, "shape"),
        ({"origin": [np.nan, 0, 0]}, "finite origin"),
        ({"steps": 0.3}, "powers of two"),
        ({"steps": 1.0}, "use smaller steps"),
        ({"steps": 1.0, "law": "gaussian"}, "Use a smaller step"),
        ({"steps": -1.0}, "powers of two"),
        ({"extent": -1.0}, "extent >= 0"),
        ({"frequencies": "sparse"}, "'auto', 'dense' or 'structured'"),
        ({"frequencies": "sparse", "law": "seeded"}, "'auto', 'dense' or 'structured'"),
        ({"extent": [1.0, np.inf, 1.0]}, "finite extent"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_reason(how, reason):
    with pytest.raises(OperatorError, match=reason):
        draw(**how)


@pytest.mark.parametrize(
    "frequencies, how, reason",
    [
        (np.ones(3), {}, "shape"),
        (np.full((2, 2), np.nan), {}, "finite"),
        (np.ones((2, 3)), {"phases": [0.0]}, "phases"),
        (np.array([[1.0, 1.0, 1e9]] * 2), {"steps": 2.0**-10}, "Frequency 2 does not fit"),
    ],
)
def test_frequencies_of_ones_own_are_checked(frequencies, how, reason):
    with pytest.raises(OperatorError, match=reason):
        qckm.SketchOperator.from_frequencies(frequencies, **how)


def test_one_frequency_of_one_feature_is_enough_and_none_is_not():
    assert qckm.SketchOperator.from_frequencies([[2.0]]).n_measurements == 2
    with pytest.raises(OperatorError, match=r"shape \(2, 0\)"):
        qckm.SketchOperator.from_frequencies(np.empty((2, 0)))


def test_a_feature_nobody_looks_at_is_allowed(rng):
    omega = rng.normal(size=(2, 9))
    omega[1] = 0
    op = qckm.SketchOperator.from_frequencies(omega)
    one, other = op.sketch([[1.0, 5.0]]), op.sketch([[1.0, 9.0]])
    assert one.without_column_sums() == other.without_column_sums()
    assert one != other  # their columns have other sums


def test_bits_need_a_one_bit_signature():
    for verb, argument in (("encode", np.zeros((1, 3))), ("pool", np.zeros((1, 4), np.uint8))):
        with pytest.raises(OperatorError, match=f"cannot {verb} with 'triangle'.*signature='one-bit'"):
            getattr(draw(signature="triangle"), verb)(argument)


@pytest.mark.parametrize(
    "bits, reason",
    [
        (np.zeros((2, 5), np.uint8), "shape"),
        (np.zeros((2, 4), np.int64), "uint8"),
        (np.zeros(4, np.uint8), "shape"),
    ],
)
def test_bits_of_another_shape_are_refused(bits, reason):
    with pytest.raises(RowsError, match=reason):
        draw().pool(bits)


def test_bits_beyond_the_last_measurement_must_be_zero():
    op = draw(n_frequencies=5)  # 10 bits in 2 bytes
    with pytest.raises(RowsError, match="last 6 bit"):
        op.pool(np.array([[0, 0b100]], np.uint8))


def test_one_bit_of_the_second_byte_is_the_ninth_measurement():
    op = draw(n_frequencies=5)
    assert op.pool(np.array([[0, 0b01]], np.uint8)).values().tolist() == [1] * 8 + [-1, 1]


def test_units_and_names_are_notes_that_travel(tmp_path):
    op = qckm.SketchOperator.draw(2, 8, scale=1.0, units=[1.0, 100.0], feature_names=["a", "b"], random_state=0)
    bare = qckm.SketchOperator.draw(2, 8, scale=1.0, units=[1.0, 100.0], random_state=0)
    assert op == bare
    op.empty().save(tmp_path / "op.qckm")
    back = qckm.load(tmp_path / "op.qckm").operator
    assert back.feature_names == ("a", "b")
    assert back.units.tolist() == [1.0, 100.0]
    assert (bare.empty() + op.empty()).operator.feature_names == ("a", "b")


def test_columns_of_a_frame_are_found_by_name_and_others_refused():
    import pandas
    import polars
    import pyarrow

    op = qckm.SketchOperator.draw(2, 8, scale=1.0, feature_names=["a", "b"], random_state=0)
    turned, other = {"b": [2.0], "c": ["x"], "a": [1.0]}, {"a": [2.0], "c": [1.0]}
    expected, bits = op.sketch([[1.0, 2.0]]), op.encode([[1.0, 2.0]])
    for frame in (pandas.DataFrame, polars.DataFrame, pyarrow.table):
        assert op.sketch(frame(turned)) == expected
        np.testing.assert_array_equal(op.encode(frame(turned)), bits)
        for verb in (op.sketch, op.encode):
            with pytest.raises(RowsError, match=r"Expected columns a, b, .* got a, c\. Is this the right operator"):
                verb(frame(other))


@pytest.mark.parametrize("names", [["a"], ["a", "a"], [1, 2]])
def test_names_must_be_different_strings(names):
    with pytest.raises(OperatorError, match="2 different feature names"):
        qckm.SketchOperator.draw(2, 8, scale=1.0, feature_names=names)
