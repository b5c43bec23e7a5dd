"""Files of version 3 that only an adversary writes: checksums are right, and something else is not."""

import hashlib
import json
import tracemalloc

import numpy as np
import pytest

import qckm
from qckm.errors import FileError
from qckm.sketch import files, packed, sections


@pytest.fixture
def sketch(rng):
    op = qckm.SketchOperator.draw(3, 10, 1.0, "gaussian", random_state=0, feature_names=["a", "b", "c"])
    return op.sketch(rng.normal(size=(20, 3)))


def written(parts):
    """Return a file of sections, as they are."""
    body = files.START.pack(files.MAGIC, files.VERSION)
    body += b"".join(tag + packed.varint(len(content)) + content for tag, content in parts)
    return body + hashlib.sha256(body).digest()[:16]


def parts_of(sketch):
    return {tag: bytes(content) for tag, content in sections.split(files.dumps(sketch)).items()}


def changed(sketch, **contents):
    """Return a sketch's file with other sections; None leaves one out."""
    parts = parts_of(sketch) | {tag.encode(): content for tag, content in contents.items()}
    return written(sorted((tag, content) for tag, content in parts.items() if content is not None))


def test_the_sections_are_those_of_the_format(sketch):
    assert list(parts_of(sketch)) == [b"I", b"O", b"S", b"b", b"c", b"n", b"x"]
    assert files.dumps(sketch) == changed(sketch)
    assert files.loads(changed(sketch, b=None, c=None, x=None)) == sketch
    with pytest.raises(FileError):
        files.loads(changed(sketch, c=None))


@pytest.mark.parametrize("tag", ["I", "O", "S"])
def test_a_file_without_one_of_its_parts_is_refused(sketch, tag):
    with pytest.raises(FileError, match=r"Expected an operator|holds the sums"):
        files.loads(changed(sketch, **{tag: None}))


def test_an_unknown_section_is_left_out_unless_it_is_required(sketch):
    assert files.dumps(files.loads(changed(sketch, z=b"of a later version"))) == files.dumps(sketch)
    with pytest.raises(FileError, match="section Z: a newer qckm"):
        files.loads(changed(sketch, Z=b"of a later version"))


def test_sections_are_in_order_and_there_once(sketch):
    parts = list(parts_of(sketch).items())
    for wrong in (parts[::-1], [*parts, parts[-1]], [*parts[:3], parts[2], *parts[3:]], [*parts, (b"1", b"")]):
        with pytest.raises(FileError, match="order of their letters"):
            files.loads(written(wrong))


def test_a_section_longer_than_the_file_is_refused(sketch):
    body = files.dumps(sketch)[:-16] + b"z" + packed.varint(2**40)
    with pytest.raises(FileError, match="contradicts itself"):
        files.loads(body + hashlib.sha256(body).digest()[:16])


@pytest.mark.parametrize("tag", ["I", "O", "S", "b", "c", "n", "x"])
def test_bytes_too_many_or_too_few_are_refused(sketch, tag):
    content = parts_of(sketch)[tag.encode()]
    for wrong in (content[:-1], content + b"\0", b""):
        with pytest.raises(FileError):
            files.loads(changed(sketch, **{tag: wrong}))


def test_numbers_have_one_way_to_be_written(sketch):
    """Sums in wider fields than they need are the same numbers, and another file."""
    numbers = packed.varint(0) + packed.varint(0) + packed.varint(20) + packed.varint(0) + packed.varint(0)
    halves = sketch.total // 2
    assert parts_of(sketch)[b"S"] == numbers + packed.signed(halves)
    zigzag = np.where(halves < 0, -2 * halves - 1, 2 * halves)
    wide = bytes([8]) + zigzag.astype(np.uint8).tobytes()
    with pytest.raises(FileError, match="not written as the format says"):
        files.loads(changed(sketch, S=numbers + wide))


