"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import sklearn
from threadpoolctl import threadpool_info

from qckm.kernels import library


def describe() -> str:
    """Return the machine and the versions in one line."""
    blas = next((lib for lib in threadpool_info() if lib["user_api"] == "blas"), {})
    algebra = f"{blas.get('internal_api', 'no BLAS')} {blas.get('version', '')} ({blas.get('architecture', '?')})"
    return (
        f"{_processor()}, {len(os.sched_getaffinity(0))} cores, kernels for {library.instructions()}; "
        f"{platform.system()}, Python {platform.python_version()}, NumPy {np.__version__} with {algebra}, "
        f"scikit-learn {sklearn.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        fields = {key.strip(): value.strip() for key, value in fields.items()}
        return f"{fields['model name']} (family {fields['cpu family']}, model {fields['model']})"
    except (OSError, KeyError):
        return platform.processor() or platform.machine()
