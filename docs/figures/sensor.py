"""The figures of docs/sensor.md, from experiments/results/sensor_cost.csv and sensor_gates.csv."""

from __future__ import annotations

from figures.results import Row, read_csv, span, table

PATH = "experiments/results/sensor_cost.csv"
TARGETS = {"Cortex-M0": "cortex-m0", "Cortex-M4": "cortex-m4", "AVR": "avr"}
PROGRAMS = {
    "counters, stored": "qckm counters, stored",
    "counters, regenerated with hints": "qckm counters, regenerated with hints",
    "counters, regenerated": "qckm counters, regenerated",
    "counters, of the default law, regenerated": "qckm counters, of the default law, regenerated",
    "exponential, soft float": "exponential, soft float",
    "bits, stored": "qckm bits, stored",
    "the reading itself, int16": "raw int16",
    "Lloyd on the device, K = 5, 256 rows kept": "Lloyd, K = 5, 256 rows kept",
}


def find(target: str, program: str, m: str) -> Row:
    """Return the measurement of a program."""
    return next(row for row in read_csv(PATH) if (row["target"], row["program"], row["m"]) == (target, program, m))


def cost() -> str:
    """Return flash / RAM with the stack / steps a sample, and the bits sent."""
    rows = []
    for title, program in PROGRAMS.items():
        sizes = list(dict.fromkeys(row["m"] for row in read_csv(PATH) if row["program"] == program))
        for m in sizes:
            found = [find(target, program, m) for target in TARGETS.values()]
            bits = float(found[0]["bits a sample"])
            rows.append([title, m, *(_cells(row) for row in found), f"{bits:.2g}" if bits < 1 else f"{bits:g}"])
    return table(["", "m", *TARGETS, "bits a sample"], rows)


def macs() -> str:
    """Return flash / RAM with the stack / steps of a message of 1064 bytes, of each MAC."""
    found = read_csv("experiments/results/mac_cost.csv")
    names = list(dict.fromkeys(row["MAC"] for row in found))
    rows = []
    for name in names:
        cells = []
        for target in TARGETS.values():
            row = next(row for row in found if (row["target"], row["MAC"]) == (target, name))
            numbers = (int(row[column]) for column in ("flash", "RAM with stack", "steps of 1064 bytes"))
            cells.append(" / ".join(f"{number:,}".replace(",", " ") for number in numbers))
        rows.append([name, *cells])
    return table(["", *TARGETS], rows)


def signing(target: str) -> str:
    """Return what signing adds to the steps of 100 rows of counters, m = 256, in per cent."""
    found = read_csv("experiments/results/mac_cost.csv")
    signed, plain = (
        next(int(row["steps of 1064 bytes"]) for row in found if (row["target"], row["MAC"]) == (target, name))
        for name in ("BLAKE2s", "CRC-32, no MAC")
    )
    rows = 100 * float(find(target, "qckm counters, stored", "256")["steps a sample"])
    return f"{100 * (signed - plain) / rows:.1f}"


def gates() -> str:
    """Return what the channel and the encoder take as hardware."""
    names = {"encoder, n = 3, m = 64": ", tables as logic", "encoder, n = 3, m = 256": ", tables in two block memories"}
    rows = []
    for row in read_csv("experiments/results/sensor_gates.csv"):
        target = "gates of two inputs" if row["target"] == "gates" else row["target"]
        title = row["module"] + names.get(row["module"], "")
        rows.append([title, target, row["gates or LUTs"], row["flip-flops"], row["multipliers"]])
    return table(["", "target", "gates or LUTs", "flip-flops", "multipliers"], rows)


def fewer(target: str, program: str) -> str:
    """Return how many times fewer steps a program takes than soft-float cosine and sine, over the sizes measured."""
    sizes = [row["m"] for row in read_csv(PATH) if row["program"] == program and row["target"] == target]
    ratios = []
    for m in sizes:
        soft = float(find(target, "exponential, soft float", m)["steps a sample"])
        ratios.append(soft / float(find(target, program, m)["steps a sample"]))
    return span(min(ratios), max(ratios), "{:.0f}")


def _cells(row: Row) -> str:
    ram = int(row["static RAM"]) + int(row["stack"])
    return " / ".join(f"{value:,}".replace(",", " ") for value in (int(row["flash"]), ram, int(row["steps a sample"])))
