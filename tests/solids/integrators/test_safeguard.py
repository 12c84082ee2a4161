"""Newmark's method with implicit elasticity takes steps of any length: no step gains energy, and no body gets faster than it falls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from support.bodies import net, oscillator
from support.variants import slow

import meniscus as ms
from meniscus.solids import (
    AltitudeSprings,
    BendingSprings,
    DeformableBody,
    DihedralBending,
    Drag,
    EdgeSprings,
    QuadraticTetElements,
    SpringOptions,
    TetElements,
    TriangleMembrane,
    WindDrag,
)
from meniscus.solids.options import ImplicitElasticity, NewmarkFinish

G = 9.8
DT = 1 / 24
VARIANTS = [
    (e, f)
    for e in get_args(ImplicitElasticity)
    for f in get_args(NewmarkFinish)
    if e != "explicit" and (e, f) != ("first-half-step", "backward-euler")
]
TANGENTS = ("definite", "exact", "frozen")


def turned(x: np.ndarray, seed: int) -> np.ndarray:
    """The points after a random rotation."""
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return np.ascontiguousarray(x @ (q * np.sign(np.linalg.det(q))).T)


def chain(k: float, nodes: int = 20, tilt: float = 0.0) -> DeformableBody:
    """A chain of 1.9 m and 200 g, pinned at one end."""
    s = np.linspace(0.0, 1.9, nodes)
    x = np.stack([s * np.cos(tilt), s * np.sin(tilt), 0.0 * s], axis=1)
    body = DeformableBody(x, masses=0.2 / nodes, gravity=(0, -G, 0))
    body.add(EdgeSprings(np.stack([np.arange(nodes - 1), np.arange(1, nodes)], 1).astype(np.int32), SpringOptions(spring_constant=k), x))
    body.pin([0])
    return body


def crumpled_chain(k: float) -> DeformableBody:
    body = chain(k, 15)
    body.positions[1:] += 0.03 * np.random.default_rng(1).normal(size=(14, 3))
    return body


def spinning(body: DeformableBody, rate: float) -> DeformableBody:
    body.velocities = np.cross(rate * np.array([0.3, 1.0, 0.2]), body.positions - body.positions.mean(axis=0))
    return body


def cloth(k: float, bending: str = "springs") -> DeformableBody:
    flat = ms.mesh.cloth_mesh(6, 6)
    x = turned(flat.vertices, 2) if bending == "dihedral" else np.ascontiguousarray(flat.vertices[:, [0, 2, 1]])
    mesh = ms.mesh.TriangleMesh(x, flat.triangles)
    body = DeformableBody(mesh, density=0.2, gravity=(0, -G, 0))
    if bending == "membrane":
        body.add(TriangleMembrane(mesh, youngs_modulus=k, thickness=1.0))
    else:
        body.add(EdgeSprings(mesh, SpringOptions(spring_constant=k)))
        soft = SpringOptions(stiffness=1e-4 * k)
        body.add(DihedralBending(mesh, soft) if bending == "dihedral" else BendingSprings(mesh, soft))
    body.pin([0, 6])
    return body


def block(k: float, material: str = "corotational", pinned: bool = True, seed: int = 3) -> DeformableBody:
    lattice = ms.mesh.tet_block(4, 1, 2, (0.8, 0.2, 0.4))
    mesh = ms.mesh.TetMesh(turned(lattice.vertices, seed), lattice.tets)
    body = DeformableBody(mesh, density=1000.0, gravity=(0, -G, 0))
    if material == "springs":
        body.add(EdgeSprings(mesh, SpringOptions(spring_constant=k)))
        body.add(AltitudeSprings(mesh, SpringOptions(spring_constant=k)))
    else:
        body.add(TetElements(mesh, material=material, youngs_modulus=k))  # type: ignore[arg-type]
    if pinned:
        body.pin(np.flatnonzero(lattice.vertices[:, 0] == 0.0).astype(np.int32))
        return body
    return spinning(body, 15.0)


def network(k: float, seed: int = 2, free: bool = False) -> DeformableBody:
    """Springs whose stiffness covers eight orders of magnitude, between masses that cover three, in rotation."""
    rng = np.random.default_rng(seed)
    n = 20
    x = rng.normal(size=(n, 3))
    pairs = np.array([(i, j) for i in range(n) for j in range(i) if np.linalg.norm(x[i] - x[j]) < 1.3], np.int32)
    body = DeformableBody(x, masses=10.0 ** rng.uniform(-3, 0, n), gravity=None if free else (0, -G, 0))
    body.add(EdgeSprings(pairs, SpringOptions(spring_constant=k * 10.0 ** rng.uniform(-4, 4, len(pairs))), x))
    spinning(body, 5.0)
    body.velocities += np.array([1.0, -0.5, 2.0])
    if not free:
        body.pin([0, 3])
        body.velocities[[0, 3]] = 0.0
    return body


def quadratic(k: float) -> DeformableBody:
    mesh = ms.mesh.quadratic_mesh(ms.mesh.tet_block(3, 1, 1, (0.6, 0.2, 0.2)))
    body = DeformableBody(mesh, density=1000.0, gravity=(0, -G, 0))
    body.add(QuadraticTetElements(mesh, youngs_modulus=k))
    return spinning(body, 20.0)


def spinning_membrane(k: float) -> DeformableBody:
    body = cloth(k, "membrane")
    body.release()
    return spinning(body, 30.0)


BODIES: dict[str, Callable[[float], DeformableBody]] = {
    "chain": chain,
    "upright chain": lambda k: chain(k, 20, 1.4),
    "fine chain": lambda k: chain(k, 50),
    "crumpled chain": crumpled_chain,
    "cloth": cloth,
    "turned cloth with hinges": lambda k: cloth(k, "dihedral"),
    "membrane": lambda k: cloth(k, "membrane"),
    "corotational": block,
    "free corotational": lambda k: block(k, pinned=False),
    "neo-hookean": lambda k: block(k, "neo-hookean"),
    "free st-venant-kirchhoff": lambda k: block(k, "st-venant-kirchhoff", False),
    "altitudes": lambda k: block(k, "springs"),
    "free altitudes": lambda k: block(k, "springs", False),
    "network": network,
    "free network": lambda k: network(k, free=True),
    "quadratic": quadratic,
    "spinning membrane": spinning_membrane,
}


def fall(body: DeformableBody, steps: int, **options: Any) -> tuple[float, float, int]:
    """Top speed over that of free fall, the greatest gain of energy of a step over the energy at hand, and how many steps were retaken."""
    start = float(np.linalg.norm(body.velocities, axis=1).max())
    lowest = -G * float(body.masses.sum()) * 0.5 * G * (steps * DT) ** 2
    top = gain = 0.0
    retaken = 0
    energy = body.energy()["total"]
    for _ in range(steps):
        info = body.step(DT, "newmark", raise_on_failure=False, **options)
        top, retaken = max(top, info.max_speed), retaken + info.retaken
        now = body.energy()
        # Above a state that no body reaches, so that the scale is positive.
        gain = max(gain, (now["total"] - energy) / (now["kinetic"] + abs(now["gravity"]) + abs(now["elastic"]) - 1e-6 * lowest))
        energy = now["total"]
    return top / (start + G * steps * DT), gain, retaken


def check(name: str, stiffness: float, variant: tuple[str, str], tangent: str, steps: int) -> None:
    elasticity, finish = variant
    top, gain, _ = fall(BODIES[name](stiffness), steps, elasticity=elasticity, finish=finish, tangent=tangent)
    assert top < 3.0
    # Only first-full-step keeps another quantity than the energy, and that may give a tenth back.
    assert gain <= (0.1 if elasticity == "first-full-step" and finish == "trapezoid" else 1e-5)


FAST = ("chain", "crumpled chain", "turned cloth with hinges", "free corotational", "altitudes", "neo-hookean")


@pytest.mark.parametrize("name", FAST)
@pytest.mark.parametrize("stiffness", [1e2, 1e5])
def test_steps_of_one_frame_gain_no_energy(name: str, stiffness: float) -> None:
    """All variants and tangents, a few for each body: the slow test takes all of them."""
    pick = FAST.index(name) + int(np.log10(stiffness))
    for n in range(3):
        check(name, stiffness, VARIANTS[(2 * pick + 3 * n) % len(VARIANTS)], TANGENTS[(pick + n) % 3], 12)


@pytest.mark.parametrize(
    ("name", "stiffness", "variant"),
    [
        ("altitudes", 1e3, ("half-step", "trapezoid")),
        ("altitudes", 1e4, ("first-full-step", "backward-euler")),
        ("upright chain", 1e3, ("first-full-step", "backward-euler")),
        ("network", 1e4, ("first-half-step", "trapezoid")),
        ("quadratic", 1e5, ("half-step", "backward-euler")),
    ],
)
def test_steps_that_are_taken_once_more_gain_nothing_either(name: str, stiffness: float, variant: tuple[str, str]) -> None:
    """Bodies that collapse or buckle snap from one minimum of the potential to another, which gains energy in implicit Euler."""
    check(name, stiffness, variant, "exact", 36)


@pytest.mark.parametrize("options", [{"raise_on_failure": False, "max_newton": 2}, {"budget": 1e-9}])
@pytest.mark.parametrize("elasticity", ["full-step", "first-half-step"])
def test_unfinished_steps_keep_momentum_and_energy(options: dict[str, Any], elasticity: Any) -> None:
    body = network(1e6, free=True)
    momentum, energy = body.momentum(), body.energy()["total"]
    retaken = 0
    for _ in range(10):
        retaken += body.step(DT, elasticity=elasticity, tolerance=1e-11, **options).retaken
        assert body.energy()["total"] <= energy * (1 + 1e-5)
        energy = body.energy()["total"]
    assert retaken > 0
    size = float(body.masses.sum()) * float(np.linalg.norm(momentum / body.masses.sum()))
    np.testing.assert_allclose(body.momentum(), momentum, rtol=0, atol=1e-5 * size)


@pytest.mark.parametrize("variant", [v if v == VARIANTS[0] else slow(v) for v in VARIANTS])
@pytest.mark.parametrize("stiffness", [1e2, 1e8])
def test_stiff_chains_swing_with_one_step_per_frame(stiffness: float, variant: tuple[str, str]) -> None:
    """Each variant without the safeguard gets faster than any fall, at one of these stiffnesses or with one of the tangents."""
    for tangent in TANGENTS:
        check("chain", stiffness, variant, tangent, 24)


@pytest.mark.slow
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("stiffness", [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_and_tangent_at_every_stiffness(name: str, stiffness: float, variant: tuple[str, str]) -> None:
    for tangent in TANGENTS:
        check(name, stiffness, variant, tangent, 48 if stiffness <= 1e5 else 12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_without_the_safeguard_the_chain_explodes(variant: tuple[str, str]) -> None:
    elasticity, finish = variant
    body, top = chain(1e8, 60), 0.0
    for _ in range(48):
        try:
            info = body.step(DT, elasticity=elasticity, finish=finish, tangent="frozen", raise_on_failure=False, safeguard=False)  # type: ignore[arg-type]
        except ValueError:
            top = np.inf
            break
        top = max(top, info.max_speed)
    assert top > 1e3


def pair(z: float, turn: float) -> DeformableBody:
    """Two unit masses on a spring of frequency z that rotates by `turn` in a unit of time, in equilibrium."""
    k = 0.5 * z * z
    x = np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]])
    body = DeformableBody(x, masses=1.0)
    body.add(EdgeSprings(np.array([[0, 1]], np.int32), SpringOptions(spring_constant=k), x))
    body.positions = turned(x * k / (k - 0.5 * turn**2), 8)
    axis = np.cross(body.positions[1], [0.3, 0.5, -0.7])
    body.velocities = np.cross(turn * axis / np.linalg.norm(axis), body.positions)
    return body


def test_a_rotating_pair_gains_without_the_safeguard() -> None:
    body = pair(3.0, 0.1)
    start = body.energy()["total"]
    for _ in range(200):
        body.step(1.0, elasticity="first-half-step", safeguard=False, tolerance=1e-10)
    assert body.energy()["total"] / start == pytest.approx(6e4, rel=0.1)


@pytest.mark.parametrize("elasticity", ["first-half-step", "first-full-step"])
@pytest.mark.parametrize(("z", "turn"), [(0.5, 0.1), (0.6, 0.3), (0.5, 0.02)])
def test_a_rotating_pair_keeps_its_energy(elasticity: Any, z: float, turn: float) -> None:
    """Without the safeguard a turn of 0.3 a step multiplies the energy by 1.6 and 3.8 in 200 steps; with it nothing is retaken."""
    body = pair(z, turn)
    start = body.energy()["total"]
    for _ in range(200):
        assert not body.step(1.0, elasticity=elasticity, tolerance=1e-10).retaken
        assert body.energy()["total"] <= start * (1.02 if elasticity == "first-full-step" else 1 + 1e-6)
    assert body.energy()["total"] > 0.9 * start


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_rotating_pair_never_gains(variant: tuple[str, str]) -> None:
    for z, turn in ((3.0, 0.1), (30.0, 0.3), (1000.0, 1.0)):
        body = pair(z, turn)
        start = body.energy()["total"]
        body.velocities += np.array([0.2, -0.1, 0.3]) * turn
        start += 0.14 * turn**2
        momentum = body.momentum()
        for _ in range(30):
            body.step(1.0, elasticity=variant[0], finish=variant[1])  # type: ignore[arg-type]
            assert body.energy()["total"] <= start * (1 + 1e-4)
        # As far as the solves go, of which the first is also that of the motion along.
        np.testing.assert_allclose(body.momentum(), momentum, rtol=1e-5)


def test_small_steps_are_not_retaken() -> None:
    """The safeguard does nothing where the linearisation is good, and then changes no bit."""
    for elasticity in ("full-step", "half-step", "first-half-step"):
        for build in (lambda: cloth(100.0), lambda: block(1e5, pinned=False)):
            one, other = build(), build()
            for _ in range(40):
                info = one.step(1 / 2000, elasticity=elasticity)
                other.step(1 / 2000, elasticity=elasticity, safeguard=False)
                assert not info.retaken
            if elasticity != "first-half-step":
                np.testing.assert_array_equal(one.positions, other.positions)
            else:
                np.testing.assert_allclose(one.positions, other.positions, rtol=0, atol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("moved", [False, True])
def test_carried_bodies_take_no_more_than_they_are_given(variant: tuple[str, str], moved: bool) -> None:
    """A stiff, damped chain hangs from a node that moves steadily, prescribed or of infinite mass, with steps of a fifth of a second."""
    n, k = 20, 1e6
    start = chain(k, n)
    x, velocity = start.positions.copy(), np.array([2.0, 0.0, 1.0])
    masses = start.masses.copy()
    if not moved:
        masses[5] = np.inf
    body = DeformableBody(x, masses=masses, gravity=(0, -G, 0))
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], 1).astype(np.int32)
    body.add(EdgeSprings(edges, SpringOptions(spring_constant=k, damping=1e-3 * k), x))
    if moved:
        body.move([5], lambda t: (x[[5]] + t * velocity, velocity[None, :]))
    body.velocities[5] = velocity
    top = 0.0
    for _ in range(25):
        top = max(top, body.step(0.2, elasticity=variant[0], finish=variant[1], raise_on_failure=False).max_speed)  # type: ignore[arg-type]
    # It falls by 1.4 m at most, seen from the node.
    assert top < 3.0 * (np.linalg.norm(velocity) + np.sqrt(2 * G * 1.4))
    assert body.velocities[-1] @ velocity > 0


@pytest.mark.parametrize("elasticity", ["full-step", "half-step", "first-half-step"])
def test_work_of_others_is_no_gain(elasticity: Any) -> None:
    """A net that is carried along, and one in a wind, move without a step that is retaken for the work which they receive."""
    x, edges = net(5, 6)
    carried = DeformableBody(x, masses=0.01)
    carried.add(EdgeSprings(edges, SpringOptions(spring_constant=200.0, damping=0.1), x))
    corners = [0, 5, 24, 29]
    start = x[corners].copy()
    carried.move(corners, lambda t: (start + np.array([0.5 * t * t, 0.0, 0.0]), np.tile([t, 0.0, 0.0], (4, 1))))
    flying = DeformableBody(x, masses=0.01)
    flying.add(EdgeSprings(edges, SpringOptions(spring_constant=200.0, damping=0.1), x))
    flying.add(Drag(0.02, nodes=len(x), wind=(4.0, 0.0, 0.0)))
    flying.add(WindDrag(np.array([[0, 1, 6], [7, 6, 1]], np.int32), coefficient=0.01, wind=(0.0, 5.0, 0.0)))
    for body in (carried, flying):
        retaken = sum(body.step(1 / 200, elasticity=elasticity).retaken for _ in range(200))
        assert retaken <= 4
        assert body.energy()["kinetic"] > 0.5 * 0.3 * 0.8**2


@pytest.mark.parametrize(("finish", "limit"), [("trapezoid", 2.0), ("backward-euler", 2.0**0.5)])
def test_explicit_elasticity_is_refused_beyond_its_limit(finish: Any, limit: float) -> None:
    """Exactly at the limit of the oscillator; the bound of a net is refused only where power iteration agrees."""
    for z, stable in ((0.999 * limit, True), (1.001 * limit, False)):
        body = oscillator(1.0)
        if stable:
            top = max(body.step(z, finish=finish).max_speed for _ in range(2000))
            assert top < 60.0
            continue
        before = body.positions.copy()
        with pytest.raises(ValueError, match="beyond the stability limit of"):
            body.step(z, finish=finish)
        np.testing.assert_array_equal(body.positions, before)
    # Of the one variant with implicit elasticity that has a limit.
    body = oscillator(1.0)
    body.step(1.99, elasticity="first-half-step", finish="backward-euler")
    with pytest.raises(ValueError, match="stability limit of 2 s"):
        body.step(2.01, elasticity="first-half-step", finish="backward-euler")


@pytest.mark.parametrize("name", ["chain", "cloth", "corotational", "altitudes", "free altitudes"])
@pytest.mark.parametrize("finish", get_args(NewmarkFinish))
def test_explicit_elasticity_at_the_step_that_limits_allow(name: str, finish: Any) -> None:
    body = BODIES[name](1e4)
    dt = body.max_dt(finish=finish, cfl=0.9, max_strain=1e30)
    start = float(np.linalg.norm(body.velocities, axis=1).max())
    top = 0.0
    for _ in range(600):
        dt = min(dt, body.max_dt(finish=finish, cfl=0.9, max_strain=1e30))
        top = max(top, body.step(dt, finish=finish).max_speed)
    assert top < 1.5 * (start + G * body.time) + 1.0
    with pytest.raises(ValueError, match="beyond the stability limit"):
        body.step(3 * dt, finish=finish)


def linear_matrix(z: float, elasticity: str, finish: str) -> np.ndarray:
    """One step of the oscillator, by hand."""
    h = 0.5 * z
    ahead = {"explicit": 0.0, "half-step": h, "full-step": z, "first-half-step": h, "first-full-step": z}[elasticity]
    later = 0.0 if elasticity.startswith("first") else ahead
    x1 = np.array([1.0, 0.0]) + z * np.array([-h, 1.0]) / (1 + h * ahead)
    v0 = np.array([0.0, 1.0])
    if finish == "backward-euler":
        return np.array([x1, (v0 - z * x1) / (1 + z * later)])
    return np.array([x1, 2 * (v0 - 0.5 * h * (np.array([1.0, 0.0]) + x1)) / (1 + h * later) - v0])


# What a variant guarantees of the linear oscillator: its limit in frequency times dt, and the most that the energy grows in a step.
GUARANTEES = {
    ("explicit", "trapezoid"): (2.0, None),
    ("explicit", "backward-euler"): (2.0**0.5, None),
    ("half-step", "trapezoid"): (np.inf, 1.6),
    ("half-step", "backward-euler"): (np.inf, 1.15),
    ("full-step", "trapezoid"): (np.inf, 1.06),
    ("full-step", "backward-euler"): (np.inf, 1.0),
    ("first-half-step", "trapezoid"): (np.inf, 1.0),
    ("first-half-step", "backward-euler"): (2.0, None),
    ("first-full-step", "trapezoid"): (np.inf, None),
    ("first-full-step", "backward-euler"): (np.inf, 1.0),
}


@pytest.mark.parametrize("variant", GUARANTEES)
def test_guarantees_of_the_linear_oscillator(variant: tuple[str, str]) -> None:
    """The table of docs/steps_of_bodies.md."""
    limit, growth = GUARANTEES[variant]
    assert oscillator(1.0).max_dt(elasticity=variant[0], finish=variant[1], cfl=1.0) == pytest.approx(limit / 2**0.5)  # type: ignore[arg-type]
    for z in np.concatenate([np.geomspace(1e-2, 1e4, 400), [0.999 * min(limit, 1e5)]]):
        a = linear_matrix(float(z), *variant)
        radius = np.abs(np.linalg.eigvals(a)).max()
        if z < 0.9999 * limit:
            assert radius <= 1 + 1e-7
            assert growth is None or np.linalg.norm(a, 2) ** 2 <= growth + 1e-7
        elif z > 1.0001 * limit:
            assert radius > 1
