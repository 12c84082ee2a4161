"""Frames of several ranks, gathered on one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid import Grid
from meniscus.io.frames import FrameData
from meniscus.io.spread import domain_shape, window

Arrays = Mapping[str, npt.NDArray[Any]]


def gathered(frame: FrameData) -> FrameData | None:
    """Return the frame of the whole domain, on a grid of one rank, on rank 0, and None on others; collective.

    A frame whose grid is not cut is returned as it is. Meshes are those of rank 0.
    """
    if frame.grid is None or frame.grid.comm.size == 1:
        return frame
    grid = frame.grid
    own = {
        "cells": _owned(frame.cells, grid),
        "nodes": _owned(frame.nodes, grid),
        "particles": {name: dict(columns) for name, columns in frame.particles.items()},
    }
    parts = grid.comm.exchange([own if rank == 0 else None for rank in range(grid.comm.size)])
    if grid.comm.rank > 0:
        return None
    return dataclasses.replace(
        frame,
        grid=grid.alone(),
        cells={name: _joined(name, [p["cells"][name] for p in parts], values, grid) for name, values in frame.cells.items()},
        nodes={name: _joined(name, [p["nodes"][name] for p in parts], values, grid) for name, values in frame.nodes.items()},
        particles={
            name: {k: np.concatenate([p["particles"][name][k] for p in parts]) for k in columns}
            for name, columns in frame.particles.items()
        },
    )


def _owned(arrays: Arrays, grid: Grid) -> dict[str, npt.NDArray[Any]]:
    return {name: a[window(grid, domain_shape(name, a.shape, grid), grid.comm.rank)[0]] for name, a in arrays.items()}


def _joined(name: str, parts: list[npt.NDArray[Any]], own: npt.NDArray[Any], grid: Grid) -> npt.NDArray[Any]:
    shape = domain_shape(name, own.shape, grid)
    whole = np.empty(shape, own.dtype)
    for rank, part in enumerate(parts):
        whole[window(grid, shape, rank)[1]] = part
    return whole
