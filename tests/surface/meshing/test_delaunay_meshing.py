"""Meshes of scattered points and their Delaunay tetrahedra. Source: Müller et al. 2008, section 3.6."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from support.same_bits import everywhere
from support.variants import slow_but
from support.wild_meshes import MESHES, Wild, hopeless, probes, torus

import meniscus as ms
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.surface import DeviationWarning, delaunay_mesh

BALL = ms.mesh.icosphere(4, radius=1.0)


def box_surface(size: tuple[float, float, float], parts: int = 1) -> TriangleMesh:
    """The surface of a box whose edges are cut into as many parts."""
    return ms.mesh.tet_block(parts, parts, parts, size).boundary.compacted()[0]


def require_sound(mesh: TetMesh) -> None:
    """No tetrahedron is inverted or overlaps another, and the boundary is a closed manifold without loose vertices."""
    assert (mesh.volumes > 0).all()
    assert mesh.is_embedded()
    assert len(np.unique(mesh.tets)) == len(mesh.vertices)
    boundary = mesh.boundary
    assert ms.mesh.check_watertight(boundary).watertight
    edges = np.sort(boundary.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def euler_characteristic(boundary: TriangleMesh) -> int:
    edges = np.unique(np.sort(boundary.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    return len(np.unique(boundary.triangles)) - len(edges) + len(boundary.triangles)


def test_a_ball_has_its_volume_and_masses() -> None:
    """The error falls monotonically, with the square of the spacing; masses are a quarter of those of the elements."""
    inside = BALL.volume()
    errors = []
    for spacing in (0.4, 0.25, 0.15):
        mesh = delaunay_mesh(BALL, spacing)
        require_sound(mesh)
        assert euler_characteristic(mesh.boundary) == 2
        assert mesh.components == 1
        errors.append(1 - mesh.volumes.sum() / inside)
        np.testing.assert_allclose(np.linalg.norm(mesh.vertices[mesh.boundary.used_vertices], axis=1), 1, atol=0.003)
        masses = mesh.node_masses(700.0)
        assert masses.sum() == pytest.approx(700 * mesh.volumes.sum(), rel=1e-12)
        shares = np.bincount(mesh.tets.ravel(), np.repeat(700 * mesh.volumes / 4, 4), minlength=len(masses))
        np.testing.assert_allclose(masses, shares, rtol=1e-12)
    assert errors[0] > errors[1] > errors[2] > 0
    np.testing.assert_array_less(errors, 0.7 * np.array([0.4, 0.25, 0.15]) ** 2)


@pytest.mark.parametrize("spacing", [0.4, 0.21])
def test_a_box_keeps_its_edges_and_corners(spacing: float) -> None:
    mesh = delaunay_mesh(box_surface((2.0, 2.0, 2.0)), spacing)
    require_sound(mesh)
    assert mesh.volumes.sum() == pytest.approx(8, rel=1e-9)
    corners = {tuple(v) for v in np.round(mesh.vertices, 12)}
    assert all((x, y, z) in corners for x in (0, 2) for y in (0, 2) for z in (0, 2))


def test_quality_is_that_of_the_lattice_inside_and_rounds_improve_it() -> None:
    """Radius ratios: 0.95 of the lattice's; of all, the mean is above 0.85, and rounds of relaxation leave less below 1/2."""
    mesh = delaunay_mesh(BALL, 0.15)
    ratios = mesh.quality().radius_ratio
    deep = np.linalg.norm(mesh.vertices[mesh.tets].mean(axis=1), axis=1) < 0.5
    assert ratios.mean() > 0.85
    assert np.median(ratios[deep]) > 0.94
    assert ratios.min() > 0.2
    box = box_surface((1.0, 0.7, 0.6))
    short = [np.maximum(0.0, 0.5 - delaunay_mesh(box, 0.1, rounds=n).quality().radius_ratio).sum() for n in (0, 4)]
    assert short[1] < short[0]


