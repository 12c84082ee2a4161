"""Table, and the format of its figures."""

from __future__ import annotations

from dataclasses import dataclass, field

NONE = "–"


@dataclass
class Table:
    """Rows of text under a title."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)


def number(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    decimals = 0
    while decimals < 6 and abs(value) * 10**decimals < 10 ** (digits - 1):
        decimals += 1
    return f"{value:.{decimals}f}"


def starred(value: float | None, disturbed: bool) -> str:
    """A rate, with a star if the machine was not free in its best sample."""
    return number(value) + ("*" if disturbed else "")


def share(value: float | None) -> str:
    """A part as a percentage."""
    return NONE if value is None else f"{100 * value:.0f} %"
