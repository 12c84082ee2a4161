"""Point location by hierarchy: as a search among all fine ones, exactly one on every face, walks that stay on a sheet."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.build import same_bits
from support.simplices import delaunay
from support.tets import holders, jittered, special_points
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import TetLocator
from meniscus.mesh import MovingTetMesh, SubdivisionHierarchy, TetMesh, bcc_lattice, tet_block

LEVELS = 3


def still(rest: TetMesh, x: np.ndarray, disabled: np.ndarray | None = None, levels: int = LEVELS) -> MovingTetMesh:
    """A mesh that has these positions at all times."""
    return MovingTetMesh(rest, lambda t: x, levels=levels, disabled=None if disabled is None else lambda t: disabled)


def lattice_mesh(n: int, rng: np.random.Generator) -> TetMesh:
    """Coordinates are multiples of 2^-6, so that fine vertices of three levels are not rounded; of any order and orientation."""
    v, t = jittered(n, rng)
    return TetMesh(v, t)


def coil(cubes: int, turns: float, rng: np.random.Generator) -> tuple[TetMesh, np.ndarray]:
    """A rod, and positions that wind it around a circle: later turns overlap earlier ones."""
    rest = tet_block(cubes, 2, 2)
    x, y, z = rest.vertices.T / rest.vertices.max(axis=0)[:, None]
    angle = 2 * np.pi * turns * x
    radius = 3 + y + 0.05 * angle
    coiled = np.stack([radius * np.cos(angle), radius * np.sin(angle), z + 0.05 * angle], axis=1)
    return rest, np.ascontiguousarray(coiled @ np.linalg.qr(rng.normal(size=(3, 3)))[0])


def deformed(rng: np.random.Generator) -> list[tuple[TetMesh, np.ndarray]]:
    """Meshes that do not overlap, that fold and have inverted tetrahedra, and that lie upon themselves."""
    smooth = bcc_lattice((0, 0, 0), 0.5, (4, 4, 4))
    v = smooth.vertices
    folded = delaunay(60, rng)
    return [
        (smooth, v @ rng.normal(size=(3, 3)) + 0.05 * np.sin(5 * v[:, [2, 0, 1]]) + 3),
        (folded, folded.vertices + rng.normal(scale=0.1, size=folded.vertices.shape)),
        coil(60, 2.3, rng),
    ]


def random_points(x: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    low, high = x.min(axis=0), x.max(axis=0)
    return rng.uniform(low - 0.02 * (high - low), high + 0.02 * (high - low), (n, 3))


def compare(
    mesh: MovingTetMesh, level: int, points: np.ndarray, ranks: np.ndarray | None = None, *, overlapping: bool = True
) -> np.ndarray:
    """Compare with the general locator among the fine tetrahedra; return those found."""
    fine = mesh.positions(0.0, level)
    found = mesh.locate(points, 0.0, level=level)
    hints = None if overlapping else found.tets  # for its speed; its result does not depend on them
    expected = TetLocator(fine, np.array(mesh.tets(level)), ranks, overlapping=overlapping).locate(points, hints)
    assert (found.tets == expected.tets).all()
    # Coordinates of both are off by round-off, which the shape of a tetrahedron enlarges.
    again = np.einsum("nk,nkd->nd", found.barycentric, fine[mesh.tets(level)[found.tets]])
    inside = found.tets >= 0
    assert np.abs(again - points)[inside].max(initial=0) <= 1e-13 * np.abs(fine).max()
    assert (found.barycentric >= 0).all()
    assert np.abs(found.barycentric.sum(axis=1) - inside).max(initial=0) <= 1e-14
    assert not found.barycentric[~inside].any()
    return found.tets


@pytest.mark.parametrize("case", slow_but(range(3), 2), ids=["smooth", "folded", "coiled"])
def test_a_million_random_points_as_the_general_locator(case: int, rng: np.random.Generator) -> None:
    rest, x = deformed(rng)[case]
    mesh = still(rest, x)
    n = 1_000_000 if case == 0 else 150_000
    for level in range(LEVELS + 1):
        found = compare(mesh, level, random_points(x, n, rng), overlapping=case > 0)
        assert (found >= 0).mean() > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("case", range(1, 3), ids=["folded", "coiled"])
def test_a_million_random_points_in_folded_meshes(case: int, rng: np.random.Generator) -> None:
    rest, x = deformed(rng)[case]
    for level in range(LEVELS + 1):
        compare(still(rest, x), level, random_points(x, 1_000_000, rng))


def test_points_on_faces_edges_and_vertices(rng: np.random.Generator) -> None:
    # Neither fine vertices nor points are rounded: all ties are those of the general locator, and of plain integers.
    rest = lattice_mesh(2, rng)
    x = rest.vertices @ np.array([(2, 1, 0), (0, 1, -1), (0.5, 0, 1)])
    mesh = still(rest, np.ascontiguousarray(x))
    for level in range(LEVELS + 1):
        fine = (mesh.positions(0.0, level), np.array(mesh.tets(level)))
        points = special_points(fine, 3000, rng)
        found = compare(mesh, level, points)
        if level < 2:
            inside = holders(fine, points, 13)
            assert (inside.sum(axis=1) > 1).mean() > 0.5
            assert (found == inside.argmax(axis=1)).all()
        # Hints from all around change nothing where the mesh does not overlap.
        ones = rng.integers(-1, len(fine[1]), len(points)).astype(np.int32)
        for hints in (found, ones, np.maximum(found - 1, 0), np.minimum(found + 1, len(fine[1]) - 1)):
            again = mesh.locate(points, 0.0, hints, level)
            assert (again.tets == found).all()


def test_the_levels_are_nested_inside_of_elements(rng: np.random.Generator) -> None:
    for rest, x in deformed(rng):
        mesh = still(rest, x)
        points = random_points(x, 5000, rng)
        found = [mesh.locate(points, 0.0, level=level).tets for level in range(LEVELS + 1)]
        for a, b in itertools.pairwise(found):
            assert (b >> 3 == a).all()


@pytest.mark.parametrize("offset", slow_but([0.0, 3.0, -1e4, 1e9], 0.0, 1e9))
def test_points_within_round_off_of_faces(offset: float, rng: np.random.Generator) -> None:
    # Stored fine vertices are rounded, and so are middles and centres of what is between them. The farther from the origin, the more.
    for case, (rest, x) in enumerate([*deformed(rng), (tet_block(1, 1, 1), None), (delaunay(9, rng), None)]):
        moved = (rest.vertices @ rng.normal(size=(3, 3)) if x is None else x) + offset
        mesh = still(rest, moved)
        for level in range(LEVELS + 1):
            fine = (mesh.positions(0.0, level), np.array(mesh.tets(level)))
            near = special_points(fine, 500, rng)
            vertices = fine[0][rng.choice(fine[1].ravel(), 300)]
            points = np.concatenate([vertices, near, np.nextafter(near[:300], near[:300][:, [1, 2, 0]]), random_points(moved, 300, rng)])
            expected = TetLocator(*fine).locate(points)
            found = mesh.locate(points, 0.0, level=level)
            assert (found.tets == expected.tets).all()
            assert np.abs(found.barycentric - expected.barycentric).max() < 1e-7  # slivers of 1e9 m away have a few digits
            if case < 4:
                assert (found.tets[:300] >= 0).all()  # no vertex is lost, at the boundary either
            if offset <= 3.0 and TetMesh(*fine).is_embedded():
                hints = rng.integers(0, len(fine[1]), len(points)).astype(np.int32)
                assert (mesh.locate(points, 0.0, hints, level).tets == expected.tets).all()
            hinted = mesh.locate(points, 0.0, np.maximum(found.tets, 0), level)
            assert ((hinted.tets >= 0) == (found.tets >= 0)).all()


def test_a_walk_stays_on_its_sheet(rng: np.random.Generator) -> None:
    rest, x = coil(60, 2.3, rng)
    mesh = still(rest, x)
    beside = np.array(rest.neighbours)
    for level in range(LEVELS + 1):
        fine, tets = mesh.positions(0.0, level), np.array(mesh.tets(level))
        own = rng.integers(0, len(tets), 30000)
        weights = rng.dirichlet((2, 2, 2, 2), len(own)) * 0.96 + 0.01
        points = np.einsum("nk,nkd->nd", weights, fine[tets[own]])
        # Hints: another tetrahedron of the same coarse one, or of a neighbour.
        coarse = own >> (3 * level)
        for step in range(3):
            if step:
                coarse = np.where((n := beside[coarse, rng.integers(0, 4, len(own))]) >= 0, n, coarse)
            hints = ((coarse << (3 * level)) + rng.integers(0, 8**level, len(own))).astype(np.int32)
            found = mesh.locate(points, 0.0, hints, level)
            assert (found.tets == own).all()
            assert np.abs(found.barycentric - weights).max() < 1e-11
        # Without hints, the first sheet has them.
        first = mesh.locate(points, 0.0, level=level).tets
        assert (first <= own).all()
        assert 0.1 < (first != own).mean() < 0.9


def test_points_on_faces_of_several_sheets(rng: np.random.Generator) -> None:
    # Two copies of one mesh in one place: a hint on the second keeps the second, on faces, edges and vertices too.
    v, t = jittered(2, rng)
    rest = TetMesh(np.concatenate([v, v + 4]), np.concatenate([t, t + np.int32(len(v))]))
    mesh = still(rest, np.concatenate([v, v]), levels=2)
    for level in range(3):
        half = mesh.tet_count(level) // 2
        points = special_points((mesh.positions(0.0, level), np.array(mesh.tets(level))), 4000, rng)
        first = mesh.locate(points, 0.0, level=level)
        assert (first.tets < half).all()
        for shift in (0, half):
            hints = (rng.integers(0, half, len(points)) + shift).astype(np.int32)
            found = mesh.locate(points, 0.0, hints, level)
            assert (found.tets == first.tets + shift).all()
            assert same_bits(found.barycentric, first.barycentric)


def test_disabled_inverted_and_flat_tetrahedra(rng: np.random.Generator) -> None:
    rest = lattice_mesh(2, rng)
    x = rest.vertices.copy()
    x[13] += (0.75, 0.5, 0.25)  # turns some inside out
    x[5] = x[4]  # flattens those at this edge
    off = rng.random(len(rest.tets)) < 0.3
    assert (rest.measures(x) == 0).any()
    for disabled in (None, off):
        mesh = still(rest, x, disabled, levels=2)
        for level in range(3):
            fine = (mesh.positions(0.0, level), np.array(mesh.tets(level)))
            ranks = None if disabled is None else np.where(np.repeat(off, 8**level), -1, 0).astype(np.int32)
            points = np.concatenate([special_points(fine, 3000, rng), random_points(x, 3000, rng)])
            found = compare(mesh, level, points, ranks)
            hinted = mesh.locate(points, 0.0, rng.integers(-1, len(fine[1]), len(points)).astype(np.int32), level)
            enabled = mesh.enabled(0.0, level)
            assert enabled[hinted.tets[hinted.tets >= 0]].all()
            assert ((hinted.tets >= 0) == (found >= 0)).all()  # a hint may choose the sheet, never lose a point
            again = np.einsum("nk,nkd->nd", hinted.barycentric, fine[0][fine[1][hinted.tets]])
            assert np.abs(again - points)[found >= 0].max() < 1e-13


@pytest.mark.parametrize("exponent", [-980, -400, -160, 140, 300, 980])
def test_any_scale(exponent: int, rng: np.random.Generator) -> None:
    rest = lattice_mesh(2, rng)
    mesh, large = still(rest, rest.vertices, levels=2), still(rest, rest.vertices * 2.0**exponent, levels=2)
    fine = (mesh.positions(0.0), np.array(mesh.tets()))
    points = np.concatenate([special_points(fine, 800, rng), random_points(rest.vertices, 800, rng)])
    plain, scaled = mesh.locate(points, 0.0), large.locate(points * 2.0**exponent, 0.0)
    assert (scaled.tets == plain.tets).all()
    assert np.abs(scaled.barycentric - plain.barycentric).max() < 1e-13


def test_slivers_and_far_points(rng: np.random.Generator) -> None:
    for height in (2.0**-20, 2.0**-40, 2.0**-300):
        rest = TetMesh(np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.25, 0.25, 0.5)]), np.array([[0, 1, 2, 3]]))
        x = rest.vertices * (1, 1, 2 * height)
        mesh = still(rest, x, levels=3)
        points = special_points((mesh.positions(0.0), np.array(mesh.tets())), 500, rng)
        expected = still(rest, rest.vertices, levels=3).locate(points / (1, 1, 2 * height), 0.0)
        for hints in (None, np.zeros(len(points), np.int32), np.full(len(points), 511, np.int32)):
            found = mesh.locate(points, 0.0, hints)
            assert (found.tets == expected.tets).all()
            assert found.barycentric == pytest.approx(expected.barycentric, abs=1e-12)
    far = np.array([(1e308, -1e308, 1e308), (1e200, 0, 0), (0.25, 0.25, 1e-3), (0, 0, -1e-300)])
    for hints in (None, np.zeros(4, np.int32)):
        assert still(rest, rest.vertices, levels=3).locate(far, 0.0, hints, 0).tets.tolist() == [-1, -1, 0, -1]


def test_hints_far_away_and_around_a_hollow(rng: np.random.Generator) -> None:
    v, t = jittered(5, rng)
    keep = np.linalg.norm(v[t].mean(axis=1) - (2.5, 2.5, 2.5), axis=1) > 1.2
    keep[rng.integers(0, len(t), 40)] = False
    rest, _ = TetMesh(v, t[keep]).compacted()
    mesh = still(rest, rest.vertices, levels=1)
    fine = (mesh.positions(0.0), np.array(mesh.tets()))
    points = np.concatenate([special_points(fine, 4000, rng), random_points(v, 8000, rng)])
    plain = mesh.locate(points, 0.0)
    hinted = mesh.locate(points, 0.0, rng.integers(0, len(fine[1]), len(points)).astype(np.int32))
    # Both sides of a gap that is left open by a missing tetrahedron may have a point on an edge or a vertex.
    assert (hinted.tets == plain.tets)[4000:].all()
    assert ((hinted.tets >= 0) == (plain.tets >= 0)).all()
    assert (hinted.tets == plain.tets).mean() > 0.99


def test_moving_in_time(rng: np.random.Generator) -> None:
    rest = bcc_lattice((0, 0, 0), 0.5, (3, 3, 3))
    frames = np.stack(
        [rest.vertices, rest.vertices @ rng.normal(size=(3, 3)), rest.vertices + rng.normal(scale=0.02, size=(len(rest.vertices), 3))]
    )
    flags = rng.random((3, len(rest.tets))) < 0.2
    mesh = MovingTetMesh(rest, frames, [0.0, 1.0, 2.0], levels=2, disabled=flags)
    for t in (1.5, 0.0, 0.25, 1.5, 2.0):
        x = mesh.positions(t)
        points = random_points(x, 5000, rng)
        ranks = np.where(mesh.enabled(t), 0, -1).astype(np.int32)
        expected = TetLocator(x, np.array(mesh.tets()), ranks).locate(points).tets
        assert (mesh.locate(points, t).tets == expected).all()


def test_threads_and_vector_widths_do_not_matter(default_parallelism: None, rng: np.random.Generator) -> None:
    rest, x = coil(40, 1.7, rng)
    mesh = still(rest, x)
    fine = (mesh.positions(0.0), np.array(mesh.tets()))
    points = np.concatenate([special_points(fine, 3000, rng), random_points(x, 3000, rng)])
    hints = rng.integers(-1, len(fine[1]), len(points)).astype(np.int32)
    results = []
    for n in (1, 2, 3, 5, 8):
        ms.set_num_threads(n)
        results.append([*mesh.locate(points, 0.0), *mesh.locate(points, 0.0, hints)])
    ms.core.set_simd_level("baseline")
    results.append([*mesh.locate(points, 0.0), *mesh.locate(points, 0.0, hints)])
    assert all(same_bits(r, results[0]) for r in results[1:])


def test_what_is_refused(rng: np.random.Generator) -> None:
    mesh = still(tet_block(1, 1, 1), tet_block(1, 1, 1).vertices, levels=1)
    points = rng.random((3, 3))
    with pytest.raises(ValueError, match=r"hints must be -1 or numbers of the 48 tetrahedra, but \[1\] is 48"):
        mesh.locate(points, 0.0, np.array([0, 48, -1], np.int32))
    with pytest.raises(ValueError, match=r"hints must be -1 or numbers of the 6 tetrahedra, but \[2\] is -2"):
        mesh.locate(points, 0.0, np.array([0, 5, -2], np.int32), level=0)
    with pytest.raises(ValueError, match=r"hints must have shape \(3,\), not \(2,\)"):
        mesh.locate(points, 0.0, np.zeros(2, np.int32))
    with pytest.raises(TypeError, match="hints must be a C-contiguous NumPy array of dtype int32"):
        mesh.locate(points, 0.0, np.zeros(3))  # type: ignore[arg-type]
    for hints in (None, np.array([3, 4], np.int32)):
        with pytest.raises(ValueError, match=r"points must be finite, but \[1, 0\] is nan"):
            mesh.locate(np.array([(0, 0, 0), (np.nan, 0, 0)]), 0.0, hints)
    found = mesh.locate(points, 0.0)
    again = mesh.locate(points[::-1].copy(), 0.0, out=found)
    assert again.tets is found.tets
    assert again.barycentric is found.barycentric
    assert same_bits(list(again), list(mesh.locate(points[::-1].copy(), 0.0)))
    with pytest.raises(ValueError, match=r"out.tets must have shape \(2,\), not \(3,\)"):
        mesh.locate(points[:2], 0.0, out=found)
    with pytest.raises(ValueError, match=r"points must have shape \(n, 3\), not \(3, 2\)"):
        mesh.locate(np.ascontiguousarray(points[:, :2]), 0.0)
    assert mesh.locate(np.empty((0, 3)), 0.0, np.empty(0, np.int32)).tets.shape == (0,)


def test_the_hierarchy_of_a_mesh_is_not_changed(rng: np.random.Generator) -> None:
    rest = delaunay(15, rng)
    mesh = still(rest, rest.vertices, levels=2)
    assert same_bits(mesh.tets(), SubdivisionHierarchy(rest, 2).elements(2))
    before = mesh.nbytes
    mesh.locate(rest.vertices[:1].copy(), 0.0)
    assert mesh.nbytes > before


def test_memory_of_earlier_times_is_used_again_and_nothing_else(rng: np.random.Generator) -> None:
    """Times back and forth, rests and other flags at the same positions find what a mesh finds that is only asked once."""
    rest = bcc_lattice((0, 0, 0), 0.5, (3, 3, 3))
    turns = rng.normal(scale=0.4, size=(4, 3, 3)) + np.eye(3)
    off = rng.random((4, len(rest.tets))) < 0.4

    def positions(t: float) -> np.ndarray:
        return np.ascontiguousarray(rest.vertices @ turns[int(t) // 2])

    def flags(t: float) -> np.ndarray:
        return off[int(t) % 4]

    mesh = MovingTetMesh(rest, positions, levels=1, disabled=flags)
    held = mesh._locator_at(0.0)
    points = random_points(positions(0), 500, rng)
    first = np.empty(500, np.int32), np.empty((500, 4))
    held.locate(points, None, 1, *first)
    for t in (1.0, 6.0, 6.0, 3.0, 2.0, 0.0, 7.0, 4.0, 5.0, 1.0):
        some = random_points(positions(t), 500, rng)
        alone = MovingTetMesh(rest, positions, levels=1, disabled=flags).locate(some, t)
        found = mesh.locate(some, t)
        assert same_bits(found.tets, alone.tets)
        assert same_bits(found.barycentric, alone.barycentric)
    again = np.empty(500, np.int32), np.empty((500, 4))
    held.locate(points, None, 1, *again)
    assert same_bits(first[0], again[0])
    assert same_bits(first[1], again[1])
