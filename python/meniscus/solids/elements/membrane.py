"""Linear triangular finite elements (constant strain) for membranes in space."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.elements.tetrahedra import DegeneratePolicy, FiniteElements, Material, StiffnessStorage, core_options
from meniscus.solids.force import FLOAT64, Floats, Ints, of_mesh, per_element
from meniscus.solids.force import rest_positions as _rest_positions


class TriangleMembrane(FiniteElements):
    """Linear triangular finite elements (constant strain) in space, which resist stretch and shear in their plane, but not bending.

    Stress is plane: free across the membrane. Deformation gradients are 3 x 2, from the plane of each triangle at rest, whose first axis
    lies along the edge from corner 0 to corner 1.

    Args:
        mesh: a surface (a `mesh.TriangleMesh`, or a mesh of trimesh, meshio or PyVista), or an (m, 3) int32 array of nodes.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        youngs_modulus: Pa; a number or one per triangle.
        poissons_ratio: above -1 and below 1; a number or one per triangle.
        thickness: m; a number or one per triangle.
        material: "corotational" is Hooke's law for the stretches; "st-venant-kirchhoff" for Green strain, which softens under strong
            compression; "neo-hookean" mu / 2 (s0 - s1)^2 + (lambda + mu) / 2 (s0 s1 - 1)^2 of the stretches s, which keeps areas. All have
            the same stiffness at rest, and finite energies and forces for triangles that collapse to a segment or a point.
        damping: s, proportional to the stiffness, as for `TetElements`.
        mass_damping: 1/s, proportional to the mass; needs `density`.
        density: kg/m^3 at rest; a number or one per triangle, or None.
        stiffness: "assembled" stores a matrix of 3 x 3 blocks; "matrix-free" stores vectors per element.
        degenerate: treatment of triangles without area at rest: "refuse" or "skip" them.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, triangles without area at rest unless they are skipped,
            constants out of range, the material "linear".

    Source: Mueller et al., "Real time physics class notes", 2008, sections 4.1 and 4.2; Volino et al., "A simple approach to nonlinear
    tensile stiffness for accurate cloth simulation", 2009; Smith et al., "Analytic eigensystems for isotropic distortion energies", 2019.
    """

    _core: _solids.TriangleMembrane

    def __init__(
        self,
        mesh: Any,
        rest_positions: Floats | None = None,
        *,
        youngs_modulus: npt.ArrayLike,
        poissons_ratio: npt.ArrayLike = 0.3,
        thickness: npt.ArrayLike,
        material: Material = "corotational",
        damping: float = 0.0,
        mass_damping: float = 0.0,
        density: npt.ArrayLike | None = None,
        stiffness: StiffnessStorage = "assembled",
        degenerate: DegeneratePolicy = "refuse",
    ) -> None:
        mesh = own_mesh(mesh)
        triangles = of_mesh("mesh", mesh, "triangles", 3)
        x = _rest_positions(mesh, rest_positions, triangles)
        self._elements = triangles
        self._parts = {
            "rest_positions": x,
            "youngs_modulus": youngs_modulus,
            "poissons_ratio": poissons_ratio,
            "thickness": per_element("thickness", thickness, len(triangles), strictly=True),
            "material": material,
            "damping": damping,
            "mass_damping": mass_damping,
            "density": density,
            "stiffness": stiffness,
            "degenerate": degenerate,
        }
        properties, options = core_options(self._parts, len(triangles))
        arguments: list[Any] = [*properties, self._parts["thickness"], *options]
        self._core = _solids.TriangleMembrane(x, triangles, *arguments)

    @property
    def triangles(self) -> Ints:
        """The nodes of each triangle (m, 3)."""
        return self._elements

    @property
    def areas(self) -> Floats:
        """Areas at rest (m,), m^2; 0 for skipped triangles."""
        return self._core.areas

    def strains(self, x: Floats) -> Floats:
        """Return Green's strains in the plane at rest (m, 2, 2) at positions `x` (m)."""
        f = self.deformation_gradients(x)
        return np.asarray(0.5 * (np.swapaxes(f, 1, 2) @ f - np.eye(2)), np.float64)

    def stresses(self, x: Floats) -> Floats:
        """Return the first Piola-Kirchhoff stresses (m, 3, 2) at positions `x` (m), Pa."""
        return self._core.stresses(_checks.points("x", x, FLOAT64, 3))
