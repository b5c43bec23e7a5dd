"""From an operator to one C99 header that computes the same bits (docs/sensor.md).

The C lies in c/, as plain C with the prefix `qckm_`, and its arithmetic is that of the kernels' core; here it gets the
operator's numbers and the user's prefix.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from qckm.common import atomic
from qckm.common.arrays import Array
from qckm.errors import OperatorError
from qckm.export.rendering import PREFIX, read_source, require_prefix, with_prefix
from qckm.kernels import reference
from qckm.operator import seeded
from qckm.operator.codes import Recipe, quantiles
from qckm.operator.operator import Operator
from qckm.operator.structured import StructuredCodes

COUNTER_BITS = (16, 32)
SELF_TESTS = 16  # rows
LONGEST_PAYLOAD = 1 << 20  # bytes of a message (docs/wire-format.md)
GREATEST_ORIGIN = 65535  # 32768 + 32767: beyond, every reading would be clipped
_COMMON = ("encode.h", "sample.h", "counters.h", "wire.h", "local.h", "mac.h", "signed.h", "self_test.h")


def export_c(
    operator: Operator,
    path: str | os.PathLike[str],
    prefix: str = PREFIX,
    regenerate: bool = False,
    counter_bits: int = COUNTER_BITS[0],
    hints: bool = True,
) -> None:
    """Write a C99 header that computes the operator's bits on a device, with integers only (docs/sensor.md).

    Parameters
    ----------
    operator : SketchOperator
        As a method of the operator: itself.
    path : path
    prefix : str, default "qckm"
        What the names of functions and macros start with.
    regenerate : bool, default False
        Whether the device makes the frequencies itself, slower and in less flash: those of the integer laws, and,
        faster, of the seeded law.
    counter_bits : {16, 32}, default 16
        Local counters hold 65535 or 2**32 - 1 rows.
    hints : bool, default True
        Whether regenerated frequencies of the seeded law come with a byte each, of flash, that saves two thirds of the
        time.

    Examples
    --------
    >>> import os, tempfile, qckm
    >>> op = qckm.SketchOperator.from_seed(3, 64, scale=500.0, seed=7, steps=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     op.export_c(os.path.join(folder, "encoder.h"), regenerate=True)
    """
    text = render_c(operator, prefix, regenerate, counter_bits, hints)
    atomic.write_atomically(path, text.encode("ascii"))


def render_c(
    operator: Operator,
    prefix: str = PREFIX,
    regenerate: bool = False,
    counter_bits: int = COUNTER_BITS[0],
    hints: bool = True,
) -> str:
    """Return the header's text, the same for the same operator and options, which are those of `export_c`.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.from_seed(3, 64, scale=500.0, seed=7, steps=1.0)
    >>> "int gait_encode(const int16_t *row, uint8_t *bits)" in render_c(op, prefix="gait")
    True
    """
    require_prefix(prefix)
    if counter_bits not in COUNTER_BITS:
        raise OperatorError(f"Expected counters of 16 or 32 bits, got {counter_bits!r}.")
    origin = require_exportable(operator)
    frequencies = _regenerated(operator, hints) if regenerate else f"{_stored_tables(operator)}\n{_part('stored.h')}"
    if counter_bits // 8 * operator.n_measurements > LONGEST_PAYLOAD:
        raise OperatorError(f"Expected counters of at most {LONGEST_PAYLOAD} bytes: use fewer frequencies.")
    parts = [
        _opening(operator, regenerate, counter_bits),
        _part("portability.h"),
        _arithmetic(),
        _common_tables(operator, origin),
        frequencies,
        *(_part(name) for name in _COMMON),
        "#endif\n",
    ]
    return with_prefix("\n".join(parts), prefix)


def require_exportable(operator: Operator) -> npt.NDArray[np.int64]:
    """Refuse an operator that a sensor cannot have; return its origin in steps, (n,)."""
    if isinstance(operator.frequency_codes, StructuredCodes):
        raise OperatorError("Structured frequencies cannot be exported: draw the operator with frequencies='dense'.")
    if not operator.signature.is_one_bit:
        raise OperatorError(
            f"Only one-bit operators can be exported, got {operator.signature.name!r}: use signature='one-bit'."
        )
    origin = operator.origin / operator.steps
    for k in np.flatnonzero(np.abs(origin) > GREATEST_ORIGIN):
        raise OperatorError(
            f"The origin of feature {k} is {origin[k]:.6g} steps, out of reach of int16 readings: they are in steps, "
            "from -32768 to 32767. Draw the operator in the sensor's own numbers, with an origin within them."
        )
    return origin.astype(np.int64)


def render_recipe(recipe: Recipe) -> str:
    """Return the C that makes frequencies and dither from a recipe, without what it is included with.

    Of structured ones it has the norms and the random words that their radii and signs are made of.
    """
    root = math.isqrt((1 << 33) // (9 * recipe.degrees))
    numbers = {
        **{"SEED_LOW": f"UINT32_C({recipe.seed & 0xFFFFFFFF})", "SEED_HIGH": f"UINT32_C({recipe.seed >> 32})"},
        **{"DITHERED": int(recipe.dithered), "OCTAVES": recipe.octaves, "BASE": f"{recipe.m // recipe.octaves}u"},
        **{"SPREAD": f"UINT32_C({root})", "CENTER": f"INT32_C({(1 << 16) - (1 << 17) // (9 * recipe.degrees)})"},
        "WHOLE": f"UINT32_C({math.isqrt(recipe.n << 40)})",
    }
    same = bool((recipe.gains == recipe.gains[0]).all())
    gain = f"((void)(k), UINT32_C({recipe.gains[0]}))" if same else "((uint32_t)QCKM_READ_32(&qckm_gains[k]))"
    return "\n".join(
        [
            *(f"#define QCKM_{name} {number}" for name, number in numbers.items()),
            f"#define QCKM_GAIN_OF(k) {gain}\n",
            "" if same else _table("uint32_t", "gains", map(str, recipe.gains.tolist())),
            _table("uint16_t", "quantiles", map(str, quantiles().tolist())),
            _part("recipe.h"),
        ]
    )


def seeded_recipe(operator: Operator) -> tuple[seeded.Recipe, seeded.Draws]:
    """Return what the operator's frequencies are made of, if the seeded law made them."""
    seed = seeded.seed_of(operator.law)
    if seed is None or operator.scale is None:
        raise OperatorError(
            f"Only frequencies that were made from a seed can be made again, got {operator.law!r}: store them, or draw "
            "the operator with an integer law or law='seeded'."
        )
    recipe = seeded.make_recipe(seed, operator.scale, operator.units, operator.steps)
    draws = seeded.draw(seed, operator.n_features, operator.n_frequencies)
    codes, own = seeded.frequency_codes(recipe, draws.components), operator.frequency_codes
    assert not isinstance(own, StructuredCodes)
    # The note might be wrong; the bits must not be.
    if not np.array_equal(codes, own) or not np.array_equal(draws.dither, operator.dither_codes):
        raise OperatorError(f"The operator's note says {operator.law!r}, but these are other frequencies: store them.")
    return recipe, draws


def self_test_rows(n: int) -> npt.NDArray[np.int16]:
    """Return the rows of the header's self-test, (SELF_TESTS, n)."""
    rows = np.empty(SELF_TESTS * n, np.int64)
    x = 1
    for i in range(len(rows)):
        x = (x * 1664525 + 1013904223) % 2**32
        rows[i] = (x >> 16) - 32768
    rows[:n] = -32768
    return rows.reshape(SELF_TESTS, n).astype(np.int16)


def encode_readings(operator: Operator, readings: Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_]]:
    """Return what a device makes of rows of int16 readings in steps: bits, and which rows were clipped.

    By the reference arithmetic, not by the fast kernels: this is what devices are compared with.
    """
    rows = readings.astype(np.float64) * operator.steps
    codes, clipped = reference.code_rows(rows, operator.steps, operator.origin)
    assert not isinstance(operator.frequency_codes, StructuredCodes)
    phases = reference.project(codes, operator.frequency_codes, operator.dither_codes)
    return reference.pack_bits(reference.measure(phases, operator.signature.table, operator.paired)), clipped