def test_the_mesh_depends_on_the_shape_not_on_its_triangles() -> None:
    """The points do; relaxation follows rounding errors where tetrahedra are tied."""
    coarse, fine = (delaunay_mesh(box_surface((1.0, 0.7, 0.6), parts), 0.2, rounds=0) for parts in (1, 5))
    assert coarse.vertices.shape == fine.vertices.shape
    np.testing.assert_allclose(np.sort(coarse.vertices, axis=0), np.sort(fine.vertices, axis=0), atol=1e-9)


def test_a_thin_plate_has_tetrahedra_where_lattices_have_none() -> None:
    plate = box_surface((2.0, 2.0, 0.02))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviationWarning)
        mesh = delaunay_mesh(plate, 0.1)
    require_sound(mesh)
    assert mesh.volumes.sum() == pytest.approx(0.08, rel=0.02)


def test_two_parts_a_ring_and_the_largest() -> None:
    ring = TriangleMesh(*torus(40, 20))
    mesh = delaunay_mesh(ring, 0.15)
    require_sound(mesh)
    assert euler_characteristic(mesh.boundary) == 0
    ball = ms.mesh.icosphere(2, radius=0.3, center=(3.0, 0.0, 0.0))
    both = TriangleMesh(np.vstack([ring.vertices, ball.vertices]), np.vstack([ring.triangles, ball.triangles + len(ring.vertices)]))
    assert delaunay_mesh(both, 0.15).components == 2
    one = delaunay_mesh(both, 0.15, largest_part_only=True)
    assert one.components == 1
    assert one.vertices[:, 0].max() < 2


WILD = [m for m in MESHES if m.name in ("ball, inside out", "torus, soup, some flipped", "ball through box", "shell", "box, far away")]


@pytest.mark.parametrize("wild", slow_but(MESHES, *WILD), ids=lambda m: m.name)
def test_meshes_as_found_in_the_wild(wild: Wild) -> None:
    """Copies, holes, the wrong way round, crossing parts, far away: the tetrahedra are those of the solid, by solid angles."""
    size = float(np.ptp(np.concatenate([s[0] for s in wild.solids]), axis=0).max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ms.surface.NotWatertightWarning)
        mesh = delaunay_mesh(wild.surface, 0.1 * size, holes="winding-number")
    require_sound(mesh)
    points = probes(wild)
    found = ms.collision.TetLocator(mesh.vertices, mesh.tets).locate(points).tets >= 0
    assert (found == wild.contains(points)).mean() >= 0.95


@pytest.mark.parametrize(("name", "surface"), list(hopeless()))
def test_what_encloses_nothing_is_told_in_one_sentence(name: str, surface) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeviationWarning)
        warnings.simplefilter("ignore", ms.surface.NotWatertightWarning)
        with pytest.raises((ValueError, TypeError, DeviationWarning)) as told:
            delaunay_mesh(surface, 0.1, holes="winding-number")
    assert "\n" not in str(told.value)


def test_what_encloses_nothing_and_what_is_refused() -> None:
    sheet = ms.mesh.cloth_mesh(4, 4, (1.0, 1.0))
    with pytest.raises(ValueError, match="surface must be watertight"):
        delaunay_mesh(sheet, 0.2)
    with pytest.warns(ms.surface.NotWatertightWarning):
        distance = ms.surface.MeshDistance(sheet)
    with pytest.warns(DeviationWarning, match="the mesh is empty: the surface encloses nothing"):
        assert not len(delaunay_mesh(distance, 0.2).tets)
    with pytest.raises(ValueError, match="a spacing of 1e-09 m needs too many points"):
        delaunay_mesh(BALL, 1e-9)
    with pytest.raises(TypeError, match="surface must be a surface"):
        delaunay_mesh(ms.surface.Sphere((0.0, 0.0, 0.0), 1.0), 0.2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"least radius ratio must be in \[0, 1\)"):
        delaunay_mesh(BALL, 0.2, least_ratio=1.0)
    with pytest.raises(ValueError, match="spacing must be positive"):
        delaunay_mesh(BALL, 0.0)


def test_the_same_bits_on_any_threads(default_parallelism: None) -> None:
    everywhere(lambda: [(m := delaunay_mesh(BALL, 0.25)).vertices, m.tets])
