"""Names of parts: none counts twice, none is taken out that is not there, and few bytes are kept of them."""

import numpy as np
import pytest

import qckm
from qckm.errors import FileError, MergeError, PartsWarning, SketchError
from qckm.sketch import files, parts
from qckm.sketch.parts import Parts

OP = qckm.SketchOperator.draw(2, 8, scale=1.0, random_state=0)
BERLIN, PARIS = (OP.sketch(rows, part=name) for name, rows in (("berlin", np.eye(2)), ("paris", np.ones((3, 2)))))


def test_a_sum_knows_its_parts():
    both = BERLIN + PARIS
    assert "berlin" in both.parts
    assert "paris" in both.parts
    assert "rome" not in both.parts
    assert len(both.parts) == 2
    assert both == BERLIN.without_parts() + PARIS.without_parts()
    assert set((both - PARIS).parts) == set(BERLIN.parts)
    assert not (both - BERLIN - PARIS).parts


def test_the_same_part_twice_is_refused_with_the_way_out():
    with pytest.raises(MergeError, match=r"count twice.*without_parts") as error:
        BERLIN + PARIS + BERLIN
    assert error.value.about == "parts"
    assert (BERLIN + BERLIN.without_parts()).count == 4


def test_a_part_that_is_not_there_is_not_taken_out():
    with pytest.raises(MergeError, match="never added, or taken out before"):
        BERLIN + PARIS - PARIS - PARIS
    unnamed = BERLIN.without_parts() + PARIS.without_parts()
    assert unnamed - PARIS == BERLIN  # where no names are known, none is missed
    assert (BERLIN + PARIS.without_parts() - PARIS.without_parts()).parts == BERLIN.parts


def test_a_part_may_have_no_rows():
    closed = OP.sketch(np.zeros((0, 2)), part="sunday")
    assert closed.count == 0
    assert "sunday" in files.loads(files.dumps(closed)).parts
    with pytest.raises(MergeError, match="count twice"):
        BERLIN + closed + closed
    assert "sunday" in (BERLIN + closed - BERLIN).parts


def test_files_and_octaves_and_copies_keep_them():
    both = files.loads(files.dumps(BERLIN + PARIS))
    assert both.parts == (BERLIN + PARIS).parts
    assert files.sizes(files.dumps(both))["parts"] == 16
    assert both.octave(0).parts == both.parts
    data = files.dumps(BERLIN)
    assert files.dumps(PARIS + BERLIN - PARIS) != files.dumps(PARIS + BERLIN)
    assert files.dumps((PARIS + BERLIN - PARIS).without_bounds()) == files.dumps(files.loads(data).without_bounds())


def test_any_sketch_can_be_named_once():
    assert OP.pool(OP.encode(np.eye(2))).as_part("berlin").parts == BERLIN.parts
    with pytest.raises(SketchError, match="without names"):
        BERLIN.as_part("paris")


@pytest.mark.parametrize("name", ["", " berlin", "berlin\n", "x" * 201, 7, None])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(SketchError, match="name of a part"):
        BERLIN.without_parts().as_part(name)


def test_of_too_many_none_is_kept_and_that_is_told(monkeypatch):
    monkeypatch.setattr(parts, "MOST", 3)
    total = sum(OP.sketch(np.eye(2), part=str(i)) for i in range(3))
    with pytest.warns(PartsWarning, match="up to 3 parts, and this one has 4"):
        total = total + OP.sketch(np.eye(2), part="3")
    assert total.count == 8
    assert not total.parts


def test_forged_parts_are_refused():
    from test_sections import changed

    ids = sorted(BERLIN.parts.ids | PARIS.parts.ids)
    good = np.array(ids, "<u8").tobytes()
    assert files.loads(changed(BERLIN, p=good)).parts.ids == set(ids)
    for wrong in (good[::-1], good[:-1], np.array(ids[::-1], "<u8").tobytes(), good[:8] * 2, bytes(8 * 4097)):
        with pytest.raises(FileError):
            files.loads(changed(BERLIN, p=wrong))


def test_a_number_stands_for_the_same_name_for_ever():
    assert Parts.named("berlin/2026-11-16").dumps().hex() == "735cc6e2a714363b"


def test_a_release_names_no_parts():
    op = qckm.SketchOperator.from_ranges([-9, -9], [9, 9], n_clusters=2, random_state=0)
    released = qckm.privacy.release(op.sketch(np.ones((500, 2)), part="berlin"), epsilon=1.0, delta=1e-6)
    assert not released.parts
