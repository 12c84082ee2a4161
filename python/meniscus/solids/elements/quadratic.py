"""Quadratic tetrahedral finite elements (ten nodes, linear strain) for elastic solids."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from meniscus._meniscus import solids as _solids
from meniscus.mesh import TetMesh
from meniscus.solids.elements.tetrahedra import DegeneratePolicy, Material, SolidElements, StiffnessStorage, core_options
from meniscus.solids.force import Floats, of_mesh
from meniscus.solids.force import rest_positions as _rest_positions


class QuadraticTetElements(SolidElements):
    """Quadratic tetrahedral finite elements (ten nodes, linear strain) of a hyperelastic material.

    They do not lock: four of them over the height of a beam bend as the theory of beams says to half a percent, where linear elements are
    several times too stiff; and Poisson's ratios up to 0.499 cost no accuracy in bending. Energy and forces are sums over four points per
    element, at which all stresses and strains are. `damping`, tangents and materials are as for `TetElements`.

    Nodes have the shares of the mass 1/36 (corners) and 4/27 (edges), see `QuadraticTetMesh.node_masses`; so a body has the masses of these
    elements if it is made of the same mesh.

    Args:
        mesh: a `mesh.QuadraticTetMesh`, such as from `mesh.quadratic_mesh`, or an (m, 10) int32 array of nodes in its order.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out. Edges may be curved, as long as the elements are not
            inverted at one of their points.
        youngs_modulus: Pa; a number or one per element.
        poissons_ratio: above -1 and below 1/2; a number or one per element.
        material: "linear", "corotational" (in the frame of the polar rotation at each point), "st-venant-kirchhoff" or "neo-hookean".
        damping: s, proportional to the stiffness at rest: Hooke's law between the rates of Green strain and second Piola-Kirchhoff stress,
            so that nothing damps rotations, however strained the body; for the linear material D = -damping K.
        mass_damping: 1/s, proportional to the mass; needs `density`.
        density: kg/m^3 at rest; a number or one per element, or None.
        stiffness: "assembled" stores a matrix of 3 x 3 blocks, which costs some time at each linearisation and makes products faster;
            "matrix-free" stores the tangents of the elements alone.
        degenerate: treatment of elements that are flat or inverted at rest at one of their points: "refuse" or "skip" them.

    Displacements that are linear in space give the right constant stress in elements of any shape. Where edges inside of a mesh are curved,
    such a stress leaves forces on the nodes that are small of second order in the curvature, since the four points do not integrate them
    exactly; with straight edges it leaves none.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, elements that are flat or inverted at rest unless they are
            skipped, material constants out of range.

    Source: Zienkiewicz and Taylor, "The finite element method", volume 1, 2000, chapters 8 and 9; for materials see `TetElements`.
    """

    _core: _solids.QuadraticTetElements

    def __init__(
        self,
        mesh: Any,
        rest_positions: Floats | None = None,
        *,
        youngs_modulus: npt.ArrayLike,
        poissons_ratio: npt.ArrayLike = 0.3,
        material: Material = "corotational",
        damping: float = 0.0,
        mass_damping: float = 0.0,
        density: npt.ArrayLike | None = None,
        stiffness: StiffnessStorage = "assembled",
        degenerate: DegeneratePolicy = "refuse",
    ) -> None:
        if isinstance(mesh, TetMesh):
            raise TypeError("mesh must be a QuadraticTetMesh; mesh.quadratic_mesh makes one of a TetMesh")
        tets = of_mesh("mesh", mesh, "elements", 10)
        x = _rest_positions(mesh, rest_positions, tets)
        self._elements = tets
        self._parts = {
            "rest_positions": x,
            "youngs_modulus": youngs_modulus,
            "poissons_ratio": poissons_ratio,
            "material": material,
            "damping": damping,
            "mass_damping": mass_damping,
            "density": density,
            "stiffness": stiffness,
            "degenerate": degenerate,
        }
        properties, options = core_options(self._parts, len(tets))
        self._core = _solids.QuadraticTetElements(x, tets, *properties, *options)
