"""Whole sketches, each under a name: a part counts once, and can be replaced or withdrawn as long as it is kept."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.windows import OF_CELL, Cell, show_time
from qckm.errors import QckmError
from qckm.sketch import Sketch, SketchOperator, files
from qckm.sketch.parts import id_of

KEPT, CLOSED, WITHDRAWN = "kept", "closed", "withdrawn"


@dataclass(frozen=True, eq=False)
class Part:
    """A sketch that somebody sent."""

    name: str
    cell: Cell
    sketch: Sketch  # without names: the store has them
    ids: frozenset[bytes]  # of all names that its rows were sketched or merged under, its own among them
    sender: str
    replace: bool = False

    @classmethod
    def of(cls, name: str, cell: Cell, sketch: Sketch, sender: str, replace: bool = False) -> Part:
        """Return the part that a sketch is to be."""
        ids = frozenset(id.to_bytes(8, "little") for id in {id_of(name), *sketch.parts})
        return cls(name, cell, sketch.without_parts(), ids, sender, replace)

    @cached_property
    def data(self) -> bytes:
        """The sketch as the store keeps it."""
        return files.dumps(self.sketch)

    @cached_property
    def digest(self) -> bytes:
        """What tells it from a part of other content."""
        return hashlib.sha256(self.data).digest()


def read_sketch(data: bytes, operator: SketchOperator, name: str, any_name: bool) -> Sketch:
    """Return the sketch of a file's bytes, if it can be added to those of a store under a name.

    A sum of parts has their names within it, as numbers that no pattern can be compared with. Whoever may send only
    some parts could occupy the names of others so: it takes the right to send any.
    """
    try:
        # Another operator is not even made: a few bytes may be the recipe of millions of frequencies.
        sketch = files.loads(data) if files.may_be_of(data, operator) else None
    except QckmError as error:
        raise Refused(Reason.DAMAGED, str(error)) from error
    if sketch is None or sketch.operator.fingerprint != operator.fingerprint:
        raise Refused(
            Reason.OPERATOR,
            f"Expected a sketch of the operator {operator.fingerprint[:16]}, got one of another: sketch with that of "
            "GET /v1/operator.",
        )
    if not sketch.exact or sketch.private:
        what = "private noise" if sketch.private else "real-valued weights"
        raise Refused(
            Reason.CONTRADICTION, f"Expected sums of whole rows, which can be taken out again exactly, got {what}."
        )
    try:
        operator.empty() + sketch
    except QckmError as error:  # columns of other names
        raise Refused(Reason.OPERATOR, str(error)) from error
    if not any_name and not set(sketch.parts) <= {id_of(name)}:
        raise Refused(
            Reason.NO_RIGHT,
            f"Expected the part {name} alone, got a sketch with other names within it: send each part under its own "
            "name, or with a token that may send any part ('*').",
        )
    return sketch


def put(db: Database, part: Part, now: int, forgotten_before: int = 0) -> Literal["accepted", "repeated", "replaced"]:
    """Count a part within a transaction of the caller's, unless it has been counted before."""
    outcome = _put(db, part, now)
    if outcome != "repeated" and part.cell.end <= forgotten_before:
        raise Refused(
            Reason.CLOSED,
            f"{part.name}: windows before {show_time(forgotten_before)} are not kept (--keep-days): it would count, "
            "and be forgotten within the hour.",
        )
    return outcome


def _put(db: Database, part: Part, now: int) -> Literal["accepted", "repeated", "replaced"]:
    row = (*part.cell, KEPT, part.digest, part.sketch.count, part.sender, now, part.data)
    # Whoever comes second waits here for the first.
    new = db.execute(
        "INSERT INTO parts (name, grp, start, span, state, digest, rows, sender, received, sketch) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING",
        (part.name, *row),
    )
    if new:
        _take_names(db, part)
        write_sum(db, part.cell, _lock_sum(db, part.cell, part.sketch.operator) + part.sketch)
        if _has_closed(db, part.cell):  # later than all others: it counts, but cannot be taken out either
            db.execute("UPDATE parts SET state = ?, sketch = NULL WHERE name = ?", (CLOSED, part.name))
        return "accepted"
    found = _locked(db, part.name)
    assert found is not None
    old, state, digest, _ = found
    if state != WITHDRAWN and (digest == part.digest or _is_kept(db, part)):
        return "repeated"
    if not part.replace:
        if state == WITHDRAWN:
            reason, what = Reason.WITHDRAWN, "was withdrawn, and stays so: send it"
        else:
            reason, what = Reason.PART_EXISTS, "is there with other content: send this"
        raise Refused(reason, f"{part.name} {what} as another part, or with replace=true.")
    if state == CLOSED:
        raise _closed(part.name, old)
    db.execute(
        "UPDATE parts SET grp = ?, start = ?, span = ?, state = ?, digest = ?, rows = ?, sender = ?, received = ?, "
        "sketch = ? WHERE name = ?",
        (*row, part.name),
    )
    db.execute("DELETE FROM named WHERE part = ?", (part.name,))
    _take_names(db, part)
    for cell in sorted({old, part.cell}):
        rebuild(db, cell, part.sketch.operator)
    return "replaced"


