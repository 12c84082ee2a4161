"""Random calls of everything public, each batch in a process of its own: see `fuzzer.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.variants import slow_but

FOLDER = Path(__file__).parent
CALLS = 1250


def run(seed: int, calls: int, log: Path) -> None:
    paths = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])  # that may hold a package with sanitizers
    command = [sys.executable, "-W", "ignore", str(FOLDER / "fuzzer.py"), str(seed), str(calls), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, timeout=600, check=False)
    last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:] if log.exists() else []
    assert done.returncode == 0, f"after the call {last}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("seed", slow_but(range(80), 0))
def test_a_hundred_thousand_calls_at_random(seed: int, tmp_path: Path) -> None:
    run(seed, CALLS, tmp_path / "calls.txt")


def test_the_fuzzer_sees_what_must_not_be(tmp_path: Path) -> None:
    """An object that fails with an error of another kind, and one that changes before it fails, are both reported."""
    code = """
import io, numpy as np
import fuzzer, meniscus as ms

class Broken(ms.core.State):
    def __init__(self): self.x = 0
    def snapshot(self): return self.x
    def restore(self, s): pass
    def assign(self, o): pass
    nbytes = property(lambda self: 8)
    def _arguments(self): return (), {}
    def odd(self): raise ZeroDivisionError("no")
    def late(self):
        self.x += 1
        raise ValueError("too late")
    def mute(self): raise ValueError

f = fuzzer.Fuzzer(1, io.StringIO())
f.things = {"broken": Broken()}
f.renew = lambda: None
f.functions = []
f.chance.random = lambda: 0.9
for number in range(300):
    f.one(number)
told = "|".join(f.problems)
assert "broken.odd: ZeroDivisionError" in told, told
assert "broken.late: changed by a call that failed with ValueError: too late" in told, told
assert "broken.mute: ValueError without a sentence" in told, told
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(FOLDER)}, cwd=tmp_path)
