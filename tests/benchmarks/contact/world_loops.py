"""Cases of worlds: the velocity solve of a large cloth with each preconditioner, free and in contact, and whole loops of stacked sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import Case

import meniscus as ms
from meniscus._meniscus import solids as core
from meniscus.scenes.library.contact.curtain import Curtain
from meniscus.solids.options import step_options

# Triangles of the curtain, and of the stack.
FULL, QUICK = (500_000, 50_000), (600, 400)
DT = 1.0 / 384.0
LAYERS, STEPS = 10, 8
TOLERANCE = 1e-3


def touching(body: Any) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and normals of a sixth of a curtain that lies on a ball; every fourth of them sticks."""
    x = np.asarray(body.positions)
    away = x - (0.0, 0.4, 0.1)
    nodes = np.flatnonzero((np.abs(x[:, 1] - 0.4) < 0.15) & (np.abs(x[:, 0]) < 0.2)).astype(np.int32)
    normals = away[nodes] / np.linalg.norm(away[nodes], axis=1)[:, None]
    stick = np.arange(len(nodes)) % 4 == 0
    where = np.concatenate([nodes[~stick], np.repeat(nodes[stick], 3)])
    along = np.concatenate([normals[~stick], np.tile(np.eye(3), (int(stick.sum()), 1))])
    order = np.argsort(where, kind="stable")
    return np.ascontiguousarray(where[order]), np.ascontiguousarray(along[order])


def solve_cases(triangles: int, chosen: Callable[[str], bool]) -> Iterator[Case]:
    """The first solve of a step of a hanging curtain with the parameters of Selle 2008, table 6.1."""
    names = [f"solids/velocity-solve/{state}/{p}" for state in ("free", "contact") for p in ("multigrid", "blocks")]
    if not any(map(chosen, names)):
        return
    scene = Curtain(triangles=triangles)
    body = scene.make_body(scene.make_mesh())
    for _ in range(3):
        body.step(DT, elasticity="full-step", tolerance=TOLERANCE, safeguard=False)
    n = len(body)
    x, v0 = np.empty((n, 3)), np.empty((n, 3))
    given = np.zeros((n, 3))
    for name in filter(chosen, names):
        _, _, state, preconditioner = name.split("/")
        workspace = ms.core.Workspace()
        options = step_options(tolerance=TOLERANCE, preconditioner=preconditioner)  # type: ignore[arg-type]
        contacts = touching(body) if state == "contact" else None

        def run(workspace: Any = workspace, options: Any = options, contacts: Any = contacts) -> None:
            step = core.SystemStep([body._core], [body._motion(DT)], DT, workspace)
            step.begin(x, v0)
            v = v0.copy()
            if contacts is not None:
                step.set_contacts(*contacts)
                step.hold_contacts(given, v)
            info, _ = step.solve_velocity(x, v0, 0.5 * DT, DT, options, v, None)
            assert info.converged

        yield Case(name, "solids", 1, "evaluation/s", run, workspace=workspace, rounds=3, parameters={"triangles": triangles, "nodes": n})


def loop_cases(triangles: int, chosen: Callable[[str], bool]) -> Iterator[Case]:
    """One loop of a stack of loose sheets that lie on each other and slide, from the same state each time."""
    name = "solids/world-loop/stack"
    if not chosen(name):
        return
    quads = max(2, round((0.5 * triangles / LAYERS) ** 0.5))
    world = ms.solids.World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=STEPS, tolerance=TOLERANCE)
    thickness = 0.4 / quads
    for k in range(LAYERS):
        sheet = ms.mesh.cloth_mesh(quads, quads, (1.0, 1.0), origin=(0.01 * k, 0.007 * k, 0.7 * thickness * (k + 1)))
        body = ms.solids.DeformableBody(sheet, density=0.25)
        springs = ms.solids.SpringOptions(stiffness=4.14, damping_fraction=15.0, masses=body.masses)
        body.add(ms.solids.EdgeSprings(sheet, springs))
        body.add(ms.solids.BendingSprings(sheet, ms.solids.SpringOptions(stiffness=0.41, damping_fraction=8.0, masses=body.masses)))
        body.velocities[:, 0] = 0.05 * (-1) ** k
        world.add(body, thickness=thickness)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    for _ in range(STEPS):
        world.step(DT)
    start = world.snapshot()

    def run() -> None:
        for _ in range(STEPS):
            world.step(DT)

    count = sum(len(body.forces[0].edges) for body in world.bodies)  # type: ignore[attr-defined]
    yield Case(name, "solids", 1, "evaluation/s", run, lambda: world.restore(start), rounds=3, parameters={"edges": count})


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    curtain, stack = QUICK if quick else FULL
    return [*solve_cases(curtain, chosen), *loop_cases(stack, chosen)]


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Any]:
    """None."""
    return []
