"""Resolution of contacts: by the exact test nothing touches on the path that comes out, momentum is conserved, energy never grows."""

from __future__ import annotations

import numpy as np
import pytest
from support.collision import public_frames

import meniscus as ms
from meniscus.collision import CollisionMesh, ContactNodes, resolve


def stacked_sheets(rng: np.random.Generator, sheets: int, cells: int, gap: float = 0.15) -> tuple[np.ndarray, CollisionMesh]:
    """Positions and mesh of parallel square sheets, turned at random."""
    sheet = ms.mesh.cloth_mesh(cells, cells)
    x = np.concatenate([sheet.vertices + np.array([0, 0, gap * k]) for k in range(sheets)])
    t = np.concatenate([sheet.triangles + k * len(sheet.vertices) for k in range(sheets)])
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return np.ascontiguousarray(x @ turn), CollisionMesh(None, t)


def displacement(rng: np.random.Generator, kind: str, x: np.ndarray) -> np.ndarray:
    """Violent motions: random, towards a point, on a lattice (coplanar and coincident ends), waves."""
    size = 10.0 ** rng.uniform(-2, 0.7)
    match kind:
        case "random":
            return size * rng.normal(size=x.shape)
        case "collapse":
            return -0.99 * x
        case "lattice":
            return np.round(x + size * rng.integers(-1, 2, size=x.shape), 1) - x
        case _:
            return size * rng.normal(size=(1, 3)) * np.sin(3 * x[:, :1])


def contacts(mesh: CollisionMesh, x: np.ndarray, z: np.ndarray, w: np.ndarray) -> int:
    """Number of pairs in contact on the path of which a vertex can yield."""
    found = mesh.collisions(x, z)
    faces = np.column_stack([found.vertex_face[:, :1], mesh.triangles[found.vertex_face[:, 1]]])
    edges = mesh.edges[found.edge_edge].reshape(-1, 4)
    return int((w[np.concatenate([faces, edges])] > 0).any(axis=1).sum())


def random_case(seed: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, CollisionMesh]:
    """Start, end, inverse masses (some zero) and mesh."""
    rng = np.random.default_rng(seed)
    x, mesh = stacked_sheets(rng, int(rng.integers(2, 5)), int(rng.integers(2, 5)))
    w = 10.0 ** rng.uniform(-2, 2, len(x))
    if seed % 2:
        w[rng.random(len(x)) < 0.1] = 0
    return x, x + displacement(rng, kind, x), w, mesh


@pytest.mark.parametrize("kind", ["random", "collapse", "lattice", "waves"])
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 2500), marks=pytest.mark.slow)], ids=["few", "many"])
def test_violent_motions_end_without_any_contact(kind: str, seeds: range) -> None:
    ends = []
    for seed in seeds:
        x, y, w, mesh = random_case(seed, kind)
        if mesh.collides(x, x):
            continue
        z, info = resolve(mesh, x, y, w)
        assert info.certified
        assert contacts(mesh, x, z, w) == 0, (kind, seed)
        if contacts(mesh, x, z, np.ones(len(x))) == 0:
            assert len(mesh.self_intersections(z)) == 0
        ends.append(info.end)
        held = w == 0
        np.testing.assert_allclose(z[held] - x[held], info.fraction * (y - x)[held], atol=1e-15)
        if held.any():
            continue
        # Free bodies are never pinched.
        assert info.end == "free"
        m = 1 / w[:, None]
        given, taken = m * (y - x), m * (z - x)
        assert np.abs(taken.sum(0) - given.sum(0)).max() <= 1e-12 * np.abs(given).sum()
        assert (taken * (z - x)).sum() <= (1 + 1e-12) * (given * (y - x)).sum()
    assert ends.count("free") > 0.7 * len(ends)


