"""What a device needs, as promised: a whole firmware with counters and messages on a Cortex-M0."""

from pathlib import Path

import pytest

import qckm
from sensor import boards

PROGRAMS = Path(__file__).parents[2] / "experiments" / "sensor_cost"


@pytest.mark.parametrize("how", ["cortex-m0-hints", "cortex-m0-seed-alone", "cortex-m0-recipe"])
def test_256_regenerated_frequencies_fit_4_kilobytes_of_flash_and_2_of_ram(how, tmp_path):
    board = boards.ALL["cortex-m0"]
    if board.missing():
        pytest.skip(board.missing())
    if how == "cortex-m0-recipe":
        op = qckm.SketchOperator.draw(3, 256, 2000.0, "integer-balanced", steps=1.0, random_state=7)
    else:
        op = qckm.SketchOperator.from_seed(3, 256, scale=2000.0, seed=7, steps=1.0)
    op.export_c(tmp_path / "encoder.h", regenerate=True, hints=how == "cortex-m0-hints")
    sources = [PROGRAMS / name for name in ("main.c", "board.c", "counters.c")]
    options = [f"-I{PROGRAMS}", "-DROWS=2", "-DSERIAL_PORT=0x4000251C"]
    flash, ram = board.sizes(board.build(sources, tmp_path, [*options, "-DMEASURE=0"]))
    stack = int.from_bytes(board.run(board.build(sources, tmp_path, [*options, "-DMEASURE=1"])), "little")
    assert flash <= 4096
    assert 2 * op.n_measurements < ram  # the counters are really there
    assert stack > 0
    assert ram + stack <= 2048
