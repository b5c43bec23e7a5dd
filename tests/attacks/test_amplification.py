"""Small files that ask for much memory or time (issue 14, number 18): answered with little of both."""

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qckm
from fuzz import thrift_trees
from qckm.common import memory
from qckm.decoding.model.sketch_model import SketchModel
from qckm.decoding.task import require_room
from qckm.errors import DecodeError, MessageError
from qckm.models import FORMAT, Model, load_model, read_model, to_csv, to_json, to_npz, to_parquet
from qckm.operator.codes import Codes
from qckm.operator.request import choose_n_frequencies
from qckm.operator.structured import StructuredCodes, block_size
from qckm.sensor import Pool, wire
from qckm.sensor.resync import whole_messages
from qckm.sketch import Sketch

OPERATOR = qckm.SketchOperator.draw(2, 20, scale=1.0, random_state=0)


# --- messages ---


def message(sequence, rows=0):
    bits = OPERATOR.encode(np.random.default_rng(sequence).normal(size=(rows, 2)))
    return wire.dumps(wire.bits_message(OPERATOR, bits, device=1, sequence=sequence))


def header(length, kind=wire.BITS):
    return wire.HEADER.pack(wire.MAGIC, wire.VERSION, kind, OPERATOR.short_fingerprint, 1, 0, 4, 0, length)


def forged(size, period):
    """Headers that overlap, each of which claims a payload of almost a mebibyte."""
    one = header(wire.LONGEST_PAYLOAD - 64)
    if period < wire.HEADER.size:
        one = one[:4] + one[28:32] + bytes(period - 8)
    return (one * (size // len(one)))[:size]


def between(size):
    """Whole messages, each followed by a header that claims a mebibyte."""
    fingerprint = OPERATOR.short_fingerprint
    empty = (wire.Message(wire.BITS, fingerprint, 1, number, 0, 0, b"") for number in range(size // 68))
    pairs = (wire.dumps(one) + header(wire.LONGEST_PAYLOAD) for one in empty)
    return b"".join(pairs) + bytes(wire.LONGEST_PAYLOAD)


@pytest.fixture
def checksummed(monkeypatch):
    """How many bytes were checksummed."""
    count, crc32 = [0], zlib.crc32

    def counting(data, *start):
        count[0] += len(data)
        return crc32(data, *start)

    monkeypatch.setattr(zlib, "crc32", counting)
    return count


@pytest.mark.parametrize(
    "make", [lambda size: forged(size, 32), lambda size: forged(size, 8), lambda size: forged(size, 12), between]
)
def test_18_no_byte_of_a_stream_is_checksummed_more_than_four_times(checksummed, make):
    data = make(1 << 21)
    checksummed[0] = 0
    pool = Pool(OPERATOR)
    errors = list(pool.add_stream(data))
    assert checksummed[0] <= 4 * len(data)
    assert errors
    if make is between:
        assert pool.devices[1].messages == (1 << 21) // 68


def naive(data, begin):
    found = []
    for at in range(begin, len(data)):
        try:
            wire.read(memoryview(data)[at:])
            found.append(at)
        except MessageError:
            pass
    return found


PIECES = st.one_of(
    st.builds(message, st.integers(0, 9), st.integers(0, 5)),
    st.builds(header, st.integers(0, 80), st.sampled_from([0, *wire.KINDS, 4])),
    st.binary(max_size=20),
    st.sampled_from([b"Q", b"Qk", b"Qk\x01", b"Qk\x01\x01"]),
    # A message within a message.
    st.builds(lambda n: wire.dumps(wire.Message(1, bytes(8), 1, 0, 0, 0, message(n))), st.integers(0, 9)),
)


@settings(max_examples=200)
@given(pieces=st.lists(PIECES, max_size=12), cut=st.integers(0, 50), begin=st.integers(0, 40))
def test_18_all_whole_messages_are_found_and_nothing_else(pieces, cut, begin):
    data = b"".join(pieces)[: -cut or None]
    assert whole_messages(data, begin).tolist() == naive(data, begin)


def test_18_a_message_behind_a_mebibyte_of_forged_headers_is_found():
    pool = Pool(OPERATOR)
    (error,) = pool.add_stream(forged(1 << 20, 32) + message(3, 5))
    assert "1048576 bytes from byte 0 on are left out" in str(error)
    assert pool.count == 5


# --- models ---

MEBIBYTE = 1 << 20


def peak_of(*words, code=None):
    """Run the command line, or code, in a process of its own; return its exit code, its words and its peak in MiB."""
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "qckm", *words]
    measure = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)\n"
        "print(done.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", measure, *command], capture_output=True, text=True, check=True)
    (code, peak), said = done.stdout.split("\n", 1)[0].split(), done.stdout.split("\n", 1)[1]
    return int(code), said, int(peak)


