"""What signing a message costs on a device: flash, RAM and cycles of MACs, beside the CRC of version 1.

Programs compiled for size, for messages of 64 and 1064 bytes (counters of m = 256); both together give what a byte
costs. Instructions are counted by qemu, cycles of AVR by its own timer under simavr. Each program's MAC is compared
with Python's first. `make sensor-cost` runs it.
"""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.cmac import CMAC

import qckm
from common import keep
from sensor_cost import ALL, HERE, SERIAL_PORTS, TICK, Board, instructions

SIZES = (64, 1064)
KEY = bytes(17 * i % 256 for i in range(16))
BOARDS = ("cortex-m0", "cortex-m4", "avr")


def cmac(data: bytes) -> bytes:
    made = CMAC(AES(KEY))
    made.update(data)
    return made.finalize()


def siphash(data: bytes, key: bytes = KEY) -> bytes:
    """SipHash-2-4-128: Python has none, so here is its specification."""
    mask = 2**64 - 1

    def turned(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & mask

    def rounds(many: int) -> None:
        for _ in range(many):
            v[0], v[2] = v[0] + v[1] & mask, v[2] + v[3] & mask
            v[1], v[3] = turned(v[1], 13) ^ v[0], turned(v[3], 16) ^ v[2]
            v[0] = turned(v[0], 32)
            v[2], v[0] = v[2] + v[1] & mask, v[0] + v[3] & mask
            v[1], v[3] = turned(v[1], 17) ^ v[2], turned(v[3], 21) ^ v[0]
            v[2] = turned(v[2], 32)

    k = [int.from_bytes(key[i : i + 8], "little") for i in (0, 8)]
    v = [
        0x736F6D6570736575 ^ k[0],
        0x646F72616E646F6D ^ k[1] ^ 0xEE,
        0x6C7967656E657261 ^ k[0],
        0x7465646279746573 ^ k[1],
    ]
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    first = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return (first | (v[0] ^ v[1] ^ v[2] ^ v[3]) << 64).to_bytes(16, "little")


# How each is called, its source, and what Python makes of the same bytes.
MACS = {
    "CRC-32, no MAC": ("mac_crc.c", None),
    "BLAKE2s": ("mac_blake2s.c", lambda data: hashlib.blake2s(data, key=KEY, digest_size=16).digest()),
    "HMAC-SHA-256": ("mac_hmac_sha256.c", lambda data: hmac.digest(KEY, data, "sha256")[:16]),
    "AES-128-CMAC": ("mac_aes_cmac.c", cmac),
    "SipHash-2-4-128": ("mac_siphash.c", siphash),
}
# On a host, the board's side is standard output.
HOST = """#include <stdio.h>
#include "cost.h"
void begin(void) {}
void end(void) {}
void send_byte(uint8_t byte) { putchar(byte); }
"""


def build(board: Board, source: str, folder: Path, size: int, repeats: int, measure: bool) -> Path:
    sources = [HERE / name for name in ("main.c", "board.c", "mac_main.c", source)]
    options = [f"-I{HERE}", f"-DROWS={repeats}", f"-DMEASURE={int(measure)}", f"-DMESSAGE={size}"]
    return board.build(sources, folder, [*options, f"-DSERIAL_PORT={SERIAL_PORTS[board.name]}"])


def cycles(board: Board, source: str, folder: Path, size: int) -> tuple[float, int]:
    """Return instructions (on AVR: cycles) of a message, and bytes of stack."""
    few, many = (1, 9) if board.name == "avr" else (1, 3)
    if board.name != "avr":
        stack = int.from_bytes(board.run(build(board, source, folder, size, few, measure=True))[:4], "little")
        counts = [instructions(board, build(board, source, folder, size, n, measure=False)) for n in (few, many)]
    else:
        counts = []
        for repeats in (few, many):
            output = board.run(build(board, source, folder, size, repeats, measure=True), timeout=100)
            ticks, stack = (int.from_bytes(output[at : at + 4], "big") for at in (0, 4))
            counts.append(ticks * TICK)
    return (counts[1] - counts[0]) / (many - few), stack


def require_right(source: str, mac, folder: Path) -> None:
    """Compare what a program computes with Python, for messages of many lengths."""
    (folder / "host.c").write_text(HOST)
    for size in (*range(0, 140, 7), 63, 64, 65, 128, *SIZES):
        sources = [HERE / "main.c", folder / "host.c", HERE / "mac_main.c", HERE / source]
        words = ["gcc", "-std=c99", f"-DMESSAGE={size}", f"-I{folder}", f"-I{HERE}", *map(str, sources)]
        subprocess.run([*words, "-o", str(folder / "host")], check=True)
        found = subprocess.run([folder / "host"], check=True, capture_output=True).stdout
        assert found == mac(bytes((7 * i + 1) % 256 for i in range(size))), (source, size)


def main() -> None:
    # The first vector that its authors publish.
    assert siphash(b"", bytes(range(16))).hex() == "a3817f04ba25a8e66df67214c7550293"
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        qckm.SketchOperator.from_seed(3, 64, scale=2000.0, seed=7, steps=1.0).export_c(folder / "encoder.h")
        for source, mac in MACS.values():
            if mac is not None:
                require_right(source, mac, folder)
        for board_name in BOARDS:
            board = ALL[board_name]
            if board.missing():
                print(f"{board_name}: {board.missing()}")
                continue
            for called, (source, _) in MACS.items():
                flash, ram = board.sizes(build(board, source, folder, SIZES[1], 1, measure=False))
                (short, _), (long, stack) = (cycles(board, source, folder, size) for size in SIZES)
                a_byte = (long - short) / (SIZES[1] - SIZES[0])
                row = [board_name, called, flash, ram + stack, round(short), round(long), f"{a_byte:.1f}"]
                results.append(row)
                print(*row, sep="\t", flush=True)
    names = ["target", "MAC", "flash", "RAM with stack", "steps of 64 bytes", "steps of 1064 bytes", "steps a byte"]
    keep("mac_cost", names, results)


if __name__ == "__main__":
    main()
