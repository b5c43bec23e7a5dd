"""How the golden messages of version 2 were made. Not run again: they are what devices in the field send."""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from golden import make_wire_v1
from qckm.sensor import signed

KEY = bytes(range(16))


def messages():
    """Return the golden messages of version 1 with a boot number and a time."""
    return {name: replace(message, boot=3, time=1_763_251_200) for name, message in make_wire_v1.messages().items()}


if __name__ == "__main__":
    lines = [f"{name} {signed.dumps(message, KEY).hex()}\n" for name, message in messages().items()]
    (Path(__file__).parent / "wire-v2.txt").write_text("".join(lines))
