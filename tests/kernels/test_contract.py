"""What Python and the C core agree on: one number, the layout of every structure, arguments that C refuses itself."""

import ctypes
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest

import qckm
from qckm.clustering import centroids
from qckm.decoding.model import c_loops
from qckm.kernels import algebra, library, matrices, sketcher
from qckm.kernels.library import REFUSED, RowsAt, Totals
from qckm.operator import codes
from qckm.planning import row_sample

# Of the sources: a wheel has no headers of the core.
HEADERS = [Path(__file__).parents[2] / "src" / "qckm" / "kernels" / "core" / name for name in ("core.h", "decoder.h")]
# Of the headers without comments. Where this test fails they have changed: raise QCKM_ABI in core.h and ABI in
# library.py by one, and write down the new digest.
DIGEST = {
    1: "ca99a409bc8a8d95",
    2: "f8a821c0bf211985",
    3: "7c8341e9f417bac5",
    4: "f426278ccdca3bac",
    5: "1d23fff4e7cda60c",
    6: "3040e1e456e34e78",
    7: "a2f69b075cff3d74",
}
TYPES = {"int64_t": ctypes.c_int64, "double": ctypes.c_double}

needs_core = pytest.mark.skipif(library.load() is None, reason="needs the C core")


def declared():
    """Return the two headers without comments, and with single spaces."""
    text = "\n".join(path.read_text() for path in HEADERS)
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))


def structures_in_c():
    """Return the fields of each structure of the headers, as ctypes has them."""
    found = {}
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", declared()):
        found[name] = []
        for line in filter(None, map(str.strip, body.split(";"))):
            kind, names = re.fullmatch(r"(?:const )?(\w+) (.*)", line).groups()
            for field in names.split(","):
                pointer = "*" in field
                found[name].append((field.strip(" *"), ctypes.c_void_p if pointer else TYPES[kind]))
    return found


def structures_in_python():
    modules = (c_loops, centroids, matrices, algebra, row_sample)
    decoder = [kind for module in modules for kind in vars(module).values() if is_structure(kind)]
    return library.STRUCTURES | {library.c_name(kind): kind for kind in decoder}


def is_structure(kind):
    return isinstance(kind, type) and issubclass(kind, library.Struct) and kind is not library.Struct


def test_the_number_of_the_contract_is_raised_when_a_header_changes():
    assert int(re.search(r"#define QCKM_ABI (\d+)", declared())[1]) == library.ABI
    assert hashlib.sha256(declared().encode()).hexdigest()[:16] == DIGEST[library.ABI]


def test_every_structure_is_the_one_of_the_header():
    ours, theirs = structures_in_python(), structures_in_c()
    assert set(ours) == set(theirs)
    for name, kind in ours.items():
        assert list(kind._fields_) == theirs[name], name


def test_what_has_a_name_in_the_headers_has_the_same_number_in_python():
    named = {}
    for body in re.findall(r"enum \{(.*?)\}", declared()):
        value = -1
        for name, given in re.findall(r"QCKM_(\w+)(?: = (-?\d+))?", body):
            named[name] = value = int(given) if given else value + 1
    kinds = {"f": "FLOAT", "i": "INT", "u": "UINT"}
    ours = {f"{kinds[kind[0]]}{8 * int(kind[1:])}": number for kind, number in library.NUMBERS.items()}
    ours |= {name: getattr(library, name) for name in ("DONE", "NO_MEMORY", "REFUSED")}
    ours |= {name: getattr(sketcher, f"_{name}") for name in ("BITS", "COSINES", "TABLE")}
    ours |= {name: getattr(algebra, f"_{name}") for name in ("EXP", "LOG", "SINE", "COSINE")}
    assert ours == named
    assert f"QCKM_MOST_OCTAVES = {codes.MOST_OCTAVES}\n" in HEADERS[0].with_name("kernel.h").read_text()


