"""What mypy says about scripts that use the package."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.runs.processes import run_whole

ROOT = Path(__file__).parents[3]


def mypy(scripts: Sequence[Path], folder: Path, *options: str) -> str:
    """Return the lines of mypy, with the configuration of `make lint`; skip the test where it is not installed.

    Args:
        scripts: files.
        folder: for a copy of the cache of `make lint`, which makes this ten times as fast: two that write into one wait for each other.
        options: further ones.
    """
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    cache, own = ROOT / ".mypy_cache", folder / "cache of mypy"
    if cache.exists():
        shutil.copytree(cache, own)
    places = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={own}", f"--python-executable={sys.executable}"]
    done = run_whole([sys.executable, "-m", "mypy", *options, *places, *map(str, scripts)], 300, cwd=folder)
    assert not done.stderr, done.stderr
    return done.stdout
