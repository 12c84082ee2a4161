"""Whether tetrahedra overlap: against exact rational intersections of all pairs, and on meshes of which it is known."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import meniscus as ms
from meniscus.mesh import TetMesh

Number = int | Fraction
Vector = tuple[Number, Number, Number]


def minus(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def volume(a: Vector, b: Vector, c: Vector, d: Vector) -> Number:
    """Six times the signed volume."""
    (x, y, z), (u, v, w), (p, q, r) = minus(b, a), minus(c, a), minus(d, a)
    return x * (v * r - w * q) + y * (w * p - u * r) + z * (u * q - v * p)


def holds(tet: list[Vector], p: Vector) -> bool:
    """p in the closed tetrahedron, which has a positive volume."""
    return all(volume(*[p if i == k else tet[i] for i in range(4)]) >= 0 for k in range(4))


def common_points(s: list[Vector], t: list[Vector]) -> list[Vector]:
    """The corners of what two tetrahedra have in common: where edges of one meet faces of the other, and corners that lie inside."""
    found = [p for p in s if holds(t, p)] + [p for p in t if holds(s, p)]
    for one, other in ((s, t), (t, s)):
        for a, b in itertools.combinations(one, 2):
            for face in itertools.combinations(other, 3):
                above, below = volume(*face, a), volume(*face, b)
                if above * below >= 0:
                    continue
                w = Fraction(above, above - below)
                p = (a[0] + w * (b[0] - a[0]), a[1] + w * (b[1] - a[1]), a[2] + w * (b[2] - a[2]))
                if holds(other, p):
                    found.append(p)
    return found


def embedded_by_brute_force(mesh: TetMesh) -> bool:
    """All corners of each common part lie in the simplex that the two tetrahedra share. Coordinates have to be integers."""
    x: list[Vector] = [(int(a), int(b), int(c)) for a, b, c in mesh.vertices.tolist()]
    tets = mesh.tets.tolist()
    if any(volume(*[x[v] for v in t]) <= 0 for t in tets):
        return False
    for s, t in itertools.combinations(tets, 2):
        lost = [v for v in s if v not in t]
        for p in common_points([x[v] for v in s], [x[v] for v in t]):
            # Barycentric weights of corners that are not shared vanish.
            if any(volume(*[p if u == v else x[u] for u in s]) != 0 for v in lost):
                return False
    return True


def joined(*meshes: TetMesh) -> TetMesh:
    starts = np.cumsum([0] + [len(m.vertices) for m in meshes[:-1]])
    tets = np.concatenate([m.tets + s for m, s in zip(meshes, starts, strict=True)]).astype(np.int32)
    return TetMesh(np.concatenate([m.vertices for m in meshes]), tets)


def scaled(mesh: TetMesh, factor: float, shift: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> TetMesh:
    return TetMesh(np.ascontiguousarray(factor * mesh.vertices + shift), mesh.tets)


def fan(angle: float, parts: int) -> TetMesh:
    """Tetrahedra around the z axis that cover an angle, radians; the last is joined to the first by no face."""
    a = angle * np.arange(parts + 1) / parts
    v = np.concatenate([[[0, 0, 0], [0, 0, 1]], np.stack([np.cos(a), np.sin(a), 0 * a], 1)])
    return TetMesh(v, np.array([(0, i + 2, i + 3, 1) for i in range(parts)], np.int32))


@pytest.mark.slow
def test_against_exact_intersections_of_all_pairs(rng: np.random.Generator) -> None:
    """Corners on few integers make contacts of all degenerate kinds; both answers are frequent."""
    block = ms.mesh.tet_block(1, 1, 1)
    rows = ms.mesh.tet_block(2, 1, 1, (2.0, 1.0, 1.0))
    single = TetMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float), np.array([[0, 1, 2, 3]], np.int32))
    answers = []
    for _ in range(100):
        meshes = []
        for start, spread in ((block, 2), (rows, 2), (single, 3)):
            moved = np.round(4 * start.vertices + rng.integers(-spread, spread + 1, start.vertices.shape))
            meshes.append(TetMesh(np.ascontiguousarray(moved), start.tets).oriented())
        first, second = (scaled(meshes[2], 1.0, tuple(rng.integers(-4, 5, 3).astype(float))) for _ in range(2))
        for mesh in (*meshes[:2], joined(first, second), joined(first, meshes[2]), joined(meshes[0], second)):
            found = mesh.is_embedded()
            assert found == embedded_by_brute_force(mesh), mesh.vertices.tolist()
            answers.append(found)
    assert 0.1 < np.mean(answers) < 0.9


@pytest.mark.parametrize("angle", [350.0, 359.99, 360.01, 370.0, 700.0])
def test_fans_around_an_edge(angle: float) -> None:
    """All volumes are positive, and neighbours lie on different sides of their face: only beyond 360 degrees they overlap."""
    mesh = fan(np.radians(angle), 9)
    assert mesh.volumes.min() > 0
    assert len(mesh.flipped_faces) == 0
    assert mesh.is_embedded() == (angle < 360)


def test_parts_within_and_beside_each_other() -> None:
    """Boundaries that do not cross are not enough; contact of parts is overlap as well, however little of it."""
    block = ms.mesh.tet_block(3, 3, 3)
    assert block.is_embedded()
    assert not joined(block, scaled(block, 0.1, (0.45, 0.45, 0.45))).is_embedded()
    assert not joined(block, block).is_embedded()
    for gap, apart in ((1e-15, True), (0.0, False), (-1e-15, False)):
        assert joined(block, scaled(block, 1.0, (1.0 + gap, 0.01, 0.02))).is_embedded() == apart
    # A hollow mesh and one in its hole.
    hollow = ms.surface.bcc_mesh(ms.surface.Sphere((0, 0, 0), 1.0), 0.2, depth=0.5)
    assert hollow.euler_characteristic == 2
    assert joined(hollow, scaled(block, 0.1, (-0.05, -0.05, -0.05))).is_embedded()
    assert not joined(hollow, scaled(block, 0.1, (0.75, -0.05, -0.05))).is_embedded()


def test_inverted_flat_and_branching(rng: np.random.Generator) -> None:
    """Meshes that are no meshes of a solid; moved positions; vertices of no tetrahedron."""
    block = ms.mesh.tet_block(2, 2, 2)
    x = np.array(block.vertices)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.linalg.det(q))
    assert block.is_embedded(np.ascontiguousarray(1e-9 * x @ q.T + 3.0e-9))
    assert not block.is_embedded(np.ascontiguousarray(x * [1, 1, -1]))
    assert not block.is_embedded(np.ascontiguousarray(x * [1, 1, 0]))
    x[np.argmin(np.linalg.norm(x - 0.5, axis=1))] = (1.5, 0.5, 0.5)
    assert not block.is_embedded(x)
    three = TetMesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 2], [0, 0, -1]], float),
        np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 2, 1, 5]], np.int32),
    )
    assert not three.is_embedded()
    assert TetMesh(np.zeros((3, 3)), np.empty((0, 4), np.int32)).is_embedded()
    with pytest.raises(ValueError, match="positions"):
        block.is_embedded(np.full_like(block.vertices, np.nan))


def test_lattices_subdivisions_and_refinements(rng: np.random.Generator) -> None:
    """Every mesh that the package makes of another one stays embedded."""
    lattice = ms.mesh.bcc_lattice((0.1, -0.2, 0.3), 0.37, (4, 3, 3))
    assert lattice.is_embedded()
    turned = lattice.moved(np.ascontiguousarray(lattice.vertices @ np.linalg.qr(rng.normal(size=(3, 3)))[0])).oriented()
    for mesh in (lattice, turned, ms.mesh.tet_block(3, 2, 2, (0.7, 0.5, 1.1), pattern="five")):
        center = mesh.vertices.mean(axis=0)
        fine = ms.mesh.red_green(mesh, lambda x, c=center: 0.05 + 0.5 * np.linalg.norm(x - c, axis=1))
        assert len(fine.tets) > 4 * len(mesh.tets)
        assert fine.is_embedded()
        assert ms.mesh.SubdivisionHierarchy(mesh, 2).mesh(2).is_embedded()
    ball = ms.surface.bcc_mesh(ms.surface.Sphere((0.1, 0, 0), 1.0), 0.3, refine=1, compress=True)
    assert ball.is_embedded()
    assert ms.mesh.red_green(ball, lambda x: 0.1 + np.abs(x[:, 0])).is_embedded()
