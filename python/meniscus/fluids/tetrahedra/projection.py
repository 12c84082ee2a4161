"""Pressure projection on tetrahedral meshes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._checks import Bools
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption
from meniscus.mesh import TetMesh
from meniscus.mesh.simplices import Floats
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options

TetBoundary = Literal["open", "wall"]
TET_BOUNDARY = CoreOption(TetBoundary, _fluids.TetBoundary)

_FLOAT64 = np.dtype(np.float64)


@dataclass(frozen=True)
class TetRegion:
    """A connected region of vertices with unknown pressures.

    Attributes:
        vertices: their number.
        closed: no vertex of pressure zero, so that the pressure is known up to a constant and no net flux is possible.
        first_vertex: the lowest one.
        flux: net flux of the object out of a closed region, m^3/s. The whole region takes it, as the same divergence everywhere.
        residual: norm of the region's residual, relative to the norm of the whole right-hand side.
    """

    vertices: int
    closed: bool
    first_vertex: int
    flux: float
    residual: float


@dataclass(frozen=True)
class TetProjectionInfo(SolveInfo):
    """Report of a projection: a SolveInfo with one entry per region.

    Attributes:
        levels: of the multigrid.
        operator_complexity: entries of the matrices of all levels relative to the finest one.
        wet_tets: tetrahedra whose velocity is projected.
        excluded_tets: enabled wet tetrahedra that are flat, inverted or nearly closed, and so count as solid.
        regions: in the order of their first vertices.
    """

    levels: int = 0
    operator_complexity: float = 0.0
    wet_tets: int = 0
    excluded_tets: int = 0
    regions: tuple[TetRegion, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class TetSolid:
    """What of a tetrahedral mesh is solid in a projection: an object that covers part of it, and tetrahedra that hold no fluid.

    Attributes:
        open_fraction: (m,) float64, the part of each tetrahedron outside of the object, 0 to 1; default 1.
        object_velocity: (m, 3) float64, m/s, read where a tetrahedron is solid or not fully open; at rest by default.
        enabled: (m,) bool; all by default.
        min_open: fraction below which a tetrahedron is solid.
        min_aspect: smallest altitude / longest edge of a tetrahedron that is not flat; that of a regular one is 0.816.
    """

    open_fraction: Floats | None = None
    object_velocity: Floats | None = None
    enabled: Bools | None = None
    min_open: float = 1e-6
    min_aspect: float = 1e-3


class TetPressureSolver:
    """Pressure projection on a tetrahedral mesh: pressures at the vertices, linear in each tetrahedron, and one velocity per tetrahedron.

    Vertices may be elsewhere in each call; the tetrahedra between them stay. The solver holds what depends on them, and all memory:
    a repeated projection allocates nothing. Its result depends on nothing but the arguments, and its bits not on the number of threads.

    Args:
        mesh: of which the tetrahedra matter alone.

    Raises:
        TypeError, ValueError: no mesh; more than two tetrahedra at a face.

    Source: Lee 2018, section 3.3.3; Ando, Thuerey, Wojtan, "Highly adaptive liquid simulations on tetrahedral meshes", 2013; Vanek,
    Mandel, Brezina, "Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems", 1996.
    """

    def __init__(self, mesh: TetMesh) -> None:
        self._mesh = _checks.one_of_type("mesh", mesh, TetMesh)
        self._core = _fluids.TetPressureSolver(mesh.tets, len(mesh.vertices))

    @property
    def mesh(self) -> TetMesh:
        """The mesh given."""
        return self._mesh

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self._core.bytes)

    def __repr__(self) -> str:
        """Return the call that makes an equal solver, with the mesh in short."""
        return f"TetPressureSolver({self._mesh!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as an empty solver on the same mesh: everything else is derived."""
        return type(self), (self._mesh,)

    def project(
        self,
        positions: Floats,
        velocity: Floats,
        dt: float,
        *,
        wet: Bools,
        solid: TetSolid | None = None,
        density: float = 1000.0,
        boundary: TetBoundary | Bools = "open",
        tolerance: float = 1e-8,
        pressure: Floats | None = None,
        warm_start: bool = False,
        max_iterations: int = 200,
        raise_on_failure: bool = True,
    ) -> TetProjectionInfo:
        """Make the velocity of the water divergence-free, in place, by the gradient of a pressure.

        A tetrahedron is solid if it is disabled, inverted or flat, or if the object leaves less than `min_open` of it open. The others
        hold water where they are wet, and air elsewhere. The pressure is zero at all vertices of air and at those of open boundary faces;
        it is found at the other vertices i of water, such that

            sum over water of c V grad N_i . (u - dt / density grad p)  +  sum of (1 - c) V grad N_i . v  =  0

        with the open fraction c (0 in solid), the volume V, the hat function N_i and the velocity v of the object. So faces between water
        and solid are closed and move with v, and a uniform motion of water and object is left alone. A boundary face of a tetrahedron that
        is not solid is open, or a wall at rest. Velocities of air and of solid tetrahedra stay as they are. In a closed region, the object
        may push in more water than it lets out: then the whole region takes the difference evenly.

        Args:
            positions: (n, 3) float64, C-contiguous, m.
            velocity: (m, 3) float64, C-contiguous, m/s.
            dt: seconds.
            wet: (m,) bool, the tetrahedra whose open part is full of water.
            solid: the object and the tetrahedra that hold no fluid; none by default.
            density: kg/m^3.
            boundary: boundary faces of the mesh: 'open' to air of pressure zero, a 'wall', or (n,) bool: the pressure is zero at the
                vertices that are marked, and the rest is a wall.
            tolerance: norm of the left-hand sides above after, relative to that before.
            pressure: (n,) float64, C-contiguous, gets the pressure, Pa: zero where it is not unknown, mean zero in closed regions.
            warm_start: start from `pressure`, unless zero leaves a smaller residual.
            max_iterations: limit.
            raise_on_failure: raise if the tolerance is not met; else accept the result.

        Returns:
            The report of the solve, by region.

        Raises:
            ConvergenceError: says which region failed and why; nothing is changed.
            TypeError, ValueError: wrong types, dtypes, shapes or memory order, values that are NaN or infinite or out of range.

        Source: Lee 2018, section 3.3.3.
        """
        n, m = len(self._mesh.vertices), len(self._mesh.tets)
        self._mesh.check_positions("positions", positions)
        _rows("velocity", velocity, (m, 3), writable=True)
        s = TetSolid() if solid is None else _checks.one_of_type("solid", solid, TetSolid)
        if s.open_fraction is not None:
            _rows("open_fraction", s.open_fraction, (m,))
        if s.object_velocity is not None:
            _rows("object_velocity", s.object_velocity, (m, 3))
        if pressure is not None:
            _rows("pressure", pressure, (n,), writable=True)
        elif _checks.flag("warm_start", warm_start):
            raise ValueError("warm_start needs pressure")
        marked = None if isinstance(boundary, str) else _checks.mask("boundary", boundary, (n,))
        raw, setup_seconds, (levels, complexity), (wet_tets, excluded), regions = self._core.project(
            positions=positions,
            velocity=velocity,
            dt=_checks.positive("dt", dt),
            wet=_checks.mask("wet", wet, (m,)),
            enabled=None if s.enabled is None else _checks.mask("enabled", s.enabled, (m,)),
            open_fraction=s.open_fraction,
            object_velocity=s.object_velocity,
            boundary=TET_BOUNDARY("boundary", boundary if marked is None else "wall"),
            open_vertices=marked,
            density=_checks.positive("density", density),
            min_open=_checks.number("min_open", s.min_open),
            min_aspect=_checks.number("min_aspect", s.min_aspect),
            pressure=pressure,
            warm_start=_checks.flag("warm_start", warm_start),
            solve=solve_options(tolerance, max_iterations, "multigrid"),
            accept_unconverged=not _checks.flag("raise_on_failure", raise_on_failure),
        )
        info = TetProjectionInfo(
            **facts(raw, setup_seconds),
            levels=levels,
            operator_complexity=complexity,
            wet_tets=wet_tets,
            excluded_tets=excluded,
            regions=tuple(TetRegion(*region) for region in regions),
        )
        if raise_on_failure and not info.converged:
            raise ConvergenceError(_failure(info), info)
        return info


def _rows(name: str, value: npt.ArrayLike, shape: tuple[int, ...], *, writable: bool = False) -> None:
    """Check a C-contiguous float64 array that is used in place."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a NumPy array, not {type(value).__name__}")
    if value.dtype != _FLOAT64:
        raise TypeError(f"{name} must be of dtype float64, not {value.dtype}")
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    if writable and not value.flags.writeable:
        raise ValueError(f"{name} must be writable")


def _failure(info: TetProjectionInfo) -> str:
    worst = max(range(len(info.regions)), key=lambda k: info.regions[k].residual)
    region = info.regions[worst]
    kind = "closed" if region.closed else "open"
    return (
        f"the pressure did not converge: after {info.iterations} iterations the relative residual is {info.residual:.2g} ({info.reason}); "
        f"worst is region {worst} of {len(info.regions)}, {kind}, {region.vertices} vertices from {region.first_vertex}, "
        f"with {region.residual:.2g}"
    )