def falling_vertex() -> tuple[CollisionMesh, np.ndarray, np.ndarray]:
    """A triangle that falls with its vertices on another one, which rests."""
    x = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0.5, 0.5, 0.2], [0.6, 0.5, 1.0], [0.5, 0.6, 1.0]])
    y = x.copy()
    y[3:, 2] -= 0.5
    return CollisionMesh(None, np.array([[0, 1, 2], [3, 4, 5]])), x, y


def test_an_impulse_makes_a_contact_inelastic() -> None:
    mesh, x, y = falling_vertex()
    w = np.array([1.0, 0.5, 2.0, 1.5, 1.0, 1.0])
    z, info = resolve(mesh, x, y, w)
    assert (info.end, info.contacts, info.impulses, info.zones) == ("free", 1, 1, 0)
    u = z - x
    # Vertex 3 meets the point with weights 1/2, 1/4, 1/4.
    face = np.array([0.5, 0.25, 0.25])
    assert abs(u[3, 2] - face @ u[:3, 2]) <= 1e-14
    inverse = w[3] + (face**2 * w[:3]).sum()
    np.testing.assert_allclose(u[3, 2], -0.5 + 0.5 * w[3] / inverse, rtol=1e-12)
    assert np.array_equal(z[4:], y[4:])


def test_zones_alone_do_the_same() -> None:
    mesh, x, y = falling_vertex()
    w = np.ones(6)
    z, _ = resolve(mesh, x, y, w)
    zoned, info = resolve(mesh, x, y, w, impulse_passes=0)
    assert (info.end, info.impulses, info.zones, info.rigid_zones, info.zone_nodes) == ("free", 0, 1, 0, 4)
    np.testing.assert_allclose(zoned, z, atol=1e-13)


def test_rigid_zones_keep_distances_and_momenta(rng: np.random.Generator) -> None:
    x, mesh = stacked_sheets(rng, 3, 4, 0.05)
    y = x + 0.4 * rng.normal(size=x.shape)
    w = 10.0 ** rng.uniform(-1, 1, len(x))
    z, info = resolve(mesh, x, y, w, impulse_passes=0, inelastic_solves=0)
    assert info.end == "free"
    assert info.rigid_nodes == info.zone_nodes > 10
    rigid = np.flatnonzero((z != y).any(1))
    before, after = (np.linalg.norm(p[rigid][:, None] - p[rigid][None], axis=2) for p in (x, z))
    # One zone, which holds nearly all vertices.
    assert info.zones == 1
    np.testing.assert_allclose(after, before, atol=1e-12)
    m = 1 / w[rigid, None]
    np.testing.assert_allclose((m * z[rigid]).sum(0), (m * y[rigid]).sum(0), atol=1e-12 * m.sum())


def test_redundant_contacts_are_welcome() -> None:
    # Two equal sheets that fall on each other: every vertex meets vertices, edges and faces of the other at the same time.
    sheet = ms.mesh.cloth_mesh(4, 4)
    n = len(sheet.vertices)
    x = np.concatenate([sheet.vertices, sheet.vertices + np.array([0, 0, 0.1])])
    mesh = CollisionMesh(None, np.concatenate([sheet.triangles, sheet.triangles + n]))
    y = x.copy()
    y[n:, 2] -= 1.0
    z, info = resolve(mesh, x, y, np.ones(2 * n), impulse_passes=0)
    assert (info.end, info.rigid_zones, info.failed_solves) == ("free", 0, 0)
    np.testing.assert_allclose(z[:, 2] - x[:, 2], -0.5, atol=1e-12)


def closing_press(speed: float = 1.0) -> tuple[CollisionMesh, np.ndarray, np.ndarray, np.ndarray]:
    """A sheet between two plates on given paths that pass through each other."""
    plate, sheet = ms.mesh.cloth_mesh(1, 1, (3, 3), origin=(-1, -1, 0)), ms.mesh.cloth_mesh(3, 3)
    x = np.concatenate([plate.vertices - [0, 0, 0.5], plate.vertices + np.array([0, 0, 0.5]), sheet.vertices])
    t = np.concatenate([plate.triangles, plate.triangles + 4, sheet.triangles + 8])
    y = x.copy()
    y[:4, 2] += speed
    y[4:8, 2] -= speed
    return CollisionMesh(None, t), x, y, np.r_[np.zeros(8), np.ones(16)]


