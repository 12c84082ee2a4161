"""Forces on water on tetrahedra: gravity, adhesion, the solid; jets, caps, and the projection for comparison."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centroids, lattice, momentum, rounded, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF, WallAdhesion

REST = (0.0, 0.0, 0.0)
BALL = ms.surface.Sphere((0.0, 0.0, 0.0), 0.3)


def around(adhesion: Any, seed: int = 3, edge: float = 0.125) -> TetVOF:
    """Resting water everywhere around a ball."""
    vof = TetVOF(still(lattice(edge, (12, 12, 12), seed)), BALL, adhesion=adhesion, gravity=REST, debris=0.0)
    vof.volume[:] = rounded(vof, np.where(vof.rank >= 0, 0.5 * vof.capacity, 0))
    vof.move(0.01)
    return vof


def distances(vof: TetVOF) -> np.ndarray:
    """Mean distance of the corners: that of the centroid, for a flat surface."""
    phi = np.linalg.norm(vof.positions, axis=1) - 0.3
    return np.asarray(phi[vof.tets].mean(axis=1))


def test_gravity_is_the_same_everywhere_and_booked() -> None:
    vof = TetVOF(still(lattice(0.25, (4, 4, 4), 3)), gravity=(1.0, -2.0, 3.0))
    vof.volume[:] = rounded(vof, 0.3 * vof.capacity)
    for _ in range(5):
        vof.move(0.1)
        vof.accelerate(0.1)
        vof.time, vof._moved_by = vof.time + 0.1, None
    np.testing.assert_allclose(vof.velocity, np.tile([0.5, -1.0, 1.5], (len(vof.volume), 1)), rtol=1e-14)
    book = vof.ledger()
    np.testing.assert_allclose(book.impulses["gravity"], 1000 * book.filled * np.array([0.5, -1.0, 1.5]), rtol=1e-12)


@pytest.mark.parametrize("direction", ["toward", "outward", (0.3, 0.4, -1.2), "aside"])
@pytest.mark.parametrize("reach", [0.1, 0.25])
def test_adhesion_falls_off_linearly_and_ends_at_its_reach(direction: Any, reach: float) -> None:
    given: Any = direction if direction != "aside" else lambda x, t: np.cross([0.0, 0.0, 1.0], x)
    vof = around(WallAdhesion(strength=6.0, reach=reach, direction=given))
    vof.accelerate(0.01)
    d, c = distances(vof), centroids(vof)
    n = c / np.linalg.norm(c, axis=1)[:, None]
    want_direction = (
        {
            "toward": -n,
            "outward": n,
            "aside": np.cross([0.0, 0.0, 1.0], 0.3 * n),
        }[direction]
        if isinstance(direction, str)
        else np.tile(direction, (len(d), 1))
    )
    wet = vof.volume > 0
    size = 6.0 * np.clip((reach - d) / reach, 0, None) * 0.01
    near, far = wet & (d < 0.98 * reach) & (d > 0), wet & (d > reach * 1.001)
    assert near.sum() > 100
    assert not vof.velocity[far].any()
    np.testing.assert_allclose(vof.velocity[near], (size[:, None] * want_direction)[near], rtol=0, atol=0.06 * 0.01 * 6)
    # Continuous at the reach, and the whole strength at the surface.
    edge = wet & (np.abs(d - reach) < 0.05 * reach)
    assert np.linalg.norm(vof.velocity[edge], axis=1).max() <= 0.06 * 6 * 0.01 * np.linalg.norm(want_direction, axis=1).max()
    surface = wet & (np.abs(d) < 0.1 * reach)
    ratio = np.linalg.norm(vof.velocity[surface], axis=1) / (0.06 * np.linalg.norm(want_direction[surface], axis=1))
    assert np.abs(ratio - 1).max() <= 0.1 + 1e-9
    # What the water gets the solid gives.
    impulse = vof.ledger().impulses["adhesion"]
    np.testing.assert_allclose(impulse, 1000 * momentum(vof), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(vof.running_report.force_on_body, -impulse / 0.01, rtol=1e-12, atol=1e-9)


def test_painted_adhesion_acts_where_it_is_painted() -> None:
    def paint(x: np.ndarray, t: float) -> np.ndarray:
        np.testing.assert_allclose(np.linalg.norm(x, axis=1), 0.3, atol=0.02)  # points of the surface
        return np.where(x[:, 2] > 0, 5.0 + t, 0.0)

    vof = around(WallAdhesion(strength=paint, reach=0.25))
    vof.accelerate(0.01)
    c = centroids(vof)
    near = (vof.volume > 0) & (distances(vof) < 0.2) & (distances(vof) > 0)
    assert not vof.velocity[near & (c[:, 2] < -0.02)].any()
    assert np.linalg.norm(vof.velocity[near & (c[:, 2] > 0.02)], axis=1).min() > 0.2 * 5 * 0.01 * 0.8
    plain = around(WallAdhesion(strength=5.01, reach=0.25))
    plain.accelerate(0.01)
    up = near & (c[:, 2] > 0.02)
    np.testing.assert_allclose(vof.velocity[up], plain.velocity[up], rtol=1e-9, atol=1e-15)


def test_adhesion_of_nothing_changes_no_bit() -> None:
    found = []
    for adhesion in (None, 0.0, 0):
        vof = TetVOF(still(lattice(0.125, (8, 8, 10), None)), BALL, adhesion=adhesion)
        vof.fill(ms.surface.Sphere((0.0, 0.05, 0.4), 0.15))
        for _ in range(5):
            vof.step(1 / 60)
        found.append((vof.volume.copy(), vof.velocity.copy()))
    for volume, velocity in found[1:]:
        assert np.array_equal(volume, found[0][0])
        assert np.array_equal(velocity, found[0][1])
    vof.adhesion = 3.0
    assert vof.adhesion.strength == 3.0
    vof.adhesion = None
    assert vof.adhesion is None


def film(adhesion: Any) -> tuple[float, float]:
    """Water let run over a ball: how far from it the water near is, on the mean, and how much of the surface is wet, after 0.35 s."""
    vof = TetVOF(still(lattice(0.125, (9, 9, 11))), BALL, adhesion=adhesion, samples="exact")
    vof.fill(ms.surface.Sphere((0.0, 0.0, 0.35), 0.2))
    audit = Audit()
    for _ in range(21):
        vof.step(1 / 60, audit)
    c = centroids(vof)
    r = np.linalg.norm(c, axis=1) - 0.3
    near = (r < 0.3) & (vof.volume > 0)
    covered = (vof.rank == 0) & (vof.volume > 0.02 * np.maximum(vof.capacity, 1e-12))
    return float((vof.volume * r)[near].sum() / vof.volume[near].sum()), float(covered.sum() / (vof.rank == 0).sum())


@pytest.mark.slow
def test_outward_adhesion_thickens_and_dries() -> None:
    thin, plain, thick = film(8.0), film(None), film(WallAdhesion(strength=8.0, reach=0.25, direction="outward"))
    assert thin[0] < plain[0] < thick[0]
    assert thick[1] < plain[1] <= thin[1] * 1.02


def test_sideways_adhesion_dries_the_side_that_it_leaves() -> None:
    def aside(x: np.ndarray, t: float) -> np.ndarray:
        return np.tile([1.0, 0.0, 0.0], (len(x), 1))

    found = []
    for direction in ("toward", aside):
        vof = TetVOF(still(lattice(0.125, (9, 9, 11))), BALL, adhesion=WallAdhesion(strength=10.0, direction=direction), samples="exact")
        vof.fill(ms.surface.Sphere((0.0, 0.0, 0.35), 0.2))
        for _ in range(18):
            vof.step(1 / 60)
        found.append(float(vof.volume[centroids(vof)[:, 0] < 0].sum() / vof.volume.sum()))
    assert found[0] == pytest.approx(0.5, abs=0.08)
    assert found[1] < 0.3


# --- jet -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_force_of_a_jet_is_its_momentum_and_the_weight_of_the_film() -> None:
    """A jet falls on a plate as wide as the mesh; what arrives loses all of its momentum along the normal.

    It is thin: a column of full tetrahedra stops as a whole when its lower end does, and the force is then the weight of all of it.
    """
    plate = ms.surface.HalfSpace((0.0, 0.0, -0.45), (0.0, 0.0, 1.0))
    vof = TetVOF(still(lattice(0.08, (16, 16, 12))), plate)
    c = centroids(vof)
    mouth = np.flatnonzero((np.abs(c[:, :2]) < 0.1).all(axis=1) & (c[:, 2] > 0.3) & (c[:, 2] < 0.42)).astype(np.int32)
    down = np.tile([0.0, 0.0, -2.0], (len(mouth), 1))
    dt, first, last = 1 / 120, 50, 110
    forces, films = [], []
    for i in range(last):
        lacking = rounded(vof, np.maximum(0.1 * vof.capacity[mouth] - vof.volume[mouth], 0))
        vof.absorb(mouth, lacking, down)
        report = vof.step(dt)
        if i == first:
            start = vof.ledger()
        if i > first:
            forces.append(-report.force_on_body[2])
            stopped = (vof.velocity[:, 2] > -1.0) & (c[:, 2] < 0.0)
            films.append(1000 * 9.81 * vof.volume[stopped].sum())
    end = vof.ledger()
    span = dt * len(forces)
    flow = 1000 * (end.absorbed - start.absorbed) / span
    speed = math.sqrt(4 + 2 * 9.81 * (0.36 + 0.45 - 0.08))
    print(f"force {np.mean(forces):.1f} N, jet {flow * speed:.1f} N, film {np.mean(films):.1f} N")
    assert np.mean(forces) == pytest.approx(flow * speed + np.mean(films), rel=0.05)
    # And the balance of all momentum, to round-off.
    given = sum(end.impulses[k][2] - start.impulses[k][2] for k in ("absorbed", "gravity")) - (
        end.impulses["emitted"][2] - start.impulses["emitted"][2]
    )
    assert np.mean(forces) == pytest.approx(-(given - (end.momentum[2] - start.momentum[2])) / span, rel=1e-9)


# --- a cap on a ball -----------------------------------------------------------------------------------------------------------------


def sliding_point(strength: float, reach: float, start: float, end: float) -> float:
    """Angle from the top, degrees, at which a point that slides without friction from `start` (rad) passes the radius `end` (ball: 1)."""
    g = 9.81
    x, v = np.array([math.sin(start), math.cos(start)]), np.zeros(2)
    dt = 1e-4
    for _ in range(200000):
        r = float(np.linalg.norm(x))
        n = x / r
        a = np.array([0.0, -g]) - strength * max((reach - (r - 1)) / reach, 0.0) * n
        v = v + dt * a
        if r <= 1 and v @ n < 0:
            v = v - (v @ n) * n
        x = x + dt * v
        r = float(np.linalg.norm(x))
        if r < 1:
            x = x / r
        if r > end:
            return math.degrees(math.atan2(x[0], x[1]))
    raise AssertionError("the point did not leave")


def test_angles_of_the_sliding_point() -> None:
    """Of a cap of 20 degrees, by volume: what the next test compares with."""
    start = math.radians(13.4)
    assert sliding_point(0.0, 0.25, start, 1.4) < sliding_point(5.0, 0.25, start, 1.4) < sliding_point(20.0, 0.25, start, 1.4)


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "angle"), [(0.0, 112.0), (20.0, 162.0)])
def test_a_cap_of_water_leaves_a_ball_where_a_sliding_point_does(strength: float, angle: float) -> None:
    """Figure 3.7: half angle 20 degrees, one element thick, edge 0.12 m, on a ball of 1 m; the mesh ends 0.4 m away."""
    base = ms.mesh.bcc_lattice((-1.56, -1.56, -1.56), 0.12, (26, 26, 26))
    r = np.linalg.norm(base.vertices[base.tets], axis=2)
    keep = (r.max(axis=1) > 0.85) & (r.max(axis=1) < 1.42)
    used, tets = np.unique(base.tets[keep], return_inverse=True)
    mesh = ms.mesh.TetMesh(np.ascontiguousarray(base.vertices[used]), tets.reshape(-1, 4).astype(np.int32))
    vof = TetVOF(still(mesh), ms.surface.Sphere(REST, 1.0), adhesion=WallAdhesion(strength=strength, reach=0.25) if strength else None)
    cone = math.radians(20)
    vof.fill(lambda p: np.maximum(np.linalg.norm(p, axis=1) - 1.12, np.arctan2(np.hypot(p[:, 0], p[:, 1]), p[:, 2]) - cone))
    total = vof.total_volume()
    for _ in range(360):
        vof.step(1 / 120)
    x, w = vof.drops.positions, vof.drops["volume"]
    angles = np.degrees(np.arctan2(np.hypot(x[:, 0], x[:, 1]), x[:, 2]))
    mean = float((angles * w).sum() / w.sum())
    print(f"strength {strength}: mean angle {mean:.1f}, gone {w.sum() / total:.3f}")
    assert w.sum() > 0.8 * total
    assert mean == pytest.approx(angle, abs=8)
    # The mean over the cap of where its points leave.
    starts = np.radians(np.linspace(1, 19, 10))
    points = [sliding_point(strength, 0.25, s, 1.4) for s in starts]
    assert mean == pytest.approx(float(np.average(points, weights=np.sin(starts))), abs=8)


# --- projection, for comparison ------------------------------------------------------------------------------------------------------


def occupied(conservation: Any) -> tuple[float, float]:
    """Sum of min(w, C) at begin and end, and what has left, of a column that collapses on a plate."""
    plate = ms.surface.HalfSpace((0.0, 0.0, -0.4), (0.0, 0.0, 1.0))
    vof = TetVOF(still(lattice(0.15, (8, 8, 8))), plate, conservation=conservation)
    vof.fill(ms.surface.Box((-0.25, -0.25, -1.0), (0.25, 0.25, 0.3)))
    start = float(np.minimum(vof.volume, vof.capacity).sum())
    audit = Audit()
    for _ in range(24):
        vof.step(1 / 60, audit)
    held = float(np.minimum(vof.volume, vof.capacity).sum())
    book = vof.ledger()
    return start, held + book.emitted + book.waiting


def test_occupied_volume_falls_with_the_projection_alone() -> None:
    """Figure 3.9."""
    start, end = occupied("projection")
    assert end < 0.97 * start
    for way in ("push-out", "push-out and projection"):
        start, end = occupied(way)
        assert end == pytest.approx(start, rel=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_moving_solids_push_water_with_their_velocity(seed: int) -> None:
    """The momentum that the solid gives is the force on it, at every step."""
    solid = ms.surface.KinematicSolid(BALL, lambda t: tuple(0.2 * math.sin(6 * t) * turned(seed)[0]))
    vof = TetVOF(still(lattice(0.125, (10, 10, 10), seed)), solid)
    vof.fill(ms.surface.Sphere((0.0, 0.0, 0.35), 0.25))
    before = vof.ledger()
    for _ in range(10):
        report = vof.step(1 / 60)
        after = vof.ledger()
        given = after.impulses["body"] - before.impulses["body"]
        np.testing.assert_allclose(report.force_on_body, -given * 60, rtol=1e-9, atol=1e-9)
        before = after
    assert np.linalg.norm(after.impulses["body"]) > 0


@pytest.mark.parametrize(("slope", "depth"), [(0.0, 0.5), (10.0, 1.0)])
def test_thin_pools_do_not_run_off_with_the_projection(slope: float, depth: float) -> None:
    """Films without an unknown pressure stand on the solid; before, half a cell fell on at 6 sqrt(g depth), and was not felt."""
    cell, cells, bottom = 0.1, np.array([12, 4, 7]), 0.123
    block = ms.mesh.tet_block(*cells)
    mesh = ms.mesh.TetMesh(np.ascontiguousarray(block.vertices / block.vertices.max(axis=0) * cells * cell), block.tets)
    normal = (-math.sin(math.radians(slope)), 0.0, math.cos(math.radians(slope)))
    floor = ms.surface.HalfSpace((0.0, 0.0, bottom), normal)
    vof = TetVOF(still(mesh), floor, outside="wall", conservation="push-out and projection")
    vof.fill(ms.surface.HalfSpace((0.0, 0.0, bottom + depth * cell), (0.0, 0.0, 1.0)))
    impulse = 0.0
    for _ in range(100):
        vof.step(0.02)
        impulse += 0.02 * vof.force_on_body()[2]
    squares = (vof.velocity**2).sum(axis=1)
    assert math.sqrt((vof.volume * squares).sum() / vof.volume.sum() / (9.81 * depth * cell)) < 1.0
    # All of the weight is felt: by the floor, but for what the walls hold.
    assert impulse == pytest.approx(-2.0 * 9810 * vof.volume.sum(), rel=0.05)
