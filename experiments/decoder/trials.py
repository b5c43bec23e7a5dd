"""One trial: draw or load rows, sketch, decode, and compare with k-means of all rows and of the pilot."""

from __future__ import annotations

import csv
import os
import time
import warnings
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin_min
from threadpoolctl import threadpool_limits

import qckm
from decoder import datasets
from qckm.common.random import spawn
from qckm.planning.pilot import PILOT_ROWS, Settings, choose_settings, pilot_of

# Elsewhere for development, whose seeds are not reported.
RESULTS = Path(os.environ.get("QCKM_RESULTS", Path(__file__).parent / "results"))
SUCCESS = 1.2


@dataclass(frozen=True)
class Trial:
    """What is tried: `ratio` is m/(nK); `radians`, where not 0, replaces rms ‖ω‖ times the clusters' deviation.

    `scale` multiplies the scale that the pilot suggests. `order` is "shuffled" for `fit`, "file" for a stream whose
    first rows are the pilot, or a name of MISLEADING: the rows to decode with.
    """

    data: str
    n: int
    K: int
    ratio: float
    signature: str = "one-bit"
    init: str = "sketch"
    radians: float = 0.0
    order: str = "shuffled"
    scale: float = 1.0
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """What came of it: SSE over that of the best of five k-means, of the decoder and of k-means of the pilot alone."""

    m: int
    sse: float
    pilot: float
    sse_per_row: float
    ari: float
    converged: bool
    seconds: float
    estimate: float  # of the SSE by the decoder, over the SSE
    error: float  # of that estimate, as the decoder says, over the SSE
    excess: float  # the decoder's own expectation of sse − 1 …
    excess_high: float  # … and its upper 90 % limit


def run(tables: dict[str, list[Trial]], jobs: int) -> dict[str, list[tuple[Trial, Outcome]]]:
    """Run the trials of tables that results/NAME.csv do not hold yet, all in one go, and return all of them."""
    paths = {name: RESULTS / f"{name}.csv" for name in tables}
    known = {name: dict(read(path)) if path.exists() else {} for name, path in paths.items()}
    missing = [(name, trial) for name, trials in tables.items() for trial in trials if trial not in known[name]]
    missing.sort(key=lambda one: -(one[1].n ** 2) * one[1].K * one[1].ratio)  # what takes longest comes first
    header = [field.name for field in (*fields(Trial), *fields(Outcome))]
    RESULTS.mkdir(exist_ok=True)
    with ProcessPoolExecutor(jobs) as pool:
        running = {pool.submit(_try, trial): (name, trial) for name, trial in missing}
        for future in as_completed(running):
            name, trial = running[future]
            known[name][trial] = outcome = future.result()
            with paths[name].open("a", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if not file.tell():
                    writer.writerow(header)
                writer.writerow([*asdict(trial).values(), *(_short(value) for value in asdict(outcome).values())])
    return {name: [(trial, known[name][trial]) for trial in trials] for name, trials in tables.items()}


def _try(trial: Trial) -> Outcome:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # failures are what is counted here
        if trial.data in datasets.SYNTHETIC:
            (rows, least), labels = _drawn(trial.data, trial.n, trial.K, trial.seed), None
        else:
            rows, labels = datasets.real(trial.data)
            least = _best_of_real(trial.data, trial.K)
        m = int(np.ceil(trial.ratio * rows.shape[1] * trial.K))
        settings = _settings(rows, trial)
        wanted: float | str = settings.scale / trial.radians if trial.radians else "auto"
        if trial.scale != 1:
            wanted = _settings(rows, trial, default=True).scale * trial.scale
        km = qckm.CompressiveKMeans(
            trial.K,
            signature=trial.signature,
            n_frequencies=m,
            scale=wanted,
            init=trial.init,
            compute_labels=False,
            random_state=trial.seed,
        )
        if trial.order == "file":  # a stream, whose first rows are the pilot
            for start in range(0, len(rows), PILOT_ROWS):
                km.partial_fit(rows[start : start + PILOT_ROWS])
            began = time.perf_counter()
            centers = km.cluster_centers_
        elif trial.order in MISLEADING:
            sketch = km.fit(rows).operator_.sketch(rows)
            began = time.perf_counter()
            km.fit_sketch(sketch, rows=MISLEADING[trial.order](rows))
            centers = km.cluster_centers_
        else:
            began = time.perf_counter()
            centers = km.fit(rows).cluster_centers_
        seconds = time.perf_counter() - began
        found = sse(rows, centers)
        nearest = pairwise_distances_argmin_min(rows, centers)[0] if labels is not None else None
    return Outcome(
        m=m,
        sse=found / least,
        pilot=sse(rows, settings.centers) / least,
        sse_per_row=found / len(rows),
        ari=adjusted_rand_score(labels, nearest) if labels is not None else float("nan"),
        converged=bool(km.converged_),
        seconds=seconds,
        estimate=km.inertia_estimate_ / found,
        error=km.inertia_error_ / found,
        excess=km.excess_,
        excess_high=km.excess_high_,
    )


# Rows that are not like those that were sketched.
MISLEADING = {
    "first": lambda rows: rows[:PILOT_ROWS],
    "shifted": lambda rows: rows[:: max(1, len(rows) // PILOT_ROWS)] + rows.std(axis=0),
    "one side": lambda rows: rows[rows[:, 0] > np.median(rows[:, 0])][:PILOT_ROWS],
}


def _settings(rows: np.ndarray, trial: Trial, default: bool = False) -> Settings:
    """Return what a pilot suggests: by default, or at a radian a cluster's deviation."""
    (rng,) = spawn(trial.seed, 1)
    first = (
        rows[:PILOT_ROWS] if trial.order == "file" else rows[rng.choice(len(rows), min(len(rows), PILOT_ROWS), False)]
    )
    return choose_settings(pilot_of(first, None), trial.K, rng, **({} if default else {"radians": 1.0}))


@lru_cache(2)
def _drawn(name: str, n: int, n_clusters: int, seed: int) -> tuple[np.ndarray, float]:
    rows = datasets.SYNTHETIC[name](n, n_clusters, np.random.default_rng(seed))
    best = KMeans(n_clusters, n_init=10, random_state=seed).fit(rows)
    return rows, best.inertia_


@cache
def _best_of_real(name: str, n_clusters: int) -> float:
    path = RESULTS / f"kmeans-{name}-{n_clusters}.csv"
    if not path.exists():
        kmeans = KMeans(n_clusters, n_init=5, random_state=0).fit(datasets.real(name)[0])
        np.savetxt(path, kmeans.cluster_centers_, delimiter=",")
    centers = np.loadtxt(path, delimiter=",", ndmin=2)
    return sse(datasets.real(name)[0], centers)


def sse(rows: np.ndarray, centers: np.ndarray) -> float:
    """Return the sum of squared distances to the nearest centre."""
    return float(pairwise_distances_argmin_min(rows, centers, metric="sqeuclidean")[1].sum())


def _short(value: object) -> object:
    return f"{value:.4g}" if isinstance(value, float) else value


def read(path: Path) -> Iterable[tuple[Trial, Outcome]]:
    """Yield the runs that a file holds."""
    with path.open() as file:
        for row in csv.DictReader(file):
            yield _typed(Trial, row), _typed(Outcome, row)


def _typed(kind: type, row: dict[str, str]):
    casts = {"int": int, "float": float, "str": str, "bool": lambda text: text == "True"}
    return kind(**{field.name: casts[field.type](row[field.name]) for field in fields(kind)})