@needs_core
def test_the_library_knows_the_size_of_every_structure():
    core = library.load()
    for name, kind in structures_in_python().items():
        assert core.qckm_size_of(name.encode()) == ctypes.sizeof(kind)
    assert core.qckm_size_of(b"qckm_nothing") == 0


def raw(name):
    """Return a function of the library as C has it: library.py's raises an error where C refuses."""
    checked, function = getattr(library.load(), f"qckm_{name}"), library.load()[f"qckm_{name}"]
    function.restype, function.argtypes = checked.restype, checked.argtypes
    return function


def spec(**changes):
    """Return what is measured by an operator that is possible, with changes."""
    held = {
        "frequencies": np.zeros((2, 4), np.int16),
        "dither": np.zeros(4, np.int32),
        "table": np.zeros(4096, np.int16),
        "inverse_steps": np.ones(2),
        "origin_codes": np.zeros(2),
        "signs": np.ones((1, 3, 128), np.int8),
        "factors": np.ones(2, np.int32),
        "radii": np.ones(4, np.int32),
    }
    numbers = {"n": 2, "m": 4, "paired": 1, "kind": 0, "octaves": 1, "single": 1, "size": 0}
    made = library.Spec(**numbers | {name: array.ctypes.data for name, array in held.items()} | changes)
    made.held = held
    return made


@needs_core
@pytest.mark.parametrize(
    "changes",
    [
        *({name: value} for name in ("n", "m") for value in (0, -1, 2**62)),
        *({"octaves": value} for value in (0, -1, 3, 16)),
        *({"kind": value} for value in (-1, 3)),
        *({"size": value} for value in (-128, 64, 129, 2**40)),
        {"size": 128, "octaves": 2},
        {"size": 128, "n": 129},
        *({name: None} for name in ("frequencies", "dither", "table", "inverse_steps", "origin_codes")),
        *({"size": 128, name: None} for name in ("signs", "factors", "radii")),
    ],
    ids=str,
)
def test_an_operator_that_cannot_be_is_refused(changes):
    kernel, made = ctypes.c_void_p(1), spec(**changes)
    assert raw("prepare")(ctypes.byref(made), ctypes.byref(kernel)) == REFUSED
    assert kernel.value is None
    assert raw("prepare")(None, ctypes.byref(kernel)) == raw("prepare")(ctypes.byref(made), None) == REFUSED


@needs_core
def test_rows_and_sums_that_cannot_be_are_refused():
    core, kernel, made = library.load(), ctypes.c_void_p(), spec()
    assert raw("prepare")(ctypes.byref(made), ctypes.byref(kernel)) == 0
    rows, total, bounds = np.zeros((3, 2)), np.zeros(8, np.int64), np.zeros((2, 2))

    def added(at=None, **changes):
        found = Totals(total.ctypes.data, bounds[0].ctypes.data, bounds[1].ctypes.data, 0, 0)
        for name, value in changes.items():
            setattr(found, name, value)
        return raw("sum")(kernel, ctypes.byref(at or RowsAt(rows)), None, ctypes.byref(found))

    assert added() == library.DONE
    for wrong in ({"total": None}, {"lower": None}, {"upper": None}, {"codes": total.ctypes.data}):
        assert added(**wrong) == REFUSED
    nowhere, unknown, negative = RowsAt(rows), RowsAt(rows), RowsAt(rows)
    nowhere.data, unknown.number = None, 10
    negative.rows = -1
    for at in (nowhere, unknown, negative):
        assert added(at) == REFUSED
    assert raw("sum")(None, ctypes.byref(RowsAt(rows)), None, None) == REFUSED
    bits = np.zeros((3, 1), np.uint8)
    assert raw("encode")(kernel, ctypes.byref(RowsAt(rows)), bits.ctypes.data, 1) == library.DONE
    assert raw("encode")(kernel, ctypes.byref(RowsAt(rows)), bits.ctypes.data, 0) == REFUSED
    assert raw("encode")(kernel, ctypes.byref(RowsAt(rows)), None, 1) == REFUSED
    for address, height, width in ((None, 3, 1), (bits.ctypes.data, -1, 1), (bits.ctypes.data, 3, 0)):
        assert raw("count_bits")(address, 1, height, width, total.ctypes.data) == REFUSED
    core.qckm_release(kernel)
    tabled = spec(kind=2)
    raw("prepare")(ctypes.byref(tabled), ctypes.byref(kernel))
    assert raw("encode")(kernel, ctypes.byref(RowsAt(rows)), bits.ctypes.data, 1) == REFUSED
    core.qckm_release(kernel)


