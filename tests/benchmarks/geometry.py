"""Benchmark cases of geometry: rays against surfaces, point location, hashed boxes, embedding, meshing, Delaunay tetrahedra, overlaps
and planes of tetrahedra, and comparison methods of collision detection beside the exact one. The peers: `peers/geometry_peers.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers import geometry_peers
from peers.libraries import Peer

import meniscus as ms
from meniscus.collision import TetLocator, ThickSurface, embed, overlapping_boxes, vertices_in_tets


@dataclass(frozen=True)
class Sizes:
    """How much work a call has."""

    waves: int  # squares along a side of the wavy surface of the rays
    rays: int
    cubes: dict[str, int]  # cubes of the lattice along a side
    subdivided: dict[str, tuple[int, int]]  # cubes of a coarse lattice along a side, and levels of refinement
    points: int
    boxes: int
    cells: int  # of the level sets that are meshed, along a side
    queries: int


# 91,000 and 1.1 million tetrahedra; 15,840 cut into 8.1 million.
FULL = Sizes(
    waves=120,
    rays=200_000,
    cubes={"1e5": 20, "1e6": 46},
    subdivided={"8e6": (11, 3)},
    points=500_000,
    boxes=200_000,
    cells=48,
    queries=100_000,
)
QUICK = Sizes(waves=8, rays=200, cubes={"tiny": 3}, subdivided={"tiny": (2, 2)}, points=300, boxes=200, cells=8, queries=200)

Cases = list[tuple[str, int, str, Callable[[], Any]]]


def wavy_surface(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed box of 12 n^2 triangles with waves on all sides."""
    x, y = np.meshgrid(np.linspace(-1, 1, n + 1), np.linspace(-1, 1, n + 1), indexing="ij")
    number = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (number[i : n + i, j : n + j].ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    sheet = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    sides, triangles = [], []
    for k in range(6):
        s = 1.0 if k % 2 else -1.0
        p = np.roll(np.stack([x * s, y, np.full_like(x, s)], axis=-1).reshape(-1, 3), k // 2, axis=1)
        triangles.append(sheet + k * len(p))
        sides.append(p)
    v = np.concatenate(sides)
    v *= (1 / np.linalg.norm(v, axis=1) * (1 + 0.1 * np.sin(7 * v[:, 0]) * np.cos(9 * v[:, 1] + 5 * v[:, 2])))[:, None]
    return v, np.concatenate(triangles).astype(np.int32)


def segments(n: int) -> tuple[np.ndarray, np.ndarray]:
    """From outside of the surface to anywhere near it; every second one is short."""
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1.4, 1.4, (2, n, 3))
    b[::2] = a[::2] + 0.05 * rng.normal(size=a[::2].shape)
    return a, b


def ray_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Classes and first hits."""
    names = ("classify", "cast")
    if not any(chosen(f"geometry/rays/{n}") for n in names):
        return []
    surface, (a, b) = ThickSurface(*wavy_surface(sizes.waves), 1e-6), segments(sizes.rays)
    return [
        (f"geometry/rays/{n}", len(a), "Mray/s", run)
        for n, run in zip(names, (partial(surface.classify, a, b), partial(surface.cast, a, b)), strict=True)
    ]


def location_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Points in random order: with any hint, with that of a tetrahedron near by, without; and along a curve without hints."""
    found: Cases = []
    rng = np.random.default_rng(4)
    for key, cubes in sizes.cubes.items():
        names = {n: f"geometry/location/{key}/{n}" for n in ("random-hints", "close-hints", "no-hints", "sorted")}
        if not any(chosen(n) for n in names.values()):
            continue
        mesh = ms.mesh.bcc_lattice((0, 0, 0), 1 / cubes, (cubes,) * 3)
        locator = TetLocator(mesh.vertices, mesh.tets, overlapping=False)
        points = rng.uniform(0.2, 0.8, (sizes.points, 3))
        where = locator.locate(points).tets
        random = rng.integers(0, len(mesh.tets), len(points)).astype(np.int32)
        close = locator.locate(np.clip(points + rng.normal(size=points.shape) / cubes, 0.2, 0.8)).tets
        order = np.argsort(where, kind="stable")
        runs = (
            partial(locator.locate, points, random),
            partial(locator.locate, points, close),
            partial(locator.locate, points),
            partial(locator.locate, np.ascontiguousarray(points[order])),
        )
        found += [(name, len(points), "Mpoint/s", run) for name, run in zip(names.values(), runs, strict=True)]
    return found


def moving_mesh(cubes: int, levels: int) -> ms.mesh.MovingTetMesh:
    """A lattice in a wavy motion."""
    lattice = ms.mesh.bcc_lattice((0, 0, 0), 1 / cubes, (cubes,) * 3)
    x = lattice.vertices
    return ms.mesh.MovingTetMesh(lattice, lambda t: x + 0.02 * np.sin(6 * x[:, [1, 2, 0]] + t), levels=levels)


def moved_points(mesh: ms.mesh.MovingTetMesh, cubes: int, n: int, order: str) -> tuple[np.ndarray, np.ndarray]:
    """Points 0.2 fine edges away from where they were, in any direction, and the tetrahedra that they were in."""
    rng = np.random.default_rng(6)
    own = rng.integers(0, mesh.tet_count(), n).astype(np.int32)
    if order == "sorted":
        own.sort()
    corners = mesh.positions(0.0)[mesh.tets()[own]]
    way = rng.normal(size=(n, 3))
    way *= 0.2 / (cubes * 2**mesh.levels) / np.linalg.norm(way, axis=1, keepdims=True)
    return np.einsum("nk,nkd->nd", rng.dirichlet((1, 1, 1, 1), n), corners) + way, own


def moving_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Location by hierarchy beside the general locator on the same fine mesh; fine positions and velocities, by the bytes that move:
    24 written, as many fetched for ownership and 8 of the parents read for each vertex."""
    found: Cases = []
    for key, (cubes, levels) in sizes.subdivided.items():
        names = [f"geometry/moving/{key}/{n}" for n in ("sorted-hints", "random-hints", "no-hints", "positions", "velocities")]
        general = [f"geometry/moving/{key}/general-{n}" for n in ("sorted-hints", "random-hints", "no-hints")]
        if not any(map(chosen, names + general)):
            continue
        mesh = moving_mesh(cubes, levels)
        near = {o: moved_points(mesh, cubes, sizes.points, o) for o in ("sorted", "random")}
        for name, order in zip(names, near, strict=False):
            points, hints = near[order]
            result = mesh.locate(points, 0.0, hints)
            found.append((name, len(points), "Mpoint/s", partial(mesh.locate, points, 0.0, hints, out=result)))
        found.append((names[2], sizes.points, "Mpoint/s", partial(mesh.locate, near["sorted"][0], 0.0)))
        out = np.empty((mesh.vertex_count(), 3))
        scratch = ms.Workspace()
        found.append((names[3], 56 * len(out), "GB/s", partial(mesh.positions, 0.0, out=out)))
        found.append((names[4], 56 * len(out), "GB/s", partial(mesh.velocities, 0.0, 0.1, out=out, workspace=scratch)))
        if any(map(chosen, general)):
            walking, searching = (TetLocator(mesh.positions(0.0), mesh.tets(), overlapping=o) for o in (False, True))
            runs = (*(partial(walking.locate, *near[o]) for o in near), partial(searching.locate, near["sorted"][0]))
            found += [(name, sizes.points, "Mpoint/s", run) for name, run in zip(general, runs, strict=True)]
    return found


def equal_boxes(n: int) -> tuple[np.ndarray, float]:
    """Centres in the unit cube, and the side that makes some five neighbours of each."""
    return np.random.default_rng(5).random((n, 3)), float((5 / n) ** (1 / 3) / 2)


def hash_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Pairs of boxes of one size, and vertices of two lattices within the tetrahedra of the other."""
    found: Cases = []
    if chosen("geometry/hash/boxes"):
        centers, side = equal_boxes(sizes.boxes)
        boxes = np.ascontiguousarray(np.stack([centers - side / 2, centers + side / 2], axis=1))
        found.append(("geometry/hash/boxes", len(boxes), "Mbox/s", partial(overlapping_boxes, boxes)))
    if chosen("geometry/hash/vertices-in-tets"):
        cubes = next(iter(sizes.cubes.values()))
        meshes = [ms.mesh.bcc_lattice((o, o, o), 1 / cubes, (cubes,) * 3) for o in (0.0, 0.43)]
        v = np.concatenate([m.vertices for m in meshes])
        t = np.concatenate([meshes[0].tets, meshes[1].tets + len(meshes[0].vertices)]).astype(np.int32)
        found.append(("geometry/hash/vertices-in-tets", len(t), "Mtet/s", partial(vertices_in_tets, v, t)))
    return found


def embedded(sizes: Sizes) -> tuple[ms.mesh.Embedding, ms.mesh.TetMesh, np.ndarray]:
    """Points in random order in the smallest lattice."""
    cubes = next(iter(sizes.cubes.values()))
    mesh = ms.mesh.bcc_lattice((0, 0, 0), 1 / cubes, (cubes,) * 3)
    points = np.random.default_rng(6).uniform(0.2, 0.8, (sizes.points, 3))
    return embed(mesh, points), mesh, points


def embedding_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Making an embedding, positions of its points, and their forces on the nodes."""
    names = [f"geometry/embedding/{n}" for n in ("embed", "positions", "spread-forces")]
    if not any(chosen(n) for n in names):
        return []
    embedding, mesh, points = embedded(sizes)
    x, out, forces = mesh.vertices * 1.1, np.empty_like(points), np.empty_like(mesh.vertices)
    runs = (
        partial(embed, mesh, points),
        partial(embedding.positions, x, out=out),
        partial(embedding.spread_forces, points, out=forces),
    )
    return [(name, len(points), "Mpoint/s", run) for name, run in zip(names, runs, strict=True)]


def meshing_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Tetrahedra of a ball and of a torus: of the lattice, and with a boundary on the surface. The work is that of the tetrahedra made."""
    found: Cases = []
    shapes = {"ball": ms.surface.Sphere((0, 0, 0), 0.9), "torus": ms.surface.Torus((0, 0, 0), (0, 0, 1), 0.6, 0.3)}
    for key, shape in shapes.items():
        for name, options in (("lattice", {}), ("compress", {"compress": True})):
            full = f"geometry/meshing/{key}/{name}"
            if not chosen(full):
                continue
            run = partial(ms.surface.bcc_mesh, shape, 2 / sizes.cells, bounds=((-1, -1, -1), (1, 1, 1)), **options)
            found.append((full, len(run().tets), "Mtet/s", run))
    return found


def detection_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Four points with normally distributed positions at both ends of a step, of which a few per cent collide."""
    rng = np.random.default_rng(8)
    start = rng.normal(size=(sizes.queries, 4, 3))
    end = start + 0.3 * rng.normal(size=start.shape)
    c = ms.collision
    functions = {
        "vertex-face/exact": partial(c.vertex_face, mode="any"),
        "vertex-face/cubic": c.cubic_vertex_face,
        "vertex-face/space-time": c.space_time_vertex_face,
        "edge-edge/exact": partial(c.edge_edge, mode="any"),
        "edge-edge/cubic": c.cubic_edge_edge,
        "edge-edge/space-time": c.space_time_edge_edge,
    }
    named = {f"geometry/detection/{n}": partial(f, start, end) for n, f in functions.items()}
    return [(name, len(start), "Mquery/s", run) for name, run in named.items() if chosen(name)]


def clipping_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Tetrahedra of a lattice moved by up to half an edge, which all overlap, and by more, which do not; planes through tetrahedra."""
    rng = np.random.default_rng(9)
    n = sizes.queries
    a = np.broadcast_to([[0, 0, 0], [1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5]], (n, 4, 3)).copy()
    near = a + rng.uniform(-0.12, 0.12, (n, 1, 3))
    apart = a + rng.uniform(0.5, 1, (n, 1, 3)) * [1, 0, -1]
    heights, fractions, out = rng.random((n, 4)) - 0.5, rng.random(n), np.empty(n)
    named = {
        "geometry/clipping/overlap": partial(ms.mesh.overlap_volumes, a, near, out),
        "geometry/clipping/apart": partial(ms.mesh.overlap_volumes, a, apart, out),
        "geometry/clipping/fraction": partial(ms.mesh.fractions_below, heights, out),
        "geometry/clipping/plane": partial(ms.mesh.plane_offsets, heights, fractions, out),
    }
    return [(name, n, "Mtet/s", run) for name, run in named.items() if chosen(name)]


def delaunay_points(n: int) -> dict[str, np.ndarray]:
    """Points in a cube, on a lattice, and on a sphere, of which there are fewer, since Qhull takes minutes for many."""
    k = round(n ** (1 / 3))
    lattice = np.stack(np.meshgrid(*[np.arange(float(k))] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    rng = np.random.default_rng(10)
    outward = rng.normal(size=(min(n, 4000), 3))
    return {"random": rng.random((n, 3)), "lattice": lattice, "sphere": outward / np.linalg.norm(outward, axis=1)[:, None]}


def delaunay_cases(sizes: Sizes, chosen: Callable[[str], bool]) -> Cases:
    """Delaunay tetrahedra of points."""
    named = {f"geometry/delaunay/{n}": x for n, x in delaunay_points(sizes.queries).items()}
    return [(name, len(x), "Mpoint/s", partial(ms.mesh.delaunay, x)) for name, x in named.items() if chosen(name)]


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    sizes = QUICK if quick else FULL
    makers = [ray_cases, location_cases, moving_cases, hash_cases, embedding_cases, meshing_cases, detection_cases, clipping_cases]
    makers.append(delaunay_cases)
    found = [c for maker in makers for c in maker(sizes, chosen) if chosen(c[0])]
    return [Case(name, "geometry", work, unit, run, parameters={"items": work}) for name, work, unit, run in found]


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """Those whose name is chosen."""
    sizes = QUICK if quick else FULL
    found = []
    if chosen("peers/scipy/geometry/hash/boxes"):
        found.append(geometry_peers.box_pairs(*equal_boxes(sizes.boxes)))
    if chosen("peers/scipy/geometry/embedding/positions"):
        found.append(geometry_peers.sparse_positions(*embedded(sizes)))
    if chosen("peers/vtk/geometry/rays/cast"):
        found.append(geometry_peers.vtk_rays(*wavy_surface(sizes.waves), *segments(sizes.rays)))
    if chosen("peers/embree/geometry/rays/cast"):
        found.append(geometry_peers.embree_rays(*wavy_surface(sizes.waves), *segments(sizes.rays)))
    for n, x in delaunay_points(sizes.queries).items():
        if chosen(f"peers/scipy/geometry/delaunay/{n}"):
            found.append(geometry_peers.delaunay_tets(f"geometry/delaunay/{n}", x))
    key, cubes = next(iter(sizes.cubes.items()))
    if chosen(f"peers/vtk/geometry/location/{key}/no-hints"):
        mesh = ms.mesh.bcc_lattice((0, 0, 0), 1 / cubes, (cubes,) * 3)
        points = np.random.default_rng(4).uniform(0.2, 0.8, (sizes.points, 3))
        found.append(geometry_peers.vtk_location(f"geometry/location/{key}/no-hints", mesh, points))
    for key, (cubes, levels) in sizes.subdivided.items():
        name = f"geometry/moving/{key}/no-hints"
        if chosen(f"peers/vtk/{name}"):
            moving = moving_mesh(cubes, levels)
            fine = ms.mesh.TetMesh(moving.positions(0.0), moving.tets())
            found.append(geometry_peers.vtk_location(name, fine, moved_points(moving, cubes, sizes.points, "sorted")[0]))
    return found
