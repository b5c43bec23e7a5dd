"""Runs fuzzers in child processes: whatever kills one is a finding, its input is saved, and the next child goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from fuzz.child import Job, input_of
from fuzz.limits import FINDINGS, USUAL, Limits, target_of

TESTS = Path(__file__).parents[1]
BATCH = 5000  # inputs a child
STARTING = 120  # seconds until a child checks its first input
NOT_STARTED = (2**64 - 1).to_bytes(8, "little")  # where it says how far it has come
MOST_FINDINGS = 30  # of a run: then it stops

Said = tuple[int, str, str]  # the number of an input, what became of it, and, of a finding, how


@dataclass(frozen=True)
class Finding:
    """An input that was neither loaded well nor refused."""

    kind: str
    target: str
    seed: int
    number: int
    words: str
    path: Path

    def __str__(self) -> str:
        again = f"make fuzz ONLY={self.target} SEED={self.seed} NUMBER={self.number}"
        return f"{self.kind} of {self.target}, saved as {self.path}. Again: {again}\n{self.words}"


@dataclass
class Report:
    """What became of the inputs of a run, for each target."""

    counts: dict[str, Counter[str]]
    findings: list[Finding] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Say how many inputs of each target had which outcome."""
        words = [f"{'target':18}{'inputs':>10}  outcomes"]
        for name, counts in self.counts.items():
            listed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
            words.append(f"{name:18}{counts.total():>10}  {listed}")
        total = sum(self.counts.values(), Counter())
        found = ", ".join(f"{total[kind]} {kind}" for kind in FINDINGS)
        return [*words, f"{'all':18}{total.total():>10}  {found}"]


def fuzz(
    names: list[str], seed: int, count: int, jobs: int, kept: Path, limits: Limits = USUAL, say: Callable = print
) -> Report:
    """Check so many inputs of some targets; say what was found, and keep it in a folder."""
    report = Report({name: Counter() for name in names})
    batches = [Job(names, seed, first, min(count, first + BATCH), limits) for first in range(0, count, BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for said in pool.map(lambda job: _done(job, report), batches):
                for one in said:
                    finding = _note(one, names, seed, kept, report)
                    if finding:
                        say(finding, flush=True)
        except KeyboardInterrupt:
            say("stopped; what was done before is counted", flush=True)
            pool.shutdown(cancel_futures=True)
    return report


def _note(said: Said, names: list[str], seed: int, kept: Path, report: Report) -> Finding | None:
    """Enter in a report what became of an input."""
    number, outcome, words = said
    name = target_of(number, names)
    report.counts[name][outcome] += 1
    if outcome not in FINDINGS:
        return None
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name}-{seed}-{number}"
    path.write_bytes(input_of(name, seed, number))
    report.findings.append(Finding(outcome, name, seed, number, words, path))
    return report.findings[-1]


def _done(job: Job, report: Report) -> list[Said]:
    """Return what became of the inputs of a job; after a child that dies, another goes on behind its last input."""
    found: list[Said] = []
    first = job.first
    while first < job.end and len(report.findings) + sum(said[1] in FINDINGS for said in found) < MOST_FINDINGS:
        said, number, kind, words = _child(replace(job, first=first))
        found += said
        if not kind:
            return found
        if kind == "failed" or number < first:
            raise RuntimeError(f"The fuzzers themselves fail, at input {number} of seed {job.seed}: {words}")
        found.append((number, kind, words))
        first = number + 1
    return found


def _child(job: Job) -> tuple[list[Said], int, str, str]:
    """Return what a child said, the number of the input it was at, and, if it died, of what, and its last words."""
    with tempfile.NamedTemporaryFile() as progress:
        progress.write(NOT_STARTED)
        progress.flush()
        words = [sys.executable, "-m", "fuzz.child", json.dumps(asdict(job)), progress.name]
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path}
        child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        out, err, waited = _watched(child, Path(progress.name), job.limits.waiting)
        number = int.from_bytes(Path(progress.name).read_bytes()[:8], "little")
    said = [tuple(json.loads(line)) for line in out.splitlines() if line.startswith("[") and line.endswith("]")]
    kind, why = _death(child.returncode, waited, job.limits)
    return said, number if number < 2**63 else -1, kind, f"{why}\n{err[-3000:]}"


def _watched(child: subprocess.Popen, progress: Path, patience: float) -> tuple[str, str, bool]:
    """Wait for a child that goes on; kill one that does not. Return what it wrote, and whether it was killed."""
    at, since, waited = NOT_STARTED, time.monotonic(), False
    while True:
        try:
            out, err = child.communicate(timeout=0.5)
            return out, err, waited
        except subprocess.TimeoutExpired:
            before, at = at, progress.read_bytes()
            if at != before:
                since = time.monotonic()
            elif time.monotonic() - since > (STARTING if at == NOT_STARTED else patience):
                child.kill()
                waited = True


def _death(code: int, waited: bool, limits: Limits) -> tuple[str, str]:
    if code == 0:
        return "", ""
    if waited:
        return "hang", f"it did not go on for {limits.waiting:g} s"
    if code == -signal.SIGPROF:
        return "hang", f"it computed for more than {limits.computing:g} s"
    return ("crash", f"killed by {signal.Signals(-code).name}") if code < 0 else ("failed", f"exit code {code}")
