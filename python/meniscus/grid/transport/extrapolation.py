"""Extrapolation of fields from known samples to unknown ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.grid.fields import MacField, ScalarField
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.grid.transport.visibility import component_masks

Bools = npt.NDArray[np.bool_]


@overload
def extrapolate(
    field: ScalarField, known: npt.ArrayLike, *, layers: int | None = None, out: Bools | None = None, workspace: Workspace | None = None
) -> Bools: ...


@overload
def extrapolate(
    field: MacField,
    known: Sequence[npt.ArrayLike],
    *,
    layers: int | None = None,
    out: Sequence[Bools] | None = None,
    workspace: Workspace | None = None,
) -> list[Bools]: ...


def extrapolate(
    field: ScalarField | MacField,
    known: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    layers: int | None = None,
    out: Bools | Sequence[Bools] | None = None,
    workspace: Workspace | None = None,
) -> Bools | list[Bools]:
    """Extrapolate known samples to unknown ones, layer by layer, in place.

    A layer consists of the unknown samples that share a face with known ones; each gets the mean of those. Only earlier layers are used, so
    the result favours no direction. Periodic sides connect.

    Args:
        field: scalar field or velocity.
        known: bool mask of the known samples, of the shape of `field.array`; for a velocity one mask per component. Not changed, unless
            it is also `out`.
        layers: how many layers to fill; default: everything that can be reached.
        out: bool, C-contiguous, writable: where the mask(s) of the result go; may be `known`. Default: new ones.
        workspace: scratch memory to reuse.

    Returns:
        The mask(s) of the samples that are known now.

    Raises:
        TypeError, ValueError: wrong type, dtype or shape of an argument, negative `layers`.
    """
    count = np.iinfo(np.int64).max if layers is None else _checks.integer("layers", layers, 0)
    space = workspace_or_new(workspace)
    if isinstance(field, MacField):
        masks = component_masks("known", known, field)
        if masks is None:
            raise TypeError("known must be a sequence of masks, one per velocity component")
        if out is not None and len(out) != len(masks):
            raise ValueError(f"out must hold {len(masks)} masks, one per velocity component, not {len(out)}")
        result = [copied_mask(f"out[{d}]", m, None if out is None else out[d]) for d, m in enumerate(masks)]
        _grid.extrapolate_faces(field._core, result, count, space)
        return result
    _checks.one_of_type("field", field, (ScalarField, MacField))
    mask = copied_mask("out", _checks.mask("known", known, field.shape), out)
    _grid.extrapolate(field._core, mask, count, space)
    return mask


def copied_mask(name: str, mask: Bools, out: Any) -> Bools:
    """Copy a mask to `out`, which may be the mask itself, or to a new one; raise TypeError or ValueError for what is no such mask."""
    if out is None:
        out = np.empty(mask.shape, bool)
    elif not isinstance(out, np.ndarray) or out.dtype != np.bool_ or not out.flags.c_contiguous or not out.flags.writeable:
        raise TypeError(f"{name} must be a writable, C-contiguous array of bool")
    elif out.shape != mask.shape:
        raise ValueError(f"{name} must have shape {mask.shape}, not {out.shape}")
    target: Bools = out
    if target is not mask:
        np.copyto(target, mask)
    return target
