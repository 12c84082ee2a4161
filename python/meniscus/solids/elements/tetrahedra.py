"""Finite elements of elastic solids: their common base, and linear tetrahedra (constant strain)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh.any_mesh import own_mesh
from meniscus.numerics import polar_rotation
from meniscus.solids.force import FLOAT64, TANGENT, Floats, Force, Ints, Tangent, of_mesh
from meniscus.solids.force import rest_positions as _rest_positions

Material = Literal["linear", "corotational", "st-venant-kirchhoff", "neo-hookean"]
StiffnessStorage = Literal["assembled", "matrix-free"]
DegeneratePolicy = Literal["refuse", "skip"]
StrainMeasure = Literal["green", "cauchy"]
StressMeasure = Literal["cauchy", "first-piola", "second-piola"]

MATERIAL = CoreOption(Material, _solids.Material)


class StiffnessBlocks(NamedTuple):
    """A symmetric matrix of 3 x 3 blocks, which can be passed to `scipy.sparse.bsr_array`.

    Attributes:
        data: (k, 3, 3), N/m.
        indices: (k,), the block column of each block, ascending within a row.
        indptr: (nodes + 1,), begin and end of the blocks of each row.
    """

    data: Floats
    indices: Ints
    indptr: Ints


class FiniteElements(Force):
    """Base of finite elements: linear and quadratic tetrahedra, and triangles."""

    _core: Any
    _elements: Ints
    _parts: dict[str, Any]

    @property
    def material(self) -> str:
        """The material."""
        return str(self._parts["material"])

    @property
    def skipped(self) -> Ints:
        """The elements that are left out because they are degenerate at rest, ascending."""
        return self._core.skipped  # type: ignore[no-any-return]

    @property
    def masses(self) -> Floats:
        """The share of each node in the masses of its elements, (n,) kg; corners of linear elements have equal ones. Raises ValueError
        without densities."""
        masses: Floats = self._core.masses
        if masses.size == 0 and self.nodes > 0:
            raise ValueError("masses need a density")
        return masses

    def stiffness(self, x: Floats, tangent: Tangent = "exact") -> StiffnessBlocks:
        """Return K(x) = -df/dx as a matrix of blocks; `scipy.sparse.bsr_array(elements.stiffness(x))` takes it.

        Args:
            x: (n, 3), m.
            tangent: as for `differentials`.

        Raises:
            TypeError, ValueError: see the class; the stiffness is matrix-free.
        """
        return StiffnessBlocks(*self._core.matrix_at(_checks.points("x", x, FLOAT64, 3), TANGENT("tangent", tangent)))

    def deformation_gradients(self, x: Floats) -> Floats:
        """Return F (m, 3, 3) at positions `x` (m): (m, 3, 2) for triangles, (m, 4, 3, 3) at the points of quadratic tetrahedra."""
        return self._core.deformation_gradients(_checks.points("x", x, FLOAT64, 3))  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the force."""
        return rebuild, (type(self), self._elements, self._parts)


class SolidElements(FiniteElements):
    """Base of tetrahedral finite elements: strains and stresses.

    They are (m, 3, 3) for linear elements and (m, 4, 3, 3) for quadratic ones, which have four points.
    """

    @property
    def volumes(self) -> Floats:
        """Volumes at rest (m,), m^3; 0 for skipped elements."""
        return self._core.volumes  # type: ignore[no-any-return]

    def rotations(self, x: Floats) -> Floats:
        """Return the polar rotations of the deformation gradients at positions `x` (m)."""
        f = self.deformation_gradients(x)
        return np.asarray(polar_rotation(f.reshape(-1, 3, 3)).reshape(f.shape), np.float64)

    def strains(self, x: Floats, measure: StrainMeasure = "green") -> Floats:
        """Return the strains at positions `x` (m): Green's, which is zero for rotations, or Cauchy's, its linear part."""
        kind = _checks.choice("measure", measure, StrainMeasure)
        f = self.deformation_gradients(x)
        t = np.swapaxes(f, -1, -2)
        return 0.5 * (t @ f - np.eye(3)) if kind == "green" else 0.5 * (f + t) - np.eye(3)

    def stresses(self, x: Floats, measure: StressMeasure = "cauchy") -> Floats:
        """Return the stresses at positions `x` (m), Pa.

        Args:
            x: (n, 3), m.
            measure: "cauchy" is per area now, P F^T / det F, and not a number for flat elements; "first-piola" P is per area at rest;
                "second-piola" is F^-1 P, and not a number for flat elements.

        Raises:
            TypeError, ValueError: see the class; an unknown measure.
        """
        kind = _checks.choice("measure", measure, StressMeasure)
        p: Any = self._core.stresses(_checks.points("x", x, FLOAT64, 3))
        if kind == "first-piola":
            return np.asarray(p, np.float64)
        f = self.deformation_gradients(x)
        det = np.linalg.det(f)
        flat = det == 0
        if kind == "cauchy":
            result = p @ np.swapaxes(f, -1, -2) / np.where(flat, np.nan, det)[..., None, None]
        else:
            result = np.linalg.solve(np.where(flat[..., None, None], np.eye(3), f), p)
            result[flat] = np.nan
        return np.asarray(result, np.float64)


