"""State, samples, volumes and errors of liquids on Voronoi cells."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.fluids import LiquidSampling, VoronoiLiquid, VoronoiLiquidOptions
from meniscus.fluids.voronoi.pool import pool_surface
from meniscus.fluids.voronoi.volumes import followed_targets

BOX = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])


def joined(*meshes: ms.mesh.TriangleMesh) -> ms.mesh.TriangleMesh:
    firsts = np.cumsum([0, *(len(m.vertices) for m in meshes[:-1])])
    t = np.concatenate([m.triangles + np.int32(first) for m, first in zip(meshes, firsts, strict=True)])
    return ms.mesh.TriangleMesh(np.concatenate([m.vertices for m in meshes]), t)


def slab(thickness: float, y: float, h: float) -> ms.mesh.TriangleMesh:
    n = round(0.6 / h)
    block = ms.mesh.tet_block(n, max(round(thickness / h), 1), n, (0.6, thickness, 0.6), origin=(0.2, y - thickness / 2, 0.2))
    used, numbers = np.unique(block.boundary.triangles, return_inverse=True)
    return ms.mesh.TriangleMesh(np.array(block.vertices)[used], numbers.reshape(-1, 3).astype(np.int32))


def liquid(h: float = 0.12, **named: Any) -> VoronoiLiquid:
    mesh = joined(pool_surface(BOX, 0.35, h), ms.mesh.icosphere(2, 0.15, (0.5, 0.7, 0.52)))
    return VoronoiLiquid(BOX, h, ms.surface.TrackedSurface(mesh, h), **named)


def parts(of: VoronoiLiquid) -> list[Any]:
    arrays = of.face_velocity, of.pressure, of.surface.vertices, of.surface.triangles, of.targets
    return [*map(np.array, arrays), of.time]


def test_snapshots_copies_and_pickles_go_on_with_the_same_bits() -> None:
    one = liquid(surface_tension=0.5)
    one.step(0.01)
    kept = one.snapshot()
    two, three = one.copy(), pickle.loads(pickle.dumps(one))
    ends = []
    for each in (one, two, three):
        each.step(0.01)
        each.step(0.01)
        ends.append(parts(each))
    one.restore(kept)
    one.step(0.01)
    one.step(0.01)
    ends.append(parts(one))
    assert all(same_bits(end, ends[0]) for end in ends[1:])


@pytest.mark.parametrize("name", ["track", "remesh", "advect", "project", "reconstruct"])
def test_an_error_in_any_stage_leaves_the_last_step(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = liquid(), liquid()
    for each in (one, two):
        each.step(0.01)
    before = parts(one)

    def fail(stage: str, _: object) -> None:
        if stage == name:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.step(0.01, on_stage=fail)
    assert same_bits(parts(one), before)
    one.step(0.01)
    two.step(0.01)
    assert same_bits(parts(one), parts(two))


def test_a_pressure_that_is_not_found_leaves_the_last_step() -> None:
    one = liquid(0.05, options=VoronoiLiquidOptions(tolerance=1e-12, max_iterations=1))
    one.set_velocity(lambda x: np.stack([x[:, 1], x[:, 2] * x[:, 0], x[:, 1]], 1), project=False)
    before = parts(one)
    with pytest.raises(ms.ConvergenceError, match="pressure was not found"):
        one.step(0.01)
    assert same_bits(parts(one), before)


def test_a_film_of_a_twentieth_of_a_cell_is_sampled() -> None:
    h = 0.1
    surface = ms.surface.TrackedSurface(slab(0.05 * h, 0.5, h), h, safety=False)
    film = VoronoiLiquid(BOX, h, surface)
    log = film.sample_log()
    inner = (np.abs(np.asarray(surface.vertices)[:, [0, 2]] - 0.5) < 0.25).all(1)
    placed = np.concatenate([log["liquid"]["placed"], log["liquid"]["crowded"]])
    assert set(np.flatnonzero(inner)) <= set(placed)
    y = np.asarray(film.cells.sites)[film.liquid, 1]
    assert len(y) > 50
    assert (np.abs(y - 0.5) < 0.025 * h).all()
    for _ in range(3):
        film.step(0.01)
    assert np.abs(film.velocity(np.array(surface.vertices)) - [0.0, -0.2943, 0.0]).max() < 1e-8


@pytest.mark.parametrize(("gap", "sampled"), [(0.04, False), (0.1, True)])
def test_a_gap_has_an_air_sample_in_its_middle_unless_it_counts_as_merged(gap: float, sampled: bool) -> None:
    h = 0.1
    mesh = joined(slab(0.3, 0.3, h), slab(0.3, 0.6 + gap * h, h))
    cells = VoronoiLiquid(BOX, h, ms.surface.TrackedSurface(mesh, h, safety=False, merge="none"))
    sites, wet = np.asarray(cells.cells.sites), cells.liquid
    inner = (np.abs(sites[:, [0, 2]] - 0.5) < 0.2).all(1) & (sites[:, 1] > 0.45) & (sites[:, 1] < 0.45 + gap * h)
    assert (inner & ~wet).any() == sampled
    if sampled:
        np.testing.assert_allclose(sites[inner & ~wet, 1], 0.45 + gap / 2 * h, atol=1e-9)
    # Liquid faces across the gap are open to the air exactly as long as it counts.
    assert (len(set(cells.parts[wet])) == 2) == sampled


def test_every_vertex_has_both_samples_or_a_reason() -> None:
    one = liquid()
    count = len(one.surface.vertices)
    for states in one.sample_log().values():
        assert sorted(np.concatenate(list(states.values())).tolist()) == list(range(count))
        assert len(states["wrong-side"]) == 0
    inside = ((np.asarray(one.surface.vertices) > 0.02) & (np.asarray(one.surface.vertices) < 0.98)).all(1)
    log = one.sample_log()
    for side in ("liquid", "air"):
        assert set(np.flatnonzero(inside)) <= set(np.concatenate([log[side]["placed"], log[side]["crowded"]]))


def test_volumes_are_those_in_the_box() -> None:
    report = liquid().volume_report()
    ball = ms.mesh.icosphere(2, 0.15)
    exact = np.array([0.35, ms.surface.TrackedSurface(ball).volume()])
    np.testing.assert_allclose(np.sort(report.volumes), np.sort(exact), rtol=1e-12)
    assert report.areas.max() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(report.centroids[np.argmax(report.volumes)], [0.5, 0.175, 0.5], rtol=1e-12)


def test_targets_follow_merges_and_splits_and_keep_their_sum() -> None:
    targets = np.array([1.0, 2.0, 4.0])
    # Parts 0 and 1 have become one, and 2 has become two.
    old, new = np.array([0, 0, 1, 2, 2], np.int32), np.array([0, 0, 0, 1, 2], np.int32)
    found = followed_targets(targets, old, new, np.array([2.9, 3.0, 0.9]))
    assert found[0] == pytest.approx(3.0)
    assert found[1] / found[2] == pytest.approx(3.0 / 0.9)
    assert found.sum() == pytest.approx(7.0, rel=1e-15)
    # A part that has gone is shared by the others.
    assert followed_targets(targets, old[:3], new[:3], np.array([2.9])).sum() == pytest.approx(7.0, rel=1e-15)


def test_the_correction_restores_the_volume_of_each_part() -> None:
    one = liquid(options=VoronoiLiquidOptions(volume_correction=True), gravity=(0.0, 0.0, 0.0))
    one.targets = one.targets * 1.004
    for _ in range(6):
        one.step(0.01)
    report = one.volume_report()
    np.testing.assert_allclose(report.volumes, report.targets, rtol=1e-5)


def test_a_solid_under_water_and_one_that_floats_leave_it_at_rest() -> None:
    solids = ms.surface.SolidGroup(
        [
            ms.surface.KinematicSolid(ms.surface.Sphere((0.4, 0.15, 0.5), 0.1)),
            ms.surface.KinematicSolid(ms.surface.Box((0.55, 0.25, 0.4), (0.8, 0.45, 0.7))),
        ]
    )
    one = VoronoiLiquid(BOX, 0.08, ms.surface.TrackedSurface(pool_surface(BOX, 0.35, 0.08), 0.08), solid=solids)
    for _ in range(3):
        one.step(0.01)
    assert np.abs(one.face_velocity).max() < 1e-9
    column = 1000.0 * 9.81 * (0.35 - np.asarray(one.cells.sites)[:, 1])
    wet = one.parts >= 0
    assert np.abs(one.pressure - column)[wet].max() < 1e-10 * 9810.0


def inside_out(mesh: ms.mesh.TriangleMesh) -> ms.mesh.TriangleMesh:
    return ms.mesh.TriangleMesh(np.array(mesh.vertices), np.ascontiguousarray(mesh.triangles[:, ::-1]))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda ball: VoronoiLiquid(BOX + 5, 0.1, ms.surface.TrackedSurface(ball)), "enclose liquid in the box"),
        (lambda ball: VoronoiLiquid(BOX, 0.1, ms.surface.TrackedSurface(inside_out(ball))), "enclose liquid in the box"),
        (lambda ball: VoronoiLiquid(BOX[::-1], 0.1, ms.surface.TrackedSurface(ball)), "lower and an upper corner"),
        (lambda ball: VoronoiLiquid(BOX, -1.0, ms.surface.TrackedSurface(ball)), "cell_size must be positive"),
        (lambda ball: VoronoiLiquid(BOX, 0.1, ms.surface.TrackedSurface(ball), surface_tension=-1.0), "must not be negative"),
        (lambda ball: VoronoiLiquid(BOX, 0.1, ms.surface.TrackedSurface(ball), (np.nan, 0, 0)), "gravity"),
        (lambda ball: LiquidSampling(samples="none"), "samples must be one of"),
        (lambda ball: VoronoiLiquid(BOX, 0.1, ms.surface.TrackedSurface(ball)).step(-1.0), "dt must be positive"),
        (lambda ball: VoronoiLiquid(BOX, 0.1, ms.surface.TrackedSurface(ball), surface_tension=70.0).step(0.1), "surface tension allows"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[ms.mesh.TriangleMesh], Any], match: str) -> None:
    with pytest.raises((ValueError, TypeError), match=match):
        make(ms.mesh.icosphere(2, 0.2, (0.5, 0.5, 0.5)))


@pytest.mark.slow
@pytest.mark.parametrize("centre", [(0.5, 0.5, 0.5), (0.3, 0.45, 0.3)])
def test_a_ball_that_falls_onto_a_dry_floor_stays_in_the_box(centre: tuple[float, float, float]) -> None:
    """Three cells to the radius. Without anything against it, four fifths leave through the floor in a second."""
    ball = ms.mesh.icosphere(3)
    mesh = ms.mesh.TriangleMesh(0.25 * ball.vertices + np.array(centre), ball.triangles)
    surface = ms.surface.TrackedSurface(mesh, edge_length=0.08)
    one = ms.fluids.VoronoiLiquid(((0, 0, 0), (1, 1, 1)), cell_size=0.08, surface=surface)
    start = one.volume_report().volumes.sum()
    while one.time < 1.0:
        one.step(min(one.max_dt(), 0.02))
        assert abs(one.volume_report().volumes.sum() / start - 1) < 0.1
        assert np.abs(surface.vertices - 0.5).max() < 0.5 + 0.08
    assert abs(one.volume_report().volumes.sum() / start - 1) < 0.05
