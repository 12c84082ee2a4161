"""Flicker and bumpiness of surfaces of water, and that they are below those of surfaces without memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.tet_vof.ball_of_water import CELL, FINE, ball_in, ball_on_grid, lattice, thrown

import meniscus as ms
from meniscus.surface import WaterMesh, WaterSurface, bumpiness, flicker, water_points

UNIT = ms.Grid((24, 24, 24), CELL)


def mesh_of(levelset: ms.surface.LevelSet, velocity=(0.0, 0.0, 0.0)) -> WaterMesh:
    vertices, triangles, normals = levelset.to_mesh(normals=True)
    return WaterMesh(vertices, triangles, normals, np.tile(np.asarray(velocity, float), (len(vertices), 1)))


def test_flicker_is_the_motion_that_is_not_the_waters() -> None:
    ball = mesh_of(ball_on_grid((0.4, 0.5, 0.5), 0.2), (1.0, 0.5, 0.0))
    moved = WaterMesh(ball.vertices + 0.1 * ball.velocities, ball.triangles, ball.normals, ball.velocities)
    assert flicker(ball, moved, 0.1) < 1e-12
    grown = WaterMesh(moved.vertices + 0.01 * ball.normals, ball.triangles, ball.normals, ball.velocities)
    assert flicker(ball, grown, 0.1) == pytest.approx(0.01, rel=0.02)
    still = WaterMesh(ball.vertices, ball.triangles, ball.normals, np.zeros_like(ball.vertices))
    assert flicker(still, still, 0.1) == 0
    assert flicker(ball, still, 0.1) > 0.01, "velocities that the surface does not follow"
    none = WaterMesh(np.empty((0, 3)), np.empty((0, 3), np.int32), np.empty((0, 3)), np.empty((0, 3)))
    assert flicker(none, none, 0.1) == 0
    assert flicker(ball, none, 0.1) == math.inf


def test_flicker_takes_velocities_that_change() -> None:
    """Falling from rest, whose displacement is that of the mean velocity."""
    ball = mesh_of(ball_on_grid((0.5, 0.5, 0.6), 0.2))
    fallen = ball.vertices - (0, 0, 0.5 * 9.8 * 0.1**2)
    after = WaterMesh(fallen, ball.triangles, ball.normals, np.tile([0.0, 0.0, -0.98], (len(fallen), 1)))
    assert flicker(ball, after, 0.1) < 1e-12


def test_bumpiness_is_the_deviation_of_the_mean_curvature() -> None:
    ball = mesh_of(ball_on_grid((0.503, 0.49, 0.51), 0.3))
    smooth = bumpiness(ball.vertices, ball.triangles, CELL)
    assert smooth < 0.004, "a ball has one mean curvature"
    assert bumpiness(2 * ball.vertices, ball.triangles, 2 * CELL) == pytest.approx(smooth), "it has no unit"
    wave = 0.3 * CELL * np.sin(2 * np.pi * ball.vertices[:, :1] / (8 * CELL))
    assert bumpiness(ball.vertices + wave * ball.normals, ball.triangles, CELL) > 8 * smooth
    capsule = ms.surface.LevelSet.from_shape(UNIT, ms.surface.Ellipsoid((0.5, 0.5, 0.5), (0.4, 0.15, 0.15)), "cells")
    long = mesh_of(capsule)
    assert bumpiness(long.vertices, long.triangles, CELL) > 5 * smooth, "an ellipsoid has many"


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.slow
@pytest.mark.parametrize("edge", [1.5, 2.5])
def test_a_flying_ball_flickers_and_bumps_less_than_both_baselines(edge: float) -> None:
    """Lee 2018, figure 3.15; the ball passes through tetrahedra at rest, so that each frame shows it through others."""
    tets, radius, frames = lattice(edge * FINE), 0.17, 6
    measured = {}
    for method in ("advected", "rebuilt", "kernels"):
        water = None if method == "kernels" else WaterSurface(UNIT, 2, gain=1.0 if method == "rebuilt" else 0.25)
        before, jumps, bumps = None, [], []
        for k in range(frames):
            centre, speed = thrown(k / 24)
            given = ball_in(tets, centre, radius, speed)
            if water is not None:
                mesh = water.update(1 / 24, tets=given)
                assert np.abs(np.linalg.norm(mesh.vertices - centre, axis=1) - radius).max() < 0.5 * FINE
            else:
                points, _ = water_points(given, 0.5 * FINE)
                kernels = ms.fluids.particle_levelset(points, ms.Grid((48,) * 3, FINE), method="anisotropic", support=4 * FINE)
                mesh = mesh_of(kernels, speed)
            bumps.append(bumpiness(mesh.vertices, mesh.triangles, FINE))
            if before is not None:
                jumps.append(flicker(before, mesh, 1 / 24) / FINE)
            before = mesh
        measured[method] = rms(jumps[1:]), rms(bumps[1:])
    for quantity in range(2):
        assert measured["advected"][quantity] < 0.85 * measured["rebuilt"][quantity] < 0.5 * measured["kernels"][quantity], measured


def test_points_stand_for_equal_volumes() -> None:
    given = ball_in(lattice(2 * FINE), (0.5, 0.5, 0.5), 0.2, (1.0, 2.0, 3.0))
    points, velocities = water_points(given, 0.01)
    assert len(points) * 0.01**3 == pytest.approx(given.volume.sum(), rel=0.01)
    assert np.linalg.norm(points - 0.5, axis=1).max() < 0.2 + 2 * FINE
    assert np.abs(points.mean(axis=0) - 0.5).max() < 0.003
    assert (velocities == (1.0, 2.0, 3.0)).all()
