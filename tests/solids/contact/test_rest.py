"""What lies on solids and meshes comes to rest, with the bits of any number of threads."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import EdgeSprings, SpringOptions, World


def sheets(count: int, **options: int) -> World:
    world = World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=8, **options)  # type: ignore[arg-type]
    for k in range(count):
        mesh = ms.mesh.cloth_mesh(4, 4, (0.2, 0.2), origin=(0.003 * k, 0.002 * k, 0.0005 + 0.0101 * k))
        body = ms.solids.DeformableBody(mesh, density=0.2)
        body.add(EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=0.5, masses=body.masses)))
        world.add(body, thickness=0.01, friction=0.4)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.4)
    return world


def speed(world: World) -> float:
    return float(np.sqrt(np.mean([np.mean((body.velocities**2).sum(axis=1)) for body in world.bodies])))


@pytest.mark.slow
def test_a_stack_with_many_sweeps_keeps_its_distance_and_nearly_rests() -> None:
    few, many = sheets(5, sweeps=1), sheets(5, sweeps=16)
    for world in (few, many):
        for _ in range(120):
            world.step(1 / 400)
    heights = [float(np.mean([body.positions[:, 2].mean() for body in world.bodies])) for world in (few, many)]
    # Sheets at 0, 1, 2, 3 and 4 times the thickness.
    assert heights[0] < 0.015
    assert abs(heights[1] - 0.02) < 1e-3
    assert speed(many) < 0.2 * speed(few)


def test_rest_on_a_mesh_does_not_depend_on_the_number_of_threads() -> None:
    results, threads = [], ms.num_threads()
    try:
        for n in (1, 3):
            ms.set_num_threads(n)
            world = sheets(2)
            slope = ms.mesh.cloth_mesh(3, 3, (1, 1), origin=(-0.4, -0.4, -0.0097))
            world.add_obstacle(slope, sides="both", thickness=0.01, friction=0.4)
            for _ in range(24):
                world.step(1 / 400)
            assert len(world.solver.resting_keys) > 0
            results.append([body.positions.copy() for body in world.bodies] + [world.solver.resting_drag])
    finally:
        ms.set_num_threads(threads)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
