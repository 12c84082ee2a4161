"""Equilibria of single strands against the equations of Kirchhoff's rods."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.integrate import solve_bvp

from meniscus.solids import Groom, HairBody, RodForce

Floats = npt.NDArray[np.float64]


def straight(points: int, direction: tuple[float, float, float] = (1.0, 0.0, 0.0)) -> Groom:
    """One strand of length 1 from the origin."""
    return Groom(np.linspace(0, 1, points)[:, None] * np.array(direction), [0, points], radius=1e-3)


def cantilever(weight: float, points: int) -> Floats:
    """Points of a horizontal strand, EI = 1, clamped, under its weight in N/m."""
    groom = straight(points)
    density = 1 / (math.pi * 1e-6)  # 1 kg/m
    hair = HairBody(groom, EI=1.0, GJ=0.7, EA=1e7, density=density, sag_free=False, gravity=(0, 0, -weight))
    assert hair.advance_strands(math.inf).unfinished == 0
    return hair.positions.copy()


def elastica(weight: float, points: int) -> Floats:
    """The same by collocation: angle'' = -weight (1 - s) cos(angle)."""
    s, y = np.linspace(0, 1, 400), np.zeros((4, 400))
    for q in np.geomspace(min(1.0, weight), weight, 12):
        found = solve_bvp(
            lambda s, y, q=q: np.vstack([y[1], -q * (1 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]),
            lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
            s,
            y,
            tol=1e-8,
            max_nodes=20000,
        )
        s, y = found.x, found.y
    assert found.success
    at = found.sol(np.linspace(0, 1, points))
    return np.stack([at[2], 0 * at[2], -at[3]], axis=1)


@pytest.mark.parametrize("weight", [1.0, 10.0, 100.0, 1000.0])
def test_heavy_cantilever_follows_the_elastica(weight: float) -> None:
    error = [np.abs(cantilever(weight, n) - elastica(weight, n)).max() for n in (51, 101)]
    assert error[1] < 5e-4  # of the length; 1.2e-5 at 1, 3.3e-4 at 1000
    assert error[0] / error[1] > 3  # second order


def force_of(points: int, **ends: bool) -> RodForce:
    return RodForce([0, points], np.linspace(0, 1, points)[:, None] * np.array((0.0, 0.0, 1.0)), EI=1.0, GJ=0.7, EA=1e7, **ends)


def bisected(stands: object, low: float, high: float) -> float:
    for _ in range(22):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stands(middle) else (low, middle)  # type: ignore[operator]
    return 0.5 * (low + high)


def test_heavy_column_buckles_at_its_critical_weight() -> None:
    n = 101
    held = np.zeros(n, np.bool_)
    held[0] = True
    mass = np.full(n, 1 / (n - 1))
    mass[[0, -1]] *= 0.5

    def stands(weight: float) -> bool:
        above = weight * np.cumsum(mass[::-1])[::-1][1:]
        x = np.zeros((n, 3))
        x[1:, 2] = np.cumsum((1 - above / 1e7) / (n - 1))
        return bool(force_of(n).stable(x, held)[0])

    assert bisected(stands, 5.0, 10.0) == pytest.approx(7.837347, rel=1e-3)  # 0.005 %


def turned(rods: RodForce, x: Floats, angle: float) -> None:
    """Turn the tip about z, in steps that no half turn is mistaken in."""
    z, d = np.array([[0.0, 0.0, 1.0]]), rods.directors[:1]
    for a in np.linspace(0, angle, 2 + int(abs(angle)))[1:]:
        rods.set_frames(z, math.cos(a) * d + math.sin(a) * np.cross(z, d), tips=True)
        rods.strands.carry(x)


def test_clamped_twisted_rod_buckles_at_its_critical_moment() -> None:
    n = 101
    x = np.linspace(0, 1, n)[:, None] * np.array([[0.0, 0.0, 1.0]])
    held = np.zeros(n, np.bool_)
    held[[0, -1]] = True
    mass = np.full(n, 1 / n)

    def stands(moment: float) -> bool:
        rods = force_of(n, tips=True)
        turned(rods, x, moment / 0.7)
        at = x.copy()
        rods.strands.equilibrium((0.0, 0.0, 0.0), at, mass, held.astype(np.uint8), 300, 1e-10)
        assert 0.7 * rods.twists.sum() == pytest.approx(moment, rel=1e-9)  # whole turns are kept
        return bool(np.abs(at - x).max() < 1e-6 and rods.stable(at, held)[0])

    assert bisected(stands, 8.0, 10.0) == pytest.approx(8.9868, rel=2e-3)  # 0.06 %


def ring(turn: float, points: int = 101) -> float:
    """The part of its twist that a closed ring, joined with a turn, keeps after a small push out of its plane; EI = GJ = 1."""
    rods = RodForce([0, points], np.linspace(0, 1, points)[:, None] * np.array((1.0, 0, 0)), EI=1.0, GJ=1.0, EA=1e6, tips=True)
    z, s = np.array([[0.0, 0.0, 1.0]]), np.linspace(0, 1, points)
    rods.set_frames(np.array([[1.0, 0, 0]]), z)
    x = np.zeros((points, 3))
    for f in np.linspace(0, 1, 33)[1:]:
        a = 2 * math.pi * f
        x = np.stack([np.sin(a * s) / a, (1 - np.cos(a * s)) / a, 0 * s], axis=1)
        tip = np.array([[math.cos(a), math.sin(a), 0.0]])
        d = math.cos(f * turn) * z + math.sin(f * turn) * np.cross(tip, z)
        rods.set_frames(tip, d, tips=True)
        rods.strands.carry(x)
    assert rods.twists.sum() == pytest.approx(turn, abs=1e-9)
    x += 3e-3 * np.sin(math.pi * s)[:, None] ** 2 * np.sin(4 * math.pi * s)[:, None] * z
    x[-1] = x[0] = 0
    held = np.zeros(points, np.uint8)
    held[[0, -1]] = 1
    rods.strands.equilibrium((0.0, 0.0, 0.0), x, np.full(points, 1.0), held, 3000, 1e-10)
    return float(rods.twists.sum()) / turn


def test_ring_leaves_its_plane_at_the_turn_of_michell() -> None:
    """Beyond it the ring folds over, passes through itself, and is flat again with two turns less."""
    critical = 2 * math.pi * math.sqrt(3)
    assert ring(0.995 * critical) == pytest.approx(1, abs=1e-3)
    assert ring(1.005 * critical) == pytest.approx(1 - 4 * math.pi / (1.005 * critical), abs=1e-3)


def rotation(q: Floats) -> Floats:
    """Frames (3, 3, k) of unit quaternions (4, k), scalar first; columns are the two directors and the direction."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternions(frames: Floats) -> Floats:
    """Of frames (k, 3, 3), without jumps of sign."""
    from scipy.spatial.transform import Rotation

    q = np.roll(Rotation.from_matrix(frames).as_quat(), 1, axis=1)
    for i in range(1, len(q)):
        if q[i] @ q[i - 1] < 0:
            q[i] *= -1
    return q.T


