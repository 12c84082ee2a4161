"""Meshes with the sharp edges of a surface: exact on polyhedra, within the wanted deviation on real surfaces, angles kept."""

import numpy as np
import pytest
from support.meshes import box, join, real_mesh, torus
from support.variants import slow_but

import meniscus as ms

LEAST, LARGEST = 10.0, 165.0
Mesh = tuple[np.ndarray, np.ndarray]


def require_sound(mesh: ms.mesh.TetMesh) -> None:
    """Positive volumes, conforming, a closed manifold as boundary, all vertices used, angles within bounds."""
    assert mesh.volumes.min() > 0
    assert len(mesh.flipped_faces) == 0
    assert len(mesh.used_vertices) == len(mesh.vertices)
    assert ms.mesh.check_watertight(mesh.vertices, np.ascontiguousarray(mesh.boundary.triangles)).watertight
    assert len(mesh.boundary.pinched_vertices) == 0
    quality = mesh.quality()
    assert quality.smallest_angle.min() >= LEAST
    assert quality.largest_angle.max() <= LARGEST


def turned(mesh: Mesh) -> Mesh:
    """Along no axis of the lattice."""
    q, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    return np.ascontiguousarray(mesh[0] @ q.T), mesh[1]


def wedge(angle: float) -> Mesh:
    """A prism of length 2 over a triangle with an acute angle (degrees) between sides of length 2."""
    a = np.radians(angle)
    base = np.array([[0, 0], [2, 0], [2 * np.cos(a), 2 * np.sin(a)]])
    v = np.array([[x, y, z] for z in (0.0, 2.0) for x, y in base])
    t = [(0, 2, 1), (3, 4, 5), (0, 1, 4), (0, 4, 3), (1, 2, 5), (1, 5, 4), (2, 0, 3), (2, 3, 5)]
    return v, np.array(t, np.int32)