def _opening(operator: Operator, regenerate: bool, counter_bits: int) -> str:
    n, m = operator.n_features, operator.n_frequencies
    low, high = np.frombuffer(operator.short_fingerprint, "<u4")
    steps = ", ".join(f"{step:.17g}" for step in operator.steps)
    return f"""\
/*
 * A qckm encoder: {n} readings to {operator.n_measurements} bits, with integers only. Generated: do not edit.
 *
 * operator     {operator.fingerprint}
 * frequencies  {m}, {"made from a seed" if regenerate else "stored"}
 * dither       {operator.dither}
 *
 * A reading is an int16 in steps. The steps of the features, in data units:
 *   {_wrapped(steps, " *   ")}
 * C99, C11, C++17. No float, no allocation, no library. See qckm's docs/sensor.md.
 */
#ifndef QCKM_ENCODER_H
#define QCKM_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#define QCKM_FEATURES {n}u
#define QCKM_FREQUENCIES {m}u
#define QCKM_PAIRED {int(operator.paired)}
#define QCKM_MEASUREMENTS {operator.n_measurements}u
#define QCKM_BYTES {-(-operator.n_measurements // 8)}u /* of the bits of one row */
#define QCKM_MOST_ROWS UINT32_C({2**counter_bits - 1}) /* that counters hold */
#define QCKM_FINGERPRINT_LOW UINT32_C(0x{low:08X})
#define QCKM_FINGERPRINT_HIGH UINT32_C(0x{high:08X})
#define QCKM_SELF_TESTS {SELF_TESTS}

typedef uint{counter_bits}_t qckm_count;
"""


