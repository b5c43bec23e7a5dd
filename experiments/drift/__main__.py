"""`python -m drift [levels power culprits dependence timing ridge effects]`: what is there is not measured again."""

from __future__ import annotations

import argparse
import importlib

PARTS = ("levels", "power", "culprits", "dependence", "timing", "ridge", "effects")


def main() -> None:
    parser = argparse.ArgumentParser(prog="drift", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=", ".join(PARTS))
    for part in parser.parse_args().parts:
        if part not in PARTS:
            parser.error(f"expected some of {', '.join(PARTS)}, got {part!r}")
        importlib.import_module(f"drift.{part}").measure()


if __name__ == "__main__":
    main()
