"""Operations on tracked surfaces, each alone: where new vertices lie, what is kept, what is refused, and that nothing ever intersects."""

from typing import Any

import numpy as np
import pytest
from support.meshes import box, join, real_mesh, torus

import meniscus as ms
from meniscus.surface import TrackedSurface, TrackingOptions

Mesh = tuple[np.ndarray, np.ndarray]
REASONS = ("done", "intersection", "enclosed", "volume", "normal", "shape", "topology", "veto")


def sheet(n: int, m: int, height: Any = None, shear: float = 0.0) -> Mesh:
    """A sheet of regular triangles: six at each inner vertex."""
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    x = np.stack([i + 0.5 * j + shear * j, np.sqrt(0.75) * j, np.zeros(n * m)], 1)
    if height is not None:
        x[:, 2] = height(x[:, 0], x[:, 1])
    a = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    t = np.concatenate([np.stack([a, a + m, a + 1], 1), np.stack([a + m, a + m + 1, a + 1], 1)]).astype(np.int32)
    return x, t


def inner_edges(mesh: Mesh, distance: int = 3) -> np.ndarray:
    """Edges whose neighbourhood is regular."""
    x, t = mesh
    edges = ms.collision.CollisionMesh(None, t).edges
    counts = np.bincount(t.ravel(), minlength=len(x))
    inner = counts == 6
    for _ in range(distance):
        near = np.ones(len(x), bool)
        for a, b in edges:
            near[a] &= inner[b]
            near[b] &= inner[a]
        inner &= near
    return edges[inner[edges].all(axis=1)]


def require_sound(surface: TrackedSurface, *, closed: bool = True) -> None:
    audit = surface.audit()
    assert audit.sound, audit
    assert not closed or audit.boundary_edges == 0, audit


def bare(**options: bool) -> TrackingOptions:
    """Only the operations that are named."""
    return TrackingOptions(operations=tuple(name for name, asked in options.items() if asked))


