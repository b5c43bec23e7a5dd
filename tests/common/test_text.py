import pytest

from qckm.common.text import format_bytes, format_duration, format_value, shortened


@pytest.mark.parametrize(
    "number, words",
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (314_572_800, "314.6 MB"),
        (5e9, "5.0 GB"),
        (2e16, "20000.0 TB"),
    ],
)
def test_bytes_are_told_in_powers_of_a_thousand(number, words):
    assert format_bytes(number) == words


@pytest.mark.parametrize(
    "seconds, words", [(0.04, "0.0 s"), (59.9, "59.9 s"), (60, "1:00"), (3599, "59:59"), (7265, "2:01:05")]
)
def test_times_are_told_as_on_a_clock_from_a_minute_on(seconds, words):
    assert format_duration(seconds) == words


def test_a_truth_is_no_number():
    assert (format_value(True), format_value(1), format_value(0.0)) == ("yes", "1", "0")


def test_a_list_is_told_by_its_first_values():
    assert format_value(list(range(12))).endswith("10, 11")
    assert format_value(list(range(13))).endswith("10, 11, … (13)")


def test_a_text_is_cut_where_it_is_too_long():
    assert (shortened("abc", 3), shortened("abcd", 3)) == ("abc", "abc…")
