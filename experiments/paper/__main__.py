"""All of the paper, in one command; what has been measured is not measured again.

python -m paper                                   # in experiments/: hours; `make paper`
python -m paper --features mnist_spectral.npz     # with figure 3
python -m paper --quick                           # minutes, a coarse grid in a folder of its own; `make paper-quick`
"""

from __future__ import annotations

import argparse
from pathlib import Path

from paper import figures, mnist, phase, proposition1, size
from paper.arguments import existing, positive
from paper.runner import RESULTS

QUICK = Path("build") / "paper-quick"


def quick(folder: Path, trials: int, processes: int) -> Path:
    """Measure a coarse grid: three n and three K, CL-OMPR and the default decoder, and some sizes."""
    for name in ("paper", "clompr"):
        phase.measure_figure("2a", name, trials, processes, (4, 8, 16), folder)
        phase.measure_figure("2b", name, trials, processes, (2, 4, 6), folder)
    phase.measure_figure("2a", "matched", max(1, trials // 3), processes, (4, 8), folder)
    size.measure_sizes("blobs", None, max(1, trials // 5), processes, sizes=(100, 300), folder=folder)
    return figures.draw(folder, folder)


def everything(features: Path | None, trials: int, processes: int) -> Path:
    """Measure all that the paper's page shows, the cheap first."""
    phase_plan = [("2a", "paper", ()), ("2b", "paper", ()), ("2a", "clompr", ()), ("2b", "clompr", ())]
    phase_plan += [("2a", "zoo", (4, 6, 8, 12, 16, 24))]
    for name in phase.VARIANTS:
        if name.startswith("radians-"):
            whole = name == "radians-0.6"  # a figure of its own; the others only give a point of the curve
            phase_plan += [("2a", name, () if whole else (12,)), ("2b", name, () if whole else (6,))]
    for figure, name, only in [*phase_plan, ("2a", "matched", ()), ("2b", "matched", ())]:
        phase.measure_figure(figure, name, trials, processes, only)
    proposition1.measure(200)
    size.measure_sizes("blobs", None, 20, processes)
    if features is not None:
        for method in mnist.METHODS:
            mnist.measure_method(method, features, 100, processes)
        size.measure_sizes("mnist", features, 20, processes)
    for figure, name, _ in [*phase_plan, ("2a", "matched", ()), ("2b", "matched", ())]:
        phase.table_of(figure, name).pack()  # the long ones
    for method in mnist.METHODS:
        mnist.table_of(method).pack()
    return figures.draw()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--features", type=existing, help="spectral features of MNIST, as paper.spectral makes them")
    parser.add_argument("--trials", type=positive, help="of the phase diagrams: 100, or 15 if quick")
    parser.add_argument("--jobs", type=positive, default=2, help="processes")
    parser.add_argument("--results", type=Path, default=QUICK, help="where a quick run keeps its tables and figures")
    args = parser.parse_args()
    if args.quick:
        print(quick(args.results, args.trials or 15, args.jobs).read_text())
    else:
        print(everything(args.features, args.trials or 100, args.jobs).read_text())
        print(f"tables: {RESULTS}, figures: {figures.IMAGES}")


if __name__ == "__main__":
    main()
