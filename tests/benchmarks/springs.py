"""Benchmark cases of springs: the edges of a cloth that is strained and moving, and the same springs by NumPy and by a compiled Taichi
kernel."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version
from solids import TANGENTS

import meniscus as ms
from meniscus._meniscus import solids as core

# Squares along each side of the cloth: 10^5 and 10^6 springs.
FULL = {"springs-1e5": 182, "springs-1e6": 577}
QUICK = {"springs-tiny": 6}
STIFFNESS, DAMPING = 50.0, 0.01


@dataclass(frozen=True)
class Cloth:
    """The springs, where their nodes are and how they move, and a displacement of them."""

    key: str
    springs: ms.solids.EdgeSprings
    positions: np.ndarray
    velocities: np.ndarray
    change: np.ndarray

    @property
    def work(self) -> int:
        return len(self.springs.edges)


def cloth(key: str, squares: int) -> Cloth:
    """Strains of about ten percent in all directions."""
    mesh = ms.mesh.cloth_mesh(squares, squares)
    rng = np.random.default_rng(7)
    x = mesh.vertices + rng.uniform(-0.1, 0.1, mesh.vertices.shape) / squares
    springs = ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=STIFFNESS, damping=DAMPING))
    return Cloth(key, springs, np.ascontiguousarray(x), rng.normal(size=x.shape), rng.normal(size=x.shape))


def both(springs: Any, x: np.ndarray, v: np.ndarray, f: np.ndarray) -> None:
    """Compute the forces of an explicit step."""
    springs.add_forces(x, f)
    springs.linearise(x, core.Tangent.exact)
    springs.add_damping(v, 1.0, f)


def cloth_cases(c: Cloth) -> Iterator[Case]:
    """Elastic forces alone, with damping, and products with the stiffness."""
    f = np.zeros_like(c.positions)

    def case(name: str, run: Callable[[], object], arrays: int) -> Case:
        return Case(
            name=f"solids/{c.key}/{name}",
            group="solids",
            work=c.work,
            unit="Mspring/s",
            run=run,
            state_bytes=c.springs.nbytes,
            other_bytes=arrays * c.positions.nbytes,
            parameters={"springs": c.work, "nodes": len(c.positions)},
        )

    yield case("force", partial(c.springs.core.add_forces, c.positions, f), 2)
    yield case("force-and-damping", partial(both, c.springs.core, c.positions, c.velocities, f), 3)
    for name, tangent in TANGENTS.items():

        def product(chosen: Any = tangent) -> None:
            c.springs.core.linearise(c.positions, chosen)
            c.springs.core.add_differentials(c.change, 1e-9, f)

        yield case(f"differential/{name}", product, 3)


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    found = []
    for key, squares in (QUICK if quick else FULL).items():
        if any(chosen(f"solids/{key}/{name}") for name in NAMES):
            found += [c for c in cloth_cases(cloth(key, squares)) if chosen(c.name)]
    return found


NAMES = ("force", "force-and-damping", *(f"differential/{t}" for t in TANGENTS))


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """Forces with damping, where they or our own are chosen."""
    found = []
    for key, squares in (QUICK if quick else FULL).items():
        named = {library: f"peers/{library}/solids/{key}/force-and-damping" for library in ("numpy", "taichi")}
        beside = chosen(f"solids/{key}/force-and-damping")
        if not beside and not any(chosen(name) for name in named.values()):
            continue
        c = cloth(key, squares)
        ours = np.zeros_like(c.positions)
        both(c.springs.core, c.positions, c.velocities, ours)
        if beside or chosen(named["numpy"]):
            found.append(_numpy(named["numpy"], c, ours))
        if beside or chosen(named["taichi"]):
            found.append(_taichi(named["taichi"], c, ours))
    return found


def _numpy(name: str, c: Cloth, ours: np.ndarray) -> Peer:
    """The formulas over all springs at once, added up by `bincount`, which is faster than `add.at`."""
    i, j = np.ascontiguousarray(c.springs.edges.T)
    rest, k, b = c.springs.rest_lengths, c.springs.spring_constants, c.springs.damping
    n = len(c.positions)

    def run() -> np.ndarray:
        d = c.positions[j] - c.positions[i]
        length = np.sqrt(np.einsum("ij,ij->i", d, d))
        d /= length[:, None]
        pull = k * (length - rest) + b * np.einsum("ij,ij->i", c.velocities[j] - c.velocities[i], d)
        f = pull[:, None] * d
        return np.stack([np.bincount(i, f[:, a], n) - np.bincount(j, f[:, a], n) for a in range(3)], axis=1)

    peer = Peer(name, f"NumPy {np.__version__}", f"solids/{c.key}/force-and-damping", "vectorised over springs, bincount per axis")
    peer.case = Case(name, "peers", c.work, "Mspring/s", run, threads=(1,), rounds=3, parameters={"springs": c.work})
    peer.compare(run(), ours)
    return peer


@cache
def _started_taichi() -> Any:
    """Once, because starting it again would empty the arrays that it holds."""
    ti: Any = importlib.import_module("taichi")
    ti.init(arch=ti.cpu, default_fp=ti.f64, cpu_max_num_threads=1, log_level=ti.ERROR, offline_cache=False)
    return ti


def _taichi(name: str, c: Cloth, ours: np.ndarray) -> Peer:
    """The loop over springs that its examples of cloth have, in double precision, with atomic additions; on one thread."""
    peer = Peer(name, f"Taichi {version('taichi')}", f"solids/{c.key}/force-and-damping", "compiled loop over springs, atomic additions")
    try:
        ti = _started_taichi()
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return peer
    ends, x, v = c.springs.edges, c.positions, c.velocities
    rest, k, b = c.springs.rest_lengths, c.springs.spring_constants, c.springs.damping
    f = np.zeros_like(x)

    def field(values: np.ndarray, vector: int = 0) -> Any:
        kind = ti.i32 if values.dtype == np.int32 else ti.f64
        made = ti.Vector.field(vector, kind, len(values)) if vector else ti.field(kind, len(values))
        made.from_numpy(values)
        return made

    ends_, x_, v_, f_ = field(ends, 2), field(x, 3), field(v, 3), field(f, 3)
    rest_, k_, b_ = field(rest), field(k), field(b)

    def springs():  # type: ignore[no-untyped-def]  # Taichi refuses None
        for s in rest_:
            i, j = ends_[s][0], ends_[s][1]
            d = x_[j] - x_[i]
            length = d.norm()
            d /= length
            pull = (k_[s] * (length - rest_[s]) + b_[s] * (v_[j] - v_[i]).dot(d)) * d
            f_[i] += pull
            f_[j] -= pull

    kernel = ti.kernel(springs)
    kernel()
    peer.compare(f_.to_numpy(), ours)

    def run() -> None:
        kernel()
        ti.sync()

    peer.case = Case(name, "peers", c.work, "Mspring/s", run, threads=(1,), rounds=3, parameters={"springs": c.work})
    return peer
