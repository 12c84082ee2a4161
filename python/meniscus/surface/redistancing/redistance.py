"""Redistancing of level sets, and extension of fields along their normals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid import CellField, MacField, NodeField, ScalarField
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.grid.transport.extrapolation import copied_mask
from meniscus.grid.transport.visibility import component_masks

AtSides = Literal["ends", "goes-on"]
EikonalMethod = Literal["parallel", "fast-marching"]
ExtensionSide = Literal["outside", "both"]
InterfaceDistance = Literal["closest-point", "axis-crossings"]

AT_SIDES = CoreOption(AtSides, _surface.AtSides)
EIKONAL_METHOD = CoreOption(EikonalMethod, _surface.EikonalMethod)
EXTENSION_SIDE = CoreOption(ExtensionSide, _surface.ExtensionSide)
INTERFACE_DISTANCE = CoreOption(InterfaceDistance, _surface.InterfaceDistance)


class HoldsLevelSet(Protocol):
    """An object whose field is a level set, such as `LevelSet`."""

    @property
    def field(self) -> ScalarField:
        """The samples of phi."""
        ...


def redistance(
    levelset: HoldsLevelSet | ScalarField,
    *,
    band: float | None = None,
    method: EikonalMethod = "parallel",
    interface: InterfaceDistance = "closest-point",
    at_sides: AtSides = "ends",
    hidden: npt.ArrayLike | None = None,
    outside: npt.ArrayLike | None = None,
    workspace: Workspace | None = None,
) -> int:
    """Replace a level set by the signed distance to its zero set, in place, without moving the surface.

    No sample changes sides (phi <= 0 is inside). Values that are the distance already keep their bits up to round-off, so that nothing
    drifts when this is repeated.

    Args:
        levelset: a `LevelSet`, or a field on cells or nodes, m.
        band: m; samples farther than this, or that no interface reaches, become +-band. None: distances everywhere; where there is no
            interface to reach, values stay.
        method: solver of |grad phi| = 1: 'parallel', in rounds over strips beside a change, or 'fast-marching', serially with a heap. Both
            solve the same upwind equations and agree to round-off.
        interface: distances beside the interface: 'closest-point', on a piecewise cubic interpolant, or 'axis-crossings', 1 / d^2 = sum 1 /
            d_a^2 over the linear crossings along the axes, which is common in the literature and of first order.
        at_sides: what becomes of a surface that meets a side of the domain, unless that is periodic: 'ends', distances are those from the
            part within the domain; 'goes-on', samples of the band whose closest point lies beyond the side keep their values, as far as
            the differences beside them allow it for a distance, so that a plane at any angle stays what it is. Needs a band.
        hidden: bool mask of the shape of the samples; True where a sample is neither source nor target, such as inside a solid. Such
            samples keep their values.
        outside: bool mask of the shape of the samples; False where a sample lies in a solid, into which the level set was continued
            (`SolidBoundary.extend_level_set`). Distances outside do not come from interpolants of continued samples, so that errors of
            round-off do not grow when this is repeated, and where the continuations of two sides meet with a jump, as in a thin wall,
            there is no surface.
        workspace: scratch memory to reuse.

    Returns:
        The number of samples within the band.

    Raises:
        TypeError, ValueError: wrong type, dtype or shape, a band that is not positive, samples that are not finite; nothing is changed.

    Source: Selle 2008, section 4.4.3 "Level Set Method"; interface: Chopp 2001; rounds: Jeong and Whitaker 2008; marching: Sethian 1996.
    """
    field = scalar_field(levelset)
    reach = math.inf if band is None else _checks.positive("band", band)
    options = _surface.RedistanceOptions(
        EIKONAL_METHOD("method", method),
        INTERFACE_DISTANCE("interface", interface),
        reach,
        AT_SIDES("at_sides", at_sides),
    )
    unused = None if hidden is None else _checks.mask("hidden", hidden, field.shape)
    own = None if outside is None else _checks.mask("outside", outside, field.shape)
    return _surface.redistance(field._core, options, unused, own, workspace_or_new(workspace))


def scalar_field(levelset: HoldsLevelSet | ScalarField) -> ScalarField:
    """Return the field of a level set, or the field itself."""
    field = getattr(levelset, "field", levelset)
    if not isinstance(field, (CellField, NodeField)):
        raise TypeError(f"levelset must be a LevelSet, CellField or NodeField, not {type(levelset).__name__}")
    return field


@dataclass(frozen=True)
class Extended:
    """Report of an extension.

    Attributes:
        known: the mask, or the masks of the velocity components, of the samples that are known now.
        reached: number of samples that got a value.
        unreached: number of samples of the band that no known sample reaches; they kept their values.
    """

    known: Any
    reached: int
    unreached: int


def extend(
    field: ScalarField,
    levelset: HoldsLevelSet | ScalarField,
    known: npt.ArrayLike,
    *,
    band: float | None = None,
    side: ExtensionSide = "outside",
    out: npt.NDArray[np.bool_] | None = None,
    workspace: Workspace | None = None,
) -> Extended:
    """Extend a field off a surface, constant along the normals, in place: grad phi . grad f = 0.

    Samples that are not known and closer to the surface than `band` get the weighted mean of their neighbours of smaller phi, with the
    weights (phi - phi_neighbour) of upwinding; where none of those has a value, the mean of the known samples beside them. Constants are
    continued exactly, and functions that are linear along a plane too.

    Args:
        field: on cells or nodes.
        levelset: of the same grid and dtype, on cells or nodes; a distance function (m), at least within the band.
        known: bool mask of the known samples, of the shape of `field.array`. Not changed, unless it is also `out`.
        band: m; default 5 cells.
        side: 'outside': by increasing phi; 'both': away from the surface on both sides, by increasing |phi|.
        out: bool, C-contiguous: gets the mask of the result; may be `known`.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: wrong type, dtype, shape or grid, a band that is not positive, known values or a level set that are not
            finite; nothing is changed.

    Source: Selle 2008, sections 2.9 and 4.4 (velocity extrapolation); Adalsteinsson and Sethian 1999.
    """
    _checks.one_of_type("field", field, (CellField, NodeField))
    phi, reach = _level_for(field, levelset, band)
    mask = copied_mask("out", _checks.mask("known", known, field.shape), out)
    reached, unreached = _surface.extend(field._core, phi._core, mask, reach, EXTENSION_SIDE("side", side), workspace_or_new(workspace))
    return Extended(mask, reached, unreached)


def extend_velocity(
    velocity: MacField,
    levelset: HoldsLevelSet | ScalarField,
    known: Sequence[npt.ArrayLike],
    *,
    band: float | None = None,
    side: ExtensionSide = "outside",
    out: Sequence[npt.NDArray[np.bool_]] | None = None,
    workspace: Workspace | None = None,
) -> Extended:
    """Extend a velocity off a surface, constant along the normals, component by component: see `extend`.

    At the faces phi is the mean of the samples beside them.

    Args:
        velocity: is changed in place. If a component raises an error, the earlier ones have been extended.
        levelset: of the same grid and dtype, on cells or nodes; a distance function (m), at least within the band.
        known: one bool mask per component.
        band: m; default 5 cells.
        side: 'outside': by increasing phi; 'both': away from the surface on both sides, by increasing |phi|.
        out: one mask per component for those of the result; may be `known`.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: as `extend`.

    Source: as `extend`.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    phi, reach = _level_for(velocity, levelset, band)
    masks = component_masks("known", known, velocity)
    if masks is None:
        raise TypeError("known must be a sequence of masks, one per velocity component")
    if out is not None and len(out) != len(masks):
        raise ValueError(f"out must hold {len(masks)} masks, one per velocity component, not {len(out)}")
    targets = [copied_mask(f"out[{d}]", m, None if out is None else out[d]) for d, m in enumerate(masks)]
    space = workspace_or_new(workspace)
    return Extended(targets, *_surface.extend_faces(velocity._core, phi._core, targets, reach, EXTENSION_SIDE("side", side), space))


def _level_for(field: ScalarField | MacField, levelset: HoldsLevelSet | ScalarField, band: float | None) -> tuple[ScalarField, float]:
    phi = scalar_field(levelset)
    if phi.grid != field.grid:
        raise ValueError(f"levelset must be on {field.grid!r}, not on {phi.grid!r}")
    if phi.dtype != field.dtype:
        raise TypeError(f"levelset must be of dtype {field.dtype} like the field, not {phi.dtype}")
    return phi, 5.0 * field.grid.spacing if band is None else _checks.positive("band", band)
