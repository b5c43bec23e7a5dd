"""What old code drew and summed, new code draws and sums: 780 operators and sketches, bit by bit."""

from pathlib import Path

import pytest

from golden.make_fingerprints import fingerprints

GOLDEN = Path(__file__).parents[1] / "golden" / "fingerprints-v1.txt"


@pytest.fixture(scope="module")
def found():
    return dict(fingerprints())


@pytest.mark.parametrize("line", GOLDEN.read_text().splitlines(), ids=lambda line: "-".join(line.split()[:3]))
def test_operators_and_sketches_are_those_of_old(line, found):
    law, signature, dither, *expected = line.split()
    assert found[f"{law} {signature} {dither}"] == expected