def _common_tables(operator: Operator, origin: npt.NDArray[np.int64]) -> str:
    bits, clipped = encode_readings(operator, self_test_rows(operator.n_features))
    expected = zlib.crc32(b"".join(bytes([int(flag)]) + row.tobytes() for row, flag in zip(bits, clipped, strict=True)))
    parts = [f"#define QCKM_EXPECTED UINT32_C(0x{expected:08X}) /* CRC of the rows of the self-test */\n"]
    if origin.any():
        parts.append(_table("int32_t", "origin", map(str, origin.tolist())))
        parts.append("#define QCKM_ORIGIN_OF(k) ((int32_t)QCKM_READ_32(&qckm_origin[k]))\n")
    else:
        parts.append("#define QCKM_ORIGIN_OF(k) ((void)(k), INT32_C(0))\n")
    return "\n".join(parts)


def _stored_tables(operator: Operator) -> str:
    assert not isinstance(operator.frequency_codes, StructuredCodes)
    # Frequency by frequency, as a row is projected.
    frequencies = _table("int16_t", "frequencies", map(str, operator.frequency_codes.T.ravel().tolist()))
    return f"{frequencies}\n{_table('uint32_t', 'dither', map(str, operator.dither_codes.tolist()))}"


def _regenerated(operator: Operator, hints: bool) -> str:
    if operator.codes.recipe is not None:
        return render_recipe(operator.codes.recipe)
    recipe, draws = seeded_recipe(operator)
    root = int(seeded.mix(np.array([recipe.seed], np.uint32))[0])
    hinted = hints and int(draws.rejected.max()) < 256
    return "\n".join(
        [
            f"#define QCKM_ROOT UINT32_C(0x{root:08X}) /* seed {recipe.seed}, mixed */",
            f"#define QCKM_HINTED {int(hinted)}\n",
            _table("int16_t", "gains", map(str, recipe.gains.tolist())),
            _table("uint8_t", "rejected", map(str, draws.rejected.tolist())) if hinted else "",
            _part("seeded.h"),
        ]
    )


def _table(kind: str, name: str, numbers: Iterable[str]) -> str:
    return f"static const {kind} qckm_{name}[] QCKM_FLASH = {{\n    {_wrapped(', '.join(numbers), '    ')}}};\n"


def _wrapped(words: str, indent: str) -> str:
    lines, line = [], ""
    for word in words.split(" "):
        if line and len(line) + len(word) > 110:
            lines.append(line)
            line = ""
        line += (" " if line else "") + word
    return f"\n{indent}".join([*lines, line])


def _part(name: str) -> str:
    return read_source("export", "c", name)


def _arithmetic() -> str:
    """Return what the kernels do with codes and phases; signatures of more than a bit are left out."""
    text = read_source("kernels", "core", "arithmetic.h")
    return text[text.index("/* ---- From codes") : text.index("/* ---- Other signatures")].rstrip() + "\n"