def npz_bomb(path, mebibytes=512):
    """Zeros, deflated to a thousandth."""
    notes = json.dumps({"feature_names": None, "facts": {}}).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name, shape, blocks):
            head = io.BytesIO()
            np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
            with archive.open(f"{name}.npy", "w") as file:
                for block in (head.getvalue(), *blocks):
                    file.write(block)

        put("centers", (1, mebibytes * MEBIBYTE // 8), (bytes(MEBIBYTE) for _ in range(mebibytes)))
        for name in ("weights", "spreads", "units"):
            put(name, (1,), [struct.pack("<d", 1)])
        out = io.BytesIO()
        np.save(out, np.frombuffer(notes, np.uint8))
        archive.writestr("notes_json.npy", out.getvalue())


def lying_npz_bomb(path):
    """The same, with lengths that are said to be small."""
    npz_bomb(path)
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        size = archive.getinfo("centers.npy").file_size
    at = data.rindex(struct.pack("<I", size))  # in the directory at the end
    data[at : at + 4] = struct.pack("<I", 208)
    path.write_bytes(data)


def parquet_bomb(path, compression="zstd", rows=1 << 24):
    """One number, again and again."""
    notes = json.dumps({"units": [1.0], "feature_names": None, "facts": {}})
    fields = [("cluster", pa.int32()), *((name, pa.float64()) for name in ("weight", "spread", "0"))]
    schema = pa.schema(fields, metadata={FORMAT: notes})
    arrays = [pa.array(np.zeros(rows, np.int32)), *[pa.array(np.full(rows, 0.5))] * 3]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, compression=compression)


@pytest.mark.parametrize(
    "make",
    [npz_bomb, lying_npz_bomb, parquet_bomb, lambda path: parquet_bomb(path, "snappy")],
    ids=["npz", "lying npz", "zstd", "snappy"],
)
def test_18_a_small_model_file_takes_little_memory(make, tmp_path):
    path = tmp_path / "m"
    make(path)
    assert path.stat().st_size < 3 * MEBIBYTE
    code, said, peak = peak_of("info", str(path))
    assert code == 1
    assert "expected a model file" in said
    assert peak < 300  # of which 130 are Python, NumPy and pyarrow


def test_18_a_table_that_is_said_to_be_plain_and_is_not_is_refused(tmp_path):
    """The codec twice in the footer: readers do not agree on which counts."""
    parquet_bomb(tmp_path / "m", rows=100)
    data = (tmp_path / "m").read_bytes()
    assert b"\x15\x0c" in data  # field 4 as int32: zstd, 6
    size = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - size : -8].replace(b"\x15\x0c", b"\x15\x0c\x06\x08\x02")  # and as int64: Snappy, 1
    forged = data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    with pytest.raises(qckm.errors.FileError, match="field twice"):
        read_model(forged, "m")


@pytest.mark.parametrize("unpacked, entries", [(2**62, 2**31 - 1), (2**31 - 1, 2**29 - 1), (64, 17), (2**32 + 16, 2)])
def test_11_a_dictionary_of_a_few_bytes_does_not_ask_for_gigabytes(unpacked, entries):
    """Found by the fuzzers of issue 33: sizes of more than 32 bits, and two billion entries in them."""
    data = to_parquet(Model(np.eye(2), np.full(2, 0.5), np.zeros(2), np.ones(2)))
    page, end = thrift_trees.parse(data, 4)
    (*_, said), (*_, dictionary) = (next(field for field in page if field[0] == number) for number in (2, 7))
    assert (said, dictionary[0][2]) == (8, 2)
    changes = {2: unpacked, 7: [[1, dictionary[0][1], entries], *dictionary[1:]]}
    header = thrift_trees.write([[number, kind, changes.get(number, value)] for number, kind, value in page])
    with pytest.raises(qckm.errors.FileError, match=r"expected a (page|dictionary|model)|sizes of pages"):
        read_model(data[:4] + header + data[end:], "m")


@pytest.mark.parametrize("write", [to_json, to_csv, to_parquet, to_npz])
def test_18_a_large_model_of_zeros_is_still_a_model(write):
    """Compression by a thousand is no attack as long as it is small."""
    k, n = 2000, 300
    model = Model(np.zeros((k, n)), np.full(k, 1 / k), np.zeros(k), np.ones(n))
    assert read_model(write(model), "m").centers.shape == (k, n)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_18_a_model_that_numpy_has_compressed_is_still_a_model(tmp_path, compression):
    model = Model(np.eye(3), np.full(3, 1 / 3), np.zeros(3), np.ones(3))
    model.save(tmp_path / "m.npz")
    arrays = dict(np.load(tmp_path / "m.npz"))
    (np.savez if compression == zipfile.ZIP_STORED else np.savez_compressed)(tmp_path / "again.npz", **arrays)
    assert load_model(tmp_path / "again.npz").centers.tolist() == np.eye(3).tolist()