@needs_core
def test_measurements_that_are_not_there_are_refused():
    bits = np.zeros((3, 2), np.uint8)
    for wrong in ([0, 10], [-1, 2]):
        with pytest.raises(qckm.errors.QckmError, match="a fault of qckm's"):
            matrices.CompiledSigns.of_bits(bits, 10, np.array(wrong))
    with pytest.raises(qckm.errors.QckmError, match="a fault of qckm's"):  # rows of two bytes have no 17 bits
        matrices.CompiledSigns.of_bits(bits, 17, None)


@needs_core
@pytest.mark.parametrize("trials, n_clusters, refused", [(64, 2, False), (65, 2, True), (0, 2, True), (1, 0, True)])
def test_candidates_that_have_no_room_are_refused(trials, n_clusters, refused):
    rows, weights = np.arange(10.0).reshape(5, 2), np.ones(5)
    uniforms = np.full(1 + 65, 0.5)
    if refused:
        with pytest.raises(qckm.errors.QckmError, match="a fault of qckm's"):
            centroids.plus_plus(rows, weights, n_clusters, trials, uniforms)
    else:
        assert len(centroids.plus_plus(rows, weights, n_clusters, trials, uniforms)) == n_clusters


@needs_core
@pytest.mark.parametrize("name", re.findall(r"QCKM_EXPORT int qckm_(\w+)\(", HEADERS[1].read_text()))
def test_nothing_at_all_is_refused(name):
    """NULL for every pointer, and structures whose numbers and addresses are all 0."""
    function = library.load()[f"qckm_{name}"]  # not the attribute, whose types of arguments library.py has set
    assert function(*[None] * 6) == REFUSED
    empty = ctypes.create_string_buffer(256)
    assert function(*[ctypes.byref(empty)] * 2, *[ctypes.c_void_p(0)] * 4) == REFUSED
    assert function(*[ctypes.byref(empty)] * 6) == REFUSED


@needs_core
def test_groups_that_cannot_be_are_refused():
    kernel, made = ctypes.c_void_p(), spec()
    assert raw("prepare")(ctypes.byref(made), ctypes.byref(kernel)) == 0
    rows, total, bounds = np.zeros((3, 2)), np.zeros((2, 8), np.int64), np.zeros((2, 2, 2))
    summaries = (Totals * 2)(
        *(Totals(total[g].ctypes.data, *(b[g].ctypes.data for b in bounds), 0, 0) for g in range(2))
    )

    def added(stops, many=2, to=summaries):
        ends = np.array(stops, np.int64)
        return raw("sum_groups")(kernel, ctypes.byref(RowsAt(rows)), ends.ctypes.data, many, to)

    assert added([1, 3]) == added([0, 0]) == added([], 0) == library.DONE
    assert added([2, 1]) == added([1, 4]) == added([-1, 3]) == added([1, 3], -1) == added([1, 3], 2, None) == REFUSED
    summaries[1].codes = summaries[1].squares = summaries[1].products = total.ctypes.data
    assert added([1, 3]) == REFUSED

    def gathered(numbers, groups=2, at=rows.ctypes.data):
        out, stops, given = np.empty_like(rows), np.empty(2, np.int64), np.array(numbers, np.int64)
        return raw("gather")(at, 16, 3, given.ctypes.data, groups, stops.ctypes.data, out.ctypes.data)

    assert gathered([1, 0, 1]) == 0
    assert gathered([1, 2, 1]) == gathered([-1, 0, 1]) == gathered([0] * 3, 0) == gathered([0] * 3, 2, None) == REFUSED
