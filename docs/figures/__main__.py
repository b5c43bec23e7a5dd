"""Fill in the figures of all pages: `make figures`. With --check, only say which pages would change."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from figures.markers import ROOT, filled, pages


def main() -> int:
    stale = [(page, text) for page in pages() if (text := filled(page.read_text())) != page.read_text()]
    for page, text in stale:
        print(page.relative_to(ROOT))
        if "--check" not in sys.argv:
            page.write_text(text)
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
