"""Enclosing meshes hold all points or name one that they do not; morphs of a skin refuse meshes that are not on it."""

import numpy as np
import pytest
from support.meshes import box

import meniscus as ms


def held(mesh: ms.mesh.TetMesh, points: np.ndarray) -> np.ndarray:
    return np.asarray(ms.collision.TetLocator(mesh.vertices, mesh.tets).locate(np.ascontiguousarray(points)).tets >= 0)


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return np.asarray(q * np.sign(np.linalg.det(q)))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_points_below_the_depth_are_named(scale: float, rng: np.random.Generator) -> None:
    """Points in what a hollow mesh leaves out are not dropped; those that it still holds do no harm."""
    v, t = box()
    q = rotation(rng)
    skin = ms.mesh.TriangleMesh(np.ascontiguousarray(scale * v @ q.T), t)
    center, cell = skin.vertices.mean(axis=0), 0.08 * scale
    inner = rng.normal(size=(40, 3))
    inner /= np.abs(inner).max(axis=1)[:, None]
    near = center + 0.4 * scale * inner @ q.T
    mesh = ms.surface.enclosing_mesh(skin, near, cell, depth=2 * cell)
    assert held(mesh, near).all()
    assert not held(mesh, center[None]).any()
    points = np.concatenate([near, center[None], center[None]])
    with pytest.raises(ValueError, match=r"deeper than depth, .* \[40\] is"):
        ms.surface.enclosing_mesh(skin, points, cell, depth=2 * cell)
    assert held(ms.surface.enclosing_mesh(skin, points, cell), points).all()


@pytest.mark.parametrize("seed", range(8))
def test_all_points_are_held_or_one_is_named(seed: int) -> None:
    """Strands of any width in a capsule of their own, points on the skin and beyond, any margin."""
    rng = np.random.default_rng(seed)
    ball = ms.surface.Sphere(tuple(rng.uniform(-1, 1, 3)), 0.8)
    end = np.array(ball.center) + 2 * rotation(rng)[0]
    radius = 0.4 * 0.3**seed
    strand = np.array(ball.center) + np.linspace(0, 1, 60)[:, None] * (end - ball.center)
    custom = ms.surface.Capsule(tuple(np.array(ball.center)), tuple(end), radius)
    for margin in (0.0, 0.5 * radius):
        try:
            mesh = ms.surface.enclosing_mesh(ball, strand, 0.21, margin=margin, custom=custom, depth=0.42 if seed % 2 else np.inf)
        except ValueError as error:
            refusal = str(error)
        else:
            refusal = ""
            assert held(mesh, strand).all()
        assert refusal == "" or refusal.startswith("points must")


def test_a_point_that_the_cells_do_not_resolve_is_named() -> None:
    """A strand far thinner than the cells has no tetrahedra of its own."""
    ball = ms.surface.Sphere((0.0, 0.0, 0.0), 0.5)
    strand = np.array([0.013, 0.027, 0.011]) + np.linspace(0, 2, 50)[:, None] * [0.83, 0.41, 0.37]
    custom = ms.surface.Capsule(tuple(strand[0]), tuple(strand[-1]), 1e-4)
    with pytest.raises(ValueError, match="points must lie within the mesh"):
        ms.surface.enclosing_mesh(ball, strand, 0.25, margin=0.0, offset=0.0, custom=custom)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_boundary_off_the_skin_is_refused(scale: float, rng: np.random.Generator) -> None:
    """Lattice meshes, another surface, a skin that has been moved; fitted meshes pass, with and without sharp edges."""
    q = rotation(rng)

    def solid(mesh: ms.mesh.TriangleMesh) -> ms.mesh.TriangleMesh:
        return ms.mesh.TriangleMesh(np.ascontiguousarray(scale * mesh.vertices @ q.T), mesh.triangles)

    cube, ball = solid(ms.mesh.TriangleMesh(*box((-1,) * 3, (1,) * 3))), solid(ms.mesh.icosphere(2))
    lattice = ms.surface.bcc_mesh(ball, 0.4 * scale)
    fitted = ms.surface.bcc_mesh(ball, 0.4 * scale, compress=True)
    sharp = ms.surface.bcc_mesh(cube, 0.5 * scale, compress=True, sharp_angle=0.6)
    still = np.zeros_like(ball.vertices)
    for mesh, skin in ((lattice, ball), (fitted, cube), (sharp, ball)):
        with pytest.raises(ValueError, match="boundary vertices must lie on the skin"):
            ms.surface.skin_morph(mesh, skin, np.zeros_like(skin.vertices))
    away = ms.mesh.TriangleMesh(np.ascontiguousarray(ball.vertices + 0.05 * scale), ball.triangles)
    with pytest.raises(ValueError, match="boundary vertices must lie on the skin"):
        ms.surface.skin_morph(fitted, away, still)
    np.testing.assert_array_equal(ms.surface.skin_morph(lattice, ball, still, off_skin=np.inf), 0.0)
    with pytest.raises(ValueError, match="off_skin"):
        ms.surface.skin_morph(fitted, ball, still, off_skin=-1.0)
    strain = 0.3 * rng.normal(size=(3, 3))
    for mesh, skin in ((fitted, ball), (sharp, cube)):
        moved = ms.surface.skin_morph(mesh, skin, np.ascontiguousarray(skin.vertices @ strain.T))
        np.testing.assert_allclose(moved, mesh.vertices @ strain.T, rtol=0, atol=1e-5 * scale)
