"""A step of smoke with a waving sheet in it, beside the same step without: seconds, and those of each stage.

    python tests/benchmarks/shells/smoke_step.py [--samples nodes]

210 x 140 x 140 cells and 30K triangles are the size of figure 2 of Guendelman et al. 2005.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Literal

import numpy as np

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells

DT = 0.01


def solver(shape: tuple[int, int, int], samples: Literal["faces", "nodes"]) -> ms.fluids.SmokeSolver:
    """Smoke in a shear flow that passes about two and a half cells in a step."""
    options = ms.fluids.SmokeOptions(
        vorticity=ms.fluids.VorticityOptions(confinement=0.2),
        temperature_weight=1.0,
        transport=ms.fluids.TransportOptions(velocity_samples=samples),
    )
    s = ms.fluids.SmokeSolver(ms.Grid(shape, 1 / shape[1]), options)
    speed = 2.5 / shape[1] / DT
    s.velocity.u[...] = speed * np.sin(3 * np.linspace(0, 1, shape[1]))[None, :, None]
    s.density.array[: shape[0] // 3] = 1.0
    return s


def waving(n: int) -> KinematicShell:
    """A tilted sheet of 2 n^2 triangles in waves."""
    grid = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = grid[:-1, :-1].ravel(), grid[1:, :-1].ravel(), grid[1:, 1:].ravel(), grid[:-1, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]).astype(np.int32)
    u, v = (w.reshape(-1, 1) for w in np.meshgrid(*2 * (np.linspace(0, 1, n + 1),), indexing="ij"))
    x = np.array([0.7, 0.15, 0.2]) + u * np.array([0.1, 0.65, 0.05]) + v * np.array([0.05, 0.02, 0.65])

    def motion(t: float) -> np.ndarray:
        y = x.copy()
        y[:, 0] += 0.05 * np.sin(15 * x[:, 1] + 3 * t) * np.cos(11 * x[:, 2])
        return y

    return KinematicShell((x, triangles), motion)


def main() -> None:
    """Print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", type=int, nargs=3, default=(210, 140, 140))
    parser.add_argument("--quads", type=int, default=122, help="along each side of the sheet")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--samples", choices=("faces", "nodes"), default="faces", help="where the velocity is carried")
    parser.add_argument("--threads", type=int, default=ms.num_threads())
    o = parser.parse_args()
    ms.set_num_threads(o.threads)
    plain = solver(tuple(o.shape), o.samples)
    other = solver(tuple(o.shape), o.samples)
    sim = ShellCoupling(other, Shells(other.grid, [waving(o.quads)]), "one-way")
    alone, together, stages = [], [], {name: 0.0 for name in sim.stages}
    for step in range(o.steps + 1):
        start = time.perf_counter()
        plain.step(DT)
        middle = time.perf_counter()
        last = [middle]

        def record(name: str, _: object, step: int = step, last: list[float] = last) -> None:
            now = time.perf_counter()
            stages[name] += (now - last[0]) / o.steps if step else 0.0
            last[0] = now

        sim.step(DT, record)
        if step:
            alone.append(middle - start)
            together.append(time.perf_counter() - middle)
    report = sim.report
    assert report is not None
    result = {
        "triangles": 2 * o.quads**2,
        "threads": o.threads,
        "samples": o.samples,
        "seconds without": min(alone),
        "seconds with": min(together),
        "ratio": min(together) / min(alone),
        "stages": stages,
        "marked cells": report.marked_cells,
        "bytes a marked cell": sim.walls.nbytes / report.marked_cells,
    }
    print(json.dumps({k: round(v, 3) if isinstance(v, float) else v for k, v in result.items()}, default=lambda v: round(v, 3)))


if __name__ == "__main__":
    main()
