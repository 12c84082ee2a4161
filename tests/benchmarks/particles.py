"""Benchmark cases of the particle level set: a step of the markers, the correction, the other stages, and the whole step; and a peer for
the particle step."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus._meniscus import grid as core_grid
from meniscus._meniscus import surface as core
from meniscus.fluids import deformation
from meniscus.surface import ParticleLevelSet, ParticleOptions

# Cells along each side.
FULL = {"64": 64, "128": 128}
QUICK = {"tiny": 12}
TYPES = ("float32", "float64")
CFL = 1.0


class Markers:
    """Enright's sphere in the deformation flow, after a few steps, so that markers have escaped."""

    def __init__(self, key: str, cells: int, dtype: str) -> None:
        self.name, self.dtype = f"particles/{key}/{dtype}", dtype
        self.grid = ms.Grid((cells,) * 3, 1 / cells)
        self.velocity = ms.MacField(self.grid, dtype)
        deformation(1.0).sample(self.velocity)
        self.dt = CFL / cells / ms.grid.max_speed(self.velocity)
        self.pls = ParticleLevelSet(self.grid, dtype=dtype, options=ParticleOptions(reseed_every=None))
        x, y, z = self.pls.levelset.field.coordinates()
        distance = np.sqrt((x - 0.35) ** 2 + (y - 0.35) ** 2 + (z - 0.35) ** 2) - 0.15
        self.pls.levelset.array = distance.astype(dtype)
        self.pls.seed()
        for _ in range(3):
            self.pls.advance(self.velocity, self.dt)
        self.start = self.pls.snapshot()

    @property
    def count(self) -> int:
        return len(self.start["particles"]["id"])

    def back(self) -> None:
        self.pls.restore(self.start)

    def carry(self) -> Any:
        """The markers alone, by RK2."""
        p = self.pls
        midpoint = core_grid.Trace.midpoint
        return core.advance_markers(p.particles._core, self.velocity._core, self.dt, midpoint, None, 0.0, 0.0, p._workspace)


def stage_cases(m: Markers) -> Iterator[Case]:
    """Per particle; the bytes are those of the markers and of the samples."""

    def case(name: str, run: Callable[[], object]) -> Case:
        p = m.pls
        particles = m.count * p.bytes_per_particle
        parameters = {"particles": m.count, "bytes per particle": p.bytes_per_particle, "samples": m.grid.shape}
        return Case(
            name=f"{m.name}/{name}",
            group="particles",
            work=m.count,
            unit="Mparticle/s",
            run=run,
            prepare=m.back,
            workspace=p._workspace,
            state_bytes=particles,
            other_bytes=p.levelset.array.nbytes,
            parameters=parameters,
        )

    yield case("carry", m.carry)
    yield case("correct", m.pls.correct)
    yield case("radii", m.pls.adjust_radii)
    yield case("reseed", m.pls.reseed)
    yield case("advance", partial(m.pls.advance, m.velocity, m.dt))


STAGES = ("carry", "correct", "radii", "reseed", "advance")


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    found = []
    for key, cells in (QUICK if quick else FULL).items():
        for dtype in TYPES:
            if any(chosen(f"particles/{key}/{dtype}/{s}") for s in STAGES):
                found += [c for c in stage_cases(Markers(key, cells, dtype)) if chosen(c.name)]
    return found


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """The particle step with SciPy's interpolation of each velocity component, two times per component as RK2 needs it."""
    key, cells = next(iter((QUICK if quick else FULL).items()))
    name = f"peers/scipy/particles/{key}/float64/carry"
    if not chosen(name):
        return []
    remark = "map_coordinates, order 1, six times (no checks, nobody leaves)"
    peer = Peer(name, f"scipy {version('scipy')}", f"particles/{key}/float64/carry", remark)
    try:
        ndimage = importlib.import_module("scipy.ndimage")
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return [peer]
    m = Markers(key, cells, "float64")
    start = m.start["particles"]["position"]
    h = m.grid.spacing

    def sampled(x: np.ndarray) -> np.ndarray:
        out = np.empty_like(x)
        for d in range(3):
            at = (x / h - np.where(np.arange(3) == d, 0.0, 0.5)).T
            out[:, d] = ndimage.map_coordinates(m.velocity.component(d), at, order=1, mode="nearest")
        return out

    def run() -> np.ndarray:
        return start + m.dt * sampled(start + 0.5 * m.dt * sampled(start))

    peer.case = Case(name, "peers", len(start), "Mparticle/s", run, threads=(1,), rounds=3, parameters={"particles": len(start)})
    m.back()
    m.carry()
    peer.compare(run(), m.pls.particles.positions)
    return [peer]
