"""The figures of docs/scaling-out.md and of README on speed, from benchmarks/results/."""

from __future__ import annotations

import re

from figures.results import ROOT, read_tables, table


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
    header = rows["engine"] if name in rows and what in rows["engine"] else rows[""]
    return rows[name][header.index(what)]


def engines() -> str:
    """Return the table of what engines cost."""
    header = ["", "processor seconds", "/ one process", "wanted"]
    rows = []
    for name, cells in read_tables("benchmarks/results/engines.md").items():
        if name.startswith(("alone", "Dask,", "Ray,", "Spark,")):
            rows.append([name.replace("alone", "one process"), *cells[:3]])
    return table(header, rows)


def part(what: str) -> str:
    """Return what a part costs: `read a row, ns`, `sketch a row, ns`, `merge a result, ms`, `bytes of a result`."""
    return read_tables("benchmarks/results/engines.md")[what][0]


def task(name: str) -> str:
    """Return the processor milliseconds of a task beside its rows."""
    return engine(name, "processor ms a task")


def path_ratio(name: str) -> float:
    """Return the processor time of an engine by path over that of one process."""
    return float(engine(f"{name}, by path", "/ alone"))


def rows_on(rows: str, nodes: str, name: str) -> str:
    """Return the seconds that so many rows take on nodes of 16 cores, by path: reading, sketching and the engine's."""
    each = (float(part("read a row, ns")) + float(part("sketch a row, ns"))) * 1e-9
    return _seconds(float(rows) * each * path_ratio(name) / (16 * int(nodes)))


def disk(rows: str, nodes: str) -> str:
    """Return the seconds that the bytes of so many rows of ten float32 take at 1 GB/s a node."""
    return _seconds(float(rows) * 40 / (int(nodes) * 1e9))


def tasks_on(rows: str, nodes: str, name: str) -> str:
    """Return how many tasks there are: 2 GB at most, and 8 a core at least (Spark: 4), of 32 MB at least."""
    return f"{_tasks(rows, nodes, name):,}".replace(",", " ")


def _tasks(rows: str, nodes: str, name: str) -> int:
    size = float(rows) * 40
    return round(size / min(2**31, max(2**25, size / (16 * int(nodes) * (4 if name == "Spark" else 8)))))


def overhead_on(rows: str, nodes: str, name: str) -> str:
    """Return the seconds that the tasks take beside their rows, on all cores."""
    return _seconds(_tasks(rows, nodes, name) * float(task(name)) / 1000 / (16 * int(nodes)))


def merged_on(rows: str, nodes: str, name: str) -> str:
    """Return the seconds that merging takes in all, on one core."""
    return _seconds(_tasks(rows, nodes, name) * float(part("merge a result, ms")) / 1000)


def moved_on(rows: str, nodes: str, name: str) -> str:
    """Return the megabytes of partial sums that travel."""
    return f"{_tasks(rows, nodes, name) * float(part('bytes of a result')) / 1e6:.0f} MB"


def groups(what: str) -> str:
    """Return a ratio of benchmarks/results/groups.md."""
    return read_tables("benchmarks/results/groups.md")[what][1]


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def throughput(start: str) -> str:
    """Return a number of benchmarks/results/cli-throughput-2e7.txt."""
    text = (ROOT / "benchmarks/results/cli-throughput-2e7.txt").read_text()
    line = next(line for line in text.splitlines() if line.startswith(start))
    return line.split()[-1]


def kills() -> str:
    """Return how often a resumable sketch was killed."""
    return (ROOT / "experiments/results/kills.txt").read_text().split()[0]