def staircase() -> Mesh:
    """A step: edges that go in, and corners where they meet others."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)
    v = np.array([[x, y, z] for z in (0.0, 1.5) for x, y in outline])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    t = [(a, c, b) for a, b, c in caps] + [(a + 6, b + 6, c + 6) for a, b, c in caps]
    for i in range(6):
        k = (i + 1) % 6
        t += [(i, k, k + 6), (i, k + 6, i + 6)]
    return v, np.array(t, np.int32)


@pytest.mark.parametrize("name", ["box", "wedge", "staircase"])
@pytest.mark.parametrize("refine", slow_but([0, 1], 0))
def test_polyhedra_keep_corners_and_edges(name: str, refine: int) -> None:
    """All corners are vertices, and volume and surface are exact but for the tolerance; without, they are far off."""
    surface = turned({"box": box(), "wedge": wedge(40.0), "staircase": staircase()}[name])
    cell = 0.25
    h = cell / 2**refine
    solid = ms.mesh.TriangleMesh(*surface)
    mesh = ms.surface.bcc_mesh(solid, cell, refine=refine, compress=True, sharp_angle=0.6)
    require_sound(mesh)
    assert mesh.euler_characteristic == 1
    gap = np.linalg.norm(mesh.vertices[None] - surface[0][:, None], axis=2).min(axis=1)
    np.testing.assert_array_equal(gap, 0.0)
    assert ms.surface.hausdorff_distance(mesh.boundary, solid, 0.1 * h).distance <= 0.05 * h
    assert mesh.volume() == pytest.approx(solid.volume(), rel=2e-3)
    plain = ms.surface.bcc_mesh(solid, cell, refine=refine, compress=True)
    assert ms.surface.hausdorff_distance(plain.boundary, solid, 0.1 * h).distance > 0.2 * h


def test_creases_are_edges_of_the_mesh() -> None:
    """Edges of the boundary cover every edge of a box from corner to corner, on it or within the tolerance; the largest part is on it."""
    v, t = turned(box())
    cell = 0.2
    mesh = ms.surface.bcc_mesh(ms.mesh.TriangleMesh(v, t), cell, compress=True, sharp_angle=0.6)
    edges = mesh.boundary.edges
    for a in range(8):
        for b in range(a + 1, 8):
            along = v[b] - v[a]
            if abs(np.linalg.norm(along) - 1) > 1e-9:
                continue
            off = mesh.vertices - v[a]
            s = off @ along
            away = np.linalg.norm(off - s[:, None] * along, axis=1)
            probes = np.linspace(0.001, 0.999, 999)
            for tolerance, least in ((0.05 * cell, 1.0), (1e-9, 0.7)):
                chain = np.sort(s[edges[(away < tolerance)[edges].all(axis=1)]], axis=1)
                covered = ((chain[:, :1] <= probes) & (probes <= chain[:, 1:])).any(axis=0)
                assert covered.mean() >= least


@pytest.mark.slow
def test_smooth_surfaces_come_closer() -> None:
    """Nothing is sharp on a torus; vertices go where the boundary is far away all the same."""
    surface = ms.mesh.TriangleMesh(*torus(n=80, m=48))
    cell = 0.25
    off = []
    for options in ({}, {"sharp_angle": 0.6}):
        mesh = ms.surface.bcc_mesh(surface, cell, compress=True, **options)
        require_sound(mesh)
        assert mesh.euler_characteristic == 0
        off.append(ms.surface.hausdorff_distance(mesh.boundary, surface, 0.05 * cell).distance)
    assert off[1] <= 0.05 * cell < off[0]


def test_parts_and_deviation() -> None:
    """Options go together: the largest part only, and a coarser tolerance that needs fewer vertices."""
    v, t = join(box(), box((3.0, 0.0, 0.0), (3.5, 0.5, 0.5)))
    two = ms.mesh.TriangleMesh(*turned((v, t)))
    both = ms.surface.bcc_mesh(two, 0.2, compress=True, sharp_angle=0.6)
    assert both.components == 2
    assert both.volume() == pytest.approx(1.125, rel=2e-3)
    alone = ms.surface.bcc_mesh(two, 0.2, compress=True, sharp_angle=0.6, largest_part_only=True)
    assert alone.components == 1
    require_sound(alone)
    assert alone.volume() == pytest.approx(1, rel=2e-3)
    ball = ms.mesh.icosphere(3)
    fine, coarse = (ms.surface.bcc_mesh(ball, 0.4, compress=True, sharp_angle=0.6, deviation=d) for d in (0.01, 0.1))
    assert len(fine.vertices) > len(coarse.vertices)


def test_same_bits_on_any_number_of_threads() -> None:
    surface = ms.mesh.TriangleMesh(*turned(staircase()))
    before, made = ms.num_threads(), []
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            made.append(ms.surface.bcc_mesh(surface, 0.3, compress=True, sharp_angle=0.6))
    finally:
        ms.set_num_threads(before)
    assert all(m == made[0] for m in made[1:])


def test_refuses_what_makes_no_sense() -> None:
    """Errors name the argument."""
    cube = ms.mesh.TriangleMesh(*box())
    with pytest.raises(ValueError, match="compress=True"):
        ms.surface.bcc_mesh(cube, 0.3, sharp_angle=0.6)
    with pytest.raises(ValueError, match="without bounds and depth"):
        ms.surface.bcc_mesh(cube, 0.3, compress=True, sharp_angle=0.6, depth=0.2)
    with pytest.raises(TypeError, match="TriangleMesh"):
        ms.surface.bcc_mesh(ms.surface.Sphere((0.0, 0.0, 0.0), 1.0), 0.3, compress=True, sharp_angle=0.6)
    with pytest.raises(ValueError, match="angle of sharp edges must be in"):
        ms.surface.bcc_mesh(cube, 0.3, compress=True, sharp_angle=4.0)
    with pytest.raises(ValueError, match="deviation"):
        ms.surface.bcc_mesh(cube, 0.3, compress=True, sharp_angle=0.6, deviation=0.0)
    v, t = box()
    with pytest.warns(ms.surface.NotWatertightWarning), pytest.raises(ValueError, match="watertight"):
        ms.surface.bcc_mesh(ms.surface.MeshDistance(v, np.ascontiguousarray(t[1:])), 0.3, compress=True, sharp_angle=0.6)


# Coarse cells per longest side of the box, and how often they are halved at the surface.
REAL = {"fandisk": (32, 0), "spot": (32, 0), "rocker-arm": (16, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_surfaces_within_a_twentieth_of_the_finest_cells(name: str) -> None:
    """Both ways, by dense samples; the rocker arm has pits half a sixty-fourth of its length wide."""
    surface = ms.surface.MeshDistance(*real_mesh(name))
    parts, refine = REAL[name]
    cell = float((surface.vertices.max(axis=0) - surface.vertices.min(axis=0)).max()) / parts
    h = cell / 2**refine
    mesh = ms.surface.bcc_mesh(surface, cell, refine=refine, compress=True, sharp_angle=0.6)
    require_sound(mesh)
    assert ms.surface.hausdorff_distance(mesh.boundary, surface, 0.1 * h).distance <= 0.05 * h
