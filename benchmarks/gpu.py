"""How near is the GPU's kernel to what the card can do, and how far ahead of PyTorch? `make bench-gpu`, with a GPU."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
import cupyx
import numpy as np

import qckm
from benchmarks.timing import Row

RESULTS = Path(__file__).parent / "results" / "gpu.md"
_BILLION = 10**9
# Of a row at a frequency, both bits, in sums.cu as the compiler makes it: multiply-adds, and all instructions.
_MULTIPLY_ADDS, _INSTRUCTIONS = 2.0, 3.8
# Seconds for 10⁹ float32 rows on the card, by n, m and signature.
TARGETS = {
    (10, 300, "one-bit"): 0.10,
    (3, 300, "one-bit"): 0.10,
    (10, 1000, "one-bit"): 0.35,
    (32, 1000, "one-bit"): 0.6,
    (64, 1000, "one-bit"): 1.0,
    (256, 2000, "one-bit"): 6.0,
    (10, 300, "exponential"): 0.25,
}


def seconds(work: Callable[[], Any], repeats: int = 10) -> float:
    """Time work on the GPU by its own clock: the median, after one call to warm up."""
    work()
    times = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(times)


def ceilings() -> dict[str, float]:
    """Measure the card: products of bytes by the tensor cores, integer instructions, copies; each a second."""
    module = cupy.RawModule(code=Path(__file__).with_name("gpu_ceilings.cu").read_text(), options=("-std=c++17",))
    out = cupy.zeros(4, np.uint32)
    processors, repeats, threads = cupy.cuda.Device().attributes["MultiProcessorCount"], 20_000, 512
    found = {}
    for name, operations in (
        ("multiply_16", 8 * 16 * 8 * 16 / 32),
        ("multiply_32", 8 * 16 * 8 * 32 / 32),
        ("multiply_add", 16),
        ("logic", 16),
        ("both", 32),
    ):
        kernel = module.get_function(name)
        took = seconds(lambda kernel=kernel: kernel((2 * processors,), (threads,), (out, np.int32(repeats))), 5)
        found[name] = 2 * processors * threads * repeats * operations / took
    there = cupy.zeros(1 << 29, np.float32)
    target = cupy.empty_like(there)
    found["copy"] = 2 * there.nbytes / seconds(lambda: cupy.copyto(target, there), 5)
    host = cupyx.zeros_pinned(1 << 28, np.float32)
    stream = cupy.cuda.get_current_stream()
    found["host to device"] = host.nbytes / seconds(lambda: there[: host.size].set(host, stream), 5)
    return found


def rows_on_card(found: dict[str, float]) -> list[Row]:
    """Sketch rows that lie on the card."""
    lines = []
    for (n, m, signature), target in TARGETS.items():
        count = min(512_000_000, 5_120_000_000 // n, 16 * 10**10 // m, 10**12 // (n * m))
        X = cupy.random.standard_normal((count, n), dtype=cupy.float32) * 3
        operator = qckm.SketchOperator.draw(n, m, 1.0, signature=signature, frequencies="dense", random_state=0)
        took = seconds(lambda operator=operator, X=X: operator.sketch(X)) * _BILLION / count
        floor = m * _BILLION * _INSTRUCTIONS / found["both"]
        products = m * _BILLION * 4 * max(16, n) / found["multiply_32"]
        note = f"floor: {floor:.3f} s of instructions, {products:.3f} s of tensor cores"
        lines.append(Row(f"10⁹ rows, {signature}, paired, n = {n}, m = {m}", target, took, "s", True, note))
    return lines


def against_torch() -> list[Row]:
    """Sketch the same rows with single dithers, beside PyTorch as it comes and compiled."""
    import torch

    count, n, m = 64_000_000, 10, 300
    operator = qckm.SketchOperator.draw(n, m, 1.0, dither="single", random_state=0)
    X = cupy.random.standard_normal((count, n), dtype=cupy.float32)
    there = torch.from_dlpack(X)
    frequencies = torch.from_numpy(operator.frequencies.astype(np.float32)).cuda()
    phases = torch.from_numpy(operator.phases.astype(np.float32)).cuda()

    def plain(x: Any) -> Any:
        return torch.sign(torch.cos(x @ frequencies + phases)).sum(0)

    def in_parts(work: Callable[[Any], Any]) -> Any:
        return sum(work(part) for part in there.split(1_000_000))

    compiled = torch.compile(plain)
    ours = seconds(lambda: operator.sketch(X))
    return [
        Row(f"against {name}, same work, n = {n}, m = {m}", 10.0, seconds(lambda work=work: in_parts(work), 5) / ours)
        for name, work in (("PyTorch", plain), ("torch.compile", compiled))
    ]


def from_host(found: dict[str, float]) -> list[Row]:
    """Sketch rows of the host, pinned and not, against the bus."""
    count, n = 100_000_000, 10
    operator = qckm.SketchOperator.draw(n, 300, 1.0, random_state=0)
    pinned = cupyx.empty_pinned((count, n), np.float32)
    pinned[:] = np.random.default_rng(0).standard_normal((count // 10, n), np.float32).repeat(10, axis=0)
    plain = np.array(pinned)
    rate = found["host to device"]
    lines = []
    for name, rows, target in (("pinned", pinned, 0.9), ("not pinned", plain, 0.3)):
        share = rows.nbytes / seconds(lambda rows=rows: operator.sketch(rows, device="cuda"), 3) / rate
        note = f"the bus: {rate / 1e9:.1f} GB/s"
        lines.append(
            Row(f"rows of the host, {name}, n = {n}, m = 300, over the bus's rate", target, share, "×", False, note)
        )
    return lines


def main() -> int:
    """Print the table, and keep it."""
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    found = ceilings()
    lines = [
        f"{name}, CuPy {cupy.__version__}, device events, median of 10 (host: 3, PyTorch: 5).",
        "",
        f"Measured ceilings: {found['multiply_32'] / 1e12:.0f}·10¹² products of bytes a second (32 features at once; "
        f"{found['multiply_16'] / 1e12:.0f} of 16), {found['multiply_add'] / 1e12:.1f}·10¹² multiply-adds, "
        f"{found['logic'] / 1e12:.1f}·10¹² logic instructions, {found['both'] / 1e12:.1f}·10¹² of both together, "
        f"{found['copy'] / 1e12:.2f} TB/s, from the host {found['host to device'] / 1e9:.1f} GB/s.",
        "",
        "| what | target | measured | met | note |",
        "| --- | --- | --- | --- | --- |",
    ]
    print(*lines, sep="\n", flush=True)
    for part in (lambda: rows_on_card(found), lambda: from_host(found), against_torch):
        for row in part():
            lines.append(str(row))
            print(row, flush=True)
    RESULTS.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