def test_a_step_that_nothing_resolves_is_cut_at_a_free_time() -> None:
    mesh, x, y, w = closing_press()
    z, info = resolve(mesh, x, y, w)
    assert info.end == "cut"
    assert info.certified
    # The plates meet the sheet, which rests in the middle, at half of the step.
    assert 0.3 < info.fraction < 0.5
    np.testing.assert_allclose(z[:8], x[:8] + info.fraction * (y - x)[:8], rtol=1e-15)
    assert not mesh.collides(x, z)


def test_without_a_cut_the_pairs_are_named() -> None:
    mesh, x, y, w = closing_press()
    _, info = resolve(mesh, x, y, w, cut=False)
    assert info.end == "pinched"
    assert not info.certified
    touched = set(info.unresolved.vertex_face[:, 0].tolist()) | set(mesh.edges[info.unresolved.edge_edge].ravel().tolist())
    assert touched & set(range(8, 24))


def test_contact_at_the_start_is_pinched_and_may_be_deactivated() -> None:
    mesh, x, y = falling_vertex()
    x[3, 2] = 0.0
    y[3:5, 2] = (-0.5, 1.0)
    z, info = resolve(mesh, x, y, [0, 0, 0, 1, 0, 0])
    assert info.end == "pinched"
    np.testing.assert_array_equal(info.unresolved.vertex_face, [[3, 0]])
    pairs = ms.collision.CollisionPairs(info.unresolved.vertex_face, mesh.collisions(x, y).edge_edge)
    z, info = resolve(mesh, x, y, [0, 0, 0, 1, 0, 0], deactivated=pairs)
    assert info.end == "free"
    assert np.array_equal(z, y)


def test_a_moving_plate_takes_a_rigid_zone_along() -> None:
    mesh, x, y, w = closing_press()
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    y[:4] = x[:4] @ turn.T + [0, 0, 0.8]
    y[4:8] = x[4:8] + np.array([0, 0, 2])
    z, info = resolve(mesh, x, y, w, impulse_passes=0, inelastic_solves=0)
    assert info.end == "free"
    assert info.rigid_zones >= 1
    moved = np.flatnonzero((z[8:] != y[8:]).any(1)) + 8
    np.testing.assert_allclose(z[moved], x[moved] @ turn.T + [0, 0, 0.8], atol=1e-12)


def test_zones_beyond_the_largest_are_not_solved() -> None:
    mesh, x, y = falling_vertex()
    w = [1, 1, 1, 1, 0, 0]
    options = {"impulse_passes": 0, "rigid_zones": False, "cut": False}
    _, solved = resolve(mesh, x, y, w, largest_zone=4, **options)
    assert (solved.end, solved.largest_zone) == ("free", 4)
    _, refused = resolve(mesh, x, y, w, largest_zone=3, **options)
    assert (refused.end, refused.zone_iterations) == ("pinched", 0)
    _, rigid = resolve(mesh, x, y, w, largest_zone=3, impulse_passes=0)
    assert (rigid.end, rigid.rigid_nodes) == ("free", 4)


