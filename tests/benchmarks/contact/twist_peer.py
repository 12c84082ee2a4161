"""Cloth whose two ends turn against each other: this library beside Newton's vertex block descent on the CPU, on the same mesh and motion.

    MENISCUS_NEWTON_PYTHON=/path/to/python python tests/benchmarks/contact/twist_peer.py [--frames 270] [--response impulses] [--json FILE]

The variable names an interpreter that has Newton and Warp; without it, only this library runs. Settings are those of Newton's example
`cloth_twist`: 50 x 50 vertices, a metre by a metre and a half, ends that turn by 60 degrees a second each, frames of 1/60 s with 10
substeps of 4 iterations, without gravity. After 270 frames each end has turned by 270 degrees. Both run on one thread; intersections at
the end are counted by the exact test. Ours is the barrier, in steps of a whole frame, with layers kept apart within the 2 mm of
Newton's margin. The mean strain says whether the cloth is still one: with `--response impulses`, for comparison, nothing intersects
either, but impulses do not hold this cloth, stiff as it is, once its layers are pressed together (after about 105 degrees).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import meniscus as ms

PYTHON = "MENISCUS_NEWTON_PYTHON"
SIDE, FRAME, SPEED = 50, 1.0 / 60.0, np.pi / 3.0
DENSITY, STRETCH, BENDING, FRICTION, DAMPING = 0.2, 1.0e3, 1.0e-3, 0.2, 2.0e-4
# Of layers, m: of impulses, and of the barrier as Newton's margin.
THICKNESS, MARGIN = 0.01, 0.002
# Newton's method ends when no node would move faster by this (m/s): 0.17 mm in a frame.
BARRIER = ms.solids.BarrierOptions(tolerance=1e-2, linear_tolerance=1e-1, friction_solves=1)


def cloth() -> ms.mesh.TriangleMesh:
    """Return the mesh of the example: upright in the plane of y and z, with diagonals that alternate."""
    y, z = np.meshgrid(np.linspace(-0.75, 0.75, SIDE), np.linspace(-0.5, 0.5, SIDE))
    vertices = np.stack([np.zeros(SIDE**2), y.ravel(), z.ravel()], axis=1)
    i, j = np.divmod(np.arange((SIDE - 1) ** 2), SIDE - 1)
    a = SIDE * i + j
    b, c, d = a + 1, a + SIDE, a + SIDE + 1
    even = ((i + j) % 2 == 0)[:, None]
    first = np.where(even, np.stack([a, d, b], axis=1), np.stack([a, c, b], axis=1))
    second = np.where(even, np.stack([a, c, d], axis=1), np.stack([c, d, b], axis=1))
    return ms.mesh.TriangleMesh(vertices, np.concatenate([first, second]).astype(np.int32))


def turned_nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes of both ends, and the signs of their turns."""
    lower = SIDE * np.arange(SIDE)
    return np.concatenate([lower, lower + SIDE - 1]), np.repeat([1.0, -1.0], SIDE)


class Turning:
    """Positions and velocities of nodes that turn around the y axis."""

    def __init__(self, rest: np.ndarray, signs: np.ndarray) -> None:
        self.rest, self.signs = rest, signs

    def __call__(self, now: float) -> tuple[np.ndarray, np.ndarray]:
        """Return positions (k, 3) and velocities (k, 3) at a time (s)."""
        x, y, z = self.rest.T
        c, s, zero = np.cos(self.signs * SPEED * now), np.sin(self.signs * SPEED * now), np.zeros(len(x))
        place = np.stack([c * x + s * z, y, c * z - s * x], axis=1)
        return place, (self.signs * SPEED)[:, None] * np.stack([place[:, 2], zero, -place[:, 0]], axis=1)


def twisted(mesh: ms.mesh.TriangleMesh) -> ms.solids.DeformableBody:
    """Return the cloth, whose ends turn."""
    body = ms.solids.DeformableBody(mesh, density=DENSITY)
    # Lame's constants of Newton's membrane are both STRETCH, in N/m.
    thickness, poisson = 1e-3, 1.0 / 3.0
    young = 2.0 * STRETCH * (1.0 + poisson) / thickness
    body.add(ms.solids.TriangleMembrane(mesh, youngs_modulus=young, poissons_ratio=poisson, thickness=thickness, damping=DAMPING))
    body.add(ms.solids.DihedralBending(mesh, ms.solids.SpringOptions(stiffness=BENDING)))
    nodes, signs = turned_nodes()
    body.move(nodes, Turning(np.array(mesh.vertices[nodes]), signs))
    return body


