"""Read committed results: CSV files as dictionaries, tables of Markdown files as lists of cells."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
Row = dict[str, str]


@cache
def read_csv(path: str) -> list[Row]:
    """Return the rows of a CSV file, by its path in the repository."""
    with (ROOT / path).open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def read_tables(path: str) -> dict[str, list[str]]:
    """Return the rows of all tables of a Markdown file, by their first cell; of rows with one name, the first."""
    rows: dict[str, list[str]] = {}
    for line in (ROOT / path).read_text().splitlines():
        if line.startswith("|"):
            name, *cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            rows.setdefault(name, cells)
    return rows


def where(rows: Iterable[Row], **wanted: object) -> list[Row]:
    """Return the rows that have these values; numbers are compared as numbers."""
    return [row for row in rows if all(_same(row[name], value) for name, value in wanted.items())]


def column(rows: Iterable[Row], name: str) -> list[float]:
    """Return a column as numbers."""
    return [float(row[name]) for row in rows]


def mean(values: list[float]) -> float:
    """Return the mean, and an error that says what is missing where there are no values."""
    if not values:
        raise ValueError("The results have no such rows.")
    return sum(values) / len(values)


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "|".join(f" {cell} " if cell else " " for cell in line) + "|" for line in lines)


def span(least: float, greatest: float, form: str) -> str:
    """Return "a to b", or one of them where they are written alike."""
    one, two = form.format(least), form.format(greatest)
    return one if one == two else f"{one} to {two}"


def _same(text: str, value: object) -> bool:
    return float(text) == value if isinstance(value, (int, float)) else text == value
