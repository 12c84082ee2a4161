"""What the rays to the corners of a cell beside a waving sheet cost: one-sided interpolation there, and far from the sheet; one thread.

python tests/benchmarks/shells/rays.py
"""

from __future__ import annotations

import json
import time

import numpy as np
from smoke_step import waving

import meniscus as ms
from meniscus.coupling import Shells


def main() -> None:
    """Print a line of JSON."""
    ms.set_num_threads(1)
    grid = ms.Grid((210, 140, 140), 1 / 140)
    field = ms.CellField(grid)
    walls = Shells(grid, [waving(122)]).walls()
    start = time.perf_counter()
    x = walls.mesh[0]
    walls.place(x, np.zeros_like(x))
    placed = time.perf_counter() - start
    rng = np.random.default_rng(1)
    clearance = np.asarray(walls.clearance())
    result = {"cells": int((clearance == 0).sum()), "seconds to place": round(placed, 4)}
    micro = {}
    for name, which in (("beside", clearance == 0), ("far", clearance > 2)):
        # So many that what a call takes for the whole field does not count.
        cells = np.repeat(np.argwhere(which)[:: max(1, int(which.sum()) // 27000)], 10, axis=0)
        points = (cells + rng.random(cells.shape)) * grid.spacing
        best = np.inf
        for _ in range(10):
            start = time.perf_counter()
            walls.sample(field, points, None)
            best = min(best, time.perf_counter() - start)
        micro[name] = 1e6 * best / len(points)
    result |= {f"us a sample, {k}": round(v, 3) for k, v in micro.items()}
    print(json.dumps(result | {"us of rays": round(micro["beside"] - micro["far"], 3)}))


if __name__ == "__main__":
    main()
