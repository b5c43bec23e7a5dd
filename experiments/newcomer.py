"""A stranger with twelve monthly files: ten commands, and every figure that they print, checked against the rows.

    python newcomer.py                       # the data sets of ../shared/data, or QCKM_DATA; a few minutes
    python newcomer.py skin_segmentation     # one of them

The rows of a real data set are dealt to twelve months. In the last three, 8 % of the rows are exchanged for rows whose
first column is among the highest tenth. So it is known what has changed, and how much. The commands are run as typed,
and what they print is read back: counts, sizes, the SSE, labels, means, effects, changes of clusters. A line per figure
says what was printed and what the rows say. The exit code is the number of false ones.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.cluster import KMeans

import qckm

DATA = Path(os.environ.get("QCKM_DATA", Path(__file__).parents[2] / "shared" / "data"))
SETS = {"skin_segmentation": "X", "walking_accelerometer": "X", "mnist_spectral": "features"}
RESULTS = Path(__file__).parent / "results"
MONTHS = [f"2025-{month:02}" for month in range(1, 13)]
K, CHANGED = 10, 0.08
COMMANDS = """
qckm operator 2025-01.parquet -k 10 -o operator.qckm
for m in 2025-*.parquet; do qckm sketch $m --operator operator.qckm --part ${m%.parquet} -o ${m%.parquet}.qckm; done
qckm merge '2025-*.qckm' -o year.qckm
qckm info year.qckm
qckm decode year.qckm -k 10 --rows 2025-01.parquet -o model.json
qckm predict '2025-*.parquet' -m model.json -o labels.parquet
qckm report model.json --data '2025-*.parquet' -o report.html
qckm drift '2025-*.qckm' --against 2025-01.qckm --min-effect 0.02 --report year.html || test $? = 1
qckm drift 2025-01.qckm 2025-11.qckm --model model.json --report november.html || test $? = 1
""".strip().split("\n")


class Checks:
    """Figures that were printed, and whether they are true."""

    def __init__(self, data: str) -> None:
        self.data, self.lines, self.wrong = data, [], 0

    def note(self, what: str, printed: object, truth: object, holds: bool) -> None:
        """Keep a figure, and what the rows say of it."""
        self.wrong += not holds
        self.lines.append(f"{self.data},{what},{printed},{truth},{'true' if holds else 'FALSE'}")
        print(self.lines[-1])

    def count(self, what: str, printed: str, truth: int) -> None:
        """Keep a number of rows."""
        self.note(what, int(printed.replace(",", "")), truth, int(printed.replace(",", "")) == truth)

    def near(self, what: str, printed: float, truth: float, room: float) -> None:
        """Keep a number that may be off by as much as its error, or its digits, allow."""
        self.note(what, f"{printed:.6g} ± {room:.3g}", f"{truth:.6g}", abs(printed - truth) <= room)


def months_of(name: str) -> list[np.ndarray]:
    """Deal real rows to twelve months, and change the last three."""
    with np.load(DATA / f"{name}.npz") as file:
        rows = np.asarray(file[SETS[name]], np.float64)
    rng = np.random.default_rng(11)  # another seed than rules were chosen on
    rows = rows[rng.permutation(len(rows))]
    months = np.array_split(rows, 12)
    others = rows[rows[:, 0] >= np.quantile(rows[:, 0], 0.9)]
    for month in months[9:]:
        which = rng.choice(len(month), int(CHANGED * len(month)), replace=False)
        month[which] = rng.choice(others, len(which))
    return months


def run_all(folder: Path) -> dict[str, str]:
    """Run the commands in a folder; return what each printed, by its verb."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    printed: dict[str, str] = {}
    for number, command in enumerate(COMMANDS, 1):
        print(f"{number}$ {command}")
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{command}\n{done.stdout}{done.stderr}exit code {done.returncode}")
        verb = re.search(r"qckm ([a-z-]+)", command)[1]
        printed[f"{verb} one" if "--model" in command else verb] = done.stdout + done.stderr
        print(done.stdout + done.stderr, end="")
    return printed


