"""Altitude-spring hair: stiffness, rest, steps in the printed order, limits of strain, copies."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import meniscus as ms
from meniscus.solids import AltitudeModel, Groom, HairBody, StripForce

Floats = npt.NDArray[np.float64]
GRAVITY = (0.0, 0.0, -9.81)


def straight(segments: int, direction: tuple[float, float, float] = (0.0, 0.0, 1.0)) -> Groom:
    """One strand of length 1 from the origin."""
    return Groom(np.linspace(0, 1, segments + 1)[:, None] * np.array(direction), [0, segments + 1], radius=1e-3)


def helix(per_turn: int, angle: float, turns: int = 6, radius: float = 0.004) -> Groom:
    """One curl about the z axis."""
    a = 2 * math.pi * np.arange(per_turn * turns + 1) / per_turn
    x = np.stack([radius * np.cos(a), radius * np.sin(a), radius * math.tan(angle) * a], axis=1)
    return Groom(x, [0, len(x)], radius=4e-5)


def spring_hair(groom: Groom, model: Any = "altitude", **options: Any) -> HairBody:
    return HairBody(groom, **{"EI": 8e-9, "GJ": 6e-9, "model": model, **options})


def compliance(hair: HairBody, loads: list[tuple[Floats, Floats]], centre: Floats) -> Floats:
    """Work of unit wrenches (force, moment about `centre`) on the last three particles in the displacements that they make, doubled."""
    force, x = hair.strands, hair.positions.copy()
    n, tip = len(x), x[-3:]
    stiffness = np.empty((3 * n, 3 * n))
    for i in range(3 * n):
        dx = np.zeros((n, 3))
        dx.flat[i] = 1.0
        stiffness[:, i] = -force.differentials(x, dx).ravel()
    assert np.abs(stiffness - stiffness.T).max() < 1e-9 * np.abs(stiffness).max()
    free = np.arange(9, 3 * n)
    out = []
    for f, m in loads:
        arms = [np.array([np.cross(tip[k] - centre, e) for e in np.eye(3)]).T for k in range(3)]
        rows = np.concatenate([np.tile(np.eye(3), 3), np.concatenate(arms, axis=1)])
        load = np.zeros(3 * n)
        load[-9:] = np.linalg.pinv(rows) @ np.concatenate([f, m])
        out.append(float(load[free] @ np.linalg.solve(stiffness[np.ix_(free, free)], load[free])))
    return np.array(out)


@pytest.mark.parametrize("segments", [25, 50, 100, pytest.param(200, marks=pytest.mark.slow)])
def test_straight_hair_has_its_stiffness_in_every_direction(segments: int) -> None:
    hair = spring_hair(straight(segments), EI=1.0, GJ=0.7)
    none, length = np.zeros(3), 1 - 0.5 / segments  # the last segment is rigid, and has half a cell
    angles = np.linspace(0, math.pi, 7)
    couples = [(none, np.array([math.cos(a), math.sin(a), 0.0])) for a in angles] + [(none, np.array([0.0, 0.0, 1.0]))]
    found = compliance(hair, couples, none)
    assert length / found[:-1] == pytest.approx(1.0, rel=0.03)  # 0.004 at 25
    assert length / found[-1] == pytest.approx(0.7, rel=0.03)
    assert hair.misfit.max() < 0.01


@pytest.mark.parametrize("extra", ["always", "colinear"])
@pytest.mark.parametrize("per_turn", [8, 12, 24])
def test_curls_stretch_as_rods_do(extra: Any, per_turn: int) -> None:
    for angle in (0.2, 0.5):
        turns = 3 if per_turn == 24 else 5
        hair = spring_hair(helix(per_turn, angle, turns), AltitudeModel(extra=extra))
        axis, none = np.array([0.0, 0.0, 1.0]), np.zeros(3)
        found = compliance(hair, [(axis, none)], none)[0]
        kirchhoff = 2 * math.pi * 0.004**3 / math.cos(angle) * (math.cos(angle) ** 2 / 6e-9 + math.sin(angle) ** 2 / 8e-9)
        cells = turns * per_turn - 0.5
        assert found == pytest.approx(kirchhoff * cells / per_turn, rel=0.05)


def test_printed_constants_belong_to_one_length_of_segments() -> None:
    moduli = (1e4, 1.0, 1.0, 1.0)  # edges that hardly stretch

    def bends(segments: int, values: tuple[float, float, float, float] = moduli) -> Floats:
        hair = spring_hair(straight(segments), AltitudeModel(moduli=values, beyond=-1.0))
        couples = [(np.zeros(3), np.eye(3)[k]) for k in (0, 1, 2)]
        return compliance(hair, couples, np.zeros(3))

    assert bends(80)[0] / bends(40)[0] == pytest.approx(4.0, rel=0.02)  # half the length of segments
    x, y, z = bends(40, (1.0, 1.0, 1.0, 1.0))
    assert (x + y) / (2 * z) < 0.4  # GJ / EI of equal moduli; round fibres have 0.67 to 1

    def curls(per_turn: int) -> float:
        hair = spring_hair(helix(per_turn, 0.3, 3), AltitudeModel(extra="colinear", moduli=(1e4, 1.0, 1.0, 1.0)))
        return float(compliance(hair, [(np.array([0.0, 0.0, 1.0]), np.zeros(3))], np.zeros(3))[0])

    assert curls(20) / curls(10) > 6  # with other particles on the same curl


def test_forces_are_the_derivative_of_the_energy() -> None:
    hair = spring_hair(helix(8, 0.4, 2), EI=1e-3, GJ=1e-3, EA=1.0)
    rng = np.random.default_rng(2)
    # So strongly bent that altitudes act.
    x = hair.positions + 6e-4 * rng.standard_normal(hair.positions.shape)
    d = rng.standard_normal(x.shape)
    h = 1e-9
    slope = (hair.strands.energy(x + h * d) - hair.strands.energy(x - h * d)) / (2 * h)
    assert -np.sum(hair.strands.forces(x) * d) == pytest.approx(slope, rel=1e-5)
    f = hair.strands.forces(x)
    assert np.abs(f.sum(axis=0)).max() < 1e-12 * np.abs(f).sum()
    assert np.abs(np.cross(x, f).sum(axis=0)).max() < 1e-12 * np.abs(f).sum()


def test_twist_is_resisted_and_collapse_prevented() -> None:
    hair = spring_hair(straight(60), EI=1.0, GJ=0.7, sag_free=False)
    rest = hair.positions.copy()
    a = 2 * math.pi * rest[:, 2]
    c, s = np.cos(a), np.sin(a)
    hair.positions[:, :2] = np.stack([c * rest[:, 0] - s * rest[:, 1], s * rest[:, 0] + c * rest[:, 1]], axis=1)
    hair.positions[:3] = rest[:3]
    hair.pin(np.arange(len(hair) - 3, len(hair)))
    assert hair.advance_strands(math.inf).unfinished == 0
    # Nearly one turn between both ends: GJ angle^2 / 2 L.
    assert hair.energy()["elastic"] == pytest.approx(0.5 * 0.7 * (2 * math.pi * 59 / 60) ** 2 / (59.5 / 60), rel=0.08)
    # A tetrahedron that is turned inside out goes back: an altitude spring tells both sides apart.
    mirrored = rest * np.array([1.0, -1.0, 1.0])
    assert hair.strands.energy(rest) < 1e-20
    assert hair.strands.energy(mirrored) > 1.0


@pytest.mark.parametrize("curl", [0.0, 0.006])
def test_sag_free_styles_stay(curl: float) -> None:
    groom = Groom.grow(ms.mesh.icosphere(2, 0.1), 30, 0.12, noise=0.2, seed=7, curl_radius=curl)
    hair = spring_hair(groom, gravity=GRAVITY)
    assert hair.sag is not None
    assert len(hair.sag.impossible) == 0
    weight = hair.masses[:, None] * np.array(GRAVITY)
    free = np.setdiff1d(np.arange(len(hair)), hair.constrained)
    assert np.abs(hair.forces_at_nodes() + weight)[free].max() < 1e-10
    start = hair.positions.copy()
    for _ in range(50):
        hair.advance_strands(0.1)
    assert np.abs(hair.positions - start).max() < 1e-6 * 0.12


def test_heavy_hair_bends_as_rods_do() -> None:
    ends = []
    for model in ("rod", "altitude"):
        groom = straight(50, (1.0, 0.0, 0.0))
        hair = HairBody(groom, EI=1.0, GJ=0.7, density=1 / (math.pi * 1e-6), model=model, sag_free=False, gravity=(0, 0, -20.0))
        assert hair.advance_strands(math.inf).unfinished == 0
        ends.append(hair.positions[hair.nodes][-1])
    assert ends[1] == pytest.approx(ends[0], abs=0.01)


def newmark(hair: HairBody, steps: int, **options: Any) -> Floats:
    for _ in range(steps):
        hair.advance_strands(1e-3, "newmark", **options)
    return hair.positions.copy()


def test_steps_in_the_printed_order_are_those_of_other_bodies() -> None:
    groom = helix(10, 0.4, 2)
    kick = np.zeros((len(spring_hair(groom)), 3))
    kick[3:] = np.random.default_rng(3).standard_normal((len(kick) - 3, 3))
    bodies = [spring_hair(groom, gravity=GRAVITY, sag_free=False) for _ in range(2)]
    for hair in bodies:
        hair.velocities = 1e-2 * kick
    newmark(bodies[0], 3)
    for _ in range(3):
        options = {"elasticity": "half-step", "tangent": "frozen", "safeguard": False, "tolerance": 1e-13}
        bodies[1].step(1e-3, "newmark", max_iterations=20000, **options)
    assert bodies[0].positions == pytest.approx(bodies[1].positions, abs=1e-9)
    assert bodies[0].velocities == pytest.approx(bodies[1].velocities, abs=1e-5)


def test_lengths_are_limited_from_root_to_tip() -> None:
    def shaken(longest: float | None) -> HairBody:
        hair = spring_hair(straight(20, (0.0, 0.0, -1.0)), EI=1e-6, GJ=1e-6, EA=1e-3, gravity=GRAVITY, sag_free=False)
        for k in range(40):
            roots = np.array([[0.3 * math.sin(0.4 * k), 0.0, 0.0]])
            hair.follow(roots=(roots, hair.groom.directions, hair.groom.directors))
            hair.advance_strands(0.01, "newmark", longest=longest)
        return hair

    def strain(hair: HairBody) -> float:
        return float(np.linalg.norm(np.diff(hair.positions[hair.nodes], axis=0), axis=1).max() * 20 - 1)

    assert strain(shaken(None)) > 0.1
    hair = shaken(0.0)
    assert strain(hair) < 1e-12
    assert hair.positions[hair.nodes][0] == pytest.approx([0.3 * math.sin(0.4 * 39), 0, 0], abs=0)


def test_free_fall_is_exact_and_rigid() -> None:
    hair = spring_hair(helix(12, 0.3), sag_free=False, gravity=GRAVITY)
    hair.release()
    start = hair.positions.copy()
    for _ in range(10):
        hair.advance_strands(0.01, "midpoint")
    assert hair.positions == pytest.approx(start + 0.5 * np.array(GRAVITY) * 0.1**2, abs=1e-10)


def test_strands_do_not_know_of_each_other_and_threads_change_no_bit() -> None:
    groom = Groom.grow(ms.mesh.icosphere(2, 0.1), 21, 0.12, noise=0.3, seed=4, curl_radius=0.004)

    def run(which: Groom) -> Floats:
        hair = spring_hair(which, gravity=GRAVITY, sag_free=False)
        for _ in range(3):
            hair.advance_strands(1e-2)
        hair.advance_strands(1e-3, "newmark")
        return hair.positions[hair.nodes]

    before, every = ms.num_threads(), []
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            every.append(run(groom))
    finally:
        ms.set_num_threads(before)
    for other in every[1:]:
        assert np.array_equal(every[0], other)
    a, b = groom.offsets[4], groom.offsets[5]
    alone = Groom(groom.points[a:b], [0, b - a], radius=groom.radius[4], directors=groom.directors[4:5])
    assert np.array_equal(run(alone), every[0][a:b])


def test_copies_and_pickles_go_on_alike() -> None:
    hair = spring_hair(helix(8, 0.3, 2), gravity=GRAVITY)
    hair.follow(roots=(hair.positions[hair.nodes][:1] + 0.01, hair.groom.directions, hair.groom.directors))
    hair.advance_strands(0.01)
    others = [hair.copy(), copy.deepcopy(hair), pickle.loads(pickle.dumps(hair))]
    hair.advance_strands(0.01)
    for other in others:
        other.advance_strands(0.01)
        assert np.array_equal(other.positions, hair.positions)


def test_bad_arguments() -> None:
    groom = straight(4)
    with pytest.raises(ValueError, match="extra must be"):
        AltitudeModel(extra="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="moduli must be four numbers"):
        AltitudeModel(moduli=(1.0, 2.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no frames hold the tips"):
        spring_hair(groom, tips=True)
    with pytest.raises(ValueError, match='rule "newmark" is for'):
        HairBody(groom, EI=1.0, GJ=1.0).advance_strands(0.1, "newmark")
    with pytest.raises(AttributeError, match="rods"):
        _ = spring_hair(groom).rods
    with pytest.raises(ValueError, match="either vertices or roots"):
        spring_hair(groom).follow()
    with pytest.raises(ValueError, match="longest is a strain"):
        spring_hair(groom).advance_strands(0.1, longest=0.1)
    assert isinstance(spring_hair(groom).strands, StripForce)