@pytest.mark.parametrize(("curvature", "weight"), [(14.0, 40.0), (20.0, 1000.0), (20.0, 4000.0), (10.0, 200.0)])
def test_suspended_curly_hair_follows_kirchhoffs_equations(curvature: float, weight: float) -> None:
    """A strand whose natural shape is a ring of the given curvature hangs from a clamp; planar, localised and a helix."""
    n, EI, GJ = 101, 1.0, 2 / 3
    s = np.linspace(0, 1, n)
    # Points of a circle, whose arcs have the length 1.
    arc = 1 / (n - 1)
    turn = curvature * arc
    chord = 2 / curvature * math.sin(turn / 2)
    angle = turn * np.arange(n - 1)
    edges = chord * np.stack([np.sin(angle + turn / 2), 0 * angle, -np.cos(angle + turn / 2)], axis=1)
    x = np.concatenate([np.zeros((1, 3)), np.cumsum(edges, axis=0)])
    rods = RodForce([0, n], x, EI=EI, GJ=GJ, EA=1e6)
    rods.set_frames(np.array([[0.0, 0.0, -1.0]]), np.array([[0.0, 1.0, 0.0]]))
    rods.strands.carry(x)
    shape = np.zeros((n, 3))
    u = np.cross([0.0, 0.0, -1.0], [1.0, 0.0, 0.0])  # curvature binormal of the circle
    across = np.cross([0.0, 0.0, -1.0], [0.0, 1.0, 0.0])
    cells = np.full(n, 1.0)
    cells[[0, -1]] = 0.5
    binormal = 2 * np.tan(0.5 * turn * cells)
    # The first director is y, the second t x y; a binormal b is stored as (b . (t x d), -b . d).
    shape[:, 0], shape[:, 1] = binormal * (u @ across), -binormal * u[1]
    rods.natural_shape = shape
    mass = np.full(n, arc)
    mass[[0, -1]] *= 0.5
    held = np.zeros(n, np.uint8)
    held[0] = 1
    at = x + 1e-3 * np.random.default_rng(3).standard_normal(x.shape) * s[:, None]
    assert rods.strands.equilibrium((0.0, 0.0, -weight), at, mass, held, 2000, 1e-9)[1] == 0

    def equations(s: Floats, y: Floats) -> Floats:
        q, m = y[:4], y[4:7]
        d = rotation(q / np.linalg.norm(q, axis=0))
        body = np.einsum("ijk,ik->jk", d, m)
        natural = np.array([curvature * u[1], curvature * (u @ across), 0.0])
        strain = np.stack([body[0] / EI + natural[0], body[1] / EI + natural[1], body[2] / GJ])
        spin = np.einsum("ijk,jk->ik", d, strain)
        w, v = q[0], q[1:]
        dq = 0.5 * np.vstack([-(spin * v).sum(0), w * spin + np.cross(spin.T, v.T).T])
        tension = np.stack([0 * s, 0 * s, -weight * (1 - s)])
        return np.vstack([dq, -np.cross(d[:, 2].T, tension.T).T, d[:, 2]])

    d1 = rods.directors[:-1]
    t = np.diff(at, axis=0)
    t /= np.linalg.norm(t, axis=1)[:, None]
    frames = np.stack([d1, np.cross(t, d1), t], axis=2)
    q = quaternions(frames)
    middle = np.concatenate([[0.0], 0.5 * (s[1:] + s[:-1]), [1.0]])
    root = quaternions(np.array([[[0, across[0], 0], [1, across[1], 0], [0, across[2], -1]]], float))
    root *= np.sign(root[:, 0] @ q[:, 0])
    guess_q = np.hstack([root, q, q[:, -1:]])
    strains = np.zeros((3, len(middle)))
    lever = np.cumsum((mass[:, None] * at)[::-1], axis=0)[::-1]
    total = np.cumsum(mass[::-1])[::-1]
    for i in range(n - 1):  # moment of the weight behind the middle of each segment
        centre = 0.5 * (at[i] + at[i + 1])
        strains[:, i + 1] = np.cross(lever[i + 1] - total[i + 1] * centre, [0, 0, -weight])
    strains[:, 0] = np.cross(lever[0] - total[0] * at[0], [0, 0, -weight])
    places = np.stack([np.interp(middle, s, at[:, k]) for k in range(3)])
    found = solve_bvp(
        equations,
        lambda a, b: np.concatenate([a[:4] - root[:, 0], b[4:7], a[7:]]),
        middle,
        np.vstack([guess_q, strains, places]),
        tol=1e-5,
        max_nodes=20000,
    )
    assert found.success, found.message
    error = np.abs(found.sol(s)[7:].T - at).max()
    assert error < 5e-3
