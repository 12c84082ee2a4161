"""Extraction of the surface of a level set, its volume and curvature, and the connected components of its inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.core import Workspace
from meniscus.grid import CellField, NodeField, ScalarField
from meniscus.grid.transport.advection import workspace_or_new

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Sides = Literal["closed", "open"]
Positions = Literal["linear", "cubic"]
CurvatureKind = Literal["surface", "level", "columns"]

CURVATURE_KIND = CoreOption(CurvatureKind, _surface.CurvatureKind)


class ExtractedMesh(NamedTuple):
    """The surface of a level set: `vertices, elements = mesh` gives the arrays, and whatever takes a surface takes it.

    Attributes:
        vertices: (n, dim), m.
        elements: (m, 3) triangles, in 2-D (m, 2) segments: indices of vertices.
    """

    vertices: Floats
    elements: Integers

    @property
    def triangles(self) -> Integers:
        """The elements in 3-D. Raises AttributeError in 2-D."""
        if self.vertices.shape[1] != 3:
            raise AttributeError("the curve of a 2-D level set has segments, no triangles; they are its elements")
        return self.elements

    @property
    def faces(self) -> Integers:
        """The same as `triangles`, by the name that trimesh has for it."""
        return self.triangles


@dataclass(frozen=True, eq=False)
class Components:
    """The connected components of a level set.

    Attributes:
        labels: int32, one per sample (of the rank): 1, 2, ... inside, numbered by their first sample in the order of the array of the whole
            domain; outside 0, or -1, -2, ... where the parts of the outside have been asked for.
        count: parts inside.
        air_count: parts outside; 0 unless they have been asked for.
        volumes: of the parts inside, m^3 (areas, m^2, in 2-D); `volumes[i]` is that of label i + 1. They add up to the level set's volume,
            but for films and gaps at sides of the domain that no sample sees: of cells, those thinner than half a cell.
            Empty where they have not been asked for.
        air_volumes: the same of the parts outside, label -(i + 1).
    """

    labels: Integers
    count: int
    air_count: int
    volumes: Floats
    air_volumes: Floats


def _field(phi: object) -> ScalarField:
    # A level set says where its samples are; importing its class here would be a circle.
    field = _checks.one_of_type("phi", getattr(phi, "field", phi), ScalarField)
    if field.on_side not in ((0,) * field.grid.dimension, (1,) * field.grid.dimension):
        raise ValueError("phi must have its samples on the cells or on the nodes")
    return field


@overload
def extract(
    phi: Any,
    *,
    sides: Sides = "closed",
    periods: Sides = "open",
    positions: Positions = "linear",
    normals: Literal[False] = False,
    workspace: Workspace | None = None,
) -> ExtractedMesh: ...
@overload
def extract(
    phi: Any,
    *,
    sides: Sides = "closed",
    periods: Sides = "open",
    positions: Positions = "linear",
    normals: Literal[True],
    workspace: Workspace | None = None,
) -> tuple[Floats, Integers, Floats]: ...
def extract(
    phi: Any,
    *,
    sides: Sides = "closed",
    periods: Sides = "open",
    positions: Positions = "linear",
    normals: bool = False,
    workspace: Workspace | None = None,
) -> ExtractedMesh | tuple[Floats, Integers, Floats]:
    """Return the surface phi = 0 as a mesh: triangles with normals out of phi <= 0, in 2-D segments with the inside to their left.

    Every edge belongs to two triangles (every vertex of a 2-D curve to two segments) and the triangles at a vertex form one fan, whatever
    the samples are; open surfaces end in curves on the sides. A vertex lies on an edge between two samples of unlike sign, at least 1e-6 of
    the edge away from its ends. So a sample that is exactly 0, which counts as inside, gives small triangles but none that is degenerate.
    Samples are connected inside where neighbours along the axes are, also in the mesh. Cells continue to the sides of the domain on the
    line through the last two of them, unless that is steeper than 1.5, as no distance is; nodes lie on the sides. On ranks each finds its
    part, and every rank gets the whole mesh, vertex by vertex that of one rank.

    Args:
        phi: a LevelSet, CellField or NodeField, 2-D or 3-D, m.
        sides: 'closed': the mesh follows the sides of the domain where the inside touches them; 'open': it ends there.
        periods: the same for the two ends of periodic axes, which are congruent when left open.
        positions: of the vertices: zeros of the 'linear' interpolant of two samples, or of the 'cubic' one through four in a row (where
            there are four), which is more accurate for smooth phi. The measures of a level set are those of the linear one.
        normals: also return unit normals at the vertices: along the gradient of phi, and on closed sides those of the sides.
        workspace: scratch memory to reuse.

    Returns:
        An `ExtractedMesh` of vertices (n, dim) float64, m, and triangles (m, 3) or segments (m, 2) int32; with `normals` a tuple of these
        and of (n, dim) float64.

    Raises:
        TypeError, ValueError: no such field, unknown options, samples that are not finite.

    Source: Lorensen and Cline 1987 (marching cubes), with a table made by rule.
    """
    field = _field(phi)
    vertices, elements, directions = _surface.extract(
        field._core,
        _checks.choice("sides", sides, Sides) == "closed",
        _checks.choice("periods", periods, Sides) == "closed",
        _checks.choice("positions", positions, Positions) == "cubic",
        _checks.flag("normals", normals),
        workspace_or_new(workspace),
    )
    return (vertices, elements, directions) if normals else ExtractedMesh(vertices, elements)


def measure(phi: Any, *, workspace: Workspace | None = None) -> tuple[float, float]:
    """Return the volume of phi <= 0 in the domain (m^3; an area, m^2, in 2-D) and the area of its surface inside of the domain (a length).

    Both are those of the mesh of `extract` with linear positions, up to rounding; the mesh itself is not made.

    Raises:
        TypeError, ValueError: as `extract`.
    """
    volume, area = _surface.measure_level_set(_field(phi)._core, workspace_or_new(workspace))
    return volume, area


def symmetric_difference(a: Any, b: Any, *, workspace: Workspace | None = None) -> float:
    """Return the volume that is inside of one level set and outside of the other, m^3 (in 2-D an area, m^2): a measure of how much shapes
    differ.

    It is the volume of their union less that of their intersection, each as `measure` has it: 0 for equal samples.

    Args:
        a, b: level sets or fields with the same samples.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: as `extract`; different samples or dtypes.
    """
    first, second = _field(a), _field(b)
    _require_same(second, first, "b", "a")
    if second.on_side != first.on_side:
        raise ValueError("b must have the samples of a")
    both = first.copy()
    np.minimum(first.array, second.array, out=both.array)
    union = measure(both, workspace=workspace)[0]
    np.maximum(first.array, second.array, out=both.array)
    return max(0.0, union - measure(both, workspace=workspace)[0])


def volume_fractions(phi: Any, *, out: CellField | None = None, workspace: Workspace | None = None) -> CellField:
    """Return the part of each cell where phi <= 0, between 0 and 1.

    For samples on nodes the fractions add up to the volume that `measure` returns, over that of a cell. For samples on cells the corners of
    a cell get the means of the cells around them, which is of second order as well.

    Args:
        phi: a LevelSet, CellField or NodeField.
        out: a CellField of the grid and dtype of phi to fill and return.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: as `extract`; another kind of `out`.
    """
    field = _field(phi)
    target = CellField(field.grid, field.dtype) if out is None else _checks.one_of_type("out", out, CellField)
    _require_same(target, field)
    _surface.volume_fractions(field._core, target._core, workspace_or_new(workspace))
    return target


def curvature(
    phi: Any, *, kind: CurvatureKind = "surface", limit: float = 1.0, out: CellField | NodeField | None = None
) -> CellField | NodeField:
    """Return the sum of the principal curvatures at the samples, 1/m: positive where phi <= 0 is convex (2 / R for a ball).

    Args:
        phi: a LevelSet, CellField or NodeField. Central differences over the nearest neighbours are used, so phi has to be smooth near the
            surface for the result to converge; second order then.
        kind: 'level': of the level set through each sample; 'surface': of the zero set at the point closest to the sample, which takes phi
            for a signed distance and is constant along normals; 'columns': the same from the heights of the zero set along the axis closest
            to the normal, over up to five by five lines of samples. It works for any slope of phi and uses only samples within two of the
            surface. Farther away, and where the lines do not meet the surface, the value is that of 'surface'.
        limit: bound of the result times the spacing.
        out: a field like phi to fill and return.

    Raises:
        TypeError, ValueError: as `extract`; limit not positive; another kind of `out`.

    Source: Osher and Fedkiw 2003, section 1.4; parallel surfaces for 'surface'; Popinet 2009, section 5.2, for 'columns'.
    """
    field = _field(phi)
    kinds = CellField if field.on_side[0] == 0 else NodeField
    target: Any = kinds(field.grid, field.dtype) if out is None else _checks.one_of_type("out", out, kinds)
    _require_same(target, field)
    chosen = CURVATURE_KIND("kind", kind)
    _surface.level_set_curvature(field._core, chosen, _checks.positive("limit", limit), target._core)
    result: CellField | NodeField = target
    return result


def components(
    phi: Any, *, both: bool = False, volumes: bool = True, out: Integers | None = None, workspace: Workspace | None = None
) -> Components:
    """Return the connected components of phi <= 0 and their volumes; samples with a common face are connected, also across a period.

    Args:
        phi: a LevelSet, CellField or NodeField.
        both: also label the parts of phi > 0 (pockets of air).
        volumes: also measure the parts, which takes several times as long as finding them.
        out: int32 array of the shape of the samples, C-contiguous, for the labels.
        workspace: scratch memory to reuse.

    Raises:
        TypeError, ValueError: as `extract`; another kind of `out`.
    """
    field = _field(phi)
    labels = np.empty(field.shape, np.int32) if out is None else _checks.one_of_type("out", out, np.ndarray)
    if labels.shape != field.shape:
        raise ValueError(f"out must have shape {field.shape}, not {labels.shape}")
    space = workspace_or_new(workspace)
    counts = _surface.label_components(field._core, _checks.flag("both", both), labels, space)
    inside, outside = (
        _surface.component_volumes(field._core, labels, counts, space) if _checks.flag("volumes", volumes) else (np.empty(0), np.empty(0))
    )
    return Components(labels, counts[0], counts[1], inside, outside)


def _require_same(out: ScalarField, field: ScalarField, name: str = "out", other: str = "phi") -> None:
    if out.grid != field.grid:
        raise ValueError(f"{name} must be on the grid of {other}, not on {out.grid!r}")
    if out.dtype != field.dtype:
        raise TypeError(f"{name} must be of dtype {field.dtype}, not {out.dtype}")
