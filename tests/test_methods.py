"""The index of methods: every method of the five documents has a row, and every path in it is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INDEX = ROOT / "docs" / "methods.md"
# How many methods each document has in the index.
METHODS = {"SEL": 63, "SHELL": 33, "RTP": 56, "BRO": 55, "KDSM": 63}


def ids_of(cell: str) -> list[str]:
    """The ids that the first cell of a row names: 'KDSM-39, 40 (exact), RTP-02' are three."""
    found, letters = [], ""
    for part in re.sub(r"\([^)]*\)", "", cell).split(","):
        match = re.fullmatch(r"\s*(?:([A-Z]+)-)?(\d+)\s*", part)
        if match is None:
            return []
        letters = match[1] or letters
        found.append(f"{letters}-{int(match[2]):02d}")
    return found


def rows() -> list[list[str]]:
    lines = [line for line in INDEX.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_method_has_a_row() -> None:
    expected = {f"{letters}-{k:02d}" for letters, count in METHODS.items() for k in range(1, count + 1)}
    named = {name for row in rows() for name in ids_of(row[0])}
    assert sorted(expected - named) == []
    assert sorted(named - expected) == []


def test_no_method_is_both_there_and_to_come() -> None:
    text = INDEX.read_text(encoding="utf-8")
    there, to_come = text.split("## Methods to come")
    to_come = to_come.split("\n## ")[0]
    lists = [{n for line in part.splitlines() if line.startswith("|") for n in ids_of(line.split("|")[1])} for part in (there, to_come)]
    assert sorted(lists[0] & lists[1]) == []
    assert len(lists[1]) < sum(METHODS.values()) / 2


def test_every_path_is_there() -> None:
    paths = re.findall(r"`((?:cpp|python|bindings|tests|notebooks|docs)/[\w/.\-]+)`", INDEX.read_text(encoding="utf-8"))
    assert len(paths) > 500
    assert sorted({p for p in paths if not (ROOT / p).exists()}) == []


@pytest.mark.parametrize(
    ("cell", "ids"),
    [
        ("KDSM-39, 40, RTP-02", ["KDSM-39", "KDSM-40", "RTP-02"]),
        ("SEL-24, SHELL-16 (thin walls)", ["SEL-24", "SHELL-16"]),
        ("id", []),
        ("closest point of a triangle", []),
    ],
)
def test_ids_are_found(cell: str, ids: list[str]) -> None:
    assert ids_of(cell) == ids
