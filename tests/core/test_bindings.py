"""Rule of the bindings: they translate and do not compute."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BINDINGS = Path(__file__).parents[2] / "bindings"
SOURCES = sorted([*BINDINGS.rglob("*.cpp"), *BINDINGS.rglob("*.hpp")])

FORBIDDEN = {
    "parallel loops": r"parallel_(?:for|reduce)\b",
    "mathematical functions": r"#include <(?:cmath|numeric|random|complex)>|std::(?:sqrt|pow|abs|floor|ceil|accumulate|iota|sort)\b",
    "clocks": r"#include <chrono>",
    "scratch memory": r"\bBlock<[^<>]+>\s*(?:\w+\s*)?[({]|\.take<",
    "loops without a range": r"\bwhile\s*\(",
}


def _code(path: Path) -> str:
    """Return a source without comments and strings."""
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', path.read_text(encoding="utf-8"))
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def test_there_are_bindings() -> None:
    assert len(SOURCES) > 20


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(BINDINGS)))
def test_bindings_do_not_compute(path: Path) -> None:
    code = _code(path)
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, code)
        assert found is None, f"{what} belong to the core, but {path.name} has {found.group(0) if found else ''!r}"
    # A loop within a loop is work on data: arrays are translated by spans, rows by one loop.
    for loop in re.finditer(r"^( *)for \(.*$", code, flags=re.M):
        inner = re.compile(rf"^{loop.group(1)} +for \(")
        for line in code[loop.end() + 1 :].splitlines():
            if line.strip() and len(line) - len(line.lstrip()) <= len(loop.group(1)):
                break
            assert not inner.match(line), f"nested loops belong to the core, but {path.name} has {line.strip()!r}"