def check(name: str) -> Checks:
    """Run the commands on a data set, and check what they print."""
    found, months = Checks(name), months_of(name)
    columns = [f"x{number}" for number in range(months[0].shape[1])]
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        for month, rows in zip(MONTHS, months, strict=True):
            pq.write_table(pa.table(dict(zip(columns, rows.T, strict=True))), folder / f"{month}.parquet")
        printed = run_all(folder)
        model = qckm.load_model(folder / "model.json")
        labels = pq.read_table(folder / "labels.parquet")["cluster"].to_numpy()
        for part in (sketches, year, decoded, predicted, windows, explained):
            part(found, printed, months, model, labels, folder)
    return found


def sketches(found: Checks, printed: dict[str, str], months: list, model: object, labels: object, folder: Path) -> None:
    size, unit = re.search(r"in ([\d.]+) (kB|bytes)", printed["operator"]).groups()
    kilobytes = float(size) / (1 if unit == "kB" else 1000)
    found.near("operator: kB", kilobytes, (folder / "operator.qckm").stat().st_size / 1000, 0.05)
    lines = re.findall(r"(\S+)\.qckm: ([\d,]+) rows.*in ([\d.]+) kB, ([\d,]+) times less", printed["sketch"])
    for (month, rows, size, times), truth in zip(lines, months, strict=True):
        found.count(f"{month}: rows", rows, len(truth))
        on_disk = (folder / f"{month}.qckm").stat().st_size
        found.near(f"{month}: kB", float(size), on_disk / 1000, 0.05)
        found.near(f"{month}: times less", float(times.replace(",", "")), truth.size * 8 / on_disk, 0.5)


def year(found: Checks, printed: dict[str, str], months: list, model: object, labels: object, folder: Path) -> None:
    rows = np.concatenate(months)
    found.count("year: rows", re.search(r"year.qckm: ([\d,]+) rows", printed["merge"])[1], len(rows))
    whole = qckm.load(folder / "operator.qckm").operator.sketch(rows)
    same = bool((qckm.load(folder / "year.qckm").total == whole.total).all())
    found.note("year: the sums of all rows in one place", "merged", "one pass", same)
    step = whole.operator.steps
    for words, truth in (("mean", rows.mean(axis=0)), ("standard deviation", rows.std(axis=0))):
        values = [float(x) for x in re.search(rf"^{words} +(.*)$", printed["info"], re.M)[1].split(", ") if x[0] != "…"]
        for column, value in enumerate(values):
            # Six digits are printed; rows are coded in steps, those beyond the reach at its edge.
            room = step[column] / 2 + 1e-5 * abs(truth[column]) + (0.01 * truth[column] if whole.saturated else 0)
            found.near(f"info: {words} of x{column}", value, truth[column], abs(room))


def decoded(found: Checks, printed: dict[str, str], months: list, model: qckm.Model, labels: object, _: Path) -> None:
    rows = np.concatenate(months)
    sse = float((model.nearest(rows)[1] ** 2).sum())
    told = re.search(r"SSE\) (?:about )?([\d.e+]+)(?: ± ([\d.e+]+))?", printed["decode"])
    if told:
        found.near("decode: SSE: three errors", float(told[1]), sse, 3 * float(told[2] or 0) + 1e-3 * sse)
    best = KMeans(K, n_init=10, random_state=0).fit(rows[::5])
    best = KMeans(K, init=best.cluster_centers_, n_init=1).fit(rows).inertia_
    high = model.facts.get("excess_high")
    above = sse / best - 1
    if high is not None:
        found.note("decode: above the best, at most", f"{high:.3f}", f"{above:.3f}", above <= high)
    else:
        reliable = model.facts["converged"]
        found.note(
            "decode: verdict (reliable: within a fifth of the best)",
            reliable,
            f"{above:.3f}",
            above < 0.2 or not reliable,
        )


def predicted(
    found: Checks, printed: dict[str, str], months: list, model: qckm.Model, labels: np.ndarray, _: Path
) -> None:
    rows = np.concatenate(months)
    found.count("predict: rows", re.search(r"([\d,]+) rows labelled", printed["predict"])[1], len(rows))
    nearest = np.concatenate(
        [np.linalg.norm(part[:, np.newaxis] - model.centers, axis=2).argmin(axis=1) for part in months]
    )
    found.note(
        "predict: labels are the nearest centroids", "all", int((labels == nearest).sum()), (labels == nearest).all()
    )
    told = dict(re.findall(r"(\d+): ([\d,]+)", printed["predict"].split("rows by cluster:")[1]))
    for cluster, count in enumerate(np.bincount(nearest, minlength=K)):
        found.count(f"predict: rows of cluster {cluster}", told[str(cluster)], int(count))


