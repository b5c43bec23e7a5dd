"""The integers of an operator, as they are."""

import numpy as np
import pytest

from qckm.errors import OperatorError
from qckm.kernels.reference import CODE_LIMIT, TURN
from qckm.operator.codes import Codes

FREQUENCIES, DITHER = np.array([[-CODE_LIMIT, CODE_LIMIT]], np.int16), np.array([0, TURN - 1], np.int32)


def test_codes_fit_their_integers():
    assert Codes(FREQUENCIES, DITHER).shape == (1, 2)
    for wrong in (np.array([[0, -32768]], np.int16), FREQUENCIES.astype(np.int32)):
        with pytest.raises(OperatorError, match="frequency codes as int16 from -32767 to 32767"):
            Codes(wrong, DITHER)
    for wrong in (np.array([0, TURN], np.int32), np.array([-1, 0], np.int32), DITHER.astype(np.int64)):
        with pytest.raises(OperatorError, match="dither codes as int32"):
            Codes(FREQUENCIES, wrong)


def test_there_is_a_dither_for_each_frequency():
    with pytest.raises(OperatorError, match=r"Expected dither \(2,\) for frequencies \(1, 2\), got \(1,\)"):
        Codes(FREQUENCIES, DITHER[:1])