def rebuild(kind: type[Any], elements: Ints, parts: dict[str, Any]) -> Any:
    """Make a force from its pickle."""
    return kind(elements, **parts)


def core_options(parts: dict[str, Any], count: int) -> tuple[list[Any], list[Any]]:
    """Check the common arguments of all elements; return the properties and the options of the compiled core, and store copies in
    `parts`."""
    for name in ("youngs_modulus", "poissons_ratio", "density"):
        if parts[name] is not None or name != "density":
            parts[name] = _property(name, parts[name], count)
    properties = [parts["youngs_modulus"], parts["poissons_ratio"], np.empty(0) if parts["density"] is None else parts["density"]]
    options = [
        MATERIAL("material", parts["material"]),
        _checks.number("damping", parts["damping"]),
        _checks.number("mass_damping", parts["mass_damping"]),
        _checks.choice("stiffness", parts["stiffness"], StiffnessStorage) == "assembled",
        _checks.choice("degenerate", parts["degenerate"], DegeneratePolicy) == "skip",
    ]
    return properties, options


class TetElements(SolidElements):
    """Linear tetrahedral finite elements (constant strain) of a hyperelastic material.

    Args:
        mesh: a `mesh.TetMesh`, a mesh of meshio or PyVista, or an (m, 4) int32 array of nodes; det [x1 - x0, x2 - x0, x3 - x0] > 0 at rest.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        youngs_modulus: Pa; a number or one per element.
        poissons_ratio: above -1 and below 1/2; a number or one per element.
        material: "linear" is Hooke's law for Cauchy strain, right only without rotations; "corotational" the same in the frame of the polar
            rotation of each element (warped stiffness); "st-venant-kirchhoff" Hooke's law for Green strain, which softens when compressed
            to less than 58 % and does not resist inversion; "neo-hookean" the stable neo-Hookean energy, which does. All have the same
            stiffness at rest, and finite energies and forces for flat and inverted elements.
        damping: s, proportional to the stiffness at rest: Hooke's law between the rates of Green strain and second Piola-Kirchhoff stress,
            so that nothing damps rotations, however strained the body; for the linear material D = -damping K.
        mass_damping: 1/s, proportional to the mass; needs `density`.
        density: kg/m^3 at rest; a number or one per element, or None.
        stiffness: "assembled" stores a matrix of 3 x 3 blocks, which costs some time at each linearisation and makes each product two to
            three times as fast; "matrix-free" stores vectors per element and needs less memory.
        degenerate: treatment of elements that are flat or inverted at rest: "refuse" or "skip" them.

    The definite tangent of the exact derivative has no negative eigenvalues, element by element; the frozen one is, for corotational
    elements, R K R^T with given rotations.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, elements that are flat or inverted at rest unless they are
            skipped, material constants out of range.

    Source: Mueller et al., "Real time physics class notes", 2008, sections 4.2 and 4.3, with corrected signs and factors; Smith et al.,
    "Stable neo-Hookean flesh simulation", 2018; Smith et al., "Analytic eigensystems for isotropic distortion energies", 2019.
    """

    _core: _solids.TetElements

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
        mesh = own_mesh(mesh)
        tets = of_mesh("mesh", mesh, "tets", 4)
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
        self._core = _solids.TetElements(x, tets, *properties, *options)

    @property
    def tets(self) -> Ints:
        """The nodes of each element (m, 4)."""
        return self._elements

    def degenerate(self, x: Floats, *, volume: float = 0.0, flatness: float = 1e-3) -> npt.NDArray[np.bool_]:
        """Return which elements (m,) are inverted or collapsed at positions `x` (m), skipped ones among them.

        Args:
            x: (n, 3), m.
            volume: an element is degenerate if its signed volume is at most this part of that at rest,
            flatness: or its shortest altitude less than this part of its longest edge.

        Raises:
            TypeError, ValueError: see the class; a negative number.

        Source: Lee, "A skinned tetrahedral mesh for hair-water interaction", 2018, section 3.6.
        """
        for name, value in (("volume", volume), ("flatness", flatness)):
            if _checks.number(name, value) < 0:
                raise ValueError(f"{name} must not be negative, but is {value:g}")
        det = np.linalg.det(self.deformation_gradients(x))
        p = x[self._elements]
        edges = p[:, [1, 2, 3, 2, 3, 3]] - p[:, [0, 0, 0, 1, 1, 2]]
        longest = np.linalg.norm(edges, axis=2).max(axis=1)
        faces = [np.cross(edges[:, a], edges[:, b]) for a, b in ((0, 1), (1, 2), (2, 0), (3, 4))]
        largest = np.max([np.linalg.norm(n, axis=1) for n in faces], axis=0)
        six_volumes = np.abs(np.einsum("ij,ij->i", faces[0], edges[:, 2]))
        result: npt.NDArray[np.bool_] = (det <= volume) | (six_volumes <= flatness * longest * largest)
        result[self.skipped] = True
        return result


def _property(name: str, value: npt.ArrayLike, count: int) -> Floats:
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number or an array of numbers, not of dtype {array.dtype}")
    if array.shape not in ((), (1,), (count,)):
        raise ValueError(f"{name} must be a number or have shape ({count},), not {array.shape}")
    return np.ascontiguousarray(array, np.float64).reshape(-1)
