"""Tetrahedral meshes of level sets, shapes and closed surfaces."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.collision.proximity.queries import closest_point
from meniscus.mesh import HarmonicMorph, TetMesh, TriangleMesh
from meniscus.mesh.surface_like import SurfaceLike, is_surface
from meniscus.mesh.topology.watertight import count_of
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.surface.meshing.sources import Source, source_of
from meniscus.surface.shapes.constructive import Floats
from meniscus.surface.shapes.mesh_distance import MeshDistance

TetSelection = Literal["covering", "centred"]
Holes = Literal["refuse", "winding-number"]
_FLOAT64 = np.dtype(np.float64)


class DeviationWarning(UserWarning):
    """A boundary is farther away from its surface than wanted, or parts are lost, because the lattice is too coarse there."""


def bcc_mesh(
    surface: Source,
    cell_size: float,
    *,
    refine: int = 0,
    compress: bool = False,
    sharp_angle: float | None = None,
    deviation: float = 0.025,
    keep: TetSelection = "covering",
    bounds: tuple[Sequence[float], Sequence[float]] | None = None,
    largest_part_only: bool = False,
    depth: float = math.inf,
    holes: Holes = "refuse",
) -> TetMesh:
    """Return a tetrahedral mesh of the inside of a level set, a shape or a closed surface, made from a BCC lattice.

    Without `compress` the mesh consists of tetrahedra of the lattice: dihedral angles are 60 and 90 degrees, with `refine` in [30, 116.57].
    With it, nodes close to the surface move onto it and tetrahedra across it are cut: dihedral angles stay between 10 and 165 degrees for
    any surface, which is not proved but was found by a search over random level sets (smallest angle found: 11.2 degrees). Sharp edges of
    the surface are cut off by less than a cell of the finest lattice, and parts thinner than that may be lost. The boundary is a closed
    manifold; vertices and tetrahedra lie along Morton curves.

    With `sharp_angle`, vertices are also put onto the corners and sharp edges of a triangle surface and wherever else the boundary is
    farther away than `deviation`, as long as the angles around stay between 10 and 165 degrees and the boundary does not touch itself.
    Elsewhere the boundary stays where it is, and a warning tells where it is farthest away (all of it: `hausdorff_distance`). This is
    serial; the number of steps is bounded by that of the boundary faces, so that details far below the cells are not pursued.

    All meshes are embedded (`TetMesh.is_embedded`): no two tetrahedra overlap.

    Args:
        surface: a 3-D `LevelSet` or `Shape`, a `MeshDistance`, a closed surface (a `TriangleMesh`, a mesh of trimesh, meshio or PyVista,
            a tuple of arrays), or a function of points (n, 3) float64 with values (n,),
            negative inside, m. Values should change by no more than the distance (slope one): they tell which tetrahedra are far away.
        cell_size: edge of the cubes of the coarse lattice, m; a cube corner lies at the origin.
        refine: number of refinements of tetrahedra at the surface: their cubes have an edge of cell_size / 2^refine. The lattice gets
            coarser with the distance from the surface.
        compress: fit the boundary to the surface.
        sharp_angle: rad, for `compress` and a watertight surface or `MeshDistance`, without `bounds` and `depth`: edges at which
            normals turn by more than this are sharp; 0.6 is a good value.
        deviation: largest wanted distance of the boundary from the surface, in cells of the finest lattice, measured at samples on its
            triangles; used with `sharp_angle`.
        keep: without `compress`, take all tetrahedra that the solid reaches into ('covering'), or those with their centre inside
            ('centred').
        bounds: lower and upper corner of a box, m, at whose sides the solid ends; needed for functions and for unbounded shapes.
        largest_part_only: leave out all parts but the largest.
        depth: m; tetrahedra with all nodes deeper than this are left out.
        holes: treatment of a `TriangleMesh` with holes: 'refuse' it, or mesh the region with a 'winding-number' above one half, as for
            those with triangles the wrong way round, copies or parts that cross. A `MeshDistance` is always meshed.

    Raises:
        TypeError, ValueError: other arguments, values that are not finite, a lattice that is too large, a surface with holes.

    Warns:
        NotWatertightWarning: the winding number decides what is inside of a `TriangleMesh`.
        DeviationWarning: with `sharp_angle`, the boundary and the surface are farther apart than twice the wanted deviation somewhere;
            otherwise, the mesh is empty or has lost a part of a surface, which is thinner than the cells.

    Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
    tetrahedra", 2003; Labelle and Shewchuk, "Isosurface stuffing: fast tetrahedral meshes with good dihedral angles", 2007; Klingner and
    Shewchuk, "Aggressive tetrahedral mesh improvement", 2007 (sharp edges); Lee 2018, section 2.3.1.
    """
    _checks.choice("keep", keep, TetSelection)
    _checks.choice("holes", holes, Holes)
    source = source_of(surface, bounds, refuse_holes=holes == "refuse")
    depth = math.inf if isinstance(depth, float) and depth == math.inf else _checks.positive("depth", depth)
    _checks.integer("refine", refine, at_least=0, below=32)
    _checks.flag("compress", compress)
    if sharp_angle is not None:
        if not compress or bounds is not None or depth < math.inf:
            raise ValueError("sharp_angle is for compress=True, without bounds and depth")
        if not (isinstance(surface, MeshDistance) or is_surface(surface)):
            raise TypeError(f"sharp_angle needs a surface, such as a TriangleMesh, or a MeshDistance, not {type(surface).__name__}")
        arrays, distance, at = _surface.mesh_surface(
            source.core,
            tuple(source.lower.tolist()),
            tuple(source.upper.tolist()),
            _checks.positive("cell_size", cell_size),
            refine,
            _checks.flag("largest_part_only", largest_part_only),
            _checks.positive("sharp_angle", sharp_angle),
            _checks.positive("deviation", deviation),
        )
        if 0 < distance < math.inf:
            _warn_of_deviation(distance, at, float(cell_size) / 2**refine, deviation)
        mesh = TetMesh(*arrays)
    else:
        mesh = TetMesh(
            *_surface.mesh_level_set(
                source.core,
                tuple(source.lower.tolist()),
                tuple(source.upper.tolist()),
                _checks.positive("cell_size", cell_size),
                refine,
                _checks.flag("compress", compress),
                keep == "covering",
                _checks.flag("largest_part_only", largest_part_only),
                float(depth),
            )
        )
    whole = bounds is None and depth == math.inf and not largest_part_only
    if sharp_angle is None or not len(mesh.tets):
        warn_of_losses(source.core if whole else None, mesh, float(cell_size), refine, compress)
    return mesh


def enclosing_offset(
    surface: Source, points: Floats, margin: float, *, bounds: tuple[Sequence[float], Sequence[float]] | None = None
) -> float:
    """Return the smallest offset (m, at least 0) by which a solid has to be thickened for all points to lie `margin` within it.

    Args:
        surface: as for `bcc_mesh`.
        points: (k, 3) float64, m.
        margin: m, at least 0: the thickened level set is at most -margin at all points.
        bounds: as for `bcc_mesh`.

    Raises:
        TypeError, ValueError: other arguments.

    Source: Lee 2018, section 2.3.1.
    """
    x: Floats = np.asarray(_checks.points("points", points, _FLOAT64, 3), np.float64)
    _checks.require_finite("points", x)
    least = _checks.number("margin", margin)
    if least < 0:
        raise ValueError(f"margin must not be negative, but is {least}")
    if not len(x):
        return 0.0
    return max(0.0, float(source_of(surface, bounds).values(x).max()) + least)


def enclosing_mesh(
    surface: Source,
    points: Floats,
    cell_size: float,
    *,
    margin: float | None = None,
    offset: float | None = None,
    custom: Source | None = None,
    depth: float = math.inf,
    refine: int = 0,
    bounds: tuple[Sequence[float], Sequence[float]] | None = None,
) -> TetMesh:
    """Return a lattice mesh of a thickened solid that contains all of the given points, such as the hairs on a skin.

    The level set is min(surface - offset, custom). If no offset is given it is the smallest one for which all points outside of `custom`
    lie `margin` deep. Tetrahedra deep inside the solid can be left out; the rest stays connected as before.

    Args:
        surface: the skin, as for `bcc_mesh`.
        points: (k, 3) float64, m.
        cell_size: m.
        margin: m; default: half a cell.
        offset: m, at least 0.
        custom: geometry to be added, as for `bcc_mesh`.
        depth: m; tetrahedra with all nodes deeper than this below the skin (not the thickened one) are left out. At least two cells, so
            that every part of the skin stays within the mesh.
        refine: as for `bcc_mesh`.
        bounds: of `surface` and `custom` where they need it.

    Raises:
        TypeError, ValueError: other arguments, or a point that the mesh would not hold, naming the first: one outside for a given
            offset, one deeper than `depth`, or one in a part that the cells do not resolve.

    Source: Lee 2018, section 2.3.1.
    """
    a = _checks.positive("cell_size", cell_size)
    x: Floats = np.asarray(_checks.points("points", points, _FLOAT64, 3), np.float64)
    _checks.require_finite("points", x)
    wanted = 0.5 * a if margin is None else _checks.number("margin", margin)
    if wanted < 0:
        raise ValueError(f"margin must not be negative, but is {wanted}")
    depth = math.inf if isinstance(depth, float) and depth == math.inf else _checks.number("depth", depth)
    _checks.integer("refine", refine, at_least=0, below=32)
    if not depth >= 2 * a:
        raise ValueError(f"depth must be at least two cells, {2 * a}, but is {depth}")
    skin = source_of(surface, bounds)
    extra = None if custom is None else source_of(custom, bounds)
    at_points = skin.values(x) if len(x) else np.empty(0)
    held = np.zeros(len(x), bool) if extra is None or not len(x) else extra.values(x) <= -wanted
    if offset is None:
        thickness = max(0.0, float(at_points[~held].max(initial=-math.inf)) + wanted)
    else:
        thickness = _checks.number("offset", offset)
        if thickness < 0:
            raise ValueError(f"offset must not be negative, but is {thickness}")
        outside = ~held & (at_points - thickness > 0)
        if outside.any():
            bad = int(np.argmax(outside))
            raise ValueError(f"offset must enclose all points, but [{bad}] is {at_points[bad]} m away from the surface")

    def thickened(p: Floats) -> Floats:
        phi = skin.values(p) - thickness
        # The depth counts below the skin alone.
        return phi if extra is None else np.minimum(phi, np.maximum(extra.values(p), -depth - thickness))

    lower, upper = skin.lower - thickness, skin.upper + thickness
    if extra is not None:
        lower, upper = np.minimum(lower, extra.lower), np.maximum(upper, extra.upper)
    mesh = bcc_mesh(thickened, a, refine=refine, bounds=(lower.tolist(), upper.tolist()), depth=depth + thickness)
    _require_held(mesh, x, at_points, depth)
    return mesh


def _require_held(mesh: TetMesh, points: Floats, distances: Floats, depth: float) -> None:
    """Raise ValueError that names the first point in no tetrahedron."""
    if not len(points):
        return
    lost = np.ones(len(points), bool)
    if len(mesh.tets):
        lost = TetLocator(mesh.vertices, mesh.tets).locate(np.ascontiguousarray(points)).tets < 0
    if not lost.any():
        return
    bad = int(np.argmax(lost))
    if distances[bad] < -depth:
        raise ValueError(f"points must not be deeper than depth, {depth:g} m, but [{bad}] is {-distances[bad]:g} m below the surface")
    raise ValueError(f"points must lie within the mesh, but [{bad}] does not; use a larger margin or offset, or smaller cells")


def skin_morph(
    mesh: TetMesh, skin: TriangleMesh | SurfaceLike, displacements: Floats, *, tolerance: float = 1e-12, off_skin: float | None = None
) -> Floats:
    """Return the displacements (n, 3) of all vertices of a mesh of a solid, m, when its skin moves.

    Boundary vertices move as the closest point of the skin does, by its barycentric coordinates; the inside follows harmonically. For a
    mesh whose boundary vertices lie on the skin (`bcc_mesh` with `compress`), affine motions are exact.

    Args:
        mesh: of the inside of the skin.
        skin: at rest.
        displacements: (k, 3) float64 of the vertices of the skin, m.
        tolerance: relative, of the linear solves.
        off_skin: m, the largest distance of a boundary vertex from the skin; default: a hundred-thousandth of the longest side of the
            skin's box. An affine motion is wrong there by this distance times the strain; infinity takes any mesh.

    Raises:
        TypeError, ValueError, RuntimeError: other arguments, a boundary vertex that is farther off the skin, and as `HarmonicMorph`.

    Source: Lee 2018, section 2.3.1.
    """
    _checks.one_of_type("mesh", mesh, TetMesh)
    skin = triangle_mesh(skin)
    moved: Floats = np.asarray(_checks.points("displacements", displacements, _FLOAT64, 3), np.float64)
    if len(moved) != len(skin.vertices):
        raise ValueError(f"displacements must have one row per vertex of the skin, {len(skin.vertices)}, not {len(moved)}")
    _checks.require_finite("displacements", moved)
    nodes = mesh.boundary.used_vertices
    on_skin = closest_point(skin.vertices, skin.triangles, np.ascontiguousarray(mesh.vertices[nodes]))
    allowed = 1e-5 * float(np.ptp(skin.vertices[skin.used_vertices], axis=0).max()) if off_skin is None else float(off_skin)
    if not allowed >= 0:
        raise ValueError(f"off_skin must not be negative, but is {off_skin}")
    if len(nodes) and on_skin.distances.max() > allowed:
        bad = int(on_skin.distances.argmax())
        raise ValueError(
            f"boundary vertices must lie on the skin within off_skin, {allowed:g} m, but vertex {nodes[bad]} is "
            f"{on_skin.distances[bad]:g} m away; fit the mesh with bcc_mesh(compress=True)"
        )
    given: Floats = np.einsum("nk,nkd->nd", on_skin.barycentric, moved[skin.triangles[on_skin.triangles]])
    return HarmonicMorph(mesh, nodes).displacements(np.ascontiguousarray(given), tolerance=tolerance)


def warn_of_losses(surface: object, mesh: TetMesh, cell_size: float, refine: int | None, compress: bool) -> None:
    """Emit a `DeviationWarning` that says what part of a surface, where there is one, a mesh has lost, and which cells would do."""
    cell = cell_size / 2 ** (refine or 0)
    if not isinstance(surface, _surface.MeshDistance):
        if not len(mesh.tets):
            message = f"the mesh is empty: no cell of {cell:g} m fits into the solid; use smaller cells or more refinements"
            warnings.warn(message, DeviationWarning, stacklevel=3)
        return
    # Tetrahedra that are not fitted end up to a cell away from the surface, where it is smooth.
    distance, at, volume, thickness = _surface.unresolved_part(surface, mesh.vertices, mesh.tets, cell, cell if compress else 2.0 * cell)
    if thickness == 0 and distance < math.inf:
        return  # nothing, or the tip of a wedge
    if math.isinf(distance):
        lost = "the mesh is empty"
    elif distance > 0:
        lost = f"the mesh has lost a part of the solid, at ({', '.join(f'{x:g}' for x in at)})"
    else:
        lost = f"the mesh has {100 * volume:.0f} % of the volume of the solid, in {count_of(mesh.components, 'piece')}"
    if thickness == 0:
        message = "the mesh is empty: the surface encloses nothing"
    else:
        wanted = 0.5 * thickness if refine is not None else 5.0 * thickness
        more = max(0, math.ceil(math.log2(cell_size / wanted)))
        message = (
            f"{lost}: the solid is {thickness:.3g} m thick there, and cells of {cell:g} m are too large for that; "
            f"use cells of at most {wanted:.2g} m" + ("" if refine is None else f" (refine={more})")
        )
    warnings.warn(message, DeviationWarning, stacklevel=3)


def _warn_of_deviation(distance: float, at: Sequence[float], cell: float, wanted: float) -> None:
    place = ", ".join(f"{x:g}" for x in at)
    message = (
        f"the boundary and the surface are up to {distance / cell:.3g} cells of {cell:g} m apart, at ({place}), where {wanted:g} was "
        "wanted: the cells are too large for the details there, or the angles do not allow more; use smaller cells or more refinements"
    )
    warnings.warn(message, DeviationWarning, stacklevel=3)