def windows(found: Checks, printed: dict[str, str], months: list, *_: object) -> None:
    """At most 8 % of the last months' rows have changed, and none of the others': an effect is a lower bound."""
    for line in printed["drift"].splitlines():
        told = re.match(r"(2025-\d\d) +([\d,]+) +≥ ([\d.]+)% ± ([\d.]+)%\s+\S+(?: 1e-300)?( +drift)?", line)
        if not told:
            continue
        number = MONTHS.index(told[1])
        found.count(f"drift: rows of {told[1]}", told[2], len(months[number]))
        size, error = float(told[3]) / 100, float(told[4]) / 100
        most = CHANGED if number >= 9 else 0.0
        found.note(
            f"drift: rows changed in {told[1]}", f"≥ {size:.4f} ± {error:.4f}", f"<= {most}", size <= most + 3 * error
        )
        found.note(f"drift: {told[1]} has drifted", bool(told[5]), number >= 9, bool(told[5]) == (number >= 9))


def explained(found: Checks, printed: dict[str, str], months: list, model: qckm.Model, _: object, folder: Path) -> None:
    before, after = months[0], months[10]
    text, steps = printed["drift one"], qckm.load(folder / "operator.qckm").operator.steps
    clipped = "too far from the others to be coded" in text
    for column, *numbers in column_lines(text):
        place = int(column)
        truth = [f(part[:, place]) for f in (np.mean, np.std) for part in (before, after)]
        names = ("mean before", "mean after", "deviation before", "deviation after")
        for what, said, true in zip(names, numbers, truth, strict=True):
            # Four or five digits; rows beyond the reach, which a note tells of, count as if at its edge.
            room = steps[place] + 1e-3 * abs(true) + (0.02 * before[:, place].std() if clipped else 0)
            found.near(f"drift: x{column} {what}", float(said), true, room)
    shares = [np.bincount(model.predict(part), minlength=K) / len(part) for part in (before, after)]
    for cluster, verb, size, error in re.findall(r"cluster (\d+), at .*?, (gained|lost) ([\d.]+)% ± ([\d.]+)%", text):
        moved = (1 if verb == "gained" else -1) * float(size) / 100
        truth = shares[1][int(cluster)] - shares[0][int(cluster)]
        # The sampling error of shares is in the error; that of clusters which are no Gaussians is not.
        found.near(f"drift: cluster {cluster} {verb}: three errors", moved, truth, 3 * float(error) / 100 + 0.005)
    width = 2 * float(np.median(model.spreads))
    for share, place in new_rows(text):
        near = [float((np.linalg.norm(part - place, axis=1) < width).mean()) for part in (before, after)]
        come = near[1] - near[0]
        found.note(
            "drift: new rows: more are near that place", f"{share:.4f}", f"{come:.4f}", share / 4 < come < 4 * share
        )


def new_rows(text: str) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the share and the place of rows that are said to be new."""
    for share, place in re.findall(r"([\d.]+)% ± [\d.]+% of all rows are new, near \((.*?)\)", text):
        if "…" not in place:
            yield float(share) / 100, np.array([float(part.split()[1]) for part in place.split(", ")])


def column_lines(text: str) -> Iterator[tuple[str, ...]]:
    number = r"(-?[\d.]+(?:e[+-]\d+)?)"
    line = re.compile(rf"^x(\d+): mean {number} before, {number} after .*; deviation {number}, then {number}$", re.M)
    yield from (match.groups() for match in line.finditer(text))


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(SETS)
    all_checks = [check(name) for name in chosen]
    wrong = sum(checks.wrong for checks in all_checks)
    figures = sum(len(checks.lines) for checks in all_checks)
    if len(chosen) == len(SETS):
        lines = [line for checks in all_checks for line in checks.lines]
        (RESULTS / "newcomer.csv").write_text("\n".join(["data,figure,printed,rows say,verdict", *lines]) + "\n")
    print(f"{len(COMMANDS)} commands, {figures} figures on {len(chosen)} data sets, {wrong} false")
    sys.exit(min(wrong, 99))
