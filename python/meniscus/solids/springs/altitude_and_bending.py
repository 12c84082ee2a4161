"""Springs of tetrahedra and of pairs of triangles: altitudes and bending angles."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import index_rows
from meniscus.solids.force import FLOAT64, Floats, Force, Ints, hinges_of, of_mesh, per_element
from meniscus.solids.force import rest_positions as _rest
from meniscus.solids.springs.options import SpringOptions, core_options

BendingLaw = Literal["shell", "sine", "bridson"]
BENDING_LAW = CoreOption(BendingLaw, _solids.BendingLaw)


class AltitudeSelection(NamedTuple):
    """The altitude spring of each of m tetrahedra.

    Attributes:
        candidates: (m,), 0 to 3 from that vertex to the opposite face; 4, 5 and 6 between the edges (0,1 | 2,3), (1,2 | 0,3), (0,2 | 3,1);
            7, 8 and 9 the same three where the nodes lie on a line; -1 for none.
        weights: (m, 4), of the nodes, such that the sum over the nodes of weight times position is length times direction: positive
            for one end and negative for the other, each with sum 1 in absolute value. Not clamped.
        lengths: (m,), m, negative in inverted tetrahedra.
        directions: (m, 3), unit vectors.
    """

    candidates: Ints
    weights: Floats
    lengths: Floats
    directions: Floats


class AltitudeSprings(Force):
    """One spring along the shortest of the seven altitudes of each tetrahedron, so that flattened and inverted ones recover.

    Altitudes go from a vertex to the opposite face or between opposite edges. Use them together with `EdgeSprings`. The shortest altitude
    changes as the element deforms. The energy jumps there, because each altitude has its own stiffness and rest length. Elsewhere, if the
    nodes are not on a line, the forces are minus the derivative of the energy.

    Args:
        mesh: a tetrahedral mesh, or an (m, 4) int32 array of nodes.
        options: stiffness and damping, one per tetrahedron; the rest length is that of the altitude that acts.
        rest_positions: (n, 3) float64, m, with all volumes positive; the mesh's own vertices if left out.
        only_beyond: springs act, with all their force, only where they are compressed by more than this fraction.
        collapsed_edge: where an edge of the base is shorter than this multiple of its rest length, it has collapsed and the element has
            no spring; edge springs restore the edge.
        line_angle: where the vectors that span the base make a smaller angle than this, rad, the nodes lie on a line, and a spring of
            length zero pushes two opposite edges apart.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, volumes that are not positive, negative values.

    Source: Selle 2008, section 5.3.4 and theorem 1; Lee 2018, section 2.4. The reduced masses take the present weights of the nodes and
    not those of the centre of the face.
    """

    _core: _solids.AltitudeSprings

    def __init__(
        self,
        mesh: Any,
        options: SpringOptions,
        rest_positions: Floats | None = None,
        *,
        only_beyond: float | None = None,
        collapsed_edge: float = 1e-3,
        line_angle: float = math.pi / 180,
    ) -> None:
        limits = self._limits(only_beyond, collapsed_edge, line_angle)
        mesh = own_mesh(mesh)
        self._build(of_mesh("mesh", mesh, "tets", 4), mesh, options, rest_positions, (*limits, 0.0))

    @staticmethod
    def _limits(only_beyond: float | None, collapsed_edge: float, line_angle: float) -> tuple[float, float, float]:
        return (
            -1.0 if only_beyond is None else _fraction("only_beyond", only_beyond),
            _checks.positive("collapsed_edge", collapsed_edge),
            math.sin(_checks.positive("line_angle", line_angle)),
        )

    def _build(self, tets: Ints, mesh: Any, options: SpringOptions, positions: Floats | None, limits: tuple[float, ...]) -> None:
        x = _rest(mesh, positions, tets)
        core = core_options(options, len(tets), int(tets.max(initial=-1)) + 1)
        self._make(_solids.AltitudeSprings, tets, x, core, *limits)

    @property
    def tets(self) -> Ints:
        """The nodes (m, 4) of the tetrahedra."""
        return np.asarray(self._core.tets)

    @property
    def rest_lengths(self) -> Floats:
        """The rest lengths (m, 7) of the altitudes, m; 0 for elements that are flat at rest and have no spring."""
        return np.asarray(self._core.rest_lengths)

    def selection(self, x: Floats) -> AltitudeSelection:
        """Return which altitude acts in each element at positions `x` (m), with its weights, length and direction."""
        return AltitudeSelection(*self._core.selection(_checks.points("x", x, FLOAT64, 3)))


class ShellAltitudeSprings(AltitudeSprings):
    """Altitude springs in the tetrahedra that pairs of triangles with a common edge span: they restore the curvature of a shell.

    If the two edges of such a tetrahedron are the shared one and the one between the outer vertices, this is an axial bending spring.
    Unlike `BendingSprings` they recover from being flattened completely. Pairs that are flat at rest have no altitude: they get no spring,
    and bending springs suffice for them.

    Args:
        mesh: a triangle mesh with `hinges`, or these as an (m, 4) int32 array.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        flat: a pair is flat at rest if its shortest altitude is at most this multiple of its longest edge.

    All other arguments are those of `AltitudeSprings`.

    Raises:
        TypeError, ValueError: as for `AltitudeSprings`, and `flat` that is not positive.

    Source: Selle 2008, section 5.3.4 (axial bending springs).
    """

    def __init__(
        self,
        mesh: Any,
        options: SpringOptions,
        rest_positions: Floats | None = None,
        *,
        only_beyond: float | None = None,
        collapsed_edge: float = 1e-3,
        line_angle: float = math.pi / 180,
        flat: float = 1e-3,
    ) -> None:
        limits = self._limits(only_beyond, collapsed_edge, line_angle)
        mesh = own_mesh(mesh)
        self._build(hinges_of(mesh), mesh, options, rest_positions, (*limits, _checks.positive("flat", flat)))


class DihedralBending(Force):
    """Resistance to a change of the angle between triangles with a common edge.

    The angle a is 0 where the two triangles lie in a plane and positive where they are folded towards the side of their normals. With the
    rest angle a0, the moment of a hinge is k w times

    - "shell": a - a0, with w = |e0|^2 / (2 A1 + 2 A2) of the rest edge and areas: minus the derivative of k w (a - a0)^2 / 2;
    - "sine": sin(a / 2) - sin(a0 / 2), with the same w: has an energy, too;
    - "bridson": the same with the present edge and areas, as printed. No energy has these forces, so `energy` is 0, their derivative
      is not symmetric, and what a closed cycle of motions costs depends on the way.

    Forces along the bending mode are orthogonal to all rigid motions. A fold by more than half a turn counts as one of the other sign.
    Where a triangle has less than `collapsed` of its rest area, the angle is not defined and the hinge has no force.

    Args:
        mesh: a triangle mesh with `hinges`, or these: an (m, 4) int32 array of edge nodes i, j and opposite vertices k, l, where the
            triangle of k passes the edge from i to j.
        options: `stiffness` is k, N m, and `damping` is in N s: the force is -damping |e| (rate of the angle) times the mode; a damping
            fraction of 1 is critical for a hinge alone. `spring_constant` and `pieces` do not apply.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        rest_angles: (m,), rad, instead of the angles of the rest positions.
        law: "shell", "sine" or "bridson".
        collapsed: see above.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, options that do not apply; negative values.

    Source: Bridson, Marino and Fedkiw, "Simulation of clothing with folds and wrinkles", 2003, section 4; Grinspun et al., "Discrete
    shells", 2003; Selle 2008, section 5.3.3.
    """

    _core: _solids.DihedralBending

    def __init__(
        self,
        mesh: Any,
        options: SpringOptions,
        rest_positions: Floats | None = None,
        *,
        rest_angles: npt.ArrayLike | None = None,
        law: BendingLaw = "shell",
        collapsed: float = 1e-6,
    ) -> None:
        kind = BENDING_LAW("law", law)
        mesh = own_mesh(mesh)
        hinges = hinges_of(mesh)
        x = _rest(mesh, rest_positions, hinges)
        n = len(hinges)
        angles = _solids.hinge_angles(hinges, x) if rest_angles is None else _angles(rest_angles, n)
        core = core_options(options, n, int(hinges.max(initial=-1)) + 1, refused=("spring_constant", "pieces"))
        self._make(_solids.DihedralBending, hinges, x, core, angles, kind, _fraction("collapsed", collapsed))
        self._rest_angles = angles

    @property
    def rest_angles(self) -> Floats:
        """Rest angles (m,), rad."""
        return np.asarray(self._rest_angles)

    def angles(self, x: Floats) -> Floats:
        """Return the angles (m,) at positions `x` (m), rad; 0 where a triangle has collapsed."""
        return np.asarray(self._core.angles(_checks.points("x", x, FLOAT64, 3)))


def dihedral_angles(hinges: Ints, positions: Floats) -> Floats:
    """Return the angles (m,) between triangles with a common edge, rad: 0 in a plane, positive if folded towards their normals.

    Args:
        hinges: (m, 4) int32, edge nodes i, j and opposite vertices k, l; the triangle of k passes the edge from i to j.
        positions: (n, 3) float64, C-contiguous, m.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position.

    Source: Bridson, Marino and Fedkiw, "Simulation of clothing with folds and wrinkles", 2003, section 4.
    """
    return np.asarray(_solids.hinge_angles(index_rows("hinges", hinges, 4), _checks.points("positions", positions, FLOAT64, 3)))


def _fraction(name: str, value: float) -> float:
    result = _checks.number(name, value)
    if not 0 <= result < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, not {result:g}")
    return result


def _angles(value: npt.ArrayLike, count: int) -> Floats:
    return per_element("rest_angles", value, count, least=-math.pi)