# --- decoding ---


def structured(n, m):
    """A sketch of structured frequencies: a mebibyte is enough for gigabytes of them, written out."""
    size = block_size(n)
    signs = np.random.default_rng(0).choice(np.array([-1, 1], np.int8), (-(-m // size), 3, size))
    codes = StructuredCodes(signs, np.ones(n, np.int32), np.full(m, 50, np.int32))
    one_bit = qckm.signatures.get("one-bit")
    notes = (np.full(n, 2.0**-10), np.zeros(n), one_bit, "single", "gaussian", 1.0, np.ones(n), None)
    operator = qckm.SketchOperator(Codes(codes, np.zeros(m, np.int32)), *notes)
    return Sketch(operator, np.zeros(m, np.int64), 10, 0, (np.zeros(n), np.ones(n)))


@pytest.mark.parametrize("decoder", ["matched", "clompr"])
def test_18_a_mebibyte_of_operator_is_not_decoded_to_gigabytes(decoder, tmp_path):
    path = tmp_path / "s.qckm"
    structured(16384, 16384).save(path)
    assert path.stat().st_size < 2 * MEBIBYTE
    code, said, peak = peak_of("decode", str(path), "-k", "2", "--decoder", decoder)
    assert code == 1
    assert "Decoding 16384 features at 16384 frequencies takes about 8.6 GB of memory" in said
    assert peak < 300


def test_18_more_is_decoded_where_it_is_allowed(monkeypatch):
    monkeypatch.setattr(memory, "free", lambda: 100 << 30)
    require_room(784, 10_000)
    require_room(784, 5 * 784 * 10)
    with pytest.raises(
        DecodeError, match=r"8\.6 GB of memory, and 6\.4 GB are allowed \(107\.4 GB are free\).*QCKM_MEMORY=8G"
    ):
        require_room(16384, 16384)
    monkeypatch.setenv("QCKM_MEMORY", "8G")
    require_room(16384, 16384)
    monkeypatch.setenv("QCKM_MEMORY", "300M")
    with pytest.raises(DecodeError, match=r"314\.6 MB are allowed"):
        require_room(784, 39_200)
    monkeypatch.setenv("QCKM_MEMORY", "much")
    with pytest.raises(qckm.errors.QckmError, match="QCKM_MEMORY to be a number of bytes such as 8G"):
        require_room(784, 39_200)
    monkeypatch.delenv("QCKM_MEMORY")
    monkeypatch.setattr(memory, "free", lambda: 10 << 20)
    require_room(784, 10_000)  # so little is never refused
    with pytest.raises(DecodeError, match=r"10\.5 MB are free"):
        require_room(784, 39_200)


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="only Linux says")
def test_18_what_is_free_is_known_and_heeds_limits():
    assert 1 << 20 < memory.free() < 1 << 50
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 32,) * 2)\n"
        "from qckm.common import memory\n"
        "print(memory.free())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1 << 32


def test_18_an_operator_of_784_features_and_ten_thousand_frequencies_is_decoded():
    model = SketchModel.of(structured(784, 10_000))
    assert model.waves.frequencies.shape[0] == 784


# --- fitting ---


@pytest.mark.parametrize(
    "n, k, m", [(10, 10, 500), (2, 3, 100), (784, 10, 39_200), (784, 20, 78_400), (5000, 2, 20_000)]
)
def test_18_thousands_of_columns_have_fewer_frequencies_each(n, k, m):
    assert choose_n_frequencies(n, k) == m


def test_18_a_fit_that_has_no_room_is_refused_before_it_takes_any(tmp_path):
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).normal(size=(300, 5000)))
    words = ("fit", str(tmp_path / "wide.npy"), "-k", "2", "--frequencies", "50000", "-o", str(tmp_path / "m.json"))
    code, said, peak = peak_of(*words)
    assert code == 1
    assert "Drawing 50000 frequencies of 5000 features takes about 8.0 GB of memory" in said
    assert peak < 600
    assert os.listdir(tmp_path) == ["wide.npy"]


def test_18_drawing_structured_frequencies_takes_no_matrix():
    code = (
        "import qckm\n"
        "op = qckm.SketchOperator.draw(3000, 20_000, scale=50.0, random_state=0, frequencies='structured')\n"
        "assert op.arithmetic.endswith('structured')"
    )
    done, said, peak = peak_of(code=code)
    assert done == 0, said
    assert peak < 300  # the matrix alone has 480 MB