def test_an_embedded_surface_moves_its_nodes(rng: np.random.Generator) -> None:
    block = ms.mesh.tet_block(2, 2, 2)
    skin = ms.mesh.cloth_mesh(6, 6, (0.8, 0.8), origin=(0.1, 0.1, 0.05))
    hung = ms.collision.embed(block, skin.vertices)
    n, v = len(block.vertices), len(skin.vertices)
    floor = np.array([[-1, -1, -0.1], [3, -1, -0.1], [-1, 3, -0.1], [3, 3, -0.1]])
    nodes = np.concatenate([hung.parents, np.tile(n + np.arange(4)[:, None], 4)])
    weights = np.concatenate([hung.weights, np.tile([1.0, 0, 0, 0], (4, 1))])
    w = np.r_[10.0 ** rng.uniform(-1, 1, n), np.zeros(4)]
    mesh = CollisionMesh(None, np.concatenate([skin.triangles, np.array([[0, 1, 2], [3, 2, 1]]) + v]))
    behind = ContactNodes.embedded(w, nodes, weights)
    x = np.concatenate([block.vertices, floor])
    y = x.copy()
    y[:n] += [0.1, 0.0, -0.4]
    z, info = resolve(mesh, x, y, behind)
    assert info.end == "free"
    assert info.contacts > 0
    assert not mesh.collides(behind.at_vertices(x), behind.at_vertices(z))
    assert np.array_equal(z[n:], floor)


def test_a_push_opens_a_gap() -> None:
    mesh, x, y = falling_vertex()
    w = np.r_[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    gaps = [resolve(mesh, x, y, w, thickness=0.5, inner_steps=k)[0][3, 2] for k in (1, 4)]
    # 0.2 m at the start; 0.1 of the missing 0.3 m for each inner step.
    np.testing.assert_allclose(gaps, [0.23, 0.32], rtol=1e-12)


def test_frames_with_intersections_keep_the_same_ones() -> None:
    scene = public_frames("cloth-funnel").scene
    mesh = CollisionMesh(scene.edges, scene.triangles)
    before = mesh.self_intersections(scene.start)
    z, info = resolve(mesh, scene.start, scene.end, np.ones(len(scene.start)))
    assert (info.end, info.contacts, len(before)) == ("free", 134, 285)
    assert not mesh.collides(scene.start, z)
    assert np.array_equal(before, mesh.self_intersections(z))
    given = scene.end - scene.start
    assert np.abs((z - scene.start).sum(0) - given.sum(0)).max() <= 1e-12 * np.abs(given).sum()


@pytest.mark.slow
def test_tangled_cloth_takes_the_whole_step() -> None:
    scene = public_frames("cloth-ball").scene
    mesh = CollisionMesh(scene.edges, scene.triangles)
    before = mesh.self_intersections(scene.start)
    z, info = resolve(mesh, scene.start, scene.end, np.ones(len(scene.start)))
    assert (info.end, info.contacts, len(before)) == ("free", 113_854, 62_655)
    # Impulses alone, which leave nearly all of the motion; one rigid zone of half of the vertices takes a quarter of its energy.
    assert info.zones == 0
    assert ((z - scene.start) ** 2).sum() > 0.95 * ((scene.end - scene.start) ** 2).sum()
    assert not mesh.collides(scene.start, z)
    assert np.array_equal(before, mesh.self_intersections(z))
    given = scene.end - scene.start
    assert np.abs((z - scene.start).sum(0) - given.sum(0)).max() <= 1e-12 * np.abs(given).sum()


def test_any_number_of_threads() -> None:
    threads = ms.core.num_threads()
    results = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            results.append([resolve(mesh, x, y, w)[0] for x, y, w, mesh in (random_case(s, "random") for s in range(8))])
    finally:
        ms.set_num_threads(threads)
    for other in results[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_refusals() -> None:
    mesh, x, y = falling_vertex()
    bad = y.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"end must be finite, but \[4, 1\] is nan"):
        resolve(mesh, x, bad, np.ones(6))
    with pytest.raises(ValueError, match="start must have shape"):
        resolve(mesh, x[:5], y[:5], np.ones(6))
    with pytest.raises(ValueError, match="inverse masses must be finite and not negative, but that of node 2"):
        resolve(mesh, x, y, [1, 1, -1, 1, 1, 1])
