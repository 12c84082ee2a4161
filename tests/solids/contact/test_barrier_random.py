"""Small random scenes with a barrier: fast, coplanar, coincident in projection, stiff and soft; no iterate ever intersects."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.mesh import TriangleMesh, cloth_mesh, icosphere, tet_block
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions, TetElements, World


def _rotation(rng: np.random.Generator) -> np.ndarray:
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


def _body(rng: np.random.Generator, height: float) -> DeformableBody:
    # Two fifths are parallel to each other, and most lie exactly above each other.
    turn = np.eye(3) if rng.random() < 0.4 else _rotation(rng)
    aside = np.zeros(2) if rng.random() < 0.7 else 0.02 * rng.normal(size=2)
    place = np.array([*aside, height])
    if rng.random() < 0.5:
        flat = cloth_mesh(4, 4, (0.2, 0.2), origin=(-0.1, -0.1, 0))
        mesh = TriangleMesh(np.ascontiguousarray(flat.vertices @ turn + place), flat.triangles)
        body = DeformableBody(mesh, density=0.2)
        body.add(EdgeSprings(mesh, SpringOptions(stiffness=10, damping_fraction=0.5, masses=body.masses)))
    else:
        block = tet_block(1, 1, 1, (0.1, 0.1, 0.1), origin=(-0.05, -0.05, -0.05))
        block = block.moved(np.ascontiguousarray(block.vertices @ turn + place))
        body = DeformableBody(block, density=1000.0)
        body.add(TetElements(block, youngs_modulus=10 ** rng.uniform(5, 8), poissons_ratio=0.3, damping=0.01))
    # Up to 20 m/s: most of a metre in a step.
    body.velocities[...] = rng.normal(size=3) * 10 ** rng.uniform(-1, 1.3)
    return body


def _run(seed: int, scenes: int) -> int:
    """Take six steps of a frame in each of some scenes; return how many pairs there were."""
    rng = np.random.default_rng(seed)
    pairs = 0
    for _ in range(scenes):
        world = World(gravity=(0, 0, -9.8), response="barrier")
        for k in range(rng.integers(2, 5)):
            world.add(_body(rng, 0.14 + 0.25 * k), thickness=10 ** rng.uniform(-3, -2), friction=float(rng.choice([0, 0.3, 1.0])))
        kind = rng.random()
        if kind < 0.6:
            world.add_obstacle(ms.surface.HalfSpace((0, 0, -0.05), (0, 0, 1)), friction=0.5)
        elif kind < 0.8:
            world.add_obstacle(icosphere(2, 0.1).translated((0, 0, -0.1)), sides="both", thickness=0.005)
        surface = world.surface
        crossing: list[int] = []
        world.solver.on_iterate = lambda x, s=surface, c=crossing: c.append(len(s.mesh.self_intersections(s.at_vertices(x))))  # type: ignore[misc]
        for _ in range(6):
            pairs += world.step(1 / 24).contact.pairs
        assert not any(crossing)
        assert len(world.audit()) == 0
    return pairs


@pytest.mark.slow
def test_random_scenes_have_no_iterate_with_intersections() -> None:
    assert _run(1, 8) > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_random_scenes_have_no_iterate_with_intersections(seed: int) -> None:
    assert _run(seed, 100) > 1000
