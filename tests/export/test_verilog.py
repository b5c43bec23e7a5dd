"""The channel as hardware, simulated: the bits are Python's."""

import shutil
import subprocess

import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError
from qckm.kernels import reference
from qckm.sensor import export_verilog, render_verilog
from sensor.cases import FIRMWARE, random_readings

OPERATORS = {
    "gait": qckm.SketchOperator.from_seed(3, 40, scale=2000.0, seed=3, steps=1.0),
    "one feature": qckm.SketchOperator.from_seed(1, 9, scale=900.0, seed=4, steps=1.0),
    "one frequency": qckm.SketchOperator.draw(5, 1, scale=3000.0, steps=1.0, random_state=5),
    "origin": qckm.SketchOperator.draw(8, 33, scale=3000.0, steps=1.0, origin=np.arange(8) * 900, random_state=6),
}


def simulate(op, codes, folder):
    """Return what iverilog's simulation of the encoder measures: (rows, M), 1 standing for −1."""
    export_verilog(op, folder / "encoder.v")
    (folder / "rows.hex").write_text("\n".join(f"{code & 0xFFFF:04x}" for code in codes.ravel().tolist()) + "\n")
    sizes = {"ROWS": len(codes), "FEATURES": op.n_features, "FREQUENCIES": op.n_frequencies}
    words = ["iverilog", "-g2005", "-Wall", "-Wno-timescale", "-o", "bench", "-s", "bench"]
    words += [f"-Pbench.{name}={value}" for name, value in sizes.items()]
    built = subprocess.run(
        [*words, str(FIRMWARE / "verilog" / "bench.v"), "encoder.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "encoder.v" not in built.stderr  # no warning about what we generate
    lines = subprocess.run(
        ["vvp", "-n", "bench"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.split()
    digits = np.array([[int(digit) for digit in line] for line in lines])
    return np.concatenate([digits[:, 0::2], digits[:, 1::2]], axis=1)


@pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="iverilog is not installed: `make test-targets` installs it"
)
@pytest.mark.parametrize("name", OPERATORS)
def test_the_simulated_channel_gives_the_bits_of_python(name, tmp_path):
    op = OPERATORS[name]
    readings = random_readings(np.random.default_rng(0), (op.origin / op.steps).astype(int), 300)
    codes, _ = reference.code_rows(readings * op.steps, op.steps, op.origin)
    expected = np.unpackbits(op.encode(readings * op.steps), axis=1, count=op.n_measurements, bitorder="little")
    np.testing.assert_array_equal(simulate(op, codes, tmp_path), expected)


def test_names_have_the_prefix_and_the_text_depends_on_the_operator_alone():
    text = render_verilog(OPERATORS["gait"], "gait")
    assert "qckm_" not in text
    assert text == render_verilog(OPERATORS["gait"], "gait")


def test_what_is_no_sensor_is_refused():
    with pytest.raises(OperatorError, match="one-bit"):
        render_verilog(qckm.SketchOperator.draw(2, 4, 1.0, signature="triangle", random_state=0))
    with pytest.raises(OperatorError, match="prefix"):
        render_verilog(OPERATORS["gait"], "module;")
