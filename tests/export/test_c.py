"""What can be exported, what the header promises, and what its functions refuse."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.errors import OperatorError
from qckm.export import as_c, render_c
from qckm.sensor import Pool, wire


def operator(**wishes):
    return qckm.SketchOperator.from_seed(
        **{"n_features": 3, "n_frequencies": 20, "scale": 900.0, "seed": 1, "steps": 1.0, **wishes}
    )


def run_c(folder, header, body):
    """Compile a main of one function body; return what it prints."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: `make test` installs it where it may")
    (folder / "encoder.h").write_text(header)
    (folder / "main.c").write_text(f'#include "encoder.h"\n#include <stdio.h>\nint main(void) {{ {body} return 0; }}\n')
    subprocess.run(["gcc", "-std=c99", "-o", "main", "main.c"], cwd=folder, check=True)
    return subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("make", ["seeded", "integer"])
@pytest.mark.parametrize("regenerate", [False, True])
def test_a_header_needs_no_library_and_no_float(regenerate, make):
    op = operator() if make == "seeded" else qckm.SketchOperator.draw(3, 20, 900.0, steps=1.0, random_state=1)
    text = render_c(op, regenerate=regenerate)
    assert set(re.findall(r"#include <(.*)>", text)) == {"stddef.h", "stdint.h", "avr/pgmspace.h"}
    code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    assert not re.search(r"\b(float|double|malloc|printf|memcpy)\b", code)
    assert text.isascii()


def test_all_names_have_the_prefix():
    text = re.sub(r"/\*.*?\*/", "", render_c(operator(), prefix="Gait_2"), flags=re.S)
    assert "qckm" not in text.lower()
    defined = re.findall(r"#define (\w+)", text) + re.findall(r"^\w+_FUNCTION [\w ]+?\**(\w+)\(", text, flags=re.M)
    assert len(defined) > 30
    assert all(name.startswith(("GAIT_2_", "Gait_2_")) for name in defined)


def test_the_same_operator_gives_the_same_header(tmp_path):
    operator().export_c(tmp_path / "a.h")
    operator().empty().save(tmp_path / "op.qckm")
    qckm.load(tmp_path / "op.qckm").operator.export_c(tmp_path / "b.h")
    assert (tmp_path / "a.h").read_bytes() == (tmp_path / "b.h").read_bytes() == render_c(operator()).encode()


def test_a_recipe_survives_the_file(tmp_path):
    op = operator(units=[1.0, 2.0, 0.7], scale=1234.5)
    op.empty().save(tmp_path / "op.qckm")
    loaded = qckm.load(tmp_path / "op.qckm").operator
    assert render_c(loaded, regenerate=True) == render_c(op, regenerate=True)


def test_full_counters_take_no_row_until_they_are_cleared(tmp_path):
    body = """static qckm_counters c; int16_t row[3] = {1, 2, 3};
    qckm_counters_clear(&c); c.rows = 65534;
    printf("%d ", qckm_counters_add(&c, row));
    printf("%d ", qckm_counters_add(&c, row)); printf("%u ", (unsigned)c.rows);
    qckm_counters_clear(&c); printf("%d ", qckm_counters_add(&c, row)); printf("%u", (unsigned)c.rows);"""
    assert run_c(tmp_path, render_c(operator()), body) == "1 0 65535 1 1"


def test_a_full_batch_takes_no_row_until_it_is_finished(tmp_path):
    body = """static uint8_t m[QCKM_BATCH_BYTES(1)]; qckm_batch b; int16_t row[3] = {1, 2, 3};
    qckm_batch_start(&b, m, 1);
    printf("%d ", qckm_batch_add(&b, row)); printf("%d ", qckm_batch_add(&b, row));
    printf("%u ", (unsigned)qckm_batch_finish(&b, 0, 0)); printf("%d", qckm_batch_add(&b, row));"""
    assert run_c(tmp_path, render_c(operator()), body) == "1 0 41 1"


