"""Masked sketches: the total is exact, a part says nothing, and a round without somebody is refused."""

import numpy as np
import pytest

import qckm
from qckm.errors import MessageError, PrivacyError
from qckm.privacy import MaskedSketch, Masker, release, unmask

OP = qckm.SketchOperator.from_ranges([-5, -5], [5, 5], n_clusters=2, n_frequencies=10, octaves=1, random_state=0)
ROWS = np.random.default_rng(0).normal(size=(3, 100, 2))


def a_round(sketches, name="monday"):
    maskers = [Masker(OP) for _ in sketches]
    keys = [masker.public_key for masker in maskers]
    return maskers, keys, [masker.mask(sketch, name, keys) for masker, sketch in zip(maskers, sketches, strict=True)]


def test_masks_cancel_in_the_total():
    sketches = [OP.sketch(rows) for rows in ROWS]
    _, _, sent = a_round(sketches)
    total = unmask(OP, [MaskedSketch.from_bytes(part.to_bytes()) for part in sent])
    assert total == sum(sketches)
    assert np.isnan(total.bounds).all()
    assert np.array_equal(total.coded_bounds, OP.ranges)


def test_a_part_looks_random():
    """Even of the sketch of no rows, bits of the masked vector are half ones: 23·64 of them, to five deviations."""
    _, _, sent = a_round([OP.empty()] * 3)
    ones = np.unpackbits(sent[0].vector.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(23 * 64)
    assert unmask(OP, sent) == OP.empty()


def test_masks_of_another_round_are_others():
    masker, other = Masker(OP), Masker(OP)
    keys = [masker.public_key, other.public_key]
    monday, tuesday = (masker.mask(OP.empty(), name, keys).vector for name in ("monday", "tuesday"))
    assert not (monday == tuesday).any()


def test_a_round_without_somebody_is_refused():
    _, _, sent = a_round([OP.sketch(rows) for rows in ROWS])
    for wrong in (sent[:2], [*sent, sent[0]], [sent[0], sent[0], sent[1]]):
        with pytest.raises(MessageError, match="each of the 3 participants"):
            unmask(OP, wrong)


def test_masks_that_do_not_cancel_are_noticed():
    _, keys, sent = a_round([OP.sketch(rows) for rows in ROWS])
    wrong = Masker(OP)  # somebody whose key the others do not have
    wrong.public_key = keys[0]
    sent[0] = wrong.mask(OP.sketch(ROWS[0]), "monday", keys)
    with pytest.raises(MessageError, match="do not cancel"):
        unmask(OP, sent)


def test_a_round_s_name_is_used_once():
    maskers, keys, _ = a_round([OP.empty()] * 2)
    with pytest.raises(PrivacyError, match="used already"):
        maskers[0].mask(OP.sketch(ROWS[0]), "monday", keys)


def test_rounds_and_operators_are_not_mixed():
    _, _, monday = a_round([OP.empty()] * 2)
    _, _, tuesday = a_round([OP.empty()] * 2, "tuesday")
    with pytest.raises(MessageError, match="one round"):
        unmask(OP, [monday[0], tuesday[1]])
    with pytest.raises(PrivacyError, match="operator"):
        Masker(OP).mask(
            qckm.SketchOperator.draw(2, 10, 1.0, random_state=0).empty(), "monday", [bytes(32), bytes([1] * 32)]
        )


def test_private_sketches_can_be_masked():
    parts = [release(OP.sketch(rows), epsilon=1.0, delta=1e-6) for rows in ROWS]
    _, _, sent = a_round(parts)
    total = unmask(OP, sent)
    assert total.ledger == sum(parts).ledger
    assert np.array_equal(total.total, sum(parts).total)


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: b"x" + data[1:], lambda data: data[:60] + b"!" + data[61:]]
)
def test_damage_is_noticed(change):
    _, _, sent = a_round([OP.empty()] * 2)
    with pytest.raises(MessageError, match="masked sketch"):
        MaskedSketch.from_bytes(change(sent[0].to_bytes()))


def test_keys_are_checked():
    masker = Masker(OP)
    for keys, words in (
        ([masker.public_key], "2 to"),
        ([bytes(32), bytes([1] * 32)], "own key"),
        ([masker.public_key, bytes(32)], "agreed"),
    ):
        with pytest.raises(PrivacyError, match=words):
            masker.mask(OP.empty(), "monday", keys)
