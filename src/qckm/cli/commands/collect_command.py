"""`qckm collect`: run a collector, and look after it."""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import click

from qckm.cli import collect_admin, sketches
from qckm.cli.arguments import Input
from qckm.cli.collect_admin import store_option
from qckm.cli.console import Console
from qckm.collector.settings import Settings
from qckm.errors import CollectorError, MissingExtraError


def _read_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Take what flags and the environment do not say from a TOML file."""
    if path is None:
        return
    try:
        with open(path, "rb") as file:
            told = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise CollectorError(f"{path}: expected TOML: {error}.") from error
    known = {opt[2:]: param.name for param in context.command.params for opt in param.opts if param.name != "config"}
    known |= {name: name for name in known.values() if name}
    values: dict[str, Any] = {}
    for name, value in told.items():
        setting = known.get(name) or known.get(name.replace("-", "_")) or known.get(name.replace("_", "-"))
        if setting is None:
            raise CollectorError(f"{path}: expected settings that `qckm collect --help` lists, got {name!r:.80}.")
        values[setting] = value
    context.default_map = {**(context.default_map or {}), **values}


def _settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    hints = get_type_hints(Settings)
    for each in reversed(fields(Settings)):
        choices = get_args(hints[each.name])
        kind: Any = click.Choice(choices) if choices else hints[each.name]
        flag = "--" + each.name.replace("_", "-")
        command = click.option(flag, type=kind, default=each.default, show_default=True, help=each.metadata["help"])(
            command
        )
    return command


@click.group(invoke_without_command=True, context_settings={"auto_envvar_prefix": "QCKM_COLLECT"})
@click.option("--config", type=Input(), is_eager=True, expose_value=False, callback=_read_config, help="A TOML file.")
@click.option(
    "--operator",
    "operator_file",
    type=Input(),
    envvar=["QCKM_COLLECT_OPERATOR", "QCKM_COLLECT_OPERATOR_FILE"],
    help="The operator's .qckm file; at the first start only.",
)
@store_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(1, 65535), default=8321, show_default=True, help="The port to listen at.")
@click.option("--certificate", type=Input(), help="For TLS, a PEM file of the certificate and those above it.")
@click.option("--private-key", type=Input(), help="For TLS, a PEM file of its key.")
@click.option("--mqtt", default="", help="A broker: mqtt://user@host:1883/topic, or mqtts://.")
@_settings_options
@click.pass_context
def command(
    context: click.Context,
    /,
    operator_file: str | None,
    store: str,
    host: str,
    port: int,
    certificate: str | None,
    private_key: str | None,
    mqtt: str,
    **settings: Any,
) -> None:
    """Run a collector: it adds up what shops and sensors send, each once, and shows what is in the sum.

    \b
    Examples:
      qckm collect --operator fleet.qckm
      qckm collect --store postgresql:///fleet --mqtt mqtt://broker/fleet --config collect.toml
      qckm collect token create berlin --send 'berlin/*'
      qckm collect device add berlin/press-3
      qckm collect check

    Every setting is a flag, a line of a TOML file (--config), or a variable such as QCKM_COLLECT_PORT.
    """
    if context.invoked_subcommand is not None:
        return
    _require_extra()
    from qckm.collector import server
    from qckm.collector.mqtt import Broker
    from qckm.collector.service import Service

    if (certificate is None) != (private_key is None):
        raise click.UsageError("TLS needs both --certificate and --private-key.")
    operator = None if operator_file is None else sketches.load_operator(operator_file)
    broker = Broker.parse(mqtt) if mqtt else None
    try:
        chosen = Settings(**settings)
    except CollectorError as error:
        raise click.UsageError(str(error)) from error
    address = server.Address(host, port, certificate, private_key)
    server.log_to_stderr(os.environ.get("QCKM_LOG", "info"))
    console = Console()
    with server.reserved(address) as sockets:  # before a store is made, and its first token shown
        service = Service.open(store, chosen, operator)
        secret = service.first_token
        if secret:
            console.say("The first token, with all rights; it is not shown again:")
            console.say(f"  {secret}")
        console.say(f"The page: {address.url}/" + (f"#{secret}" if secret else ""))
        with contextlib.suppress(KeyboardInterrupt):  # after a graceful end, uvicorn raises again what ended it
            server.make_server(service, address, broker).run(sockets)


def _require_extra() -> None:
    try:
        import httptools  # noqa: F401
        import paho.mqtt  # noqa: F401
        import prometheus_client  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(f'A collector needs {error.name}: pip install "qckm[collect]".') from error


for _each in collect_admin.COMMANDS:
    command.add_command(_each)
