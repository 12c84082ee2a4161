"""Peers: the same work done by other libraries, in the same run and on the same data.

A peer is optional: what cannot be imported becomes a row that says so. Where both sides compute the same thing their results are
compared, and the difference is a part of the result: a fast answer to another question would be no peer. With a limiter, single cells
may differ by more than rounding: where a trace ends on the side of a cell, rounding decides which samples bound the value.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any

import numpy as np
from harness import Case
from transport import World

import meniscus as ms

ROUNDS = 3


@dataclass
class Peer:
    """A case of another library beside one of ours, or the reason why there is none."""

    name: str
    library: str
    counterpart: str
    remark: str
    case: Case | None = None
    unavailable: str = ""
    largest_difference: float | None = None
    rms_difference: float | None = None

    def compare(self, theirs: np.ndarray, ours: np.ndarray) -> None:
        """Note how far apart the results are."""
        difference = theirs.astype(np.float64) - ours
        self.largest_difference = float(np.abs(difference).max())
        self.rms_difference = float(np.sqrt(np.mean(difference**2)))


def version(distribution: str) -> str:
    """Version of an installed distribution, or 'not installed'."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


def _case(name: str, world: World, run: Callable[[], Any]) -> Case:
    parameters = {"dtype": world.dtype, "shape": world.grid.shape}
    return Case(name, "peers", world.cells, "Mcell/s", run, threads=(1,), rounds=ROUNDS, parameters=parameters)


def _ours(world: World, **options: Any) -> np.ndarray:
    field = world.field.copy()
    field.array[...] = world.start
    ms.fluids.advect(field, world.velocity, world.dt, **options)
    return field.array.copy()


def _traced_indices(world: World) -> np.ndarray:
    """Return the ends of the midpoint traces of all cells, in cells from the first centre, shaped (dim, ...)."""
    grid = world.grid
    points = np.stack(np.broadcast_arrays(*grid.cell_centers()), axis=-1).reshape(-1, grid.dimension).astype(world.dtype)
    ms.grid.trace(points, world.velocity, -world.dt, method="midpoint", outside="keep")
    indices = (points - np.array(grid.origin)) / grid.spacing - 0.5
    return np.ascontiguousarray(indices.T.reshape(grid.dimension, *grid.shape)).astype(world.dtype)


def scipy_peers(world: World, chosen: Callable[[str], bool]) -> list[Peer]:
    """map_coordinates at positions that were traced beforehand: the interpolation of a semi-Lagrangian step alone."""
    counterparts = {
        1: (
            "semi-lagrangian-midpoint",
            "map_coordinates, order 1, positions given (ours: trace and checks included)",
        ),
        3: (
            "semi-lagrangian-cubic-midpoint",
            "map_coordinates, order 3 with its spline filter, positions given (ours: monotone cubic, trace and checks included)",
        ),
    }
    peers = []
    for order, (label, remark) in counterparts.items():
        name = f"peers/scipy/{world.key}/order-{order}"
        if not chosen(name):
            continue
        peer = Peer(name, f"SciPy {version('scipy')}", f"scalar/{world.key}/{label}", remark)
        peers.append(peer)
        try:
            ndimage = importlib.import_module("scipy.ndimage")
        except ImportError as error:
            peer.unavailable = f"not importable: {error}"
            continue
        out = np.empty_like(world.start)
        run = partial(ndimage.map_coordinates, world.start, _traced_indices(world), output=out, order=order, mode="nearest")
        peer.case = _case(name, world, run)
        if order == 1:
            run()
            peer.compare(out, _ours(world, method="semi-lagrangian", trace="midpoint"))
    return peers


def phiflow_peers(world: World, chosen: Callable[[str], bool]) -> list[Peer]:
    """PhiFlow's advection on its NumPy backend, with its own traces."""
    label = "scalar/" + world.key + "/"
    rows = {
        "semi_lagrangian": (f"{label}semi-lagrangian-euler", {"method": "semi-lagrangian", "trace": "euler"}),
        "mac_cormack": (f"{label}maccormack-euler-clamp", {"method": "maccormack", "trace": "euler", "limiter": "clamp"}),
    }
    peers = []
    for function, (counterpart, options) in rows.items():
        name = f"peers/phiflow/{world.key}/{function}"
        if not chosen(name):
            continue
        remark = f"advect.{function}, NumPy backend, Euler trace"
        peer = Peer(name, f"PhiFlow {version('phiflow')}", counterpart, remark)
        peers.append(peer)
        try:
            flow = importlib.import_module("phi.flow")
        except ImportError as error:
            peer.unavailable = f"not importable: {error}"
            continue
        run = partial(_phiflow_step, flow, function, *_phiflow_data(flow, world), world.dt)
        peer.case = _case(name, world, run)
        peer.compare(run(), _ours(world, **options))
    return peers


def _phiflow_data(flow: Any, world: World) -> tuple[Any, Any]:
    """The scalar and the velocity as PhiFlow's grids; faces on walls, whose velocity is zero, are not stored there."""
    axes = ",".join("xyz"[: world.grid.dimension])
    box = flow.Box(**dict(zip(axes.split(","), world.grid.extent, strict=True)))
    scalar = flow.CenteredGrid(flow.tensor(world.start.copy(), flow.spatial(axes)), flow.extrapolation.ZERO_GRADIENT, bounds=box)
    inner = {}
    for d, axis in enumerate(axes.split(",")):
        faces = [slice(None)] * world.grid.dimension
        faces[d] = slice(1, -1)
        inner[axis] = flow.tensor(world.velocity.component(d)[tuple(faces)].copy(), flow.spatial(axes))
    components = flow.math.stack(inner, flow.dual("vector"))
    return scalar, flow.StaggeredGrid(components, flow.extrapolation.ZERO, bounds=box)


def _phiflow_step(flow: Any, function: str, scalar: Any, velocity: Any, dt: float) -> np.ndarray:
    result = getattr(flow.advect, function)(scalar, velocity, dt)
    return np.asarray(result.values.numpy(",".join("xyz"[: len(scalar.resolution)])))


def all_peers(worlds: dict[str, World], chosen: Callable[[str], bool]) -> list[Peer]:
    """Every peer whose name is chosen."""
    peers = scipy_peers(worlds["3d/float32"], chosen) + scipy_peers(worlds["3d/float64"], chosen)
    return peers + phiflow_peers(worlds["3d/float32"], chosen)