def _take_names(db: Database, part: Part) -> None:
    """Remember all names that a part has; refuse one that has a name in common with another part."""
    for id in sorted(part.ids):
        insert = "INSERT INTO named (id, part) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
        if not db.execute(insert, (id, part.name)):
            other = db.value("SELECT part FROM named WHERE id = ?", (id,)) or "another part"
            raise Refused(
                Reason.PART_EXISTS,
                f"{part.name} has rows that were counted with {other}: their names say so. Withdraw that one first, "
                "or leave its rows out.",
            )


def _is_kept(db: Database, part: Part) -> bool:
    """Whether the sketch of a part is the one that is kept, though another version of qckm may have written it."""
    kept = db.value("SELECT sketch FROM parts WHERE name = ?", (part.name,))
    return kept is not None and files.dumps(files.loads(bytes(kept))) == part.data


def withdraw(db: Database, name: str, operator: SketchOperator, sender: str, now: int) -> int:
    """Take a part out of its window, exactly; return how many rows it had."""
    found = _locked(db, name)
    if found is None or found[1] == WITHDRAWN:
        raise Refused(Reason.NOT_FOUND, f"{name}: no such part, or it was withdrawn before.")
    cell, state, _, rows = found
    if state == CLOSED:
        raise _closed(name, cell)
    db.execute("UPDATE parts SET state = ?, sketch = NULL WHERE name = ?", (WITHDRAWN, name))
    db.execute("DELETE FROM named WHERE part = ?", (name,))
    rebuild(db, cell, operator)
    note_withdrawal(db, {"part": name}, rows, sender, now)
    return rows


def note_withdrawal(db: Database, what: dict[str, Any], rows: int, sender: str, now: int) -> None:
    """Keep a note of what was taken out."""
    db.execute(
        "INSERT INTO withdrawals (id, at, what, rows, sender) VALUES (?, ?, ?, ?, ?)",
        (uuid.uuid4().hex, now, json.dumps(what), rows, sender),
    )


def rebuild(db: Database, cell: Cell, operator: SketchOperator) -> None:
    """Make the sum of a window anew from the parts in it, all of which are kept: nothing of others is left in it."""
    _lock_sum(db, cell, operator)
    if _has_closed(db, cell):
        raise _closed("The window", cell)
    total = sum_of_parts(db, cell, operator)
    if total.count:
        write_sum(db, cell, total)
    else:
        db.execute(f"DELETE FROM part_sums WHERE {OF_CELL}", cell)


def sum_of_parts(db: Database, cell: Cell, operator: SketchOperator) -> Sketch:
    """Return the sum of the parts of a window that are kept."""
    total = operator.empty()
    for (data,) in db.rows(f"SELECT sketch FROM parts WHERE {OF_CELL} AND state = ? ORDER BY name", (*cell, KEPT)):
        total = total + files.loads(bytes(data))
    return total


def _lock_sum(db: Database, cell: Cell, operator: SketchOperator) -> Sketch:
    """Return the sum of the parts of a window, which nobody else changes before the transaction ends."""
    db.execute(
        "INSERT INTO part_sums (grp, start, span, rows, sketch) VALUES (?, ?, ?, 0, ?) "
        "ON CONFLICT (grp, start, span) DO NOTHING",
        (*cell, files.dumps(operator.empty())),
    )
    return files.loads(bytes(db.value(f"SELECT sketch FROM part_sums WHERE {OF_CELL}{db.for_update}", cell)))


def write_sum(db: Database, cell: Cell, total: Sketch) -> None:
    """Keep the sum of the parts of a window."""
    db.execute(
        "INSERT INTO part_sums (grp, start, span, rows, sketch) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (grp, start, span) DO UPDATE SET rows = excluded.rows, sketch = excluded.sketch",
        (*cell, total.count, files.dumps(total)),
    )


def _locked(db: Database, name: str) -> tuple[Cell, str, bytes, int] | None:
    found = db.one(f"SELECT grp, start, span, state, digest, rows FROM parts WHERE name = ?{db.for_update}", (name,))
    return None if found is None else (Cell(*found[:3]), found[3], bytes(found[4]), found[5])


def _has_closed(db: Database, cell: Cell) -> bool:
    return db.one(f"SELECT 1 FROM parts WHERE {OF_CELL} AND state = ?", (*cell, CLOSED)) is not None


def _closed(name: str, cell: Cell) -> Refused:
    return Refused(
        Reason.CLOSED,
        f"{name}: the sketches of parts of {show_time(cell.start)} are not kept any more: it cannot be taken out.",
    )
