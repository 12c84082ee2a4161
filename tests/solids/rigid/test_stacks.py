"""Piles of rigid bodies that stand, and an arch that stands or falls. Source: Müller et al. 2008, section 6.6."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.same_bits import everywhere
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import MassProperties, RigidBody, RigidOptions, RigidSystem
from meniscus.surface import HalfSpace, KinematicSolid, Pose


def on_ground(friction=0.5, **options):
    system = RigidSystem(RigidOptions(**options), gravity=(0, 0, -9.81))
    system.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=friction)
    return system


def drift(system, seconds, dt=0.01):
    start = np.array([b.center for b in system.bodies])
    for _ in range(round(seconds / dt)):
        system.step(dt)
    return np.abs(np.array([b.center for b in system.bodies]) - start).max()


def test_ten_boxes_stand_for_ten_seconds():
    system = on_ground(substeps=4, iterations=10)
    for k in range(10):
        system.add(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0.5 + k))), friction=0.5)
    # Each may overlap the one below by the slop, 1/500 of its reach.
    assert drift(system, 10) < 1e-3 * 10
    assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 1e-4
    total = sum(b.mass for b in system.bodies) * 9.81
    c = system.contacts
    ground = c.impulses[(c.bodies == 0).any(axis=1)].sum(axis=0) / (0.01 / 4)
    assert abs(ground[2]) == pytest.approx(total, rel=1e-4)


@pytest.mark.slow
def test_a_pyramid_of_55_stands():
    system = on_ground()
    for row in range(10):
        for k in range(10 - row):
            system.add(RigidBody.box((1, 1, 1), pose=Pose((1.05 * (k + 0.5 * row), 0, 0.5 + row))), friction=0.5)
    assert len(system) == 55
    assert drift(system, 10) < 2e-3
    assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 1e-4


def test_a_hundred_times_the_mass_on_top():
    system = on_ground(substeps=4, iterations=10)
    system.add(RigidBody.box((1, 1, 1), 10, pose=Pose((0, 0, 0.5))), friction=0.5)
    system.add(RigidBody.box((1, 1, 1), 1000, pose=Pose((0, 0, 1.5))), friction=0.5)
    assert drift(system, 10) < 5e-3
    assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 1e-4


def tower(ratio, edge, order="top", count=10, **options):
    """Boxes on each other: the highest, each second, or each one more than the one below, is so much denser."""
    system = on_ground(**options)
    for k in range(count):
        heavier = {"top": ratio ** (k == count - 1), "alternating": ratio ** (k % 2), "each": ratio ** (k / (count - 1))}[order]
        system.add(RigidBody.box((edge,) * 3, 500 * heavier, pose=Pose((0, 0, edge * (0.5 + k)))), friction=0.5)
    return system


TOWERS = [
    (ratio, edge, dt, order)
    for ratio in (1, 10, 100, 1000)
    for edge in (0.01, 0.1, 1.0)
    for dt in (1 / 60, 0.01)
    for order in ("top", "each", "alternating")
    if ratio > 1 or order == "top"
]


@pytest.mark.parametrize(
    ("ratio", "edge", "dt", "order"),
    slow_but(TOWERS, (1000, 0.1, 1 / 60, "top"), (1000, 1.0, 0.01, "alternating"), (1, 0.01, 0.01, "top"), (1000, 0.01, 1 / 60, "each")),
)
def test_towers_of_ten_stand_for_ten_seconds_with_default_options(ratio, edge, dt, order):
    """Sweeps alone let each of them fall, but for boxes of 1 m of masses alike or 1 : 10."""
    system = tower(ratio, edge, order)
    assert drift(system, 10, dt) < 5e-4 * edge
    assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 1e-3 * math.sqrt(9.81 * edge)
    assert system.report.residual < 1e-4 * math.sqrt(9.81 * edge)


@pytest.mark.parametrize("substeps", [1, 4])
def test_sweeps_alone_let_a_tower_fall(substeps):
    assert drift(tower(1000, 0.1, solver="sweeps", substeps=substeps), 2) > 0.05
    assert drift(tower(1000, 0.1, substeps=substeps), 2) < 2e-4


def test_a_tower_in_a_world_and_one_of_a_million_to_one():
    world = ms.solids.World(gravity=(0, 0, -9.81))
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    boxes = [
        world.add(RigidBody.box((0.1,) * 3, 500 * 10**6 ** (k == 4), pose=Pose((0, 0, 0.05 + 0.1 * k))), friction=0.5) for k in range(5)
    ]
    for _ in range(200):
        info = world.step(0.01)
    assert info.rigid.residual < 1e-3
    assert max(abs(b.center[2] - 0.05 - 0.1 * k) for k, b in enumerate(boxes)) < 2e-4


@pytest.mark.parametrize("dt", [0.01, 1 / 60])
def test_towers_on_solids_that_only_have_a_distance_are_still(dt):
    system = RigidSystem(gravity=(0, 0, -9.81))
    system.add_obstacle(KinematicSolid(HalfSpace((0, 0, 0), (0, 0, 1))), friction=0.5)
    for k in range(5):
        system.add(RigidBody.box((0.1,) * 3, 500 * 100 ** (k == 4), pose=Pose((0, 0, 0.05 + 0.1 * k))), friction=0.5)
    assert drift(system, 2, dt) < 1e-5
    for _ in range(50):
        system.step(dt)
        assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 2e-4


def test_towers_have_the_same_bits_on_any_number_of_threads():
    direct = []

    def run():
        # Each step begins from nothing, and needs a direct solve of each tower.
        system = on_ground(warm_start=False)
        for x in range(4):
            for k in range(5):
                pose = Pose((0.2 * x, 0.01 * k, 0.05 + 0.1 * k))
                system.add(RigidBody.box((0.1,) * 3, 500 * 1000 ** (k == 4), pose=pose), friction=0.5)
        direct.append(sum(system.step(0.01).direct for _ in range(20)))
        return [np.array([b.state_row for b in system.bodies]), system.contact_points]

    before = ms.num_threads()
    try:
        everywhere(run)
    finally:
        ms.set_num_threads(before)
    assert min(direct) >= 60


def test_residual_falls_with_iterations():
    residuals = []
    for iterations in (5, 20, 80):
        system = on_ground(iterations=iterations, warm_start=False, solver="sweeps")
        for k in range(6):
            system.add(RigidBody.box((1, 1, 1), pose=Pose((0, 0, 0.5 + k))), friction=0.5)
        residuals.append(system.step(0.01).residual)
    assert residuals[0] > 2 * residuals[1] > 20 * residuals[2]


# --- the arch ----------------------------------------------------------------------------------------------------------------

STONES, MU = 21, 0.8
QUADS = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (1, 2, 6, 5), (0, 4, 7, 3))


def stone(k, thickness, depth=0.3):
    """Stone k of a semicircular arch of mean radius 1."""
    radii = (1 - thickness / 2, 1 + thickness / 2)
    corners = [
        (r * math.cos(math.pi * j / STONES), y, r * math.sin(math.pi * j / STONES))
        for y in (0.0, depth)
        for r, j in ((radii[0], k), (radii[1], k), (radii[1], k + 1), (radii[0], k + 1))
    ]
    triangles = np.array([t for p, q, r, s in QUADS for t in ((p, r, q), (p, s, r))], np.int32)
    return ms.mesh.TriangleMesh(np.array(corners), triangles)


def stands(thickness):
    """Whether forces at the corners of the joints, within friction, hold every stone: a linear program."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    joints = STONES + 1
    equal, loads = np.zeros((3 * STONES, 4 * joints)), np.zeros(3 * STONES)
    for k in range(STONES):
        p = MassProperties.of_mesh(stone(k, thickness), 1.0)
        center = p.center[[0, 2]]
        loads[3 * k + 1] = p.mass
        for j, sign in ((k, 1), (k + 1, -1)):
            out = np.array([math.cos(math.pi * j / STONES), math.sin(math.pi * j / STONES)])
            for e, r in enumerate((1 - thickness / 2, 1 + thickness / 2)):
                for d, f in enumerate((sign * np.array([-out[1], out[0]]), sign * out)):
                    arm = r * out - center
                    equal[3 * k : 3 * k + 3, 4 * j + 2 * e + d] += [*f, arm[0] * f[1] - arm[1] * f[0]]
    most = np.zeros((2 * joints, 4 * joints))
    for j in range(joints):
        most[2 * j, 4 * j : 4 * j + 4] = [-MU, 1, -MU, 1]
        most[2 * j + 1, 4 * j : 4 * j + 4] = [-MU, -1, -MU, -1]
    bounds = [(0, None), (None, None)] * (2 * joints)
    return linprog(np.zeros(4 * joints), A_ub=most, b_ub=np.zeros(2 * joints), A_eq=equal, b_eq=loads, bounds=bounds).status == 0


