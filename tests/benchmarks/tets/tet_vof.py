"""Benchmark cases of water on a moving tetrahedral mesh; alone, a study of sizes: cost and bytes per wet tetrahedron, a frame.

    cd tests/benchmarks
    python -m tets.tet_vof --tets 1e5 1e6 8e6
    python -m tets.tet_vof --tets 5.6e6 --dt 0.01667 --only all-wet

The mesh surrounds a ball and swings with it; water fills it, or 5 % of it, and moves through it at an angle, so that every tetrahedron that
is traced meets several others. By default the water goes 0.2 edges in a step, relative to the mesh.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer
from traffic import Pass, Traffic

import meniscus as ms
from meniscus.fluids import TetVOF
from meniscus.surface import KinematicSolid, MeshShape, Pose, SolidOnTets, Sphere

RADIUS, OFFSET, DEPTH = 0.5, 0.4, 0.42
WATER = (0.5, 0.3, -0.8)  # m/s, beside which the ball moves at 0.75 m/s
SPIN = 1.0  # 1/s, of the water about the y axis
STEP = 0.2  # edges
COUNT = 10
FULL = {"3e5": (0.2, 2)}  # cells of the coarse mesh, m, and levels
QUICK = {"tiny": (0.2, 0)}
BEFORE = ("move", "request", "deliver", "forward", "enter", "accelerate", "smear", "push_out", "project", "correct", "emit")

# Bytes per full tetrahedron: volume 8, capacity 8, velocity 24, neighbours 16, rank 4, normal 24, velocity of the solid 24.
CONSERVATION = Traffic(
    (
        Pass("debris", 8),
        Pass("smear", 8 + 8 + 24 + 16 + 4, 8 + 24),
        Pass("fill everywhere", 8 + 8 + 24 + 16 + 4, 8 + 24),
        Pass("sweep outward", 8 + 8 + 24 + 16 + 4, 8 + 24),
        Pass("correct", 8 + 8 + 24 + 16 + 4 + 24 + 24, 24),
    ),
    1,
)


def swing(t: float) -> Pose:
    """The pose of ball and mesh, s."""
    return Pose((0.15 * math.sin(5 * t), 0, 0))


class Water:
    """A solver whose state before each stage can be had again.

    Args:
        cell: of the coarse lattice, m.
        levels: of refinement.
        wet: part of the tetrahedra that hold water.
        dt: s; None: 0.2 edges.
        mesh: of another one, to be shared.
    """

    def __init__(self, cell: float, levels: int, wet: float, dt: float | None = None, mesh: ms.mesh.MovingTetMesh | None = None) -> None:
        ball = Sphere((0, 0, 0), RADIUS)
        if mesh is None:
            rest = ms.surface.enclosing_mesh(ball, np.empty((0, 3)), cell, offset=OFFSET, depth=DEPTH)
            mesh = ms.mesh.MovingTetMesh(rest, lambda t: swing(t).apply(rest.vertices), levels=levels)
        self.mesh = mesh
        self.vof = TetVOF(mesh, KinematicSolid(ball, swing), samples="random", count=COUNT)
        self.dt = STEP * cell / 2**levels if dt is None else dt
        self.put_water(wet)
        self.vof.step(self.dt)
        self.state = self.vof.volume.copy(), self.vof.velocity.copy()

    def put_water(self, wet: float) -> None:
        """Fill tetrahedra that are outside of the ball, the ones closest to its top first."""
        vof = self.vof
        middle = np.zeros((len(vof.tets), 3))
        for k in range(4):
            middle += 0.25 * vof.positions[vof.tets[:, k]]
        free = np.flatnonzero(vof.rank >= 0)
        if wet < 1:
            distance = np.linalg.norm(middle[free] - [0, 0, RADIUS], axis=1)
            free = free[distance <= np.quantile(distance, wet)]
        vof.volume[free] = 0.95 * vof.capacity[free]
        vof.velocity[free] = np.array(WATER) + SPIN * np.stack([middle[free, 2], np.zeros(len(free)), -middle[free, 0]], axis=1)

    def bring_back(self, before: str | None = None) -> None:
        """Return to the stored state, or to what it is before a stage."""
        self.vof.volume[...], self.vof.velocity[...] = self.state
        self.vof._state_replaced()
        for stage in BEFORE[: 0 if before is None else BEFORE.index(before)]:
            getattr(self.vof, stage)(self.dt)

    def call(self, *stages: str) -> None:
        """Call stages."""
        for stage in stages:
            getattr(self.vof, stage)(self.dt)

    def wet(self) -> int:
        """Tetrahedra with water."""
        return int(np.count_nonzero(self.state[0]))


def ball_of_triangles() -> KinematicSolid:
    """The ball as a mesh in motion."""
    return KinematicSolid(MeshShape(ms.mesh.icosphere(5, RADIUS)), swing)


def cases_of(key: str, cell: float, levels: int) -> list[Case]:
    """All cases with one mesh."""
    full = Water(cell, levels, 1.0)
    few = Water(cell, levels, 0.05, mesh=full.mesh)
    vof, g, m = full.vof, full.vof._geometry, full.mesh.tet_count()
    about: dict[str, Any] = {"tets": m, "wet": full.wet(), "edges_per_step": STEP}
    kinds, ranks, closed = g._kinds.copy(), np.empty_like(g.ranks), np.empty(m, np.uint8)
    on_tets, solid, x = SolidOnTets(g.tets, full.mesh.vertex_count()), ball_of_triangles(), full.mesh.positions(0.1)
    on_tets.update(solid, x, 0.1, motion=False)

    def make(name: str, work: int, run: Callable[[], object], unit: str = "Mtet/s", **more: Any) -> Case:
        return Case(f"tet-vof/{key}/{name}", "tet-vof", work, unit, run, **{"parameters": about, **more})

    return [
        make("request", COUNT * full.wet(), partial(full.call, "request"), "Msample/s", prepare=partial(full.bring_back, "request")),
        make(
            "conservation",
            full.wet(),
            partial(full.call, "smear", "push_out", "correct"),
            prepare=partial(full.bring_back, "smear"),
            traffic=CONSERVATION,
            state_bytes=vof.nbytes,
        ),
        make("ranks", m, partial(g.graph.ranks, kinds, True, ranks, closed)),
        make("cut-cells", int(on_tets.cut.sum()), partial(on_tets.update, solid, x, 0.1, motion=False)),
        make("step-all-wet", full.wet(), partial(vof.step, full.dt), prepare=full.bring_back),
        make("step-5-percent-wet", few.wet(), partial(few.vof.step, few.dt), prepare=few.bring_back),
    ]


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    sizes = QUICK if quick else FULL
    names = ("request", "conservation", "ranks", "cut-cells", "step-all-wet", "step-5-percent-wet")
    wanted = [key for key in sizes if any(chosen(f"tet-vof/{key}/{n}") for n in names)]
    return [case for key in wanted for case in cases_of(key, *sizes[key]) if chosen(case.name)]


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """None: no installable program has this method."""
    return []


# --- sizes ---------------------------------------------------------------------------------------------------------------------------


def shape_of(tets: float) -> tuple[float, int]:
    """Return cell and levels of a mesh with about so many tetrahedra: 6000 to 48,000 in the coarse one."""
    levels = max(0, math.ceil(math.log(tets / 48_000, 8)))
    return min(0.2, 0.2 * (5832 * 8**levels / tets) ** (1 / 3)), levels


def resident() -> int:
    """Bytes of memory in use, as the system sees it; 0 where it does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def seconds_of_steps(water: Water, steps: int) -> tuple[float, float]:
    """The shortest of some steps from the same state: seconds, and processor seconds."""
    best = (math.inf, math.inf)
    for _ in range(steps):
        water.bring_back()
        cpu, start = time.process_time(), time.perf_counter()
        water.vof.step(water.dt)
        best = min(best, (time.perf_counter() - start, time.process_time() - cpu))
    return best


