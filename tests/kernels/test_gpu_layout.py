"""What is laid out for a GPU, checked without one: tensor cores are a few lines of NumPy."""

import numpy as np
import pytest

import qckm
from qckm.errors import MissingExtraError, OperatorError
from qckm.kernels import reference
from qckm.kernels.cuda.layout import lay_out, pair_table, steps_for
from qckm.kernels.cuda.shapes import Job, choose_shape
from qckm.kernels.portable import Measurement
from qckm.kernels.sketcher import computing_on, current_gpu, parse_device
from qckm.sources.rows import engine_of


def bytes_of_frequencies(layout, n_tiles):
    """Return high and low bytes (frequencies, slots) from where the lanes of a warp find them."""
    n_steps, loads = layout.frequencies.shape[1:3]
    words = layout.frequencies.view(np.int8).reshape(n_tiles, n_steps, loads, 8, 4, 4, 4)  # g, t, word, byte
    if loads == 1:
        halves = [words[:, :, 0, :, :, first : first + 2] for first in (0, 2)]
        return [part.transpose(0, 4, 2, 1, 3, 5).reshape(16 * n_tiles, -1).astype(int) for part in halves]
    split = [words[:, :, load].reshape(n_tiles, n_steps, 8, 4, 2, 2, 4) for load in (0, 1)]
    return [part.transpose(0, 5, 2, 1, 4, 3, 6).reshape(16 * n_tiles, -1).astype(int) for part in split]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (10, 37), (14, 9), (15, 9), (16, 16), (17, 300), (33, 5), (64, 40)])
@pytest.mark.parametrize("largest", [3000, 32767])
def test_products_of_bytes_give_the_phases(n, m, largest):
    rng = np.random.default_rng([n, m])
    frequencies = rng.integers(-largest, largest + 1, (n, m)).astype(np.int16)
    frequencies[0, 0] = largest
    dithers = rng.integers(0, reference.TURN, m)
    codes = rng.integers(-32767, 32768, (50, n))
    n_tiles = -(-m // 16)
    layout = lay_out(frequencies, dithers, n_tiles)
    slots = np.concatenate([codes, codes[:, layout.again]], axis=1)
    n_steps, width = steps_for(slots.shape[1])
    padded = np.zeros((50, n_steps * width), int)
    padded[:, : slots.shape[1]] = slots
    start = layout.dithers.transpose(0, 2, 1).reshape(-1)
    if slots.shape[1] + 2 <= n_steps * width:  # the dither has slots of its own
        padded[:, slots.shape[1] : slots.shape[1] + 2] = 256 + 128, 1 + 128
        start = 0
    high, low = bytes_of_frequencies(layout, n_tiles)
    high_codes, low_codes = padded >> 8, (padded & 255) - 128
    assert max(np.abs(high_codes).max(), np.abs(low_codes).max()) <= 128
    phases = start + (high_codes @ high.T << 16) + low_codes @ low.T
    phases = phases + ((high_codes @ low.T + low_codes @ high.T) << 8)
    assert np.array_equal(phases[:, :m] % reference.TURN, (codes @ frequencies.astype(int) + dithers) % reference.TURN)


def test_the_table_has_a_signature_and_its_pair():
    table = reference.COSINE_TABLE
    measurement = Measurement(
        np.zeros((1, 1), np.int16), np.zeros(1, np.int32), np.ones(1), np.zeros(1), table, paired=True
    )
    entries = pair_table(measurement)
    assert np.array_equal(entries.astype(np.int16), table)
    assert np.array_equal((entries >> 16).astype(np.int16), np.roll(table, -1024))


@pytest.mark.parametrize("n", [1, 10, 16, 32, 64, 256, 512, 600])
@pytest.mark.parametrize("memory", [98 * 1024, 226 * 1024])
def test_a_shape_fits_the_memory_and_covers_the_frequencies(n, memory):
    job = Job("float32", n, 0, True, "bits", True, False, True, 1)
    for m in (1, 300, 2000):
        shape = choose_shape(job, m, memory)
        if shape is None:
            assert n >= 256
            continue
        assert shape.shared_bytes(job) <= memory
        assert shape.columns(m) * shape.warps * shape.tiles * 16 >= m
        assert shape.rows % (16 * shape.halves) == 0


def test_devices_have_names():
    assert [parse_device(name) for name in (None, "auto", "cpu", "cuda", "cuda:3")] == [None, None, None, 0, 3]
    for name in ("gpu", "cuda:", "cuda:x", 1):
        with pytest.raises(OperatorError, match="Expected device"):
            parse_device(name)
    with computing_on("cuda:1"):
        assert current_gpu() == 1
    assert current_gpu() is None


def test_rows_of_the_host_are_not_on_a_gpu():
    pandas = pytest.importorskip("pandas")
    rows = np.zeros((2, 2))
    assert not any(map(engine_of, (rows, rows.tolist(), pandas.DataFrame(rows))))


def test_without_cupy_the_error_names_the_extra(monkeypatch):
    from qckm.kernels.cuda import device

    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    device.cupy.cache_clear()
    operator = qckm.SketchOperator.draw(n_features=2, n_frequencies=5, scale=1.0, random_state=0)
    with pytest.raises(MissingExtraError, match=r"qckm\[gpu\]"):
        operator.sketch(np.zeros((3, 2)), device="cuda")
    device.cupy.cache_clear()
