"""Named queries of continuous collision detection with known answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from support.ccd.oracle import Kind


class Case(NamedTuple):
    """One query with what is known about it."""

    name: str
    kind: Kind
    start: np.ndarray
    end: np.ndarray
    boundary: bool
    interior: int
    first: float | None
    """The time of the first contact, to six digits where it is irrational; None where there is none or it is not stated."""

    @property
    def parity(self) -> bool:
        return self.boundary or self.interior % 2 == 1

    @property
    def any(self) -> bool:
        return self.boundary or self.interior > 0


_Row = tuple[int, int, int]
_Rows = list[_Row]


def _case(name: str, kind: Kind, start: _Rows, end: _Rows, boundary: bool, interior: int, first: float | None) -> Case:
    return Case(name, kind, np.array(start, float), np.array(end, float), boundary, interior, first)


def _fixed_face(name: str, p: _Row, q: _Row, boundary: bool, interior: int, first: float | None) -> Case:
    face = [(-1, -1, 0), (2, -1, 0), (-1, 2, 0)]
    return _case(name, "vertex-face", [p, *face], [q, *face], boundary, interior, first)


def _moving_edge(name: str, edge: _Rows, other: _Rows, step: _Row, boundary: bool, interior: int, first: float | None) -> Case:
    moved = [(x + step[0], y + step[1], z + step[2]) for x, y, z in edge]
    return _case(name, "edge-edge", edge + other, moved + other, boundary, interior, first)


CASES: tuple[Case, ...] = (
    _fixed_face("through", (0, 0, 1), (0, 0, -1), False, 1, 0.5),
    _fixed_face("miss", (5, 5, 1), (5, 5, -1), False, 0, None),
    _fixed_face("touch at the end", (0, 0, 1), (0, 0, 0), True, 0, 1.0),
    _fixed_face("touch at the start", (0, 0, 0), (0, 0, 1), True, 0, 0.0),
    _fixed_face("through an edge", (0, -1, 1), (0, -1, -1), True, 0, 0.5),
    _fixed_face("through a vertex", (-1, -1, 1), (-1, -1, -1), True, 0, 0.5),
    _fixed_face("slide in within the plane", (-5, 0, 0), (0, 0, 0), True, 0, 0.8),
    _fixed_face("slide through within the plane", (-5, 0, 0), (5, 0, 0), True, 0, 0.4),
    _fixed_face("slide past within the plane", (-5, 9, 0), (5, 9, 0), False, 0, None),
    _fixed_face("at rest, far", (0, 0, 1), (0, 0, 1), False, 0, None),
    _fixed_face("at rest, touching", (0, 0, 0), (0, 0, 0), True, 0, 0.0),
    _moving_edge("crossing edges", [(-1, 0, 1), (1, 0, 1)], [(0, -1, 0), (0, 1, 0)], (0, 0, -2), False, 1, 0.5),
    _moving_edge("edges slide within a plane", [(-1, 3, 0), (1, 3, 0)], [(0, -1, 0), (0, 1, 0)], (0, -3, 0), True, 0, 2 / 3),
    _moving_edge("parallel edges that overlap", [(-1, 0, 1), (1, 0, 1)], [(-1, 0, 0), (1, 0, 0)], (0, 0, -2), True, 0, 0.5),
    _moving_edge("parallel edges one after the other", [(5, 0, 1), (7, 0, 1)], [(-1, 0, 0), (1, 0, 0)], (0, 0, -2), False, 0, None),
    _case(
        "two roots of a vertex and a face", "vertex-face",
        [(-2, 4, 0), (-1, 9, -6), (9, -1, 7), (-1, -3, 0)], [(7, -6, 2), (-6, 9, 7), (2, -6, -3), (0, -9, 5)], False, 2, 0.273545,
    ),
    _case(
        "two roots of a vertex and a face, small numbers", "vertex-face",
        [(-1, -1, -2), (-1, -2, 0), (0, -2, 2), (0, 2, -1)], [(0, 0, 2), (2, -1, -1), (-1, 1, 1), (-2, -2, -1)], False, 2, 0.5,
    ),
    _case(
        "two roots of edges", "edge-edge",
        [(7, 8, -3), (3, -9, 5), (6, -6, -8), (4, 5, 3)], [(1, -3, -9), (-6, 9, 4), (7, -6, -8), (-6, 5, 1)], False, 2, 0.534607,
    ),
    _case(
        "three roots of edges", "edge-edge",
        [(2, 2, -2), (-1, -2, -1), (-1, 1, -2), (0, -1, 1)], [(-1, 0, 0), (0, 1, 2), (2, 0, 0), (-2, 1, 1)], False, 3, 0.542020,
    ),
)  # fmt: skip
