"""The header on this machine: every compiler, every dialect, sanitizers on, no warning; bits, counters, messages."""

import os
import shutil
import subprocess

import pytest

from sensor import cases

WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-pedantic", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
BUILDS = {
    "gcc-c99": ["gcc", "-std=c99", "-O1", *SANITIZERS],
    "gcc-c11": ["gcc", "-std=c11", "-O3"],
    "gcc-c++17": ["g++", "-std=c++17", "-O2", "-x", "c++"],
    "clang-c99": ["clang", "-std=c99", "-O2"],
    "clang-c11": ["clang", "-std=c11", "-O1", *SANITIZERS],
    "clang-c++17": ["clang++", "-std=c++17", "-O0", "-x", "c++"],
}
FEW, MANY = (8, 300), (16, 6300)  # operators, rows of each


@pytest.fixture(scope="module")
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    chosen = cases.random_cases(*request.param, seed=8, most_features=8, most_frequencies=64)
    cases.write_program(folder, chosen)
    rows = b"".join(case.readings.astype("=i2").tobytes() for case in chosen)
    return folder, rows, cases.expected_output(chosen)


def works(compiler, *options):
    """Whether a compiler is there, with the sanitizers it is asked for."""
    words = [compiler, *options, "-x", "c++" if "c++" in options else "c", "-", "-o", os.devnull]
    return (
        bool(shutil.which(compiler))
        and not subprocess.run(words, input=b"int main() { return 0; }", check=False, capture_output=True).returncode
    )


def outputs(program, build):
    """Compile and run; return what the program wrote, and what it should have."""
    folder, rows, expected = program
    compiler, *options = BUILDS[build]
    if not works(compiler, *options):
        pytest.skip(f"{' '.join(BUILDS[build])} does not work here: `make test` installs what is missing where it may")
    binary = folder / build
    include = [f"-I{folder}", f"-I{cases.FIRMWARE / 'host'}"]
    compiled = subprocess.run(
        [compiler, *options, *WARNINGS, *include, str(cases.FIRMWARE / "main.c"), "-o", str(binary)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert compiled.returncode == 0, compiled.stderr[:3000]
    done = subprocess.run([str(binary)], input=rows, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    return done.stdout, expected


@pytest.mark.parametrize("program", [FEW], indirect=True, ids=["few"])
@pytest.mark.parametrize("build", BUILDS)
def test_every_compiler_and_dialect_gives_the_bytes_of_python(program, build):
    found, expected = outputs(program, build)
    assert found == expected, cases.first_difference(found, expected)


@pytest.mark.parametrize("program", [MANY], indirect=True, ids=["many"])
def test_a_hundred_thousand_rows_give_the_bytes_of_python(program):
    assert MANY[0] * MANY[1] >= 100_000
    found, expected = outputs(program, "gcc-c11")
    assert found == expected, cases.first_difference(found, expected)
