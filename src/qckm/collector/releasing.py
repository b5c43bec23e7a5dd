"""Private releases of what is in a store, out of one budget: what was spent is in the store, for good."""

from __future__ import annotations

import json
import uuid
from typing import Any

from qckm.collector import sums
from qckm.collector.database import Database
from qckm.collector.refusals import Reason, Refused
from qckm.collector.settings import Settings
from qckm.collector.sums import Asked
from qckm.privacy.release import release
from qckm.sketch import SketchOperator, files
from qckm.sketch.ledger import Ledger

# What may be said of a release, as in `qckm.privacy.release`.
WISHES = ("epsilon", "delta", "rho", "mechanism", "neighbours", "rows_per_person", "operator_is_public")


def release_span(
    db: Database, operator: SketchOperator, settings: Settings, asked: Asked, wishes: dict[str, Any], now: int
) -> bytes:
    """Return a private sketch of a span and a group, as a file, and write down what it has spent.

    Whatever was released before may be of the same rows, so all that it spent is counted in.
    """
    unknown = set(wishes) - set(WISHES)
    if unknown:
        raise Refused(Reason.BAD_REQUEST, f"Expected of a release {', '.join(WISHES)}, got {min(unknown)!r:.40}.")
    db.execute("INSERT INTO jobs (name, due) VALUES ('release', 0) ON CONFLICT (name) DO NOTHING")
    db.one(f"SELECT due FROM jobs WHERE name = 'release'{db.for_update}")  # one at a time, whichever collector it is
    spent = [Ledger.from_facts(json.loads(text)) for (text,) in db.rows("SELECT ledger FROM releases")]
    private = release(sums.sketch_of(db, operator, asked), after=spent, **wishes)
    assert private.ledger is not None
    if private.ledger.rho > settings.rho:
        before = max((ledger.rho for ledger in spent), default=0.0)
        raise Refused(
            Reason.BUDGET,
            f"The budget is ρ = {settings.rho:g}, of which {before:.6g} is spent: this release would make it "
            f"{private.ledger.rho:.6g}.",
        )
    told = {"from": asked.begin, "to": asked.end, "group": asked.group, **wishes}
    db.execute(
        "INSERT INTO releases (id, at, asked, ledger) VALUES (?, ?, ?, ?)",
        (uuid.uuid4().hex, now, json.dumps(told), json.dumps(private.ledger.as_facts())),
    )
    return files.dumps(private)