def test_the_least_thickness_of_an_arch():
    low, high = 0.1, 0.115
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stands(middle) else (middle, high)
    assert high == pytest.approx(0.1068, abs=2e-4)


@pytest.mark.parametrize(("thickness", "falls"), slow_but([(0.115, False), (0.100, True)], (0.115, False)))
def test_an_arch_of_21_stones(thickness, falls):
    system = on_ground(MU, iterations=50, substeps=4)
    for k in range(STONES):
        system.add(RigidBody(stone(k, thickness), density=2000), friction=MU)
    moved = drift(system, 3)
    if falls:
        assert moved > 0.5
    else:
        assert moved < 1e-3
        assert max(np.linalg.norm(b.velocity) for b in system.bodies) < 1e-6


@pytest.mark.parametrize("restitution", [0.3, 0.9])
@pytest.mark.parametrize("dt", slow_but([1 / 60, 1 / 100, 1 / 240], 1 / 60), ids=lambda dt: f"{1 / dt:.0f}")
def test_a_heavy_box_that_bounces_on_a_light_one_gains_no_energy(restitution, dt):
    """It goes deep into the light one; to lift it out of this at once gave it 3.3 times the energy of its fall."""
    system = on_ground()
    for k, density in enumerate((1.0, 1000.0)):
        pose = Pose((0, 0, 0.5 + 1.01 * k))
        system.add(RigidBody.box((1, 1, 1), density, pose=pose), friction=0.5, restitution=restitution)
    light, heavy = system.bodies

    def energy():
        return sum(b.kinetic_energy + 9.81 * b.mass * b.center[2] for b in (light, heavy))

    start = energy()
    for _ in range(round(3 / dt)):
        system.step(dt)
        assert energy() <= start + 1e-9 * abs(start)
