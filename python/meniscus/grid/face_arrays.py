"""Plain arrays of faces and cells next to each other, also where an axis closes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.grid.uniform import Grid

Floats = npt.NDArray[np.float64]


def with_neighbours(grid: Grid, values: Floats, axis: int) -> Floats:
    """Return values per cell with one more layer at both ends of an axis: the one at the other end where the axis closes, else zeros."""
    ends = [values.take([end], axis=axis) for end in (-1, 0)]
    if not grid.periodic[axis]:
        ends = [np.zeros_like(end) for end in ends]
    return np.concatenate([ends[0], values, ends[1]], axis=axis)


def close_faces(grid: Grid, values: npt.NDArray[Any], axis: int) -> None:
    """Give the last face of an axis that closes the value of the first one, which is the same face."""
    if grid.periodic[axis]:
        values[(slice(None),) * axis + (-1,)] = values[(slice(None),) * axis + (0,)]


def beside_samples(grid: Grid, samples: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which cells, or faces across an axis, have one of some of their kind beside them, along an axis."""
    found = np.zeros_like(samples)
    for k, cells in enumerate(grid.shape):
        n = samples.shape[k]
        ends = [samples.take([end], axis=k) for end in (-1, 0)]
        if n > cells:
            # On an axis that closes the last face is the first one.
            ends = [samples.take([end], axis=k) for end in (-2, 1)]
        if not grid.periodic[k]:
            ends = [np.zeros_like(end) for end in ends]
        padded = np.concatenate([ends[0], samples, ends[1]], axis=k)
        found |= padded.take(range(n), axis=k) | padded.take(range(2, n + 2), axis=k)
    return found


def cells_with_faces(grid: Grid, faces: tuple[npt.NDArray[np.bool_], ...]) -> npt.NDArray[np.bool_]:
    """Return the cells beside any of some faces, one mask per axis."""
    cells = np.zeros(grid.shape, bool)
    for k, mask in enumerate(faces):
        n = grid.shape[k]
        cells |= mask.take(range(n), axis=k) | mask.take(range(1, n + 1), axis=k)
    return cells


def cells_beside_faces(
    grid: Grid, axis: npt.NDArray[np.integer[Any]], face: npt.NDArray[np.integer[Any]], upper: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the numbers in C order of cells next to faces, -1 beyond sides of the domain.

    Args:
        grid: the grid.
        axis: (n,) of each face.
        face: (n, dimension) index of each face: it lies below the cell of this index along its axis.
        upper: (n,) whether the cell above the face is asked for.
    """
    at = np.array(face, dtype=np.int64)
    rows = np.arange(len(at))
    at[rows, axis] -= ~upper
    shape = np.array(grid.shape)
    at = np.where(np.array(grid.periodic), at % shape, at)
    outside = np.any((at < 0) | (at >= shape), axis=1)
    number = np.ravel_multi_index(tuple(np.where(outside[:, None], 0, at).T), grid.shape)
    return np.where(outside, -1, number).astype(np.int64)


def faces_within(grid: Grid, axis: int, face: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return indices (n, dimension) of faces across an axis as they are in the domain, and which are in it.

    On an axis that closes, of the two faces that are the same it is the lower one.
    """
    around = np.array(grid.periodic)
    shape = np.array(grid.shape)
    most = shape - 1
    most[axis] += 1
    folded = np.where(around, face % shape, face)
    return folded, np.all((folded >= 0) & (folded <= most), axis=1)


def first_copies(grid: Grid, axis: npt.NDArray[np.integer[Any]], face: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return which faces (n, dimension) across axes (n,) are not the last one of an axis that closes, which is the first one again."""
    last = face[np.arange(len(axis)), axis] == np.array(grid.shape)[axis]
    result: npt.NDArray[np.bool_] = ~(np.array(grid.periodic)[axis] & last)
    return result


def shifts_to_images(grid: Grid, points: Floats, near: Floats) -> Floats:
    """Return by how much (n, dimension), m, the image of each point nearest to another point is away; 0 along axes that do not close."""
    extent = np.array(grid.shape) * grid.spacing
    shift: Floats = np.where(np.array(grid.periodic), np.round((near - points) / extent) * extent, 0.0)
    return shift


def domain_images(grid: Grid) -> Floats:
    """Return the shifts (n, dimension), m, from a body in the domain to itself and to its images around axes that close."""
    extent = np.array(grid.shape) * grid.spacing
    around = [(-1, 0, 1) if closes else (0,) for closes in grid.periodic]
    images: Floats = np.array(list(product(*around)), np.float64) * extent
    return images


def each_face_once(grid: Grid, values: Floats, axis: int) -> Floats:
    """Return values of the faces across an axis without the last one where the axis closes, which is the first."""
    return values.take(range(grid.shape[axis]), axis=axis) if grid.periodic[axis] else values


def closing_axes(grid: Grid) -> list[int]:
    """Return the axes that close."""
    return [d for d in range(grid.dimension) if grid.periodic[d]]
