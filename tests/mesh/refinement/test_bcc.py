"""BCC lattices and red-green refinement: exact shapes, conforming closures, and the bounds of their angles."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import meniscus as ms

EDGES = list(combinations(range(4), 2))


def require_conforming(mesh: ms.mesh.TetMesh) -> None:
    """No face has more than two tetrahedra, and no vertex lies in the middle of an edge."""
    count = Counter(tuple(sorted(f)) for t in mesh.tets.tolist() for f in combinations(t, 3))
    assert set(count.values()) <= {1, 2}
    places = {tuple(x) for x in mesh.vertices.tolist()}
    assert len(places) == len(mesh.vertices)
    middles = 0.5 * (mesh.vertices[mesh.edges[:, 0]] + mesh.vertices[mesh.edges[:, 1]])
    assert not any(tuple(x) in places for x in middles.tolist())


def test_lattice_has_the_exact_shape() -> None:
    """Edges, dihedral angles, volumes and altitudes are those of the lattice, in every tetrahedron."""
    a = 0.75
    mesh = ms.mesh.bcc_lattice((0.5, -1.0, 2.0), a, (3, 2, 4))
    faces = 2 * 2 * 4 + 3 * 1 * 4 + 3 * 2 * 3
    assert len(mesh.tets) == 4 * faces
    np.testing.assert_allclose(mesh.volumes, a**3 / 12, rtol=1e-12)
    x = mesh.vertices[mesh.tets]
    lengths = np.sort(np.stack([np.linalg.norm(x[:, i] - x[:, j], axis=1) for i, j in EDGES], axis=1), axis=1)
    np.testing.assert_allclose(lengths, a * np.array([[np.sqrt(0.75)] * 4 + [1.0] * 2]).repeat(len(x), axis=0), rtol=1e-12)
    quality = mesh.quality()
    np.testing.assert_allclose(quality.smallest_angle, 60, rtol=1e-12)
    np.testing.assert_allclose(quality.largest_angle, 90, rtol=1e-12)
    np.testing.assert_allclose(quality.aspect, np.sqrt(0.5), rtol=1e-12)
    require_conforming(mesh)
    assert mesh.euler_characteristic == 1


def test_one_cube_has_no_tetrahedra() -> None:
    """Tetrahedra lie around faces that two cubes share."""
    mesh = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (1, 1, 1))
    assert mesh.tets.shape == (0, 4)
    assert mesh.vertices.shape == (0, 3)
    assert len(ms.mesh.bcc_lattice((0, 0, 0), 1.0, (2, 1, 1)).tets) == 4


def test_uniform_refinement_is_the_finer_lattice() -> None:
    """Red children of the lattice are congruent tetrahedra of half the size."""
    coarse = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (2, 2, 2))
    fine = ms.mesh.red_green(coarse, lambda x: np.full(len(x), 0.5))
    assert len(fine.tets) == 8 * len(coarse.tets)
    np.testing.assert_array_equal(fine.volumes, 0.5**3 / 12)
    assert fine.quality().smallest_angle.min() == pytest.approx(60, rel=1e-12)
    assert fine.quality().largest_angle.max() == pytest.approx(90, rel=1e-12)
    require_conforming(fine)


@pytest.mark.parametrize("seed", range(6))
def test_red_green_is_conforming_with_bounded_angles(seed: int) -> None:
    """Refined at random places over several levels, all closures together keep the volume and the bounds."""
    rng = np.random.default_rng(seed)
    coarse = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (3, 3, 3))
    centres = rng.uniform(0.5, 2.5, (3, 3))

    def sizes(x: np.ndarray) -> np.ndarray:
        distance = np.linalg.norm(x[:, None] - centres, axis=2).min(axis=1)
        return np.maximum(0.125, distance)

    fine = ms.mesh.red_green(coarse, sizes)
    quality = fine.quality()
    assert fine.volumes.min() > 0
    assert fine.volume() == pytest.approx(coarse.volume(), rel=1e-13)
    assert quality.smallest_angle.min() >= 30 - 1e-9
    assert quality.largest_angle.max() <= 116.5650511770780 + 1e-9
    require_conforming(fine)
    assert fine.euler_characteristic == 1
    x = fine.vertices[fine.tets]
    longest = np.max([np.linalg.norm(x[:, i] - x[:, j], axis=1) for i, j in EDGES], axis=0)
    wanted = sizes(fine.vertices)[fine.tets].min(axis=1)
    # A green tetrahedron is judged by its parent, which is up to twice as large.
    assert (longest <= 2 * wanted + 1e-12).all()
    assert fine.volumes.max() > 60 * fine.volumes.min()


def test_closure_by_every_green_pattern() -> None:
    """One tetrahedron, with neighbours refined over one face: its bounds are those of the printed patterns."""
    coarse = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (4, 4, 4))
    seen = Counter()
    for corner in range(len(coarse.vertices)):
        at = coarse.vertices[corner]
        fine = ms.mesh.red_green(coarse, lambda x, at=at: np.where(np.linalg.norm(x - at, axis=1) < 1e-9, 0.5, 2.0))
        for value in np.round(fine.quality().largest_angle, 2):
            seen[float(value)] += 1
        require_conforming(fine)
    assert max(seen) == 116.57
    assert 106.78 in seen
    assert min(seen) == 90


def test_refuses_bad_sizes() -> None:
    """Sizes have to be positive and one per vertex."""
    mesh = ms.mesh.bcc_lattice((0, 0, 0), 1.0, (2, 2, 2))
    with pytest.raises(ValueError, match=r"sizes must be positive, but \[0\] is 0"):
        ms.mesh.red_green(mesh, lambda x: np.zeros(len(x)))
    with pytest.raises(ValueError, match="must have"):
        ms.mesh.red_green(mesh, lambda x: np.ones(3))
    with pytest.raises(ValueError, match="cell_size"):
        ms.mesh.bcc_lattice((0, 0, 0), 0.0, (2, 2, 2))
    with pytest.raises(ValueError, match="larger cell size"):
        ms.mesh.bcc_lattice((0, 0, 0), 1.0, (5000, 5000, 5000))
