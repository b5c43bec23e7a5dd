"""How much one input may take, and which targets there are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Of one input: seconds of processor time, seconds of waiting without an end, megabytes beyond what was used."""

    computing: float = 10.0
    waiting: float = 60.0
    megabytes: int = 700


USUAL = Limits()

# The targets, and how many of 27 inputs each gets: a CSV text, which is read in six ways, takes as long as ten others,
# and so does a history of some steps.
SHARES = {
    "sketch_files": 3,
    "old_sketch_files": 1,
    "checkpoints": 2,
    "models": 4,
    "messages": 3,
    "csv_files": 1,
    "compressed_files": 1,
    "arrow_files": 2,
    "parquet_files": 2,
    "numpy_files": 1,
    "reports": 2,
    "ledgers": 2,
    "csv_outputs": 1,
    "histories": 1,
    "collector_requests": 1,
}
# What becomes of inputs, as it should be; a target may have others.
LOADED, REFUSED = "loaded", "refused"
# And as it should not be.
FINDINGS = ("crash", "hang", "foreign exception", "wrong load", "memory")


def target_of(number: int, names: list[str]) -> str:
    """Return the target of an input, by its number in a run: each gets its share, one after the other."""
    turns = [name for name in names for _ in range(SHARES.get(name, 1))]
    return turns[number % len(turns)]
