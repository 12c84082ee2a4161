"""Bodies of all kinds that fall on each other: contact gives no energy, and what it moves by correction alone has no speed from it."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import DeformableBody, PositionBody, ReducedBody, RigidBody, SpringOptions, World
from meniscus.solids.contact.coupling import position_surfaces
from meniscus.solids.contact.energies import inelastic_times, without_speed
from meniscus.solids.contact.loop import soft_ends
from meniscus.surface import HalfSpace, Pose

SCENES = [
    ("cloth", "springs"),
    ("cloth", "jelly"),
    ("cloth", "rigid"),
    ("cloth", "reduced"),
    ("cloth", "soft"),
    ("cloth", "cloth"),
    ("cloth", "path"),
    ("soft", "jelly"),
    ("soft", "reduced"),
    ("springs", "rigid"),
    ("springs", "reduced"),
]


def sheet(rng: np.random.Generator, low: float) -> ms.mesh.TriangleMesh:
    n, side, lean = int(rng.integers(8, 16)), rng.uniform(0.5, 0.9), rng.uniform(-0.15, 0.15)
    flat = ms.mesh.cloth_mesh(n, n, (side, side), origin=(-side / 2, -side / 2, 0))
    x = np.array(flat.vertices)
    x[:, 2] = lean * x[:, 0]
    return ms.mesh.TriangleMesh(x + np.array([*rng.uniform(-0.06, 0.06, 2), low - x[:, 2].min()]), flat.triangles)


def block(rng: np.random.Generator, low: float, least: float, most: float) -> ms.mesh.TetMesh:
    s, (x, y) = rng.uniform(least, most), rng.uniform(-0.06, 0.06, 2)
    return ms.mesh.tet_block(3, 3, 2, (s, s, 0.6 * s), origin=(x - s / 2, y - s / 2, low))


def add(world: World, kind: str, low: float, rng: np.random.Generator) -> tuple[Any, float]:
    """Add a body whose lowest point is there; return it with the highest one."""
    if kind in ("cloth", "springs"):
        mesh: Any = sheet(rng, low)
        if kind == "cloth":
            body: Any = PositionBody(mesh, density=0.2)
            body.add(ms.solids.DistanceConstraints(mesh, compliance=float(rng.choice([0.0, 1e-6, 1e-4]))))
        else:
            body = DeformableBody(mesh, density=0.2)
            options = SpringOptions(stiffness=float(10 ** rng.uniform(1, 2)), damping_fraction=0.2, masses=body.masses)
            body.add(ms.solids.EdgeSprings(mesh, options))
        return world.add(body, thickness=0.008), float(mesh.vertices[:, 2].max())
    if kind == "rigid":
        size, turn = rng.uniform(0.1, 0.2), rng.normal(size=4)
        pose = Pose((0.0, 0.0, low + 0.7 * size), tuple(turn / np.linalg.norm(turn)))
        return world.add(RigidBody.box((size, 0.6 * size, 0.4 * size), density=600, pose=pose)), low + 1.4 * size
    mesh = block(rng, low, *((0.15, 0.25) if kind == "reduced" else (0.1, 0.2)))
    if kind == "reduced":
        body = ReducedBody(mesh, modes=6, size=10, youngs_modulus=2e5, stiffness_damping=0.01)
    elif kind == "soft":
        body = PositionBody(mesh, density=500)
        body.add(ms.solids.NeoHookeanConstraints(mesh, youngs_modulus=3e4, poissons_ratio=0.4))
    else:
        body = DeformableBody(mesh, density=500)
        body.add(ms.solids.TetElements(mesh, youngs_modulus=3e4, poissons_ratio=0.35, damping=0.01))
    return world.add(body, thickness=0.006), float(mesh.vertices[:, 2].max())


def energy_of(body: Any) -> float:
    if isinstance(body, RigidBody):
        return body.kinetic_energy + 9.81 * body.mass * float(body.center[2])
    if isinstance(body, PositionBody):
        return float(body.masses @ (0.5 * (body.velocities**2).sum(axis=1) + 9.81 * body.positions[:, 2]))
    return float(body.energy()["total"])


def speed_of(body: Any) -> float:
    return float(np.linalg.norm(np.atleast_2d(body.velocity if isinstance(body, RigidBody) else body.velocities), axis=1).max())


def fall(kinds: tuple[str, ...], seed: int, end: float = 0.6) -> None:
    """They fall on each other and on the ground; energies and speeds are those of the bodies, not what the world says."""
    rng = np.random.default_rng(seed)
    world = World(gravity=(0, 0, -9.81), elasticity="full-step", steps_per_loop=8)
    bodies, low = [], 0.02
    if "path" in kinds:
        plate = ms.mesh.cloth_mesh(8, 8, (0.5, 0.5), origin=(-0.25, -0.25, 0.25))
        world.add_obstacle(plate, sides="both", motion=lambda t: plate.vertices + np.array([0, 0, 0.05 * np.sin(3 * t)]))
        low = 0.32
    for kind in [str(k) for k in rng.permutation([k for k in kinds if k != "path"])]:
        body, top = add(world, kind, low, rng)
        bodies.append(body)
        low = top + rng.uniform(0.04, 0.27)
    world.add_obstacle(HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    first, fastest = sum(map(energy_of, bodies)), 1.5 * np.sqrt(2 * 9.81 * low)
    while world.time < end:
        world.advance(0.02)
        assert sum(map(energy_of, bodies)) <= 1.01 * first
        assert max(map(speed_of, bodies)) <= fastest
        # Rigid bodies overlap by their slop.
        assert kinds.count("rigid") > 1 or not len(world.audit())


@pytest.mark.slow
@pytest.mark.parametrize("kinds", SCENES, ids="-".join)
def test_bodies_of_any_two_kinds_gain_no_energy_and_none_is_thrown(kinds: tuple[str, ...]) -> None:
    for seed in range(3):
        fall(kinds, seed)


@pytest.mark.parametrize(
    ("kinds", "seed"),
    [
        (("jelly", "rigid"), 1014),
        pytest.param(("springs", "soft"), 1008, marks=pytest.mark.slow),
        pytest.param(("reduced", "rigid"), 1019, marks=pytest.mark.slow),
        (("cloth", "rigid", "rigid"), 1041),
        pytest.param(("springs", "reduced", "reduced"), 1054, marks=pytest.mark.slow),
        pytest.param(("jelly", "jelly", "reduced"), 1059, marks=pytest.mark.slow),
        pytest.param(("cloth", "reduced", "rigid"), 1194, marks=pytest.mark.slow),
    ],
)
def test_scenes_that_once_exploded(kinds: tuple[str, ...], seed: int) -> None:
    """Of 500 random ones. 1.9 times the energy, as a box was pressed into the ground and pushed out of it in turns; 2e10 m/s in one step,
    as a reaction of held nodes was taken for momentum that Newton's method had left; 4 and 5 falls, and 1.12 times the energy, as impulses
    at ends of loops threw light sheets from between heavy bodies, or pressed elements beside a reduced body."""
    fall(kinds, seed)


KINDS = ("cloth", "springs", "jelly", "soft", "reduced", "rigid")
PAIRS_AND_TRIPLES = [pair for n in (2, 3) for pair in combinations_with_replacement(KINDS, n)]
# The greatest speed of a node in those in which it is more than 1.5 times that of the fall.
FAST = {35: 1.585, 45: 1.55, 48: 1.504}


@pytest.mark.slow
@pytest.mark.parametrize(
    "k",
    [
        pytest.param(k, marks=pytest.mark.xfail(strict=True, reason=f"{FAST[k]} times the speed of the fall")) if k in FAST else k
        for k in range(len(PAIRS_AND_TRIPLES))
    ],
)
def test_all_pairs_and_triples_of_kinds(k: int) -> None:
    fall(PAIRS_AND_TRIPLES[k], 1000 + k)


def displaced_cloth(settles: float, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Contact moves a node in the middle of a cloth by 1 cm, and gives it no velocity; return its greatest speed and its way back."""
    monkeypatch.setattr(position_surfaces, "_SETTLES", settles)
    mesh = ms.mesh.cloth_mesh(8, 8, (0.4, 0.4))
    body = PositionBody(mesh, density=0.2)
    body.add(ms.solids.DistanceConstraints(mesh))
    world = World(gravity=(0, 0, 0))
    world.add(body)
    behind = world.others[0]
    here = body.positions.copy()
    ends = here.copy()
    ends[40, :2] += 0.01
    behind.finish(here, ends, ends, body.velocities.copy(), 1.0, np.full(len(body), np.inf))
    fastest = 0.0
    for _ in range(40):
        world.step(0.0025)
        fastest = max(fastest, float(np.linalg.norm(body.velocities, axis=1).max()))
    return fastest, float(np.linalg.norm(body.positions[40] - ends[40]))


