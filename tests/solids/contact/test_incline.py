"""A particle, a tetrahedron and a block on an inclined plane, against closed forms (Selle 2008, section 6.5)."""

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import World

ANGLE = np.pi / 5
G = 9.8
DOWN = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
UP = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])


def particle(speed: float) -> ms.solids.DeformableBody:
    body = ms.solids.DeformableBody(np.zeros((1, 3)), masses=2.0)
    body.velocities = (speed * DOWN)[None]
    return body


def world(body: ms.solids.DeformableBody, friction: float, **options: object) -> World:
    made = World(gravity=(0, 0, -G), **options)  # type: ignore[arg-type]
    made.add(body)
    made.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(UP)), friction=friction)
    return made


def moved(made: World, dt: float, duration: float = 1.0) -> tuple[float, float]:
    """Return the way and the speed along the plane after a duration."""
    body = made.bodies[0]
    start = body.positions.mean(axis=0)
    for _ in range(round(duration / dt)):
        made.step(dt)
    return float((body.positions.mean(axis=0) - start) @ DOWN), float(body.velocities.mean(axis=0) @ DOWN)


@pytest.mark.parametrize("dt", slow_but([1 / 24, 1 / 96, 1e-3], 1 / 24, 1 / 96))
def test_a_sliding_particle_is_exact(dt: float) -> None:
    made = world(particle(0.0), 0.6)
    way, speed = moved(made, dt)
    acceleration = (np.sin(ANGLE) - 0.6 * np.cos(ANGLE)) * G
    assert way == pytest.approx(0.5 * acceleration, abs=1e-13)
    assert speed == pytest.approx(acceleration, abs=1e-13)
    assert way == pytest.approx(0.50163777, abs=5e-9)
    assert abs(made.bodies[0].positions[0] @ UP) < 1e-13


@pytest.mark.parametrize(
    ("dt", "error"), slow_but([(1 / 24, 2.4e-4), (1 / 96, 2.8e-6), (1e-3, 1.5e-8)], (1 / 24, 2.4e-4), (1 / 96, 2.8e-6))
)
def test_a_particle_stops_where_it_should_but_for_the_last_step(dt: float, error: float) -> None:
    made = world(particle(1.0), 0.9)
    way, speed = moved(made, dt)
    deceleration = (0.9 * np.cos(ANGLE) - np.sin(ANGLE)) * G
    assert speed == pytest.approx(0.0, abs=1e-13)
    # The digest gives the errors with two digits.
    assert abs(way - 0.5 / deceleration) == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize(("speed", "friction"), slow_but([(0.0, 0.6), (1.0, 0.9)], (1.0, 0.9)))
def test_the_older_method_knows_no_friction(speed: float, friction: float) -> None:
    way, end = moved(world(particle(speed), friction, solid_response="projection"), 1e-3)
    assert way == pytest.approx(2.8801 + speed, abs=1e-4)
    assert end == pytest.approx(5.7603 + speed, abs=1e-4)


def tetrahedron(speed: float) -> ms.solids.DeformableBody:
    """One tetrahedron with a face on the plane; its springs are overdamped."""
    across = np.cross(UP, DOWN)
    corners = 0.2 * np.array([[0, 0, 0], [1, 0, 0], [0.4, 0.9, 0], [0.45, 0.3, 0.8]])
    vertices = corners @ np.stack([DOWN, across, UP])
    mesh = ms.mesh.TetMesh(vertices, np.array([[0, 1, 2, 3]], np.int32)).oriented()
    body = ms.solids.DeformableBody(mesh, masses=1.0)
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=500.0, damping_fraction=15.0, masses=body.masses)))
    body.velocities[...] = speed * DOWN
    return body


@pytest.mark.slow
@pytest.mark.parametrize(("speed", "friction"), [(0.0, 0.6), (1.0, 0.9)])
def test_a_tetrahedron_slides_and_stops_like_a_particle(speed: float, friction: float) -> None:
    made = world(tetrahedron(speed), friction, tolerance=1e-10)
    way, _ = moved(made, 1e-3)
    acceleration = (np.sin(ANGLE) - friction * np.cos(ANGLE)) * G
    exact = 0.5 * acceleration if acceleration > 0 else -0.5 * speed**2 / acceleration
    assert way == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(
    ("friction", "slips"),
    slow_but([(1.3, 0.0), (np.tan(ANGLE) + 0.05, 1e-5), (np.tan(ANGLE) - 0.1, np.inf)], (1.3, 0.0), (np.tan(ANGLE) - 0.1, np.inf)),
)
def test_a_block_rests_above_the_angle_of_friction_and_slips_below(friction: float, slips: float) -> None:
    # So flat that no part of its base is lifted.
    mesh = ms.mesh.tet_block(4, 4, 1, (0.6, 0.6, 0.15))
    mesh = mesh.moved(mesh.vertices @ np.stack([DOWN, np.cross(UP, DOWN), UP]))
    body = ms.solids.DeformableBody(mesh, density=1000)
    body.add(ms.solids.TetElements(mesh, youngs_modulus=1e6, poissons_ratio=0.3, damping=0.01))
    made = world(body, friction, elasticity="full-step", tolerance=1e-8)
    base = np.flatnonzero(np.abs(mesh.vertices @ UP) < 1e-12)
    for _ in range(120):
        made.step(1 / 400)
    before = body.positions[base].copy()
    info = made.step(1 / 400)
    slip = np.abs((body.positions[base] - before) @ DOWN).max()
    if slips == np.inf:
        assert slip > 1e-4
        return
    # Near the angle of friction, nodes at the rim slip a little.
    assert slip <= slips
    # What holds the block up is its weight.
    impulse = info.contact.impulses_of_solids.sum(axis=0)
    assert impulse @ UP == pytest.approx(body.masses.sum() * G * np.cos(ANGLE) / 400, rel=1e-3)
    assert np.allclose(impulse, body.masses.sum() * np.array([0, 0, G]) / 400, rtol=0, atol=0.02 * impulse @ UP)