def test_the_self_test_notices_a_flipped_bit_of_a_table(tmp_path):
    text, number = render_c(operator()), int(operator().frequency_codes[0, 0])
    damaged = text.replace(
        f"qckm_frequencies[] QCKM_FLASH = {{\n    {number},",
        f"qckm_frequencies[] QCKM_FLASH = {{\n    {number ^ 1024},",
    )
    assert damaged != text
    body = 'printf("%d", qckm_self_test());'
    assert run_c(tmp_path, text, body) == "0"
    assert run_c(tmp_path, damaged, body) != "0"


def test_the_reference_of_devices_is_what_encode_gives():
    op = operator(origin=[5, -7, 30_000])
    rows = np.random.default_rng(0).integers(-32768, 32768, (500, 3)).astype(np.int16)
    bits, clipped = as_c.encode_readings(op, rows)
    np.testing.assert_array_equal(bits, op.encode(rows))
    assert clipped.sum() == op.sketch(rows).saturated > 0


@pytest.mark.parametrize(
    "op, options, words",
    [
        (operator(), {"prefix": "3d"}, "prefix"),
        (operator(), {"prefix": ""}, "prefix"),
        (operator(), {"prefix": "a-b"}, "prefix"),
        (operator(), {"counter_bits": 8}, "16 or 32"),
        (operator(signature="exponential"), {}, "one-bit"),
        (operator(origin=1e6), {}, "origin of feature 0"),
        (qckm.SketchOperator.draw(200, 10, 1.0, frequencies="structured", random_state=0), {}, "dense"),
        (qckm.SketchOperator.draw(2, 10, 1.0, "gaussian", random_state=0), {"regenerate": True}, "an integer law"),
        (replace(operator(), law="seeded 2"), {"regenerate": True}, "other frequencies"),
        (qckm.SketchOperator.from_seed(1, 300_000, 1.0, 0), {}, "fewer frequencies"),
    ],
)
def test_what_a_device_cannot_do_is_refused(op, options, words, tmp_path):
    with pytest.raises(OperatorError, match=words):
        op.export_c(tmp_path / "encoder.h", **options)
    assert not (tmp_path / "encoder.h").exists()


def test_the_example_of_the_docs_compiles_and_sends(tmp_path):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed: `make test` installs it where it may")
    page = (Path(__file__).parents[2] / "docs" / "sensor.md").read_text()
    example = re.search(r"```c\n(.*?)```", page, flags=re.S)[1]
    op = operator()
    op.export_c(tmp_path / "encoder.h")
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#define DEVICE 5\n"
        "static void radio_byte(unsigned char byte, void *context) { (void)context; putchar(byte); }\n"
        f"{example}\n"
        "int main(void) { const int16_t r[3] = {7, -8, 9}; long i = 65536; while (i--) on_sample(r); return 0; }\n"
    )
    words = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O2", "main.c", "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True)
    sent = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True).stdout
    message = wire.loads(sent)
    assert (message.device, message.sequence, message.rows) == (5, 0, 65535)
    pool = Pool(op)
    pool.add(sent)
    assert pool.sketch == op.sketch(np.array([[7.0, -8.0, 9.0]]), [65535])


def test_a_private_report_is_that_of_python(tmp_path):
    op = operator()
    reporter = qckm.privacy.LocalReporter(op, epsilon=6.0, device=9)
    words = np.random.default_rng(0).integers(2**32, size=2 * reporter.n_bits, dtype=np.uint32)
    body = f"""static uint8_t m[QCKM_LOCAL_BYTES({reporter.n_bits}u)]; int16_t row[3] = {{1200, -2, 30000}};
    size_t i, n;
    const uint32_t words[] = {{{", ".join(f"{word}u" for word in words)}}};
    n = qckm_local_report(row, {reporter.kept}u, {reporter.n_bits}u, words, 9, 0, m);
    for (i = 0; i < n; i++) {{ printf("%02x", m[i]); }}
    printf(" %u", (unsigned)qckm_local_report(row, 0x80000000u, 1u, words, 9, 0, m));"""
    expected = reporter.report([1200.0, -2.0, 30000.0], words.astype("<u4").tobytes())
    assert run_c(tmp_path, render_c(op), body) == f"{expected.hex()} 0"
