"""Numbers that were counted: each once, whatever the order, in bounded memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from qckm.collector.messages import BLOCK, MOST_BOOTS, Boot, forgotten, mark_of, room_for
from qckm.collector.refusals import Reason

WINDOW = 256


@settings(max_examples=100)
@given(st.lists(st.integers(0, 600), max_size=300))
def test_a_number_is_counted_once_or_refused_as_too_old(sequences):
    boot, counted = Boot(), set()
    for sequence in sequences:
        told = boot.judge(sequence, 7)
        if told is True:
            boot.count(sequence, 7, WINDOW)
            assert sequence not in counted
            counted.add(sequence)
        elif told is False:
            assert sequence in counted
        else:
            assert told is Reason.TOO_OLD
            assert sequence < max(counted) - WINDOW + BLOCK
    assert boot.messages == len(counted)
    assert boot.top == max(counted, default=-1)


def test_whatever_lies_within_the_window_is_taken_in_any_order():
    boot = Boot()
    for sequence in reversed(range(WINDOW)):
        assert boot.judge(sequence, 1) is True
        boot.count(sequence, 1, WINDOW)
    assert (boot.top, boot.messages) == (WINDOW - 1, WINDOW)


def test_another_message_of_the_same_number_is_told_from_one_that_comes_again():
    boot = Boot()
    boot.count(3, 11, WINDOW)
    assert boot.judge(3, 11) is False
    assert boot.judge(3, 12) is Reason.CONFLICT


def test_the_mark_of_a_message_is_never_that_of_none():
    assert mark_of(bytes(16)) == 1


def test_the_last_boots_are_remembered_and_older_ones_refused():
    boots = {number: Boot() for number in range(10, 10 + MOST_BOOTS)}
    assert room_for(boots, 10)
    assert room_for(boots, 99)
    assert not room_for(boots, 9)
    boots[99] = Boot()
    assert forgotten(boots) == [10]
