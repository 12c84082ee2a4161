"""Options of the volume-of-fluid solver on tetrahedra, and its report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._options import CoreOption

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

WaterSampling = Literal["random", "independent", "fixed", "quadrature", "exact", "adaptive"]
"""Points that stand for a tetrahedron in transport, or exact overlaps."""
TetTrace = Literal["per_tet", "per_node"]
"""Whether a tetrahedron is traced with its own velocity, or its corners with theirs."""
WATER_SAMPLING = CoreOption(WaterSampling, _fluids.WaterSampling)
TET_TRACE = CoreOption(TetTrace, _fluids.TetTrace)
Conservation = Literal["push-out", "projection", "push-out and projection"]
"""What keeps water from occupying more than there is room for, figure 3.9: right, left and middle."""


class Outside(Protocol):
    """What lies beyond the mesh: a function of points (k, 3), m, and the time, s."""

    def __call__(self, points: Floats, time: float, /) -> tuple[Floats, Floats]:
        """Return how wet the points are (k,), from 0 to 1, and the velocities (k, 3) of the water there, m/s."""


@dataclass(frozen=True, kw_only=True)
class TetVOFOptions:
    """Options of `TetVOF`.

    Attributes:
        samples: 'random': stratified points, keyed by tetrahedron and step. 'independent': without strata. 'fixed': the same points in
            every step, or 'quadrature': those of `mesh.tet_quadrature`; slow motion relative to the mesh is then lost. 'exact': overlaps
            of tetrahedra. 'adaptive': a third of the random points where a tetrahedron and its neighbours are about as full, within 7.5 %,
            and exact where they are not, as at the edge of the water; with `planes`, points only where all are full or dry.
        count: points per tetrahedron; fixed ones exist for 1, 4, 5, 8, 10, 20, 35 and 64, of quadrature for 1, 4, 8, 14, 24, 35, 46 to 109.
        planes: with exact overlaps, water in a partly filled tetrahedron lies below a plane, which keeps its edge sharp.
        trace: 'per_tet' moves a tetrahedron with its own velocity, 'per_node' its corners with the mean velocities around them.
        conservation: see `Conservation`.
        columns: how far a full column of water hands on that it stands on the solid: 'lower' to neighbours of higher ranks across
            faces, as in the source; 'whole' also to those of the same rank that have nothing lower beside them. Then water at rest
            stays at rest, but a jet that hits a wall stops as a whole.
        way_out: where excess goes that finds no room beside it: 'room', towards the nearest tetrahedra with room or the boundary; 'ranks',
            away from the solid, as in the source. In a basin, ranks lead to its middle, where water then rises as a heap.
        smear: how often tetrahedra above capacity give to all neighbours before the sweep outward.
        debris: water below this part of the mean volume of a tetrahedron joins the fullest neighbour; nothing is deleted. In the source
            1e-14; 0: never.
        gravity: m/s^2.
        density: of the water, kg/m^3.
        seed: of random points and of the jitter of drops.
        drop_radius: smallest and largest radius of drops, m; None: those of 1/64 and of the whole mean volume of a tetrahedron.
        jitter: largest displacement of drops where they leave, in units of the longest edge of their tetrahedron; 0 to 1.
        fraction: how the solid part of a tetrahedron is found, see `surface.SolidOnTets`.

    Raises:
        TypeError, ValueError: other values.
    """

    samples: WaterSampling = "random"
    count: int = 10
    planes: bool = False
    trace: TetTrace = "per_tet"
    conservation: Conservation = "push-out"
    columns: Literal["lower", "whole"] = "whole"
    way_out: Literal["room", "ranks"] = "room"
    smear: int = 1
    debris: float = 1e-9
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    density: float = 1000.0
    seed: int = 0
    drop_radius: tuple[float, float] | None = None
    jitter: float = 0.5
    fraction: Literal["level-set", "count"] = "level-set"

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.options(self)
        _checks.integer("count", self.count, at_least=1, below=513)
        _checks.integer("smear", self.smear, at_least=0)
        if not 0 <= _checks.number("debris", self.debris) <= 1e-3:
            raise ValueError(f"debris must be in [0, 1e-3], not {self.debris:g}")
        _checks.vector("gravity", self.gravity, 3)
        _checks.positive("density", self.density)
        _checks.integer("seed", self.seed, at_least=0, below=2**61)
        if not 0 <= _checks.number("jitter", self.jitter) <= 1:
            raise ValueError(f"jitter must be in [0, 1], not {self.jitter:g}")
        if self.planes and self.samples not in ("exact", "adaptive"):
            raise ValueError(f"planes need samples='exact' or 'adaptive', not {self.samples!r}")
        if self.drop_radius is not None:
            smallest, largest = _checks.vector("drop_radius", self.drop_radius, 2)
            if not 0 < 2 * smallest <= largest:
                raise ValueError(
                    f"the largest of drop_radius must be at least twice the smallest, which is positive, not {self.drop_radius}"
                )


@dataclass(frozen=True, kw_only=True, eq=False)
class WallAdhesion:
    """A force that holds water to the solid, or leads it along.

    Water closer to the solid than `reach` is accelerated by strength (reach - distance) / reach along the direction.

    Attributes:
        strength: m/s^2; or painted: a function of points (k, 3) of the solid's surface and the time that returns (k,), or an array (n,)
            with a value for each vertex of the skin, where the solid is one mesh of triangles such as `KDSM.solid`.
        reach: m.
        direction: 'toward' the solid, 'outward' from it, a fixed vector, a function like `strength` that returns (k, 3), or an array
            (n, 3) with a vector for each vertex, as painted on the skin at the start of the motion of the mesh; it turns with the skin.

    Raises:
        TypeError, ValueError: other values.

    Source: Lee 2018, section 3.3.4, which leaves the unit of the strength open.
    """

    strength: float | Callable[[Floats, float], npt.ArrayLike] | Floats = 10.0
    reach: float = 0.25
    direction: Literal["toward", "outward"] | Sequence[float] | Callable[[Floats, float], npt.ArrayLike] | Floats = "toward"

    def __post_init__(self) -> None:
        """Check the values; arrays are copied, and fixed vectors become tuples."""
        strength: Any = self.strength
        direction: Any = self.direction
        if np.ndim(strength) == 1:
            object.__setattr__(self, "strength", _painted("strength", strength, (len(strength),)))
        elif not callable(self.strength):
            _checks.number("strength", self.strength)
        _checks.positive("reach", self.reach)
        if isinstance(self.direction, str):
            _checks.choice("direction", self.direction, Literal["toward", "outward"])
        elif np.ndim(direction) == 2:
            object.__setattr__(self, "direction", _painted("direction", direction, (len(direction), 3)))
        elif not callable(self.direction):
            object.__setattr__(self, "direction", _checks.vector("direction", self.direction, 3))


def _painted(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    """Return a copy of what is painted per vertex that nobody can write to."""
    array = np.array(_checks.numbers(name, value))
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, not {array.shape}")
    _checks.require_finite(name, array)
    array.flags.writeable = False
    return array


class WaterRequests(NamedTuple):
    """What tetrahedra have requested in a step, before donors that have less give less. A pair may occur more than once.

    Attributes:
        receiver: (k,) int32, the tetrahedra of the mesh at the end of the step that request.
        donor: (k,) int32, those of the mesh at its begin that they request from.
        volume: (k,) m^3.
    """

    receiver: Ints
    donor: Ints
    volume: Floats


@dataclass(kw_only=True)
class TetVOFReport:
    """Report of one step of `TetVOF`.

    Attributes:
        dt: s.
        time: at its end, s.
        volume: of water in the mesh, m^3.
        wet: number of tetrahedra with water.
        emitted: volume that became drops, m^3.
        inflow: volume that came in from outside, m^3.
        enclosed: number of tetrahedra that keep more than they have room for, since nothing leads outward.
        enclosed_volume: by how much, m^3.
        points: number of points that were traced, of both traces: what random and fixed points cost.
        overlaps: number of pairs of tetrahedra of which the common volume was computed: what exact overlaps cost.
        force_on_body: of the water on the solid, N, mean over the step.
        projection: report of the pressure solve, if there was one.
    """

    dt: float = 0.0
    time: float = 0.0
    volume: float = 0.0
    wet: int = 0
    emitted: float = 0.0
    inflow: float = 0.0
    enclosed: int = 0
    enclosed_volume: float = 0.0
    points: int = 0
    overlaps: int = 0
    force_on_body: Floats = field(default_factory=lambda: np.zeros(3))
    projection: Any = None
