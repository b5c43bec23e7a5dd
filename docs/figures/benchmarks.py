"""The figures of docs/scaling-out.md and of README on speed, from benchmarks/results/."""

from __future__ import annotations

import re

from figures.results import ROOT, read_tables, table

ROWS = 50_000_000  # of the file that benchmarks/engines.py measures with
NAMES = {"alone, two threads": "one process, two threads", "Dask": "Dask", "Ray": "Ray", "Spark": "Spark"}
LARGE_ROWS, LARGE_CORES = 1e12, 1600  # the example of docs/scaling-out.md


def measured(what: str, of: str = "table") -> str:
    """Return a ratio of benchmarks/results/table.md, without its sign."""
    return read_tables(f"benchmarks/results/{of}.md")[what][1].removesuffix("×").strip()


def fastest() -> str:
    """Return the greatest rate of a one-bit sketch over that of a float matrix product."""
    rows = read_tables("benchmarks/results/table.md")
    rates = [float(cells[1].rstrip("× ")) for name, cells in rows.items() if name.endswith("over sgemm's")]
    return f"{max(rates):.1f}"


def gpu(what: str, of: str = "measured") -> str:
    """Return a cell of benchmarks/results/gpu.md, without its sign."""
    rows = read_tables("benchmarks/results/gpu.md")
    return rows[what][rows["what"].index(of)].removesuffix("×").removesuffix("s").strip()


def gpu_rate(what: str) -> str:
    """Return billions of rows a second, where the table has the seconds of a billion."""
    return f"{1 / float(gpu(what)):.0f}"


def gpu_host(how: str) -> str:
    """Return billions of float32 rows of ten columns a second that reach the GPU from the host."""
    share = float(gpu(f"rows of the host, {how}, n = 10, m = 300, over the bus's rate"))
    bus = re.search(r"from the host ([\d.]+) GB/s", (ROOT / "benchmarks/results/gpu.md").read_text())
    if bus is None:
        raise ValueError("benchmarks/results/gpu.md does not say how fast the bus is.")
    return f"{share * float(bus[1]) / 40:.2g}"


def engine(name: str, what: str) -> str:
    """Return a cell of benchmarks/results/engines.md."""
    rows = read_tables("benchmarks/results/engines.md")
    return rows[name][rows[""].index(what)]


def sketch_kilobytes() -> str:
    """Return the size of the sketch file there."""
    size = _note(r"a sketch file has ([\d,]+) bytes")
    return f"{int(size.replace(',', '')) / 1000:.1f} kB"


def row_microseconds(name: str) -> float:
    """Return the processor time a row: all of it, less what partitions take."""
    parts = float(engine(name, "partitions") or 0) * float(engine(name, "processor ms a partition") or 0) / 1000
    return (float(engine(name, "processor seconds")) - parts) / ROWS * 1e6


def engines() -> str:
    """Return the table of what engines cost."""
    header = ["", "processor seconds", "/ alone", "t_row, µs a core", "t_part, ms", "partitions", "bytes moved / (P·S)"]
    rows = []
    for name, title in NAMES.items():
        second = read_tables("benchmarks/results/engines.md")[name][3]  # the header has "/ alone" twice
        row = [title, engine(name, "processor seconds"), second, f"{row_microseconds(name):.2f}"]
        row += [engine(name, "processor ms a partition"), engine(name, "partitions")]
        row += [engine(name, "/ (partitions × sketch)") + (" (compressed)" if name == "Spark" else "")]
        rows.append([*row, f"{engine(name, 'driver, MB')} ({engine(name, 'with a tenth of the rows')})"])
    return table([*header, "driver, MB (a tenth of the rows)"], rows)


def large_rows(name: str) -> str:
    """Return the seconds that 10¹² rows take on 1600 cores."""
    return f"{LARGE_ROWS * row_microseconds(name) / 1e6 / LARGE_CORES:.0f} s"


def large_parts(name: str, partitions: str) -> str:
    """Return the seconds that so many partitions take on 1600 cores."""
    seconds = int(partitions) * float(engine(name, "processor ms a partition")) / 1000 / LARGE_CORES
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def scheduler(partitions: str) -> str:
    """Return the seconds that Dask's scheduler takes for so many partitions."""
    each = float(_note(r"took 1.2 \(([\d.]+) ms a partition"))
    return f"{int(partitions) * each / 1000:.0f} s"


def moved(partitions: str) -> str:
    """Return the gigabytes of so many partial sums."""
    return f"{int(partitions) * float(sketch_kilobytes().split()[0]) * 1000 / 1e9:.1f} GB"


def share_of_partition(name: str) -> str:
    """Return what a partition costs beside a million rows in it, in per cent."""
    return f"{100 * float(engine(name, 'processor ms a partition')) / (row_microseconds(name) * 1000):.0f} %"


def throughput(start: str, number: str = "1") -> str:
    """Return a number of the quiet minute of benchmarks/results/cli-throughput-1e8.txt."""
    text = (ROOT / "benchmarks/results/cli-throughput-1e8.txt").read_text().partition("A busy one")[0]
    line = next(line for line in text.splitlines() if line.strip().startswith(start))
    return re.findall(r"[\d.]+", line.strip().removeprefix(start))[int(number) - 1]


def kills() -> str:
    """Return how often a resumable sketch was killed."""
    return (ROOT / "experiments/results/kills.txt").read_text().split()[0]


def _note(pattern: str) -> str:
    match = re.search(pattern, (ROOT / "benchmarks/results/engines.md").read_text())
    if match is None:
        raise ValueError(f"benchmarks/results/engines.md does not say {pattern}")
    return match[1]
