"""What `qckm collect` does beside running: tokens, devices, backups, checks. All of it works while a collector runs."""

from __future__ import annotations

import csv
import functools
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from qckm.cli import options
from qckm.cli.arguments import Input, Output
from qckm.cli.console import Console, show, write_bytes
from qckm.collector import counting, parts, schema, senders, upkeep
from qckm.collector.counting import Withdrawal
from qckm.collector.database import Database, require_store
from qckm.collector.windows import Asked, show_time
from qckm.common.text import public_name
from qckm.errors import CollectorError
from qckm.sensor.signed import KEY_BYTES

DEFAULT_STORE = "collector"
store_option = click.option(
    "--store",
    default=DEFAULT_STORE,
    show_default=True,
    envvar="QCKM_COLLECT_STORE",
    help="A folder, for SQLite, or postgresql://….",
)


def _on_store(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Give a verb the store that --store names as `db`, and a console."""

    @store_option
    @options.console_options
    @functools.wraps(verb)
    def with_store(*, store: str, **arguments: Any) -> Any:
        require_store(store)
        with Database(store) as db:
            return verb(db=db, **arguments)

    return with_store


@click.group()
def token() -> None:
    """Make, list and revoke tokens: what senders and readers show to a collector."""


@token.command("create")
@click.argument("name")
@click.option("--send", "parts", multiple=True, metavar="PATTERN", help="May send parts of these names: 'berlin/*'.")
@click.option("--relay", is_flag=True, help="May send messages of devices.")
@click.option("--read", is_flag=True, help="May see the page, sketches, models and metrics.")
@click.option("--admin", is_flag=True, help="May withdraw and release.")
@_on_store
def create_token(
    name: str, parts: tuple[str, ...], relay: bool, read: bool, admin: bool, db: Database, console: Console
) -> None:
    """Make a token and print it, once: only its hash is kept.

    \b
    Examples:
      qckm collect token create berlin --send 'berlin/*'
      qckm collect token create gateway --relay
      qckm collect token create grafana --read
    """
    given = {"send": bool(parts), "relay": relay, "read": read, "admin": admin}
    rights = [right for right, wanted in given.items() if wanted]
    secret = senders.create_token(db, name, rights, parts, int(time.time()))
    console.print_facts({"name": name, "rights": rights, "parts": list(parts), "token": secret})
    if not console.json:
        show(secret)


@token.command("list")
@_on_store
def list_tokens(db: Database, console: Console) -> None:
    """List tokens, without their secrets."""
    columns = ("id", "name", "rights", "parts", "created", "revoked")
    _show_rows(columns, db.dicts("tokens", columns, "ORDER BY created, id"), console)


@token.command("revoke")
@click.argument("id")
@_on_store
def revoke_token(id: str, db: Database, console: Console) -> None:
    """Revoke a token, by its id or name: collectors refuse it within seconds."""
    senders.revoke_token(db, id, int(time.time()))
    console.say(f"{id}: revoked")


@click.group()
def device() -> None:
    """Register, list and revoke devices, which sign their messages."""


@device.command("add")
@click.argument("names", nargs=-1, required=True)
@click.option("--count", type=click.IntRange(1, 10**6), help="Register so many: the name must contain {number}.")
@click.option("--number", type=click.IntRange(0, 2**32 - 1), help="The first device's. [default: the next free one]")
@click.option("--key", help=f"The key of a single device, {2 * KEY_BYTES} hexadecimal digits. [default: random]")
@click.option("--output", "-o", type=Output(".csv"), help="Write number, name and key to a CSV. [default: stdout]")
@_on_store
def add_devices(
    names: tuple[str, ...],
    count: int | None,
    number: int | None,
    key: str | None,
    output: str | None,
    db: Database,
    console: Console,
) -> None:
    """Register devices, and print their numbers and keys: both go into the firmware.

    \b
    Examples:
      qckm collect device add berlin/press-3
      qckm collect device add 'berlin/press-{number}' --count 1000 -o keys.csv
    """
    if count is not None:
        if len(names) != 1 or "{number}" not in names[0]:
            raise click.UsageError("With --count, expected one name that contains {number}.")
        names = tuple(names[0].replace("{number}", str(i)) for i in range(count))
    if key is not None and len(names) != 1:
        raise click.UsageError("Expected one device for --key.")
    try:
        keys = None if key is None else [bytes.fromhex(key)]
    except ValueError as error:
        raise CollectorError(f"Expected a key of {2 * KEY_BYTES} hexadecimal digits.") from error
    made = senders.create_devices(db, names, number, keys, int(time.time()))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", "name", "key"])
    writer.writerows([each.number, each.name, each.key.hex()] for each in made)
    if output not in (None, "-"):
        Path(output).touch(0o600)  # whoever reads it can sign as the devices
    write_bytes(output or "-", text.getvalue().encode())
    console.say(f"{len(made)} device(s) registered")


@device.command("list")
@_on_store
def list_devices(db: Database, console: Console) -> None:
    """List devices, without their keys."""
    columns = ("number", "name", "last_seen", "messages", "rows", "repeated", "revoked")
    _show_rows(columns, db.dicts("devices", columns, "ORDER BY number"), console)


@device.command("revoke")
@click.argument("number", type=int)
@_on_store
def revoke_device(number: int, db: Database, console: Console) -> None:
    """Take no more messages of a device; what it sent stays."""
    senders.revoke_device(db, number, int(time.time()))
    console.say(f"device {number}: revoked")


@click.command("withdraw")
@click.argument("part", required=False)
@click.option("--device", type=int, help="Take out what this device sent, if it is a group of its own.")
@click.option("--group", help="Take out what all devices of a group sent.")
@click.option("--from", "begin", help="What was sent from this time on: 2026-11-16T05:00. [default: ever]")
@click.option("--to", "end", help="What was sent before this time. [default: ever]")
@_on_store
def withdraw(
    part: str | None,
    device: int | None,
    group: str | None,
    begin: str | None,
    end: str | None,
    db: Database,
    console: Console,
) -> None:
    """Take a PART out of its window, exactly, or what devices sent in whole windows.

    \b
    Examples:
      qckm collect withdraw berlin/2026-11-16
      qckm collect withdraw --group berlin --from 2026-11-16T05:00 --to 2026-11-16T09:00
    """
    if sum(each is not None for each in (part, device, group)) != 1:
        raise click.UsageError("Expected a part, --device or --group.")
    now = int(time.time())
    with db.writing():
        if part is not None:
            done = Withdrawal(parts.withdraw(db, part, schema.load_operator(db), "command line", now), 1, ())
        else:
            done = counting.withdraw(db, Asked.parse(begin, end, group), device, "command line", now)
    for window in done.untouched:
        console.say(f"{window}: only touched, and left as it is")
    console.say(f"{done.rows:,} rows taken out")
    console.print_facts({"rows": done.rows, "left_as_they_are": list(done.untouched)})


@click.command("check")
@_on_store
def check(db: Database, console: Console) -> int:
    """Make all sums anew from the parts they are sums of, and say what differs. The exit code is 1 if anything does."""
    found = list(upkeep.check(db))
    for words in found:
        show(words)
    console.say(f"{public_name(db.address)}: " + (f"{len(found)} difference(s)" if found else "all sums are right"))
    console.print_facts({"differences": found})
    return int(bool(found))


@click.command("backup")
@click.argument("file", type=Output(".sqlite"))
@_on_store
def backup(file: str, db: Database, console: Console) -> None:
    """Write all that a store holds at one moment to one FILE, which is a store, too. It holds the devices' keys."""
    copied = schema.back_up(db, file)
    console.say(f"{file}: {copied:,} rows")


@click.command("restore")
@click.argument("file", type=Input())
@store_option
@options.console_options
def restore(file: str, store: str, console: Console) -> None:
    """Copy a backup, or any store, to a new one: also from SQLite to PostgreSQL, when one machine is not enough."""
    require_store(file)
    with Database(file) as source, Database(store) as target:
        copied = schema.copy_store(source, target)
    console.say(f"{public_name(store)}: {copied:,} rows")


@click.command("simulate")
@click.option("--url", default="http://127.0.0.1:8321", show_default=True, help="The collector.")
@click.option("--devices", type=click.IntRange(0, 100_000), default=1000, show_default=True, help="How many send.")
@click.option("--shops", type=click.IntRange(0, 1000), default=40, show_default=True, help="How many send, once a day.")
@click.option("--days", type=click.IntRange(0, 6), default=6, show_default=True, help="Of the past, sent first.")
@click.option("--seconds", type=click.FloatRange(0), help="Then live for so long. [default: until Ctrl-C]")
@options.seed_option
@store_option
@options.console_options
def simulate(
    url: str, devices: int, shops: int, days: int, seconds: float | None, seed: int, store: str, console: Console
) -> None:
    """Send what a fleet might: sensors in three halls, shops, messages that come twice or are forged, a change."""
    from qckm.collector import simulator

    require_store(store)
    forever = float("inf") if seconds is None else seconds
    rows = simulator.simulate(store, url, devices, shops, days, forever, seed, console.say)
    console.say(f"{rows:,} rows sent")
    console.print_facts({"rows": rows})


def _show_rows(columns: tuple[str, ...], rows: list[dict[str, Any]], console: Console) -> None:
    """Show a table to people, or as JSON."""
    console.print_facts({"rows": rows})
    if console.json:
        return
    times = {"created", "revoked", "last_seen"}
    texts = [
        ["" if row[name] is None else show_time(row[name]) if name in times else str(row[name]) for name in columns]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
    for line in (columns, *texts):
        show("  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip())


COMMANDS = (token, device, withdraw, check, backup, restore, simulate)