@pytest.mark.parametrize("count, saturated, weighted", [(1, 0, 0), (0, 0, 0), (20, 21, 0), (20, 0, 21)])
def test_counts_that_contradict_the_sums_are_refused(sketch, count, saturated, weighted):
    sums = packed.signed(sketch.total // 2)
    notes = b"".join(map(packed.varint, (0, 0, count, saturated, weighted)))
    with pytest.raises(FileError):
        files.loads(changed(sketch, S=notes + sums, c=None, x=None))


def test_another_fingerprint_is_refused(sketch):
    content = parts_of(sketch)[b"O"]
    with pytest.raises(FileError, match="fingerprint"):
        files.loads(changed(sketch, O=bytes(8) + content[8:]))


def test_hostile_sizes_allocate_nothing(sketch):
    content = parts_of(sketch)[b"O"]
    assert content[8:10] == bytes([3, 10])
    for n, m in ((2**47, 10), (3, 2**47), (2**47, 2**47), (2**60, 1), (0, 1)):
        data = changed(sketch, O=content[:8] + packed.varint(n) + packed.varint(m) + content[10:])
        tracemalloc.start()
        with pytest.raises(FileError):
            files.loads(data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1_000_000  # the signature's table


@pytest.mark.parametrize("steps", [[3000, 0, 0], [-3000, 0, 0], [-1070, 0, 0], [2**70, 0, 0]])
def test_steps_that_are_none_are_refused(sketch, steps):
    content = parts_of(sketch)[b"O"]
    exponents = packed.signed(np.frexp(sketch.operator.steps)[1].astype(np.int64) - 1)
    assert content.count(exponents) == 1
    with pytest.raises(FileError):
        files.loads(changed(sketch, O=content.replace(exponents, packed.signed(packed.as_array(steps)))))


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"\xff", b"[" * 50_000, b'{"rho":NaN}', b'{"rho":1}', json.dumps({"rho": 10**400}).encode()]
)
def test_a_ledger_that_is_none_is_refused(sketch, text):
    with pytest.raises(FileError):
        files.loads(changed(sketch, L=text, b=None, c=None, x=None))


def test_a_ledger_that_says_two_things_is_refused():
    op = qckm.SketchOperator.from_ranges([-5], [5], n_clusters=2, n_frequencies=8, random_state=0)
    public = qckm.privacy.release(op.sketch([[0.0]]), epsilon=1.0, delta=1e-6)
    text = parts_of(public)[b"L"]
    assert files.loads(changed(public, L=text)) == public
    with pytest.raises(FileError, match="a key is there twice: 'rho'"):
        files.loads(changed(public, L=b'{"rho":1.5,' + text[1:]))


def test_column_names_are_different_and_one_a_column(sketch):
    for names in (("a", "b"), ("a", "a", "b"), ("a", "b", "c", "d")):
        with pytest.raises(FileError):
            files.loads(changed(sketch, n=b"".join(map(packed.text, names))))


def test_bounds_that_contradict_each_other_are_refused(sketch):
    def ends(lower, upper):
        return bytes([0b111111]) + packed.signed(np.array([*lower, *upper]))

    grain = sketch.operator.steps / 256
    start, (lower, upper) = sketch.operator.origin / grain, sketch.bounds
    low, high = (bound.astype(np.int64) for bound in (np.floor(lower / grain) - start, np.ceil(upper / grain) - start))
    assert parts_of(sketch)[b"b"] == ends(low, high)
    with pytest.raises(FileError, match="contradict each other"):
        files.loads(changed(sketch, b=ends(high, low)))
    far = np.full(3, 2**60)
    assert files.loads(changed(sketch, b=ends(-far, far))).bounds[0].tolist() == [-np.inf] * 3
    with pytest.raises(FileError, match="not written as the format says"):
        files.loads(changed(sketch, b=ends(-far - 1, far)))
    assert np.isfinite(files.loads(changed(sketch, b=ends(far, far))).bounds[0]).all()  # all rows far out


def test_a_recipe_takes_the_place_of_frequencies(rng):
    op = qckm.SketchOperator.draw(10, 500, 3.0, "integer-balanced", random_state=0)
    night = op.sketch(rng.normal(size=(1000, 10)))
    parts, data = parts_of(night), files.dumps(night)
    assert b"I" not in parts
    assert len(parts[b"R"]) <= 20
    assert files.loads(data) == night
    assert files.dumps(files.loads(data)) == data


def test_a_recipe_of_a_few_bytes_makes_no_large_arrays():
    op = qckm.SketchOperator.draw(3, 10, 1.0, "integer-balanced", random_state=0)
    facts = parts_of(op.empty())[b"O"]
    forged = facts[:8] + packed.varint(1 << 20) + packed.varint(1 << 20) + facts[10:]
    huge = facts[:8] + packed.varint(3) + packed.varint(1 << 40) + facts[10:]
    for content in (forged, huge):
        tracemalloc.start()
        with pytest.raises(FileError):
            files.loads(changed(op.empty(), O=content))
        assert tracemalloc.get_traced_memory()[1] < 300e6
        tracemalloc.stop()


def test_a_file_has_frequencies_or_a_recipe_but_not_both(sketch):
    op = qckm.SketchOperator.draw(3, 10, 1.0, "integer-balanced", random_state=0)
    with pytest.raises(FileError, match="section I or R"):
        files.loads(changed(sketch, R=parts_of(op.empty())[b"R"]))
