"""Triangle meshes as they are found in the wild, made from clean ones, and a brute-force answer of what is inside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import meniscus as ms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Surface = tuple[Floats, Ints]


@dataclass(frozen=True)
class Wild:
    """A mesh, the clean ones whose union (less the cavities) is the solid, and whether repair alone makes it watertight."""

    name: str
    surface: Surface
    solids: tuple[Surface, ...]
    cavities: tuple[Surface, ...] = ()
    repairable: bool = True

    def contains(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Whether each point is inside, by the sum of all solid angles."""
        inside = np.zeros(len(points), bool)
        for solid in self.solids:
            inside |= winding(solid, points) > 0.5
        for cavity in self.cavities:
            inside &= winding(cavity, points) < 0.5
        return inside

    def volume(self) -> float:
        """Of solids that do not overlap, m^3."""
        return sum(map(volume, self.solids)) - sum(map(volume, self.cavities))


def winding(surface: Surface, points: Floats) -> Floats:
    """Return the winding numbers, triangle by triangle (Van Oosterom and Strackee 1983)."""
    x, t = surface
    a, b, c = (x[t[:, k]][None] - points[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    above = np.einsum("ptk,ptk->pt", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    result: Floats = np.arctan2(above, below).sum(axis=1) / (2 * np.pi)
    return result


def volume(surface: Surface) -> float:
    """Return the enclosed volume, m^3."""
    x, t = surface
    y = x - x.mean(axis=0)
    return float(np.einsum("tk,tk->", y[t[:, 0]], np.cross(y[t[:, 1]], y[t[:, 2]])) / 6)


def _quads(n: int, m: int) -> Ints:
    """Return the triangles of a torus of n by m quads."""
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    at = [((i + di) % n * m + (j + dj) % m).ravel() for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return np.concatenate([np.stack([at[0], at[1], at[2]], 1), np.stack([at[0], at[2], at[3]], 1)]).astype(np.int32)


def torus(n: int = 20, m: int = 10) -> Surface:
    """Return a torus of radii 0.8 and 0.3 m."""
    u, v = np.meshgrid(2 * np.pi * np.arange(n) / n, 2 * np.pi * np.arange(m) / m, indexing="ij")
    r = 0.8 + 0.3 * np.cos(v)
    x = np.stack([r * np.cos(u), r * np.sin(u), 0.3 * np.sin(v)], axis=2).reshape(-1, 3)
    surface = x, _quads(n, m)
    return surface if volume(surface) > 0 else flipped(surface)


def box(low: tuple[float, float, float] = (-0.7, -0.6, -0.5), high: tuple[float, float, float] = (0.7, 0.6, 0.5)) -> Surface:
    """Return a box of twelve triangles."""
    x = np.array([[(low, high)[k >> d & 1][d] for d in range(3)] for k in range(8)])
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    t = np.array([[q[0], q[k], q[k + 1]] for q in quads for k in (1, 2)], np.int32)
    return (x, t) if volume((x, t)) > 0 else (x, np.ascontiguousarray(t[:, ::-1]))


def ball(level: int = 2) -> Surface:
    """Return a ball of radius 1 m."""
    mesh = ms.mesh.icosphere(level)
    return np.array(mesh.vertices), np.array(mesh.triangles)


def brick() -> Surface:
    """Return a box with 16 triangles for each of those of `box`."""
    x, t = box()
    for _ in range(2):
        ends = np.sort(t[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, middle = np.unique(ends, axis=0, return_inverse=True)
        m = (middle.reshape(-1, 3) + len(x)).astype(np.int32)
        x = np.concatenate([x, x[edges].mean(axis=1)])
        corners = [np.stack([t[:, k], m[:, k], m[:, k - 1]], 1) for k in range(3)]
        t = np.concatenate([*corners, m]).astype(np.int32)
    return x, t


def bean() -> Surface:
    """Return a bent ball."""
    x, t = ball()
    x = x * np.array([1.2, 0.6, 0.7])
    x[:, 1] += 0.5 * x[:, 0] ** 2
    return x, t


def moved(surface: Surface, way: tuple[float, float, float], scale: float = 1.0) -> Surface:
    """Return a surface elsewhere and larger."""
    return surface[0] * scale + np.array(way), surface[1]


def flipped(surface: Surface, which: slice | npt.NDArray[np.bool_] = slice(None)) -> Surface:
    """Return a surface with some triangles the other way round."""
    t = surface[1].copy()
    t[which] = t[which][:, ::-1]
    return surface[0], t


def together(*surfaces: Surface) -> Surface:
    """Return all as one."""
    start = np.cumsum([0] + [len(x) for x, _ in surfaces])
    return (
        np.concatenate([x for x, _ in surfaces]),
        np.concatenate([t + np.int32(s) for (_, t), s in zip(surfaces, start, strict=False)]).astype(np.int32),
    )


def soup(surface: Surface, jitter: float = 0.0) -> Surface:
    """Return a surface whose triangles have vertices of their own, as in an STL file."""
    x, t = surface
    own = x[t].reshape(-1, 3)
    return own + jitter * np.random.default_rng(1).uniform(-1, 1, own.shape), np.arange(3 * len(t), dtype=np.int32).reshape(-1, 3)


def junction(surface: Surface, count: int) -> Surface:
    """Return a surface with vertices on some edges, which only one of the two triangles has."""
    x, t = surface
    x, rows = list(x), [tuple(r) for r in t]
    for k in range(count):
        i = k * (len(t) // count)
        a, b, c = rows[i]
        x.append(0.5 * (x[a] + x[b]))
        m = len(x) - 1
        rows[i] = (a, m, c)
        rows.append((m, b, c))
    return np.array(x), np.array(rows, np.int32)


def _fin(surface: Surface) -> Surface:
    """Return a surface with a fin of two triangles on one of its edges, seen from both sides."""
    x, t = surface
    a, b = t[5, 0], t[5, 1]
    tip = 1.3 * 0.5 * (x[a] + x[b])
    n = len(x)
    return np.concatenate([x, tip[None]]), np.concatenate([t, np.array([[a, b, n], [b, a, n]], np.int32)])


def _random(count: int, share: float) -> npt.NDArray[np.bool_]:
    return np.random.default_rng(3).random(count) < share


def _without(surface: Surface, *missing: int) -> Surface:
    return surface[0], np.delete(surface[1], missing, axis=0)


def _doubled(surface: Surface, count: int | None = None, *, back: bool = False) -> Surface:
    x, t = surface
    copies = t[:count]
    return x, np.concatenate([t, copies[:, ::-1] if back else copies]).astype(np.int32)


def _with_rows(surface: Surface, rows: list[list[int]]) -> Surface:
    return surface[0], np.concatenate([surface[1], np.array(rows, np.int32)])


DEFECTS: dict[str, Callable[[Surface], Surface]] = {
    "clean": lambda s: s,
    "inside out": flipped,
    "a third flipped": lambda s: flipped(s, _random(len(s[1]), 0.3)),
    "most flipped": lambda s: flipped(s, _random(len(s[1]), 0.7)),
    "one triangle missing": lambda s: _without(s, 3),
    "one missing, inside out": lambda s: flipped(_without(s, 3)),
    "three missing, some flipped": lambda s: flipped(_without(s, 1, 6, 11), _random(len(s[1]) - 3, 0.3)),
    "copies": _doubled,
    "both sides": lambda s: _doubled(s, back=True),
    "some copies": lambda s: _doubled(s, 4),
    "some back to back": lambda s: _doubled(s, 4, back=True),
    "thrice": lambda s: _doubled(_doubled(s), len(s[1])),
    "soup": soup,
    "soup, inside out": lambda s: flipped(soup(s)),
    "soup, some flipped": lambda s: flipped(soup(s), _random(len(s[1]), 0.4)),
    "vertices without triangles": lambda s: (np.concatenate([s[0], [[9.0, 9.0, 9.0]]]), s[1]),
    "corners twice": lambda s: _with_rows(s, [[0, 0, 1], [2, 2, 2]]),
    "junctions": lambda s: junction(s, 4),
    "junctions, inside out": lambda s: flipped(junction(s, 3)),
    "fin": _fin,
    "far away": lambda s: moved(s, (4e5, 5e6, 100.0)),
    "far away, inside out": lambda s: flipped(moved(s, (4e5, 5e6, 100.0))),
    "micrometres": lambda s: flipped(moved(s, (0.0, 0.0, 0.0), 1e-6), slice(0, 9)),
    "light years": lambda s: flipped(moved(s, (0.0, 0.0, 0.0), 1e16), slice(0, 9)),
}
SHAPES: dict[str, Callable[[], Surface]] = {"ball": ball, "torus": torus, "box": brick, "bean": bean}
_PLACES: dict[str, tuple[tuple[float, float, float], float]] = {
    "far away": ((4e5, 5e6, 100.0), 1.0),
    "far away, inside out": ((4e5, 5e6, 100.0), 1.0),
    "micrometres": ((0.0, 0.0, 0.0), 1e-6),
    "light years": ((0.0, 0.0, 0.0), 1e16),
}


def defective() -> Iterator[Wild]:
    """Yield every shape with every defect."""
    for shape, make in SHAPES.items():
        for defect, spoil in DEFECTS.items():
            clean = moved(make(), *_PLACES.get(defect, ((0.0, 0.0, 0.0), 1.0)))
            yield Wild(f"{shape}, {defect}", spoil(make()), (clean,))


def composed() -> Iterator[Wild]:
    """Yield meshes of several parts: walls between them, shells within each other, parts that cross each other."""
    b, s, t = box(), ball(), torus()
    left, right = box((-1.0, -0.5, -0.5), (0.0, 0.5, 0.5)), box((0.0, -0.5, -0.5), (1.0, 0.5, 0.5))
    inner, hole = moved(s, (0.1, 0.0, 0.0), 0.3), moved(s, (0.0, 0.0, 0.0), 0.5)
    yield Wild("two boxes with a wall", together(left, right), (left, right))
    yield Wild("two boxes with a wall, one inside out", together(flipped(left), right), (left, right))
    yield Wild("shell", together(s, flipped(hole)), (s,), (hole,))
    yield Wild("shell, inside out", together(flipped(s), hole), (s,), (hole,))
    yield Wild("shell, some flipped", flipped(together(s, flipped(hole)), _random(2 * len(s[1]), 0.2)), (s,), (hole,))
    yield Wild("shell with a hole", _without(together(s, flipped(hole)), 7), (s,), (hole,))
    yield Wild("eye in a head", together(s, inner), (s, inner), repairable=False)
    yield Wild("eye in a head, inside out", flipped(together(s, inner)), (s, inner), repairable=False)
    for name, other in {"ball": moved(s, (0.8, 0.3, 0.1)), "box": moved(b, (0.6, 0.4, 0.2)), "torus": moved(t, (0.5, 0.0, 0.4))}.items():
        for part, one in {"ball": s, "box": b, "torus": t}.items():
            pair = together(one, other)
            yield Wild(f"{part} through {name}", pair, (one, other), repairable=False)
            yield Wild(f"{part} through {name}, that inside out", together(one, flipped(other)), (one, other), repairable=False)
            yield Wild(f"{part} through {name}, soup with holes", soup(_without(pair, 5, len(pair[1]) - 5)), (one, other), repairable=False)
    yield Wild(
        "beads",
        together(*[moved(s, (1.5 * k, 0.0, 0.0)) for k in range(4)]),
        tuple(moved(s, (1.5 * k, 0.0, 0.0)) for k in range(4)),
        repairable=False,
    )


def hopeless() -> Iterator[tuple[str, Surface]]:
    """Yield meshes that enclose nothing, or are no meshes."""
    sheet = ms.mesh.cloth_mesh(4, 4, (1.0, 1.0))
    cloth = np.array(sheet.vertices), np.array(sheet.triangles)
    yield "cloth", cloth
    yield "cloth, both sides", _doubled(cloth, back=True)
    x, t = ball()
    yield "NaN", (np.where(np.arange(len(x))[:, None] == 7, np.nan, x), t)
    yield "infinity", (np.where(np.arange(len(x))[:, None] == 7, np.inf, x), t)
    yield "no triangle", (x, np.empty((0, 3), np.int32))
    yield "all in a point", (np.zeros_like(x), t)
    yield "all on a line", (x * np.array([1.0, 0.0, 0.0]), t)
    yield "index beyond the vertices", (x, t + np.int32(3))


def probes(mesh: Wild, count: int = 60) -> Floats:
    """Return points around the solid, none within a fiftieth of its size of a surface."""
    x = np.concatenate([s[0] for s in mesh.solids])
    low, size = x.min(axis=0), np.ptp(x, axis=0)
    points = low + (1.2 * np.random.default_rng(0).random((4 * count, 3)) - 0.1) * size
    near = np.full(len(points), np.inf)
    for s in (*mesh.solids, *mesh.cavities):
        near = np.minimum(near, ms.collision.closest_point(*s, points).distances)
    return np.ascontiguousarray(points[near > 0.02 * size.max()][:count])


MESHES = [*defective(), *composed()]
