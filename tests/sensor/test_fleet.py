"""The example of the accelerometers, without its decoding: the devices are real processes."""

import importlib.util
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

FLEET = Path(__file__).parents[2] / "examples" / "accelerometer_fleet" / "fleet.py"


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed: `make test` installs it where it may")
@pytest.mark.parametrize("kind", ["counters", "bits"])
def test_no_row_is_lost_or_counted_twice(kind, tmp_path, monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    spec = importlib.util.spec_from_file_location("fleet", FLEET)
    fleet = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fleet", fleet)
    spec.loader.exec_module(fleet)
    people = fleet.load_rows(None)[:6]
    op = fleet.make_operator(people)
    sent = fleet.run_devices(fleet.build_device(op, tmp_path), people, kind, rows=50)
    for way in fleet.WAYS:
        journey = fleet.travel(sent, way, np.random.default_rng(3))
        pool, refused = fleet.collect(op, journey.packets)
        fleet.verify(pool, people, 50, journey)
        assert (refused > 0) == bool(journey.damaged) == (way.damaged > 0)
        assert sum(device.repeated for device in pool.devices.values()) > 0