def size_report(tets: float, steps: int, dt: float | None, only: str | None) -> dict[str, Any]:
    """Seconds of a step, and bytes, with 5 % wet and with all wet, on one thread and on two."""
    cell, levels = shape_of(tets)
    gc.collect()
    start = resident()
    report: dict[str, Any] = {}
    mesh: ms.mesh.MovingTetMesh | None = None
    for name, part in (("5-percent-wet", 0.05), ("all-wet", 1.0)):
        if only not in (None, name):
            continue
        water = Water(cell, levels, part, dt, mesh)
        mesh = water.mesh
        row: dict[str, Any] = {"tets": mesh.tet_count(), "dt": water.dt, "wet": water.wet(), "nbytes": water.vof.nbytes}
        for threads in (1, 2):
            ms.core.set_num_threads(threads)
            seconds, cpu = seconds_of_steps(water, steps)
            row[f"seconds_{threads}"], row[f"cpu_{threads}"] = seconds, cpu
        gc.collect()
        row["resident"] = resident() - start
        row["us_per_wet"] = 1e6 * row["cpu_1"] / row["wet"]
        row["speedup"] = row["seconds_1"] / row["seconds_2"]
        report[name] = row
        del water
        gc.collect()
    if len(report) == 2:
        dry, full = report["5-percent-wet"], report["all-wet"]
        report["share_of_5_percent"] = dry["cpu_1"] / full["cpu_1"]
        more = full["wet"] - dry["wet"]
        for what in ("nbytes", "resident"):
            per_wet = (full[what] - dry[what]) / more
            report[f"{what}_per_wet"] = per_wet
            report[f"{what}_per_tet"] = (dry[what] - per_wet * dry["wet"]) / dry["tets"]
    return report


def main(given: list[str] | None = None) -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description="Cost and bytes of water on moving tetrahedra by the size of the mesh.")
    parser.add_argument("--tets", type=float, nargs="+", default=[1e5], help="sizes (default 1e5)")
    parser.add_argument("--steps", type=int, default=3, help="steps of which the shortest counts (default 3)")
    parser.add_argument("--dt", type=float, help="s (default: 0.2 edges)")
    parser.add_argument("--only", choices=("all-wet", "5-percent-wet"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(given)
    threads, reports = ms.core.num_threads(), {}
    for tets in options.tets:
        reports[f"{tets:g}"] = report = size_report(tets, options.steps, options.dt, options.only)
        print(json.dumps({f"{tets:g}": report}, indent=1), flush=True)
    ms.core.set_num_threads(threads)
    if options.json is not None:
        options.json.write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
