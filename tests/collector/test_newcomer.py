"""The commands of docs/collector.md, from an empty folder to a page with a live fleet behind it."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from collector.fleet import free_port

pytestmark = [pytest.mark.peer, pytest.mark.timeout(400)]
PAGE = Path(__file__).parents[2] / "docs" / "collector.md"


def commands():
    """Return the commands under "Try it", which are five."""
    block = PAGE.read_text().split("## Try it\n")[1].split("```sh\n")[1].split("```")[0]
    return [line.split("   #")[0].strip() for line in block.splitlines() if line.strip()]


def test_five_commands_lead_to_a_page_with_a_live_fleet(tmp_path):
    install, *others, collect, simulate = commands()
    assert len(commands()) == 5
    assert install == 'pip install ".[collect]"'  # done
    port = free_port()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "QCKM_COLLECT_PORT": str(port)}
    for words in others:
        subprocess.run(words, shell=True, check=True, cwd=tmp_path, env=env)
    with (tmp_path / "said").open("w") as said:
        server = subprocess.Popen(shlex.split(collect.rstrip(" &")), cwd=tmp_path, env=env, stderr=said)
    fleet = None
    try:
        address = None
        until = time.monotonic() + 30
        while address is None:
            assert time.monotonic() < until
            address = re.search(r"The page: (http://\S+)/#(\S+)", (tmp_path / "said").read_text())
            time.sleep(0.1)
        url, token = address.groups()
        words = [*shlex.split(simulate), "--url", url]  # the test's port is not the usual one
        fleet = subprocess.Popen(words, cwd=tmp_path, env=env, stderr=subprocess.DEVNULL)
        until, seen = time.monotonic() + 300, set()
        while len(seen) < 3:  # the number of rows grows by itself
            assert time.monotonic() < until
            time.sleep(1)
            request = urllib.request.Request(f"{url}/v1/overview", headers={"Authorization": f"Bearer {token}"})
            try:
                with urllib.request.urlopen(request, timeout=10) as answer:
                    told = json.loads(answer.read())
            except OSError:
                continue
            if told["clusters"] and any(drift["drifted"] for drift in told["drifts"]):
                seen.add(told["rows"])
    finally:
        for process in filter(None, (fleet, server)):
            process.send_signal(signal.SIGTERM)
            process.wait(30)
    assert server.returncode == 0
