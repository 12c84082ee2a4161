"""Polylines of segments that meet at their ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def polylines(vertices: Floats, segments: npt.NDArray[Any]) -> list[Floats]:
    """Join directed segments (m, 2) between vertices (n, 2) to polylines (k, 2); a closed one ends with its first vertex."""
    following = dict(map(tuple, segments.tolist()))
    starts = [v for v in following if v not in set(following.values())]
    lines: list[Floats] = []
    while following:
        line = [starts.pop() if starts else next(iter(following))]
        while line[-1] in following:
            line.append(following.pop(line[-1]))
        lines.append(np.ascontiguousarray(vertices[line]))
    return lines
