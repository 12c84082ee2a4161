"""Sanity reports, and worlds under hard treatment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.solids import Attractor, Explosion, Fan, FunctionField, KinematicPath, Wind
from meniscus.solids.interaction.sanity import sanity_of
from meniscus.surface import Pose
from tests.support.interaction.playground import DT, KINDS, body_of, playground, rigid_world


def test_sanity_says_what_is_fastest() -> None:
    world = playground()
    world.bodies[1].velocities[17] = (0, 3, 4)
    report = world.interaction.sanity()
    assert report.bounded
    assert report.fastest == ("bodies[1]", 17)
    assert report.max_speed == 5.0
    assert report.kinetic_energy == pytest.approx(0.5 * world.bodies[1].masses[17] * 25)
    assert not world.interaction.sanity(speed_limit=4.9).bounded
    world.step(DT)
    report = world.interaction.sanity()
    assert set(report.residuals) == {"pulls", "rigid", "velocities"}
    world.bodies[0].positions[3, 1] = np.nan
    world.bodies[0].velocities[4, 1] = np.inf
    report = world.interaction.sanity()
    assert (report.nans, report.infinities, report.bounded) == (1, 1, False)
    assert report.fastest == ("bodies[0]", 4)


def test_sanity_of_all_types() -> None:
    bodies = {kind: body_of(kind) for kind in KINDS}
    report = sanity_of(bodies, None, ms.solids.PullReport(), 1e3)
    assert report.bounded
    energies = []
    for kind, body in bodies.items():
        if kind == "box":
            energies.append(body.kinetic_energy)
        elif kind == "reduced":
            energies.append(body.energy()["kinetic"])
        else:
            energies.append(0.5 * (body.masses[:, None] * body.velocities**2).sum())
    assert report.kinetic_energy == pytest.approx(sum(energies), rel=1e-12)
    bodies["box"].state_row[0] = np.nan
    assert sanity_of(bodies, None, ms.solids.PullReport(), 1e3).nans == 1
    assert sanity_of({}, None, ms.solids.PullReport(), 1e3).bounded


def torment(world: Any, steps: int, dt: float, seed: int, kicks: float) -> float:
    """Do random violent things to a world of some boxes and a led one; return the largest speed."""
    rng = np.random.default_rng(seed)
    hands: list[Any] = []
    fields: list[Any] = []
    fastest = 0.0
    led = [b for b in world.rigid.bodies if isinstance(b._path, KinematicPath)]
    for _ in range(steps):
        what = rng.integers(0, 12)
        place = rng.uniform(-0.5, 0.5, 3) + np.array([0, 0, 0.4])
        if what == 0 and len(hands) < 6:
            hand = world.interaction.pick(
                (*place[:2], 3), (0, 0, -1), stiffness=10.0 ** rng.uniform(0, 12), damping=10.0 ** rng.uniform(-3, 3)
            )
            hands += [] if hand is None else [hand]
        elif what == 1 and hands:
            hands.pop(rng.integers(0, len(hands))).release()
        elif what == 2 and len(fields) < 4:
            kinds = (
                Wind(tuple(rng.uniform(-kicks, kicks, 3)), 10.0 ** rng.uniform(-1, 3)),
                Fan(tuple(rng.uniform(-kicks, kicks, 3)), position=tuple(place)),
                Explosion(tuple(place), speed=kicks),
                Attractor(tuple(place), strength=10.0 ** rng.uniform(0, 6)),
                FunctionField(name="kick", function=kick),
            )
            fields.append(world.interaction.add_field(kinds[rng.integers(0, len(kinds))]))
        elif what == 3 and fields:
            fields.pop(rng.integers(0, len(fields))).remove()
        elif what == 4 and led:
            world.interaction.aim(led[0], Pose(tuple(place), tuple(q / np.linalg.norm(q)) if (q := rng.standard_normal(4)).any() else None))
        for hand in hands:
            hand.target = place + rng.uniform(-1, 1, 3)
        world.step(dt)
        report = world.interaction.sanity(speed_limit=1e3)
        assert report.bounded, report
        fastest = max(fastest, report.max_speed)
    return fastest


def kick(x: Any, v: Any, t: float) -> Any:
    return 981.0 * np.sin(1e3 * t + x)


def overlapping() -> Any:
    """Boxes and balls that lie in each other, and one that is led."""
    world = rigid_world(3)
    for k in range(4):
        world.add(ms.solids.RigidBody.sphere(0.12, pose=Pose((0.05 * k, 0.0, 0.2))), friction=0.5)
    world.add(ms.solids.RigidBody.box((0.2, 0.2, 0.2), motion=KinematicPath(Pose((0.4, 0, 0.1)))))
    return world


@pytest.mark.slow
def test_rigid_bodies_stay_bounded() -> None:
    assert torment(overlapping(), 150, 0.01, 1, 50.0) < 1e3


@pytest.mark.slow
def test_a_mixed_world_stays_bounded() -> None:
    assert torment(playground(4), 120, DT, 2, 3.0) < 1e3


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_rigid_bodies_stay_bounded_for_long(seed: int) -> None:
    assert torment(overlapping(), 10_000, 0.01, seed, 50.0) < 1e3


@pytest.mark.parametrize("kind", slow_but(["position", "reduced", "jelly"], "position", "reduced"))
def test_single_bodies_of_all_types_stay_bounded(kind: str) -> None:
    """Pulls and fields on bodies with steps of their own: thousands of random ones, targets far away, stiffness up to 1e12."""
    from tests.support.interaction.bench import Bench

    bench = Bench(body_of(kind))
    if kind == "position":
        bench.bodies[0].add(ms.solids.NeoHookeanConstraints(bench.bodies[0].mesh, youngs_modulus=1e5))
    if kind == "jelly":
        mesh = ms.mesh.tet_block(2, 2, 2, (0.3, 0.3, 0.3))
        bench.bodies[0].add(ms.solids.TetElements(mesh, youngs_modulus=1e4, poissons_ratio=0.3, damping=0.02))
        bench.options = {"elasticity": "full-step", "raise_on_failure": False}
    if kind == "reduced":
        bench.options = {"method": "implicit-euler"}
    rng = np.random.default_rng(6)
    hand = bench.hold((0.1, 0.1, 0.3), stiffness=1e12, damping=0.0)
    for k in range(300):
        hand._target = rng.uniform(-0.5, 0.5, 3)
        if k % 50 == 0:
            bench.interaction.apply(Explosion(tuple(rng.uniform(-0.2, 0.2, 3)), speed=5.0), bench.time)
        bench.step(0.01)
        report = sanity_of(bench.interaction.bodies, None, bench.interaction.report, 1e3)
        assert report.bounded, (k, report)
