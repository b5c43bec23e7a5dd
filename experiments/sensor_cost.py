"""What a sample costs on a device: flash, RAM, instructions and bits sent, for qckm and for what one might do instead.

Programs for three features, compiled for size. Instructions are counted by qemu, cycles of AVR by its own timer under
simavr; the stack is measured, not estimated. `tests/install-tools.sh cortex-m avr riscv` installs the tools.
"Exponential" wants a C library's sine, too: libnewlib-arm-none-eabi, avr-libc.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import qckm
from common import keep

HERE = Path(__file__).parent / "sensor_cost"
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from sensor.boards import ALL, Board  # noqa: E402

N = 3
SIZES = (64, 256, 1024)  # m; paired, so M = 2m
SERIAL_PORTS = {
    "cortex-m0": "0x4000251C",
    "cortex-m3": "0x4000C000",
    "cortex-m4": "0x40004000",
    "riscv32": "0x10000000",
    "avr": "0",
}
# Whether frequencies are regenerated, with hints, of the default law.
WAYS = {
    "stored": (False, False, False),
    "regenerated with hints": (True, True, False),
    "regenerated": (True, False, False),
    "of the default law, regenerated": (True, False, True),
}
TICK = 1024  # cycles, on AVR


@dataclass(frozen=True)
class Program:
    """One way to deal with a sample."""

    name: str
    source: str
    m: int | None = None
    regenerate: bool = False
    hints: bool = False
    integer: bool = False
    period: int = 1  # samples after which it starts over
    bits: float = 0.0  # sent, a sample
    libraries: tuple[str, ...] = ()


def programs() -> list[Program]:
    """List what is compared."""
    found = [Program("raw int16", "raw.c", bits=16 * N)]
    for m in SIZES:
        for how, way in WAYS.items():
            counters = 8 * (36 + 2 * 2 * m) / 65535
            found.append(Program(f"qckm counters, {how}", "counters.c", m, *way, bits=counters))
            found.append(Program(f"qckm bits, {how}", "bits.c", m, *way, bits=2 * m))
        sums = 32 * 2 * m / 65535  # as rarely as counters, for a fair comparison
        found.append(Program("exponential, soft float", "exponential.c", m, bits=sums, libraries=("-lm", "-lc")))
    found.append(Program("Lloyd, K = 5, 256 rows kept", "lloyd.c", period=256, bits=8 * 5 * (2 * N + 2) / 256))
    return found


def write_headers(program: Program, folder: Path) -> None:
    if program.m is None:
        return
    if program.integer:
        op = qckm.SketchOperator.draw(N, program.m, 2000.0, "integer-balanced", steps=1.0, random_state=7)
    else:
        op = qckm.SketchOperator.from_seed(N, program.m, scale=2000.0, seed=7, steps=1.0)
    op.export_c(folder / "encoder.h", regenerate=program.regenerate, hints=program.hints)
    numbers = ",".join(f"{value:.8e}f" for value in op.frequencies.T.ravel())
    (folder / "frequencies.h").write_text(
        "#if defined(__AVR__)\n#include <avr/pgmspace.h>\n#define FLASH PROGMEM\n"
        "#define OMEGA(i) pgm_read_float(&omega[i])\n#else\n#define FLASH\n#define OMEGA(i) omega[i]\n#endif\n"
        f"#define M {program.m}\nstatic const float omega[] FLASH = {{{numbers}}};\n"
    )


def build(board: Board, program: Program, folder: Path, rows: int, measure: bool) -> Path:
    sources = [HERE / "main.c", HERE / "board.c", HERE / program.source]
    options = [f"-I{HERE}", f"-DROWS={rows}", f"-DMEASURE={int(measure)}", f"-DSERIAL_PORT={SERIAL_PORTS[board.name]}"]
    return board.build(sources, folder, options, program.libraries)


def instructions(board: Board, elf: Path) -> int:
    """Count the instructions of a whole run: one line of qemu's log for each."""
    words = [*board.emulator[:-1], "-singlestep", "-d", "exec,nochain", "-D", "/dev/stdout", "-kernel", str(elf)]
    run = subprocess.Popen(words, cwd=elf.parent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdout is not None
    count = 0
    while block := run.stdout.read(1 << 20):
        count += block.count(b"Trace ")
    assert run.wait() == 0
    return count


def cost(board: Board, program: Program) -> tuple[int, int, int, float]:
    """Return bytes of flash, of static RAM and of stack, and instructions (on AVR: cycles) a sample."""
    # AVR's timer is coarse, and of 16 bits; qemu's count is exact, and its log long.
    rows = 2 if board.name != "avr" else {None: 64, 64: 16, 256: 16, 1024: 4}[program.m]
    if program.integer and board.name == "avr":
        rows = max(1, rows // 4)
    few, many = (1, 1 + rows) if program.period == 1 else (program.period, 2 * program.period)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_headers(program, folder)
        flash, ram = board.sizes(build(board, program, folder, few, measure=False))
        if board.name == "avr":
            counts = []
            for rows in (few, many):
                output = board.run(build(board, program, folder, rows, measure=True), timeout=100)
                ticks, stack = (int.from_bytes(output[at : at + 4], "big") for at in (0, 4))
                counts.append(ticks * TICK)
        else:
            stack = int.from_bytes(
                board.run(build(board, program, folder, few, measure=True), timeout=60)[:4], "little"
            )
            counts = [instructions(board, build(board, program, folder, rows, measure=False)) for rows in (few, many)]
    taken = counts[1] - counts[0]
    return flash, ram, stack, (taken % (TICK << 16) if board.name == "avr" else taken) / (many - few)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--board", choices=list(ALL), action="append")
    results = []
    for name in arguments.parse_args().board or ALL:
        board = ALL[name]
        if board.missing():
            print(f"{name}: {board.missing()}")
            continue
        for program in programs():
            if program.libraries and name == "riscv32":
                continue  # no C library to hand
            try:
                flash, ram, stack, steps = cost(board, program)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                print(f"{name}, {program.name}, m = {program.m}: not built: {str(error).strip():.600}")
                continue
            row = [name, program.name, program.m or "", flash, ram, stack, round(steps), f"{program.bits:.4g}"]
            results.append(row)
            print(*row, sep="\t", flush=True)
    keep(
        "sensor_cost",
        ["target", "program", "m", "flash", "static RAM", "stack", "steps a sample", "bits a sample"],
        results,
    )


if __name__ == "__main__":
    main()
