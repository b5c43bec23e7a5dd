"""How the work of a kernel is cut: tiles a warp, warps a block, rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from qckm.kernels.cuda.layout import TILE, steps_for

# Instructions of a thread, as the compiler counts them: to code a number, and to measure a row at a frequency. What a
# step of 32 features takes of the tensor cores is on top.
_CODING, _MEASURING, _MULTIPLYING = 14.0, 3.8, 6.0
# What of rows a thread keeps in registers while they travel: so many times four numbers.
_MOST_TURNS, _FEW_TURNS = 8, 5


# Numbers that a float holds exactly.
_NARROW = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class Job:
    """What a kernel is compiled for, other than how its work is cut."""

    number: str  # the type of the rows' numbers
    n_features: int
    n_again: int  # features that come in twice (layout.py)
    exact_float: bool  # whether float arithmetic gives the codes of what a float holds
    kind: str  # "bits", "table" or "encode"
    paired: bool
    weighted: bool
    contiguous: bool
    vector: int  # how many numbers may be read at once: 4, 2 or 1

    @property
    def n_slots(self) -> int:
        """How many codes of a row are multiplied."""
        return self.n_features + self.n_again

    @property
    def wide(self) -> bool:
        """Whether codes are computed in double precision."""
        return not (self.exact_float and self.number in _NARROW)

    @property
    def lookup(self) -> bool:
        """Whether contributions come from a table: those of bits only where they have weights."""
        return self.kind == "table" or self.weighted


@dataclass(frozen=True)
class Shape:
    """How a kernel cuts its work."""

    warps: int
    tiles: int  # of 16 frequencies, a warp
    rows: int  # coded at a time
    halves: int  # of 16 rows, measured at a time
    blocks: int  # that a multiprocessor is to hold at least: limits the registers of a thread

    def shared_bytes(self, job: Job) -> int:
        """Return the dynamic shared memory of a block, as sums.cu lays it out."""
        n_steps, width = steps_for(job.n_slots)
        row_words = 8 if width == 16 else 16 * (n_steps | 1)
        used = self.warps * self.tiles * (n_steps * width * 32 + 64) + 2 * self.rows * row_words * 4
        used += (16 * self.rows if job.weighted else 0) + (4096 * 4 if job.lookup else 0) + 2 * self.rows
        used += _words(job) * (160 if job.wide else 80)
        return max(used, 32 * self.warps * (64 if job.wide else 32))

    def columns(self, m: int) -> int:
        """Return how many columns of blocks m frequencies take."""
        return -(-m // (TILE * self.warps * self.tiles))


def choose_shape(job: Job, m: int, shared_memory: int) -> Shape | None:
    """Choose the shape that takes the fewest instructions per row, of those that fit; None where none does."""
    n_steps, width = steps_for(job.n_slots)
    found: list[tuple[float, int, Shape]] = []
    for warps in (4, 8):
        for tiles in range(1, 9):
            shape = _shape(job, warps, tiles)
            if shape is None or shape.shared_bytes(job) > shared_memory:
                continue
            measuring = TILE * warps * tiles * (_MEASURING + (_MULTIPLYING * n_steps if width == 32 else 0))
            found.append((shape.columns(m) * (measuring + _CODING * job.n_slots), -shape.rows, shape))
    if not found:
        return None
    best = min(found, key=lambda one: one[:2])[2]
    return replace(best, blocks=max(1, min(best.blocks, shared_memory // best.shared_bytes(job))))


def _shape(job: Job, warps: int, tiles: int) -> Shape | None:
    """Return the shape of so many warps and tiles; None where a thread would have too many rows to read."""
    height = 32 * warps // _words(job)  # rows that a block's threads read at once
    halves = 4 if job.n_slots <= 32 else 2
    most = _MOST_TURNS if job.n_slots > 32 else _FEW_TURNS
    fitting = [rows for rows in (16, 32, 64, 128, 192, 256, 320) if rows <= min(most * height, _most_rows(job))]
    if not fitting:
        return None
    # The number of rows that leaves the fewest threads idle in their last turn.
    rows = max(fitting, key=lambda rows: (rows >= 16 * halves, rows / (-(-rows // height) * height), rows))
    # 16 warps on a multiprocessor leave 128 registers to a thread: enough for short rows, else half as many.
    held = 16 if job.n_slots <= 16 and not job.weighted else 8
    return Shape(warps, tiles, rows, min(halves, rows // 16), held // warps)


def _words(job: Job) -> int:
    """Return how many times four codes a row has, two of the dither included where a step has room for them."""
    n_steps, width = steps_for(job.n_slots)
    return -(-(job.n_slots + 2 * (job.n_slots + 2 <= n_steps * width)) // 4)


def _most_rows(job: Job) -> int:
    return 320 if job.n_slots <= 16 else 128 if job.n_slots <= 32 else 64 if job.n_slots <= 64 else 32
