"""Adaptive cloth in worlds: contact, transactions, bits, and what goes wrong."""

import pickle

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.solids import AdaptiveCloth, ClothMaterial, DeformableBody, World


def cloth_over(height: float, n: int = 8, *, edges: tuple[float, float] = (0.03, 0.12), gap: float = 0.0) -> AdaptiveCloth:
    mesh = ms.mesh.cloth_mesh(n, n, (0.8, 0.8), origin=(-0.4, -0.4, height + gap))
    material = ClothMaterial(density=0.2, youngs_modulus=2e5, thickness=5e-4, bending=5e-5, damping=2e-3)
    return AdaptiveCloth(mesh, material=material, edges=edges)


def drape(layers: int = 2, *, every: int = 1, solid: bool = False) -> World:
    """Sheets above a ball of triangles, or a solid one."""
    world = World(gravity=(0, 0, -9.81), steps_per_loop=4, elasticity="full-step", tolerance=1e-4, friction_solves=0)
    for k in range(layers):
        world.add(cloth_over(0.22, gap=0.015 * k), thickness=0.006, friction=0.3, remesh_every=every)
    if solid:
        world.add_obstacle(ms.surface.Sphere((0, 0, 0), 0.2), friction=0.3)
    else:
        world.add_obstacle(ms.mesh.icosphere(3, 0.2), thickness=0.006, friction=0.3, sides="both")
    return world


def run(world: World, loops: int, dt: float = 1 / 400) -> None:
    for _ in range(loops):
        for _ in range(4):
            world.step(dt)


@pytest.mark.slow
def test_layers_over_a_ball_fold_and_never_intersect() -> None:
    world = drape()
    operations, start = 0, len(world.bodies[0])
    for _ in range(30):
        run(world, 1)
        operations += sum(body.remeshed.operations for body in world.bodies)  # type: ignore[attr-defined]
        assert len(world.audit()) == 0
    assert operations > 50
    assert len(world.bodies[0]) > start
    # The upper sheet is above the lower one where both lie on the ball.
    tops = [body.positions[np.linalg.norm(body.positions[:, :2], axis=1) < 0.1, 2].mean() for body in world.bodies]
    assert 0.16 < tops[0] < tops[1]


def test_bodies_that_do_not_remesh_keep_their_bits() -> None:
    """`remesh_every=0` is the cloth as a plain body with the same forces."""
    adaptive = drape(1, every=0)
    cloth = adaptive.bodies[0]
    plain = DeformableBody(cloth.mesh, masses=cloth.masses.copy())  # type: ignore[attr-defined]
    for force in cloth.forces:
        plain.add(pickle.loads(pickle.dumps(force)))
    world = World(gravity=(0, 0, -9.81), steps_per_loop=4, elasticity="full-step", tolerance=1e-4, friction_solves=0)
    world.add(plain, thickness=0.006, friction=0.3)
    world.add_obstacle(ms.mesh.icosphere(3, 0.2), thickness=0.006, friction=0.3, sides="both")
    for w in (adaptive, world):
        run(w, 12)
    np.testing.assert_array_equal(plain.positions, cloth.positions)
    np.testing.assert_array_equal(plain.velocities, cloth.velocities)


@pytest.mark.slow
@pytest.mark.parametrize("solid", [False, True])
def test_worlds_go_on_from_snapshots_copies_and_pickles(solid: bool) -> None:
    """Of a mesh that has since become another one."""
    world = drape(1, solid=solid)
    run(world, 14)
    saved, twins = world.snapshot(), [world.copy(), pickle.loads(pickle.dumps(world))]
    size = len(world.bodies[0])
    run(world, 8)
    assert len(world.bodies[0]) != size
    end = world.bodies[0].positions.copy()
    for twin in twins:
        run(twin, 8)
        np.testing.assert_array_equal(twin.bodies[0].positions, end)
    world.restore(saved)
    assert len(world.bodies[0]) == size
    run(world, 8)
    np.testing.assert_array_equal(world.bodies[0].positions, end)