def test_butterfly_reproduces_cubics_on_regular_sheets() -> None:
    """The scheme is exact for cubics in the parameters; the middle is not."""

    def height(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 0.02 * x**2 - 0.03 * x * y + 0.01 * y**2 + 0.002 * x**3 - 0.001 * x * y**2 + 0.1 * x

    mesh = sheet(12, 12, height)
    surface = TrackedSurface(mesh)
    edges = inner_edges(mesh)[::7]
    ends, _ = surface.apply("split", edges)
    done = np.asarray(surface.vertices[len(mesh[0]) :])
    assert len(done) == (ends == 0).sum() > 3
    # Later splits see neighbours that are irregular: the first one is exact.
    x, y, z = done[0]
    assert abs(z - height(x, y)) < 1e-13
    middle = TrackedSurface(mesh, options=TrackingOptions(butterfly=False))
    middle.apply("split", edges[:1])
    x, y, z = middle.vertices[-1]
    assert abs(z - height(x, y)) > 1e-4


def test_split_vertices_of_a_sphere_approach_it_with_order_three() -> None:
    errors = {}
    for butterfly in (True, False):
        found = []
        for level in (3, 4):
            mesh = ms.mesh.icosphere(level)
            # Around the middle of a side of the icosahedron, where the mesh is smooth.
            edges = ms.collision.CollisionMesh(None, np.array(mesh.triangles)).edges
            middle = np.asarray(ms.mesh.icosphere(0).vertices)[ms.mesh.icosphere(0).triangles[0]].mean(axis=0)
            middle /= np.linalg.norm(middle)
            regular = edges[(np.linalg.norm(np.asarray(mesh.vertices)[edges] - middle, axis=2) < 0.25).all(axis=1)]
            radii = []
            for edge in regular[:: len(regular) // 20]:
                surface = TrackedSurface(mesh, options=TrackingOptions(butterfly=butterfly))
                assert surface.apply("split", edge[None])[0][0] == 0
                radii.append(np.linalg.norm(surface.vertices[-1]))
            found.append(np.abs(np.array(radii) - 1).mean())
        errors[butterfly] = found
    assert errors[True][0] > 8 * errors[True][1]
    assert errors[False][0] == pytest.approx(4 * errors[False][1], rel=0.1)
    assert errors[True][1] < 0.1 * errors[False][1]


def test_flips_reach_the_shorter_diagonals_of_a_sheared_sheet() -> None:
    x, t = sheet(9, 9, shear=0.8)
    surface = TrackedSurface((x, t), 1.0, options=bare(flip=True))
    before = surface.edges
    total = np.linalg.norm(x[before[:, 0]] - x[before[:, 1]], axis=1).sum()
    events = surface.improve()
    assert events.counts is not None
    assert 0 < events.counts.flip_sweeps <= 5
    after = surface.edges
    lengths = np.linalg.norm(x[after[:, 0]] - x[after[:, 1]], axis=1)
    assert lengths.sum() < total
    assert len(surface.improve()) == 0
    # Every inner edge is the shorter one of its two triangles, unless the other one exists already.
    sides = {tuple(sorted(map(int, e))) for e in after}
    for a, b in after:
        corners = [next(int(v) for v in c if v not in (a, b)) for c in surface.triangles if {int(a), int(b)} <= set(map(int, c))]
        if len(corners) < 2 or tuple(sorted(corners)) in sides:
            continue
        c, d = corners
        turned = [np.cross(x[p] - x[q], x[r] - x[q])[2] for p, q, r in ((a, c, d), (b, d, c))]
        convex = turned[0] * turned[1] > 1e-9
        assert not convex or np.linalg.norm(x[a] - x[b]) < np.linalg.norm(x[c] - x[d]) * (1 + 1e-5)
    require_sound(surface, closed=False)


def squares(n: int) -> Mesh:
    """The surface of a cube of n x n squares a side, with vertices of neighbouring sides joined."""
    points: dict[tuple[int, ...], int] = {}
    triangles = []

    def number(p: tuple[int, ...]) -> int:
        return points.setdefault(p, len(points))

    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (0, n):
            for i in range(n):
                for j in range(n):
                    corners = []
                    for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                        p = [0, 0, 0]
                        p[axis], p[u], p[v] = side, i + di, j + dj
                        corners.append(number(tuple(p)))
                    a, b, c, d = corners if side == n else corners[::-1]
                    triangles += [(a, b, c), (a, c, d)]
    return np.array(list(points), float) / n, np.array(triangles, np.int32)


def test_a_collapsed_cube_keeps_its_edges_and_corners() -> None:
    x, t = squares(8)
    surface = TrackedSurface((x, t), 0.3, options=bare(collapse=True, flip=True))
    surface.improve()
    left = np.asarray(surface.vertices)
    assert len(left) < 0.5 * len(x)
    for corner in box()[0]:
        assert (left == corner).all(axis=1).any()
    assert surface.volume() == pytest.approx(1.0, abs=1e-14)
    assert surface.area() == pytest.approx(6.0, abs=1e-13)
    # Vertices on its edges are exactly there.
    on_faces = ((left == 0) | (left == 1)).sum(axis=1)
    assert (on_faces >= 1).all()
    assert (on_faces >= 2).sum() > 8
    require_sound(surface)


@pytest.mark.parametrize("kept", [True, False])
def test_volume_of_a_collapsed_sphere(kept: bool) -> None:
    mesh = ms.mesh.icosphere(4)
    options = TrackingOptions(operations=("collapse",), keep_volume=kept)
    surface = TrackedSurface(mesh, 0.16, options=options)
    before = surface.volume()
    events = surface.improve()
    assert events.counts is not None
    assert len(surface.vertices) < 0.6 * len(mesh.vertices)
    change = abs(surface.volume() - before)
    assert change <= events.counts.collapse.done * 0.1 * 0.16**3
    assert change < 1e-12 if kept else change > 1e-5
    require_sound(surface)


def test_volume_change_is_a_bound_of_each_operation() -> None:
    mesh = ms.mesh.icosphere(3)
    for bound in (1e-1, 1e-4, 0.0):
        surface = TrackedSurface(mesh, 0.3, volume_change=bound, options=TrackingOptions(keep_volume=False))
        before = surface.volume()
        edges = surface.edges
        ends, _ = surface.apply("collapse", edges[:: len(edges) // 11])
        change = abs(surface.volume() - before)
        assert change <= (ends == 0).sum() * bound * 0.3**3 * (1 + 1e-9)
        assert (ends == REASONS.index("volume")).any() == (bound < 1e-2)


def test_smoothing_keeps_corners_ridges_and_volume() -> None:
    rng = np.random.default_rng(5)
    x, t = squares(6)
    inside = (x > 0) & (x < 1)
    moved = x + inside * rng.uniform(-0.05, 0.05, x.shape)
    surface = TrackedSurface((moved, t), options=bare())
    for _ in range(20):
        surface.smooth()
    left = np.asarray(surface.vertices)
    assert np.array_equal(left[~inside.any(axis=1)], x[~inside.any(axis=1)])
    assert np.abs((left - x)[~inside]).max() < 1e-14
    areas = [np.asarray(ms.mesh.TriangleMesh(np.array(v), t).areas) for v in (moved, left)]
    assert areas[1].std() < 0.75 * areas[0].std()
    assert areas[1].min() > 1.2 * areas[0].min()
    ball = TrackedSurface(ms.mesh.icosphere(3), options=bare())
    before = ball.volume()
    assert ball.smooth() > 500
    assert abs(ball.volume() / before - 1) < 1e-4


def neck(radius: float, around: int = 3) -> Mesh:
    """Two balls joined by a thin prism: the surface of a dumbbell with few vertices around its neck."""
    turns = 2 * np.pi * np.arange(around) / around
    rings = [(-1.0, 0.02), (-0.9, 0.5), (-0.5, 0.6), (-0.2, radius), (0.2, radius), (0.5, 0.6), (0.9, 0.5), (1.0, 0.02)]
    x = np.concatenate([np.stack([np.full(around, z), r * np.cos(turns), r * np.sin(turns)], 1) for z, r in rings])
    x = np.concatenate([x, [[-1.01, 0, 0], [1.01, 0, 0]]])
    t = []
    for k in range(len(rings) - 1):
        for i in range(around):
            a, b = k * around + i, k * around + (i + 1) % around
            t += [(a, b + around, b), (a, a + around, b + around)]
    first, last = len(rings) * around, len(rings) * around + 1
    for i in range(around):
        j = (i + 1) % around
        t += [(first, i, j), (last, (len(rings) - 1) * around + j, (len(rings) - 1) * around + i)]
    triangles = np.array(t, np.int32)
    if ms.mesh.TriangleMesh(x, triangles).volume() < 0:
        triangles = np.ascontiguousarray(triangles[:, ::-1])
    return x, triangles


def test_a_neck_of_three_edges_parts_when_one_collapses() -> None:
    mesh = neck(0.02)
    surface = TrackedSurface(mesh, 0.1, volume_change=10.0)
    assert surface.audit().euler == 2
    ends, events = surface.apply("collapse", [[9, 10]])
    assert ends[0] == 0
    audit = surface.audit()
    assert audit.sound
    assert (audit.euler, audit.components, audit.crowded_edges) == (4, 2, 0)
    assert list(events.kinds) == [2, 3]
    fixed = TrackedSurface(mesh, 0.1, volume_change=10.0, topology=False)
    assert fixed.apply("collapse", [[9, 10]])[0][0] == REASONS.index("topology")
    assert np.array_equal(fixed.triangles, mesh[1])


def test_glued_tetrahedra_part_where_an_edge_collapses() -> None:
    """What hangs in one vertex stays until an operation comes by."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1], [0.05, 0, 0.9]], float)
    t = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3], [0, 4, 5], [0, 6, 4], [0, 5, 6], [4, 6, 5]], np.int32)
    surface = TrackedSurface((x[:7], t), 1.0)
    assert surface.audit().components in (1, 2)
    before = surface.volume()
    assert surface.apply("split", [[0, 1]])[0][0] == 0
    assert surface.volume() == pytest.approx(before, rel=1e-14)
    assert surface.audit().sound


def facing(gap: float) -> Mesh:
    """Two cubes of 3 x 3 squares a side whose sides face each other, turned against each other."""
    x, t = squares(3)
    turn = np.deg2rad(10.0)
    y = x - [0.0, 0.5, 0.5]
    y = y @ np.array([[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]])
    return join((x, t), (y + np.array([1 + gap, 0.5, 0.5]), t))


@pytest.mark.parametrize("merge", ["both", "outside", "inside", "none"])
def test_cubes_that_face_each_other_merge(merge: Any) -> None:
    mesh = facing(0.01)
    surface = TrackedSurface(mesh, merge=merge, options=bare())
    assert surface.audit().euler == 4
    before = surface.volume()
    events = surface.improve()
    assert events.counts is not None
    audit = surface.audit()
    assert audit.sound
    if merge in ("inside", "none"):
        assert events.counts.merge.done == 0
        assert (audit.euler, audit.components) == (4, 2)
        return
    assert audit.components == 1
    # Each tube takes two from the characteristic.
    assert audit.euler == 4 - 2 * events.counts.merge.done
    assert 0 < surface.volume() - before < 0.01


@pytest.mark.parametrize("merge", ["outside", "inside"])
def test_a_film_tears_only_inwards(merge: Any) -> None:
    """A flat box thinner than the distance to merge gets a hole: from a ball to a ring."""
    x, t = squares(8)
    x = x * [1.0, 1.0, 0.004]
    surface = TrackedSurface((x, t), 0.125, merge=merge, options=bare())
    events = surface.improve()
    assert events.counts is not None
    assert surface.audit().sound
    assert (events.counts.merge.done > 0) == (merge == "inside")
    assert surface.audit().euler == 2 - 2 * events.counts.merge.done


def test_a_bent_sausage_closes_to_a_ring() -> None:
    """The ends of an open ring, capped, face each other."""
    x, t = torus(1.0, 0.3, 40, 16)
    ring = np.arange(len(x)) // 16
    # Cut between the last ring of vertices and the first, and cap both.
    cut = ~((ring[t] == 39).any(axis=1) & (ring[t] == 0).any(axis=1))
    phi = np.arctan2(x[:, 1], x[:, 0])
    angle = np.where(phi < 0, phi + 2 * np.pi, phi)
    wound = angle * (2 * np.pi - 0.012) / (2 * np.pi * 39 / 40)
    r = np.hypot(x[:, 0], x[:, 1])
    x = np.stack([r * np.cos(wound), r * np.sin(wound), x[:, 2]], 1)
    caps, triangles = [], [t[cut]]
    for first, forward in ((0, True), (39 * 16, False)):
        rim = first + np.arange(16)
        caps.append(x[rim].mean(axis=0))
        centre = np.full(16, len(x) + len(caps) - 1)
        nexts = first + (np.arange(16) + 1) % 16
        triangles.append(np.stack([centre, rim, nexts] if forward else [centre, nexts, rim], 1))
    mesh = np.concatenate([x, caps]), np.concatenate(triangles).astype(np.int32)
    if ms.mesh.TriangleMesh(*mesh).volume() < 0:
        mesh = mesh[0], np.ascontiguousarray(mesh[1][:, ::-1])
    surface = TrackedSurface(mesh, 0.3, options=bare())
    assert surface.audit().euler == 2
    first, last = 16 * 40, 16 * 40 + 1
    ends, _ = surface.apply("merge", [[first, 0, last, 39 * 16]])
    assert ends[0] == 0
    audit = surface.audit()
    assert audit.sound
    assert (audit.euler, audit.components) == (0, 1)


def test_something_in_the_new_tube_forbids_a_merge() -> None:
    """A ball between two sides, too small to touch any new triangle."""
    mesh = facing(0.01)
    plain = TrackedSurface(mesh, options=bare())
    pair = None
    for kind, rows in (("merge", _facing_pairs(plain)),):
        for row in rows:
            trial = TrackedSurface(mesh, options=bare())
            if trial.apply(kind, [row])[0][0] == 0:  # type: ignore[arg-type]
                pair = row
                break
    assert pair is not None
    x = mesh[0]
    middle = x[list(pair)].mean(axis=0)
    grain = ms.mesh.icosphere(0, 1e-4, tuple(middle))
    filled = TrackedSurface(join(mesh, (np.array(grain.vertices), np.array(grain.triangles))), plain.edge_length, options=bare())
    assert filled.apply("merge", [pair])[0][0] == REASONS.index("enclosed")


def _facing_pairs(surface: TrackedSurface) -> list[list[int]]:
    """Pairs of edges on the two sides that face each other, the closest first."""
    x, edges = np.asarray(surface.vertices), surface.edges
    inner = edges[(np.abs(x[edges][:, :, 0] - 1.0) < 1e-9).all(axis=1) & (edges < len(x) // 2).all(axis=1)]
    outer = edges[(np.abs(x[edges][:, :, 0] - 1.01) < 1e-9).all(axis=1) & (edges >= len(x) // 2).all(axis=1)]
    gaps = np.linalg.norm(x[inner].mean(axis=1)[:, None] - x[outer].mean(axis=1)[None], axis=2)
    order = np.argsort(gaps, axis=None)[:40]
    i, j = np.unravel_index(order, gaps.shape)
    return [[*map(int, inner[a]), *map(int, outer[b])] for a, b in zip(i, j, strict=True)]


def random_operations(surface: TrackedSurface, rng: np.random.Generator, rounds: int, batch: int) -> int:
    """Tries operations at random edges; the surface is sound, and played back, after each batch. Returns how many were done."""
    done = 0
    for _ in range(rounds):
        kind = str(rng.choice(["split", "flip", "collapse", "merge"]))
        edges = surface.edges
        if len(edges) < 20:
            break
        rows = edges[rng.integers(0, len(edges), batch)]
        if kind == "merge":
            rows = np.concatenate([rows, edges[rng.integers(0, len(edges), batch)]], axis=1)
        before = np.array(surface.vertices), np.array(surface.triangles)
        ends, events = surface.apply(kind, rows)  # type: ignore[arg-type]
        done += int((ends == 0).sum())
        again = events.replay(*before)
        assert np.array_equal(again[0], surface.vertices)
        assert np.array_equal(again[1], surface.triangles)
        require_sound(surface, closed=False)
    return done


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", ["ball", "torus", "cubes", "sheet"])
def test_random_operations_leave_the_surface_sound(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ball = ms.mesh.icosphere(2)
    meshes = {
        "ball": (np.array(ball.vertices), np.array(ball.triangles)),
        "torus": torus(1.0, 0.4, 20, 12),
        "cubes": facing(0.01),
        "sheet": sheet(9, 9),
    }
    x, t = meshes[shape]
    if shape != "cubes":
        x = x + rng.normal(scale=0.01, size=x.shape)
    surface = TrackedSurface((x, t), volume_change=2.0, options=TrackingOptions(angles=(0.0, 180.0), lengths=(0.5, 20.0)))
    assert random_operations(surface, rng, 25, 40) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spot", "rocker-arm", "fandisk", "stanford-bunny"])
def test_random_operations_on_real_meshes(name: str) -> None:
    mesh = real_mesh(name)
    surface = TrackedSurface(mesh, volume_change=2.0, options=TrackingOptions(lengths=(0.5, 20.0)))
    assert random_operations(surface, np.random.default_rng(1), 50, 500) > 1000


def test_an_observer_sees_and_forbids() -> None:
    seen = []

    def ask(kind: str, vertices: np.ndarray) -> bool:
        seen.append((kind, tuple(map(int, vertices))))
        return len(seen) % 2 == 0

    surface = TrackedSurface(ms.mesh.icosphere(2), options=bare())
    surface.observer = ask
    edges = surface.edges[:6]
    ends, _ = surface.apply("split", edges)
    assert [kind for kind, _ in seen] == ["split"] * 6
    assert [pair for _, pair in seen] == [tuple(map(int, e)) for e in edges]
    assert list(ends) == [REASONS.index("veto"), 0] * 3

    def fail(kind: str, vertices: np.ndarray) -> bool:
        raise KeyError("stop")

    surface.observer = fail
    before = np.array(surface.triangles)
    with pytest.raises(KeyError, match="stop"):
        surface.apply("split", surface.edges[:3])
    assert np.array_equal(surface.triangles, before)
