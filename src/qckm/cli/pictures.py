"""A picture that matplotlib draws, as bytes."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from typing import Any

ENDINGS = (".png", ".svg", ".pdf")


def drawn(target: str, draw: Callable[[Any], Any]) -> bytes:
    """Return the picture that a function draws on axes, in the format of the target's ending."""
    from qckm.plots.axes import as_axes

    with contextlib.suppress(ImportError):  # said below, by as_axes
        import matplotlib

        matplotlib.use("Agg")
    figure: Any = draw(as_axes(None)).get_figure()
    out = io.BytesIO()
    kind = os.path.splitext(target)[1][1:].lower() or "png"
    figure.savefig(out, format=kind, dpi=120, bbox_inches="tight")
    return out.getvalue()