@pytest.mark.slow
def test_an_error_amid_remeshing_leaves_the_last_whole_step(monkeypatch: pytest.MonkeyPatch) -> None:
    world = drape(2)
    run(world, 16)
    saved, cloth = world.snapshot(), world.bodies[1]
    run(world, 4)
    end = [body.positions.copy() for body in world.bodies]
    world.restore(saved)

    class Broken:
        def improve(self, *_: object) -> None:
            raise KeyboardInterrupt

    editor = cloth.remesher.editor  # type: ignore[attr-defined]
    monkeypatch.setattr(cloth.remesher, "editor", Broken())
    cloth.edge_sizes = lambda: (np.zeros((1, 2), np.int32), np.full(1, 9.0))  # type: ignore[attr-defined]
    time = world.time
    with pytest.raises(KeyboardInterrupt):
        world.step(1 / 400)
    assert world.time == time
    np.testing.assert_array_equal(cloth.positions, saved["setup"]["bodies"][1]["positions"])
    monkeypatch.setattr(cloth.remesher, "editor", editor)
    del cloth.edge_sizes  # type: ignore[attr-defined]
    world.restore(saved)
    run(world, 4)
    for body, x in zip(world.bodies, end, strict=True):
        np.testing.assert_array_equal(body.positions, x)


@pytest.mark.slow
def test_bits_of_worlds_do_not_depend_on_threads() -> None:
    def result() -> list[np.ndarray]:
        world = drape(2)
        run(world, 16)
        return [part for body in world.bodies for part in (body.positions.copy(), body.velocities.copy(), body.elements)]

    everywhere(result, (1, 2, 5))


@pytest.mark.slow
def test_cloth_with_a_barrier() -> None:
    world = World(gravity=(0, 0, -9.81), response="barrier")
    for k in range(2):
        world.add(cloth_over(0.21, gap=0.012 * k), thickness=0.006)
    world.add_obstacle(ms.mesh.icosphere(3, 0.2), thickness=0.006, sides="both")
    for _ in range(14):
        world.step(1 / 60)
        assert len(world.audit()) == 0
    assert world.bodies[0].generation > 0


@pytest.mark.slow
def test_forces_and_paths_follow() -> None:
    """Wind is made anew for each mesh; two corners are led along a path, and stay at its points."""
    cloth = cloth_over(0.0, 6)
    calls = []

    def wind(body: AdaptiveCloth) -> ms.solids.Force:
        calls.append(len(body))
        return ms.solids.WindDrag(body.mesh, per_area=0.3, wind=(0.0, 3.0, 1.0))

    cloth.add(wind)
    corners = np.flatnonzero((np.abs(np.abs(cloth.rest[:, 0]) - 0.4) < 1e-9) & (cloth.rest[:, 1] < -0.39))
    start = cloth.positions[corners].copy()
    cloth.move(corners, lambda t: start + t * np.array([0.0, 0.1, 0.05]))
    world = World(gravity=(0, 0, -9.81), steps_per_loop=2, elasticity="full-step")
    world.add(cloth, thickness=0.005)
    for _ in range(80):
        world.step(1 / 200)
    assert cloth.generation > 0
    assert len(calls) > 1
    assert calls[-1] == len(cloth)
    held = cloth.constrained
    assert len(held) == 2
    order = np.lexsort(start.T)
    expected = (start + world.time * np.array([0.0, 0.1, 0.05]))[order]
    np.testing.assert_allclose(cloth.positions[held][np.lexsort(cloth.positions[held].T)], expected, atol=1e-12)
    assert len(cloth.forces) == 3
    cloth.remove(cloth.forces[-1])
    assert len(cloth.forces) == 2


def test_remeshing_between_loops_only() -> None:
    world = drape(1)
    world.step(1 / 400)
    cloth = world.bodies[0]
    with pytest.raises(ValueError, match="between loops"):
        cloth.remesh(world)  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="not this cloth"):
        cloth_over(0.0).remesh(world)
    with pytest.raises(TypeError, match="remesh_every"):
        World().add(DeformableBody(ms.mesh.cloth_mesh(2, 2)), remesh_every=1)
    with pytest.raises(ValueError, match="leave `surface` out"):
        World().add(cloth_over(0.0), surface=ms.mesh.cloth_mesh(2, 2))
