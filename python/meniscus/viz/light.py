"""Light that reaches each cell of a volume of smoke."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

_OPAQUE = 6.0  # optical depth of a cell of solid


def light_depth(extinction: Floats, toward: npt.NDArray[Any], solid: Floats | None = None) -> Floats:
    """Return the optical depth between each cell and a sun far away.

    One sweep over slices away from the sun: the depth behind a slice is that of the previous slice, shifted along the light. The shifts
    blur it a little, like forward scattering.

    Args:
        extinction: (nx, ny, nz), 1 / cells.
        toward: unit vector towards the sun.
        solid: share of each cell that a solid fills; it casts a shadow.
    """
    axis = int(np.argmax(np.abs(toward)))
    dense = extinction if solid is None else extinction + _OPAQUE * solid
    slices = np.moveaxis(dense, axis, 0)
    depth = np.empty_like(slices)
    n = len(slices)
    order = range(n - 1, -1, -1) if toward[axis] > 0 else range(n)
    others = [d for d in range(3) if d != axis]
    shift = [float(toward[d] / abs(toward[axis])) for d in others]
    half = np.float32(0.5 / abs(toward[axis]))
    behind = np.zeros(slices.shape[1:], np.float32)
    for k in order:
        own = half * slices[k]
        depth[k] = _shifted(behind, shift) + own
        behind = depth[k] + own
    return np.moveaxis(depth, 0, axis)


def ambient_visibility(extinction: Floats, solid: Floats | None = None, radius: int = 5) -> Floats:
    """Return the share of light from all around that reaches each cell: exp of minus the optical depth of its surroundings.

    The depth is estimated as that of a ball of `radius` cells with the mean density of a box of that size, averaged twice.
    """
    dense = extinction if solid is None else extinction + np.float32(1.0) * solid
    mean = dense
    for _ in range(2):
        for axis in range(3):
            mean = _box_mean(mean, axis, radius)
    visible: Floats = np.exp(-0.5 * radius * mean)
    return visible


def _shifted(image: Floats, shift: list[float]) -> Floats:
    """Return the image at positions + shift, interpolated linearly; zero outside."""
    for axis, s in enumerate(shift):
        whole = int(np.floor(s))
        part = np.float32(s - whole)
        image = (1 - part) * _moved(image, axis, whole) + part * _moved(image, axis, whole + 1)
    return image


def _moved(image: Floats, axis: int, by: int) -> Floats:
    result = np.zeros_like(image)
    n = image.shape[axis]
    source = slice(max(by, 0), min(n + by, n))
    target = slice(max(-by, 0), min(n - by, n))
    index = [slice(None)] * 2
    index[axis] = target
    other = [slice(None)] * 2
    other[axis] = source
    result[tuple(index)] = image[tuple(other)]
    return result


def _box_mean(values: Floats, axis: int, radius: int) -> Floats:
    """Return the mean over 2 radius + 1 cells along an axis; zero outside."""
    width = [(0, 0)] * 3
    width[axis] = (radius + 1, radius)
    total = np.cumsum(np.pad(values, width), axis=axis, dtype=np.float64)
    n = values.shape[axis]
    span = 2 * radius + 1
    result: Floats = ((total.take(range(span, span + n), axis) - total.take(range(n), axis)) / span).astype(np.float32)
    return result
