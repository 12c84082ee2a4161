"""What each room may cost: lines, processor seconds of compiling and of fast tests. The shares stand in docs/build.md.

Lines are counted here. Seconds are those that `make build-cost` and `make test-cost` have written into the page.
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "build.md"
ROOMS = ("core", "numerics", "parallel", "grid", "mesh", "collision", "surface", "fluids", "solids", "coupling")

if not PAGE.exists():  # as where the tests run beside an installed package
    pytest.skip("the documentation is not here", allow_module_level=True)


def table(heading: str) -> dict[str, list[float]]:
    """The numbers of a table of the page by their first column; the table is the first one after a line."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    assert any(line.startswith(heading) for line in lines), heading
    rows: dict[str, list[float]] = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[1].replace(".", "").isdigit():
            rows[cells[0]] = [float(cell) for cell in cells[1:]]
        elif rows and not line.startswith("|"):
            break
    return rows


SHARES = table("## Budgets")
COMPILED, TESTED = table("<!-- build cost: begin"), table("<!-- test cost: begin")
COLUMNS = ("C++ lines", "Python lines", "compile, s", "fast tests, s")


def lines_of(folder: Path, *suffixes: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in folder.rglob("*") if path.suffix in suffixes)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_its_share(room: str) -> None:
    share = dict(zip(COLUMNS, SHARES[room], strict=True))
    used = {
        "C++ lines": lines_of(ROOT / "cpp/meniscus" / room, ".cpp", ".hpp"),
        "Python lines": lines_of(ROOT / "python/meniscus" / room, ".py"),
        "compile, s": COMPILED[room][1],
        "fast tests, s": TESTED.get(room, [0.0, 0.0])[1],
    }
    assert {what: value for what, value in used.items() if value > share[what]} == {}


def test_what_belongs_to_no_room_keeps_its_share() -> None:
    compiled = {part: numbers[1] for part, numbers in COMPILED.items() if part not in (*ROOMS, "together")}
    tested = {part: numbers[1] for part, numbers in TESTED.items() if part not in (*ROOMS, "together")}
    assert {part: seconds for part, seconds in compiled.items() if seconds > SHARES[part][2]} == {}
    assert sum(tested.values()) <= SHARES["other tests"][3]


def test_shares_fit_into_the_whole() -> None:
    whole = SHARES["together"]
    for column, name in enumerate(COLUMNS):
        assert sum(numbers[column] for part, numbers in SHARES.items() if part != "together") <= whole[column], name