@pytest.mark.parametrize("settles", [0.01, 0.02, 0.1])
def test_what_contact_displaces_comes_back_without_its_speed(settles: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constraints take it back at once, which in a step of 2.5 ms would be 4 m/s, and in those after it what is left of that."""
    fastest, back = displaced_cloth(settles, monkeypatch)
    assert fastest < np.sqrt(2) * 0.01 / settles
    assert back > 0.005


def test_ends_of_loops_give_the_speed_that_still_approaches_and_momentum_stays() -> None:
    """Two sheets: of the one pair of nodes nothing was stopped before, of the other one all."""
    world = World()
    for z in (0.0, 0.1):
        mesh = ms.mesh.cloth_mesh(2, 2, (1, 1), origin=(0, 0, z))
        world.add(DeformableBody(mesh, masses=np.where(np.arange(9) % 2, 0.1, 0.3)))
    surface, length = world.surface, 0.01
    start = surface.gather([body.positions for body in world.bodies], 0.0)
    touched, groups = start.copy(), np.arange(18, dtype=np.int32)
    groups[9:] -= 9
    free = start.copy()
    # Upper nodes went down by 2 cm, and both go on together where contact has moved them.
    for k in (0, 1):
        free[9 + k, 2] -= 0.02
        touched[[k, 9 + k], 2] -= 0.01
    velocities = (free - start) / length
    velocities[[1, 10], 2] = -1.0
    times, besides = inelastic_times(surface, start, free, touched, velocities, groups, length)
    assert np.abs(besides).max() < 1e-15
    np.testing.assert_allclose(times[[0, 9]], length, rtol=1e-12)
    assert times[[1, 10]].min() > 1e9 * length
    given = (touched - free) / times[:, None]
    masses = np.concatenate([body.masses for body in world.bodies])
    np.testing.assert_allclose(masses @ given, 0.0, atol=1e-15)
    before, after = (0.5 * masses @ (v**2).sum(axis=1) for v in (velocities, velocities + given))
    assert after < before


def test_parts_without_speed_are_the_largest_and_momentum_stays() -> None:
    rng = np.random.default_rng(4)
    velocities, change, groups = rng.normal(size=(60, 3)), 2.0 * rng.normal(size=(60, 3)), rng.integers(0, 9, 60).astype(np.int32)
    masses, single, capped = rng.uniform(0.1, 2.0, 60), rng.random(60) < 0.8, np.arange(60) != 3
    parts, missing = without_speed(velocities, change, masses, groups, single, capped)
    limited = 0
    for i in range(60):
        most = np.linalg.norm(velocities[groups == groups[i]], axis=1).max()

        def speed(part: float, i: int = i) -> float:
            return float(np.linalg.norm(velocities[i] + part * change[i]))

        if not single[i] or groups[i] == 3:
            assert parts[i] == 1.0
            continue
        assert speed(parts[i]) <= most * (1 + 1e-12)
        assert parts[i] == 1.0 or speed(parts[i] + 1e-6) > most
        limited += parts[i] < 1.0
    assert limited > 10
    np.testing.assert_array_equal(missing[groups == 3], 0.0)
    given = parts[:, None] * change + missing
    for g in range(9):
        own = groups == g
        np.testing.assert_allclose(masses[own] @ given[own], masses[own] @ change[own], atol=1e-12)
        assert np.ptp(missing[own], axis=0).max() == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.5, 2.0])
@pytest.mark.parametrize("name", ["_STIFF", "_LEFT"])
@pytest.mark.parametrize("case", [(("cloth", "rigid", "rigid"), 1041), (("jelly", "jelly", "reduced"), 1059)], ids=str)
def test_numbers_of_soft_ends_decide_little(name: str, factor: float, case: tuple[Any, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft_ends, name, factor * getattr(soft_ends, name))
    fall(*case)
