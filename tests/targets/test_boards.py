"""The header on microcontrollers, under emulators: the same bytes as Python's. `make test-targets` runs these."""

import pytest

from sensor import boards, cases

# AVR's multiplications and simavr are slow: fewer frequencies there.
SIZES = {"avr": {"most_features": 4, "most_frequencies": 24}}


@pytest.mark.parametrize("name", boards.ALL)
def test_a_thousand_rows_give_the_bytes_of_python(name, tmp_path):
    board = boards.ALL[name]
    if board.missing():
        pytest.skip(board.missing())
    chosen = cases.random_cases(8, 130, seed=9, **SIZES.get(name, {"most_features": 6, "most_frequencies": 48}))
    assert sum(len(case.readings) for case in chosen) >= 1000
    cases.write_program(tmp_path, chosen)
    program = board.build([cases.FIRMWARE / "main.c"], tmp_path, boards.WARNINGS)
    found, expected = board.run(program), cases.expected_output(chosen)
    assert found == expected, cases.first_difference(found, expected)
