"""Which instructions the kernels may use, and the shape of tile that suits them.

The CPU is the one numba compiles for (NUMBA_CPU_NAME and NUMBA_CPU_FEATURES are respected), not always the one it runs
on. The integers that come out never depend on the choice.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm


@dataclass(frozen=True)
class Instructions:
    """What one micro-kernel is built from.

    Parameters
    ----------
    name : str
    lanes : int
        Phases (int32) in a vector.
    multiply_add : str or None
        The LLVM intrinsic that multiplies int16 lanes and adds neighbours to int32 (pmaddwd), where the CPU has one.
    rounding_multiply : str or None
        The LLVM intrinsic for (a·b + 2**14) >> 15 of int16 lanes (pmulhrsw, sqrdmulh), likewise.
    rows, vectors : int
        Shape of the tile of phases that stays in registers: rows × (vectors · lanes) frequencies.
    """

    name: str
    lanes: int
    multiply_add: str | None
    rounding_multiply: str | None
    rows: int
    vectors: int

    @property
    def width(self) -> int:
        """Frequencies in a tile."""
        return self.lanes * self.vectors


AVX512 = Instructions("AVX-512", 16, "llvm.x86.avx512.pmaddw.d.512", "llvm.x86.avx512.pmul.hr.sw.512", 4, 4)
AVX2 = Instructions("AVX2", 8, "llvm.x86.avx2.pmadd.wd", "llvm.x86.avx2.pmul.hr.sw", 4, 2)
SSSE3 = Instructions("SSSE3", 4, "llvm.x86.sse2.pmadd.wd", "llvm.x86.ssse3.pmul.hr.sw.128", 4, 2)
SSE2 = Instructions("SSE2", 4, "llvm.x86.sse2.pmadd.wd", None, 4, 2)
# No pairwise multiply-add of int16: 32-bit ones (mla on ARM, which has 32 registers of 4 lanes).
NEON = Instructions("NEON", 4, None, "llvm.aarch64.neon.sqrdmulh.v8i16", 4, 4)
PLAIN = Instructions("plain", 4, None, None, 4, 2)


def choose(triple: str, features: str) -> Instructions:
    """Return the instructions for an LLVM target: its triple, and its features as "+avx2,-sse4a,…"."""
    if triple.startswith(("aarch64", "arm64")):
        return NEON
    if not triple.startswith("x86_64"):
        return PLAIN
    present = set(features.split(","))
    for feature, instructions in (("+avx512bw", AVX512), ("+avx2", AVX2), ("+ssse3", SSSE3)):
        if feature in present:
            return instructions
    return SSE2  # which every x86-64 has


@dataclass(frozen=True)
class Target:
    """The machine that code is compiled for."""

    triple: str
    cpu: str
    features: str

    def machine(self) -> Any:
        """Return LLVM's idea of it, set up as numba does."""
        static = self.triple.startswith("x86")
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=3,
            jit=True,
            reloc="static" if static else "default",
            codemodel="jitdefault",
        )


def _target() -> Target:
    """Find out as numba does: this machine, unless NUMBA_CPU_NAME and NUMBA_CPU_FEATURES say otherwise."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    if sys.platform == "win32":
        triple += "-elf"  # the only kind of object that LLVM loads there
    cpu = os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if cpu.lower() == "generic" else llvm.get_host_cpu_features().flatten()
    return Target(triple, cpu, features)


TARGET = _target()
HERE = choose(TARGET.triple, TARGET.features)
