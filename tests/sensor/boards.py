"""Microcontrollers that are not there: how a program is built for each, and how an emulator runs it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FIRMWARE = Path(__file__).parent / "firmware"
QUIET = ["-display", "none", "-monitor", "none", "-serial", "null", "-semihosting-config", "enable=on,target=native"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]


@dataclass(frozen=True)
class Board:
    """A target: its compiler, what it needs besides a main, and its emulator."""

    name: str
    compiler: str
    machine: tuple[str, ...]  # options of the compiler
    platform: str  # the folder of firmware/ with its platform.h
    extra: tuple[str, ...]  # sources and linker script, below firmware/
    emulator: tuple[str, ...]
    packages: str  # Debian's

    def missing(self) -> str:
        """Say which tool is not there, or nothing."""
        for tool in (self.compiler, self.emulator[0]):
            if shutil.which(tool) is None:
                return f"{tool} is not installed: `make test-targets` installs {self.packages}"
        return ""

    def build(
        self, sources: Sequence[Path], folder: Path, options: Sequence[str] = (), libraries: Sequence[str] = ()
    ) -> Path:
        """Compile for size; return the program."""
        program = folder / f"{self.name}.elf"
        scripts = [f"-T{FIRMWARE / name}" for name in self.extra if name.endswith(".ld")]
        others = [str(FIRMWARE / name) for name in self.extra if not name.endswith(".ld")]
        include = [f"-I{folder}", f"-I{FIRMWARE / self.platform}"]
        words = [self.compiler, *self.machine, "-std=c99", "-Os", "-ffunction-sections", "-fdata-sections"]
        words += ["-Wl,--gc-sections", *options, *include, *scripts, *map(str, sources), *others, "-o", str(program)]
        words += libraries
        if not self.name.startswith("avr"):
            words.append("-lgcc")
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
        return program

    def run(self, program: Path, timeout: float = 240) -> bytes:
        """Run a program; return the bytes it emitted."""
        folder = program.parent
        words = [*self.emulator, str(program)]
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=timeout, check=False)
        if self.name.startswith("avr"):
            return _from_hexadecimal(done.stdout + done.stderr)
        assert done.returncode == 0, done.stderr.decode()[:3000]
        return (folder / "output.bin").read_bytes()

    def sizes(self, program: Path) -> tuple[int, int]:
        """Return the bytes of flash and of static RAM that a program takes."""
        tool = self.compiler.replace("gcc", "size")
        line = subprocess.run([tool, str(program)], capture_output=True, text=True, check=True).stdout.splitlines()[1]
        text, data, bss = map(int, line.split()[:3])
        return text + data, data + bss


def _from_hexadecimal(output: bytes) -> bytes:
    """Return the bytes of lines of hexadecimal digits; simavr colours what it hears, and dots line ends."""
    lines = []
    for line in output.decode("ascii", "replace").splitlines():
        plain = line.replace("\x1b[32m", "").replace("\x1b[0m", "").strip().rstrip(".")
        if plain and set(plain) <= set("0123456789abcdef"):
            lines.append(plain)
    return bytes.fromhex("".join(lines))


def _cortex(name: str, core: str, machine: str) -> Board:
    return Board(
        name,
        "arm-none-eabi-gcc",
        (f"-mcpu={core}", "-mthumb", "-ffreestanding", "-nostdlib"),
        "bare",
        ("cortex-m/startup.c", "cortex-m/memory.ld"),
        ("qemu-system-arm", "-M", machine, *QUIET, "-kernel"),
        "gcc-arm-none-eabi qemu-system-arm",
    )


ALL = {
    board.name: board
    for board in (
        _cortex("cortex-m0", "cortex-m0", "microbit"),
        _cortex("cortex-m3", "cortex-m3", "lm3s6965evb"),
        _cortex("cortex-m4", "cortex-m4", "mps2-an386"),
        Board(
            "riscv32",
            "riscv64-unknown-elf-gcc",
            ("-march=rv32imc", "-mabi=ilp32", "-mcmodel=medany", "-ffreestanding", "-nostdlib", "-msmall-data-limit=0"),
            "bare",
            ("riscv/startup.S", "riscv/memory.ld"),
            ("qemu-system-riscv32", "-M", "virt", "-bios", "none", *QUIET, "-kernel"),
            "gcc-riscv64-unknown-elf qemu-system-misc",
        ),
        Board(
            "avr",
            "avr-gcc",
            ("-mmcu=atmega1284p", "-DF_CPU=16000000UL"),
            "avr",
            (),
            ("simavr", "-m", "atmega1284p", "-f", "16000000"),
            "gcc-avr avr-libc simavr",
        ),
    )
}
