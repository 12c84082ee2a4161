"""Benchmark cases of level sets: redistancing in a band and everywhere, and extension of velocities, beside scikit-fmm."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus.core import Workspace
from meniscus.surface import LevelSet, extend_velocity

FULL = 256
QUICK = 16
DTYPES = {"float32": np.float32, "float64": np.float64}
BAND = 5  # cells
METHODS = ("parallel", "fast-marching")


def ball(n: int, dtype: Any) -> LevelSet:
    """A ball in a unit cube: 1.3 times the distance, so that there is something to do."""

    def phi(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return 1.3 * (np.sqrt((x - 0.5) ** 2 + (y - 0.503) ** 2 + (z - 0.497) ** 2) - 0.3)

    return LevelSet.from_function(ms.Grid((n, n, n), 1 / n), phi, "cells", dtype=dtype)


def redistance_case(n: int, dtype: str, method: str, band: str) -> Case:
    """Whole domain in Mcell/s; how many cells are within the band is among the parameters."""
    start = ball(n, DTYPES[dtype])
    phi, workspace = start.copy(), Workspace()
    width = BAND / n if band == "band" else None
    inside = phi.redistance(band=width)
    return Case(
        name=f"levelset/{dtype}/redistance/{method}/{band}",
        group="levelset",
        work=inside if band == "band" else n**3,
        unit="Mcell/s",
        run=partial(phi.redistance, band=width, method=method, workspace=workspace),  # type: ignore[arg-type]
        prepare=partial(np.copyto, phi.array, start.array),
        threads=(1,) if method == "fast-marching" else (1, 2),
        workspace=workspace,
        state_bytes=phi.array.nbytes,
        parameters={"shape": (n, n, n), "cells_in_band": inside, "work": "cells in the band" if band == "band" else "all cells"},
    )


def extension_case(n: int, dtype: str) -> Case:
    """Faces that are given a velocity, per second."""
    phi = ball(n, DTYPES[dtype])
    phi.redistance(band=(BAND + 1) / n)
    velocity = ms.MacField(phi.grid, DTYPES[dtype])
    rng = np.random.default_rng(7)
    inside = phi.array <= 0
    known = []
    for d in range(3):
        component = velocity.component(d)
        component[...] = rng.uniform(-1, 1, component.shape)
        pad = [(0, 0)] * 3
        pad[d] = (1, 0)
        below = np.pad(inside, pad)
        pad[d] = (0, 1)
        known.append(below | np.pad(inside, pad))
    out, workspace = [k.copy() for k in known], Workspace()
    reached = extend_velocity(velocity, phi, known, band=BAND / n).reached

    def prepare() -> None:
        for mask, first in zip(out, known, strict=True):
            np.copyto(mask, first)

    return Case(
        name=f"levelset/{dtype}/extend-velocity",
        group="levelset",
        work=reached,
        unit="Mface/s",
        run=partial(extend_velocity, velocity, phi, out, band=BAND / n, out=out, workspace=workspace),
        prepare=prepare,
        workspace=workspace,
        state_bytes=3 * velocity.u.nbytes,
        parameters={"shape": (n, n, n), "faces_reached": reached},
    )


def names(dtype: str) -> Iterator[tuple[str, Callable[[int], Case]]]:
    """Names of all cases, and what makes them."""
    for method in METHODS:
        for band in ("band", "everywhere") if method == "parallel" else ("band",):
            yield (
                f"levelset/{dtype}/redistance/{method}/{band}",
                partial(redistance_case, dtype=dtype, method=method, band=band),
            )
    yield f"levelset/{dtype}/extend-velocity", partial(extension_case, dtype=dtype)


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    n = QUICK if quick else FULL
    return [make(n) for dtype in DTYPES for name, make in names(dtype) if chosen(name)]


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """scikit-fmm's fast marching in the same band, first order, float64."""
    name = "peers/scikit-fmm/levelset/redistance"
    if not chosen(name):
        return []
    remark = "serial fast marching, first order; interface by axis crossings"
    peer = Peer(name, f"scikit-fmm {version('scikit-fmm')}", "levelset/float64/redistance/parallel/band", remark)
    try:
        fmm = importlib.import_module("skfmm")
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return [peer]
    n = QUICK if quick else FULL
    phi = ball(n, np.float64)
    values = phi.array.copy()
    inside = phi.redistance(band=BAND / n)
    run = partial(fmm.distance, values, dx=1 / n, narrow=BAND / n, order=1)
    parameters = {"shape": (n, n, n), "cells_in_band": inside}
    peer.case = Case(name, "peers", inside, "Mcell/s", run, threads=(1,), rounds=3, parameters=parameters)
    theirs = run()
    both = ~np.ma.getmaskarray(theirs) & (np.abs(phi.array) < BAND / n)
    peer.compare(np.asarray(theirs)[both], phi.array[both])
    return [peer]
