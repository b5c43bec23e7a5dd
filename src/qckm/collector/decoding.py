"""Models and drift of what is in the store, computed by the command line in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from qckm.collector.refusals import Reason, Refused
from qckm.sketch import Sketch

_SECONDS = 600
_MOST_WAITING = 8


class Decoder:
    """Runs one command at a time."""

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    async def model(self, sketch: Sketch, clusters: int) -> bytes:
        """Return the model of K clusters, as JSON."""
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder) / "sum.qckm", Path(folder) / "model.json"
            sketch.save(path)
            await self._run("decode", str(path), "-k", str(clusters), "-o", str(out), "--quiet", allowed=(0,))
            model = json.loads(out.read_bytes())
        del model["facts"]["inputs"]  # a file that nobody will find
        return json.dumps(model).encode()

    async def drift(
        self, before: Sketch, after: Sketch, level: float, effect: float, model: bytes | None = None
    ) -> dict[str, Any]:
        """Return how the rows of two sketches differ; with a model, by its clusters."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / "before.qckm", Path(folder) / "after.qckm"]
            for path, sketch in zip(paths, (before, after), strict=True):
                sketch.save(path)
            words = ["drift", *map(str, paths), "--level", str(level), "--min-effect", str(effect)]
            words += ["--json", "--quiet"]
            if model is not None:
                (Path(folder) / "model.json").write_bytes(model)
                words += ["--model", str(Path(folder) / "model.json")]
            found: dict[str, Any] = json.loads(await self._run(*words, allowed=(0, 1)))
        return {key: value for key, value in found.items() if key not in ("inputs", "against")}

    async def _run(self, *words: str, allowed: tuple[int, ...]) -> bytes:
        if self._waiting >= _MOST_WAITING:
            raise Refused(Reason.TOO_MANY, f"{self._waiting} models and comparisons wait: come again in a minute.")
        self._waiting += 1
        try:
            async with self._one:
                child = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "qckm", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
                )
                try:
                    out, err = await asyncio.wait_for(child.communicate(), _SECONDS)
                finally:
                    if child.returncode is None:
                        child.kill()
                        await child.wait()
        finally:
            self._waiting -= 1
        if child.returncode not in allowed:
            said = err.decode("utf-8", "replace").strip()[-500:].removeprefix("qckm: ")
            raise Refused(Reason.BAD_REQUEST, said or "It could not be done.")
        return out
