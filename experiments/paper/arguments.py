"""What the commands take, refused before anything is measured."""

from __future__ import annotations

import argparse
from pathlib import Path


def positive(text: str) -> int:
    """Return a count, of one at least."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text}")
    return int(text)


def existing(text: str) -> Path:
    """Return the path of a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"expected a file, but there is none at {text}; paper.spectral makes one")
    return Path(text)
