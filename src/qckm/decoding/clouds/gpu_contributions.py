"""What rows contribute to a sketch, held on a GPU: two matrix products there are a step of calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels.cuda.device import cupy


@dataclass(frozen=True, eq=False)
class GpuContributions:
    """What each of P rows contributes to each of M measurements, (P, M): as `Contributions`, on a GPU."""

    matrix: Any
    device: int

    @classmethod
    def of(cls, matrix: npt.NDArray[np.float32], device: int) -> GpuContributions:
        """Send contributions (P, M) to a GPU."""
        with cupy().cuda.Device(device):
            return cls(cupy().asarray(matrix), device)

    def squares(self, count: int) -> Floats:
        """Return ‖f(x_i)‖², (P,), over the first so many columns."""
        with cupy().cuda.Device(self.device):
            some = self.matrix[:, :count]
            return self._here(cupy().einsum("ij,ij->i", some, some))

    def mean(self, weights: Floats) -> Floats:
        """Return Σ w_i f(x_i), (M,)."""
        with cupy().cuda.Device(self.device):
            return self._here(self._there(weights) @ self.matrix)

    def through(self, weights: Floats, direction: Floats) -> tuple[Floats, Floats]:
        """Return Σ w_i f(x_i) (f(x_i)·direction), (M,), and f(x_i)·direction, (P,)."""
        with cupy().cuda.Device(self.device):
            along = self.matrix @ self._there(direction)
            return self._here((self._there(weights) * along) @ self.matrix), self._here(along)

    @staticmethod
    def _there(values: Floats) -> Any:
        return cupy().asarray(values.astype(np.float32))

    @staticmethod
    def _here(values: Any) -> Floats:
        found: Floats = values.get().astype(np.float64)
        return found
