"""The page to try it: where it lies, and the script that builds its encoder."""

import importlib.util
from pathlib import Path

_BUILD = Path(__file__).parents[1] / "docs" / "browser" / "build.py"
_SPEC = importlib.util.spec_from_file_location("build_try_it", _BUILD)
build = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(build)
SITE = build.SITE
