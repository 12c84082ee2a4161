"""Outward normals of shapes and solids: unit gradients of their distances."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import Box, Capsule, Cylinder, HalfSpace, KinematicSolid, Pose, Shape, Solid, SolidGroup, Sphere, Torus

BALL = Sphere((0.1, 0.2, 0.3), 0.5)
PLANE = HalfSpace((0.0, 0.1, 0.0), (1.0, 2.0, 3.0))
SHAPES = {
    "sphere": BALL,
    "half-space": PLANE,
    "box": Box((-0.3, -0.2, -0.1), (0.4, 0.5, 0.2)),
    "capsule": Capsule((0, 0, 0), (0.5, 0.2, 0), 0.2),
    "cylinder": Cylinder((0, 0, 0), (0.5, 0.2, 0), 0.2),
    "torus": Torus((0, 0, 0), (0, 0, 1), 0.4, 0.1),
    "complement": ~BALL,
    "offset": PLANE.offset(0.1),
    "turned and scaled": BALL.scaled(0.5).rotated((0.8, 0.0, 0.6, 0.0)).translated((0.1, 0, 0)),
    "union": BALL | PLANE,
}


def points(n: int = 400) -> np.ndarray:
    return np.random.default_rng(5).uniform(-1, 1, (n, 3))


def differences(distance: Any, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    d = np.stack([(distance(x + h * e) - distance(x - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    return d / np.linalg.norm(d, axis=1, keepdims=True)


@pytest.mark.parametrize("name", list(SHAPES))
def test_normals_of_shapes_are_unit_gradients(name: str) -> None:
    shape: Shape = SHAPES[name]
    x = points()
    normals = shape.normals(x)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1, rtol=0, atol=1e-15)
    # But for the few points on a ridge, where the gradient jumps.
    off = np.linalg.norm(normals - differences(shape.signed_distance, x), axis=1)
    assert np.quantile(off, 0.98) < 1e-7


def test_normals_of_planes_are_exact() -> None:
    n = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0)
    assert np.allclose(PLANE.normals(points()), n, rtol=0, atol=2e-16)


def turning(time: float) -> Pose:
    return Pose((time, 0.0, 0.0), (np.cos(time), 0.0, np.sin(time), 0.0))


def test_normals_of_solids_move_with_them() -> None:
    mesh = ms.mesh.tet_block(3, 3, 3, (0.8, 0.6, 0.4)).boundary
    ball = KinematicSolid(Sphere((3, 0, 0), 0.2))
    solids: list[Solid] = [
        KinematicSolid(Box((-0.3, -0.2, -0.1), (0.4, 0.5, 0.2)), turning),
        KinematicSolid(mesh, turning),
        KinematicSolid.deforming(lambda t: mesh.vertices * (1 + t), mesh.triangles),
        SolidGroup([ball, KinematicSolid(Sphere((0, 0, 0), 0.3))]),
    ]
    x = points(200)
    for solid in solids:
        off = np.linalg.norm(solid.normals(x, 0.4) - differences(lambda y, s=solid: s.signed_distance(y, 0.4), x), axis=1)
        assert np.quantile(off, 0.97) < 1e-6
    assert solids[0].normals(np.empty((0, 3)), 0.0).shape == (0, 3)


def test_on_a_mesh_normals_are_those_of_its_triangles() -> None:
    mesh = ms.mesh.tet_block(2, 2, 2).boundary
    corners = mesh.vertices[mesh.triangles]
    n = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    found = KinematicSolid(mesh).normals(np.ascontiguousarray(corners.mean(axis=1)))
    assert np.allclose(found, n / np.linalg.norm(n, axis=1, keepdims=True), rtol=0, atol=1e-14)


def test_normals_of_level_sets_do_not_jump_between_cells() -> None:
    grid = ms.Grid((40, 40, 40), 0.05, origin=(-1, -1, -1))
    phi = ms.surface.LevelSet(grid)
    Sphere((0, 0, 0), 0.6).sample(phi.field)
    angle = np.linspace(0, 1.5, 200)
    x = 0.6 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    normals = KinematicSolid(phi).normals(x)
    assert np.abs(normals - x / 0.6).max() < 2e-3
    assert np.linalg.norm(np.diff(normals, axis=0), axis=1).max() < 2 * 1.5 / 200
