"""Extrapolation of fields from known samples to unknown ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus.core import Workspace
from meniscus.grid.fields import MacField, ScalarField
from meniscus.grid.transport.advection import component_masks, workspace_or_new

Bools = npt.NDArray[np.bool_]


@overload
def extrapolate(field: ScalarField, known: npt.ArrayLike, *, layers: int | None = None, workspace: Workspace | None = None) -> Bools: ...


@overload
def extrapolate(
    field: MacField, known: Sequence[npt.ArrayLike], *, layers: int | None = None, workspace: Workspace | None = None
) -> list[Bools]: ...


def extrapolate(
    field: ScalarField | MacField,
    known: npt.ArrayLike | Sequence[npt.ArrayLike],
    *,
    layers: int | None = None,
    workspace: Workspace | None = None,
) -> Bools | list[Bools]:
    """Extrapolate known samples to unknown ones, layer by layer, in place.

    A layer consists of the unknown samples that share a face with known ones; each gets the mean of those. Only earlier layers are used, so
    the result favours no direction. Periodic sides connect.

    Args:
        field: scalar field or velocity.
        known: bool mask of the known samples, of the shape of `field.array`; for a velocity one mask per component. Not changed.
        layers: how many layers to fill; default: everything that can be reached.
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
        result = [m.copy() for m in masks]
        for d, m in enumerate(result):
            _grid.extrapolate_component(field._core, d, m, count, space)
        return result
    _checks.one_of_type("field", field, (ScalarField, MacField))
    mask: Bools = _checks.mask("known", known, field.shape).copy()
    _grid.extrapolate(field._core, mask, count, space)
    return mask