def world_of(body: ms.solids.DeformableBody, response: str, steps: int) -> ms.solids.World:
    """Return a world of this cloth, with so many steps in a loop of impulses."""
    if response == "barrier":
        world = ms.solids.World(gravity=(0.0, 0.0, 0.0), response=BARRIER)
        world.add(body, thickness=MARGIN, friction=FRICTION)
        return world
    world = ms.solids.World(
        gravity=(0.0, 0.0, 0.0), steps_per_loop=steps, elasticity="full-step", finish="backward-euler", tolerance=1e-3, safeguard=False
    )
    world.add(body, thickness=THICKNESS, friction=FRICTION)
    return world


def ours(mesh: ms.mesh.TriangleMesh, frames: int, response: str, steps: int, loops: int) -> dict[str, Any]:
    """Run this library, impulses with so many loops in a frame and steps in a loop; return what it costs and what it leaves."""
    body = twisted(mesh)
    world = world_of(body, response, steps)
    if response == "barrier":
        steps = loops = 1
    seconds, processor, cuts, uncertified = [], [], 0, 0
    end = 0.0
    for number in range(1, frames + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        end = number * FRAME
        while (left := end - world.time) > 1e-9:
            dt = min(left, FRAME / loops) / steps
            for _ in range(steps):
                contact = world.step(dt).contact
            cuts += contact.cuts
            uncertified += not contact.certified
        seconds.append(time.perf_counter() - wall)
        processor.append(time.process_time() - cpu)
    return {"positions": body.positions, "seconds": seconds, "processor": processor, "cuts": cuts, "uncertified": uncertified}


def newtons(mesh: ms.mesh.TriangleMesh, frames: int) -> dict[str, Any] | None:
    """Run Newton, where there is one; return what it costs and what it leaves."""
    python = os.environ.get(PYTHON)
    if not python:
        return None
    nodes, signs = turned_nodes()
    given: dict[str, Any] = {"vertices": mesh.vertices, "triangles": mesh.triangles, "turned": nodes, "signs": signs}
    given |= {"density": DENSITY, "stretch": STRETCH, "bending": BENDING, "friction": FRICTION}
    given |= {"frames": frames, "frame": FRAME, "speed": SPEED}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(source, **given)
        program = Path(__file__).with_name("newton_twist.py")
        subprocess.run([python, str(program), str(source), str(target)], check=True, stdout=subprocess.DEVNULL)
        with np.load(target) as found:
            return {name: found[name] for name in found.files}


def row(mesh: ms.mesh.TriangleMesh, found: dict[str, Any]) -> dict[str, float]:
    """Return the row of the table: seconds of a frame, mean, last and greatest, and intersections at the end."""
    surface = ms.collision.CollisionMesh(None, mesh.triangles)
    x = np.ascontiguousarray(found["positions"])
    a, b = mesh.edges.T
    strain = np.linalg.norm(x[a] - x[b], axis=1) / np.linalg.norm(mesh.vertices[a] - mesh.vertices[b], axis=1) - 1
    return {
        # The first frame has what happens once.
        "seconds a frame": float(np.mean(found["processor"][1:])),
        "wall": float(np.mean(found["seconds"][1:])),
        "last frame": float(found["processor"][-1]),
        "greatest": float(np.max(found["processor"][1:])),
        "intersections": len(surface.self_intersections(x)),
        "mean strain": float(np.mean(np.abs(strain))),
        "cuts": float(found.get("cuts", 0)),
        "uncertified": float(found.get("uncertified", 0)),
    }


def main() -> None:
    """Run both and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=270)
    parser.add_argument("--response", choices=("barrier", "impulses"), default="barrier", help="of ours")
    parser.add_argument("--loops", type=int, default=8, help="of impulses, in a frame")
    parser.add_argument("--steps", type=int, default=1, help="of impulses, in a loop")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--positions", type=Path, metavar="FILE.npz")
    given = parser.parse_args()
    ms.set_num_threads(1)
    mesh = cloth()
    runs = {"ours": ours(mesh, given.frames, given.response, given.steps, given.loops), "newton": newtons(mesh, given.frames)}
    rows = {name: row(mesh, found) for name, found in runs.items() if found is not None}
    if given.positions:
        np.savez(given.positions, **{name: found["positions"] for name, found in runs.items() if found is not None})
    for name, values in rows.items():
        sys.stdout.write(name + ": " + ", ".join(f"{what} {value:.4g}" for what, value in values.items()) + "\n")
    if len(rows) == 2:
        times = rows["newton"]["seconds a frame"] / rows["ours"]["seconds a frame"]
        sys.stdout.write(f"ours is {times:.2f} times as fast; floor 1, goal 3\n")
    else:
        sys.stdout.write(f"without Newton: set {PYTHON} to an interpreter that has it\n")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
