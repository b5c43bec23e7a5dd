"""Densities that have the sketch: clouds that began unlike each other, each weighed and moved until it has the sketch.

Many densities have one sketch. Where they agree, the sketch tells; where they do not, it leaves something open. So they
begin as differently as what is known allows:

- at the K Gaussians that were fitted to the sketch: as they are, half of the points twice as wide, and all of them four
  times as wide (in variance);
- at mixtures of everything: densities of more clusters that were fitted to the sketch, each time other ones, the
  Gaussians, wide ones, points all over the box, and rows where there are any.

How far a cloud had to go is known: the divergence of its first weights from equal ones, in nats (`Cloud.surprise`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qckm.common.arrays import Floats
from qckm.decoding.clouds.cloud import Cloud, choose_size
from qckm.decoding.task import Task

if TYPE_CHECKING:
    from qckm.decoding.fit.clusters import Mixture
    from qckm.decoding.model.sketch_model import SketchModel
    from qckm.decoding.targets.least_regret import Gaussians

# Variances of clusters that are wider than those fitted, lest what is further away has no point to stand for it.
WIDER, WIDEST = 2.0, 4.0
# Clouds that begin at mixtures of everything: enough for a mean and a scatter.
MIXED = 4


def clouds_of(task: Task, fitted: Gaussians, rng: np.random.Generator) -> list[Cloud]:
    """Return clouds that have the sketch; the first began at the K Gaussians as they are, and has not moved."""
    size, gaussians = choose_size(task.n_clusters), fitted.attempt.own
    wider, widest = (gaussians._replace(widths=factor * gaussians.widths) for factor in (WIDER, WIDEST))

    def draw(mixture: Mixture, share: float) -> Floats:
        drawn = fitted.model.to_centers(mixture.draw(int(share * size), rng))
        return np.clip(drawn, task.lower, task.upper)

    def raked(*parts: Floats) -> Cloud:
        return Cloud.raked(task.sketch, np.concatenate(parts), task.lower, task.upper, fitted.model.length, rng)

    clouds = [Cloud.calibrated(task.sketch, draw(gaussians, 1.0))]
    clouds.append(raked(draw(gaussians, 0.5), draw(wider, 0.5)))
    clouds.append(raked(draw(widest, 1.0)))
    # Rows are half of what a mixture begins at, where there are any: they need not be of all rows, but are real.
    share = 1.0 if task.rows is None else 0.5
    for richer in _dealt(fitted.densities or [gaussians], MIXED):
        parts = [draw(density, share / 2 / len(richer)) for density in richer]
        parts += [
            draw(gaussians, share / 8),
            draw(widest, share / 4),
            _anywhere(task, fitted.model, share * size / 8, rng),
        ]
        if task.rows is not None:
            chances = task.rows.weights / task.rows.weights.sum()
            parts.append(task.rows.rows[rng.choice(len(chances), size // 2, p=chances)])
        clouds.append(raked(*parts))
    return clouds


def _dealt(densities: Sequence[Mixture], count: int) -> list[list[Mixture]]:
    """Deal densities out to so many hands; of fewer densities than hands, each is dealt again."""
    times = -(-count // len(densities))
    return [(list(densities) * times)[hand::count] for hand in range(count)]


def _anywhere(task: Task, model: SketchModel, count: float, rng: np.random.Generator) -> Floats:
    """Draw points around the middle of the data, at distances from their deviation to the ends of the box."""
    lower, upper = model.to_points(task.lower), model.to_points(task.upper)
    reach = np.maximum(upper - model.mean, model.mean - lower)
    furthest = np.max(reach[model.deviation > 0] / model.deviation[model.deviation > 0], initial=1.0)
    drawn = rng.standard_normal((int(count), model.mean.size)) * furthest ** rng.random((int(count), 1))
    return np.clip(model.to_centers(model.mean + model.deviation * drawn), task.lower, task.upper)
