"""sums.cu compiled by CuPy for the shape of a problem, once a process; CuPy keeps what it compiled on disk."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from qckm.kernels.cuda.device import cupy
from qckm.kernels.cuda.shapes import Job, Shape

# What a row's number is called: its type in C, and 1 or 2 where that holds the bits of a half.
_NUMBERS = {
    "float32": ("float", 0),
    "float64": ("double", 0),
    "float16": ("unsigned short", 2),
    "bfloat16": ("unsigned short", 1),
    "int8": ("signed char", 0),
    "uint8": ("unsigned char", 0),
    "int16": ("short", 0),
    "uint16": ("unsigned short", 0),
    "int32": ("int", 0),
    "uint32": ("unsigned", 0),
    "int64": ("long long", 0),
    "uint64": ("unsigned long long", 0),
}
NUMBERS = tuple(_NUMBERS)


def in_c(number: str) -> tuple[str, int]:
    """Return the type of rows' numbers in C, and 1 or 2 where it holds the bits of a half."""
    return _NUMBERS[number]


@cache
def kernel_for(job: Job, shape: Shape, device: int) -> Any:
    """Compile the kernel of a job for a device, or find it compiled."""
    number, half = in_c(job.number)
    macros = {
        "NUMBER": number,
        "HALF": half,
        "REAL": "double" if job.wide else "float",
        "EXACT_FLOAT": int(not job.wide),
        "FEATURES": job.n_features,
        "AGAIN": job.n_again,
        "CONTIGUOUS": int(job.contiguous and not job.n_again),
        "LOOKUP": int(job.lookup),
        "ENCODE": int(job.kind == "encode"),
        "PAIRED": int(job.paired),
        "WEIGHTED": int(job.weighted),
        "SUM": "long long" if job.weighted else "int" if job.lookup else "unsigned",
        "VECTOR": 1 if job.n_again else job.vector,
        "WARPS": shape.warps,
        "TILES": shape.tiles,
        "ROWS": shape.rows,
        "HALVES": shape.halves,
        "BLOCKS": shape.blocks,
    }
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    kernel = cupy().RawKernel(defines + source(), "qckm_rows", options=("-std=c++17",))
    kernel.max_dynamic_shared_size_bytes = shape.shared_bytes(job)
    return kernel


@cache
def source() -> str:
    """Return the CUDA source: the arithmetic that the C core has, and what is done with it here."""
    arithmetic = resources.files("qckm.kernels").joinpath("core/arithmetic.h").read_text("utf-8")
    sums = resources.files("qckm.kernels.cuda").joinpath("sums.cu").read_text("utf-8")
    for old, new in (("#include <stdint.h>", _TYPES), ("static inline", "static __device__ __forceinline__")):
        arithmetic = arithmetic.replace(old, new)
    return arithmetic + sums


# CUDA's run-time compiler has no stdint.h of its own.
_TYPES = """\
typedef short int16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
#define INT32_C(x) x
#define UINT32_C(x) x##u"""