@pytest.mark.parametrize("steepness", slow_but([1.1, 1.3, 0.95], 1.1))
def test_a_stiff_block_slides_as_a_whole(steepness: float) -> None:
    """From rest, on a slope somewhat steeper than the angle of friction: single nodes that stick would hold all of it."""
    size, mu, dt = 0.2, 0.5, 1 / 400
    angle = np.arctan(steepness * mu)
    down, up = np.array([np.cos(angle), 0, -np.sin(angle)]), np.array([np.sin(angle), 0, np.cos(angle)])
    mesh = ms.mesh.tet_block(3, 3, 1, (size, size, 0.25 * size))
    mesh = mesh.moved(mesh.vertices @ np.stack([down, np.cross(up, down), up]))
    block = ms.solids.DeformableBody(mesh, density=500)
    block.add(ms.solids.TetElements(mesh, youngs_modulus=1e5 * size * G, poissons_ratio=0.3, damping=0.0045))
    slope = ms.solids.World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8)
    slope.add(block)
    slope.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(up)), friction=mu)
    for _ in range(160):
        slope.step(dt)
    exact = max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) * 160 * dt
    assert block.velocities.mean(axis=0) @ down == pytest.approx(exact, rel=0.01, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modulus", "damping", "friction"),
    [(1e6, 0.01, 0.1), (1e6, 0.01, 0.29), (1e7, 0.0, 0.1)],
)
def test_a_stiff_block_that_slides_does_not_hop(modulus: float, damping: float, friction: float) -> None:
    """Friction after the solve would stop its light lower nodes; the block would shiver, and lose half of its speed."""
    turn = np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]]) @ np.stack([DOWN, np.cross(UP, DOWN), UP])
    mesh = ms.mesh.tet_block(2, 2, 1, (0.1, 0.1, 0.03))
    mesh = mesh.moved(mesh.vertices @ turn)
    block = ms.solids.DeformableBody(mesh, density=1000)
    block.add(ms.solids.TetElements(mesh, youngs_modulus=modulus, poissons_ratio=0.3, damping=damping))
    slope = World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8)
    slope.add(block)
    slope.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(UP)), friction=friction)
    for _ in range(160):
        slope.step(1 / 400)
    speed = block.masses @ block.velocities / block.masses.sum()
    assert speed @ DOWN == pytest.approx(G * (np.sin(ANGLE) - friction * np.cos(ANGLE)) * 160 / 400, rel=0.02)
    assert np.abs(block.velocities - speed).max() < 0.005


def test_as_printed_a_block_creeps_down_slopes_that_hold_a_particle() -> None:
    mesh = ms.mesh.tet_block(4, 4, 1, (0.6, 0.6, 0.15))
    mesh = mesh.moved(mesh.vertices @ np.stack([DOWN, np.cross(UP, DOWN), UP]))
    base = np.abs(mesh.vertices @ UP) < 1e-12
    slips = []
    for rest in ("literal", "held"):
        body = ms.solids.DeformableBody(mesh, density=1000)
        body.add(ms.solids.TetElements(mesh, youngs_modulus=1e6, poissons_ratio=0.3, damping=0.1))
        made = world(body, 1.0, elasticity="full-step", rest=rest, tolerance=1e-8)
        for _ in range(200):
            made.step(1 / 400)
        before = body.positions[base].copy()
        made.step(1 / 400)
        slips.append(np.abs((body.positions[base] - before) @ DOWN).max())
    assert slips[0] > 1e-6
    assert slips[1] == 0.0


def test_the_plane_gives_a_particle_the_impulse_of_its_weight() -> None:
    made = world(particle(0.0), 0.6)
    for _ in range(3):
        info = made.step(0.01)
        impulse = info.contact.impulses_of_solids
        assert impulse.shape == (1, 3)
        assert impulse[0] @ UP == pytest.approx(2.0 * G * np.cos(ANGLE) * 0.01, rel=1e-12)
        assert impulse[0] @ DOWN == pytest.approx(-0.6 * 2.0 * G * np.cos(ANGLE) * 0.01, rel=1e-12)
