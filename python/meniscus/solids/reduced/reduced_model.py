"""Reduced models of tetrahedral bodies: modes, modal derivatives, and elastic forces in the coordinates of a basis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.memory import MemoryOwner
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.elements.tetrahedra import MATERIAL, Material
from meniscus.solids.force import Floats, Ints, of_mesh
from meniscus.solids.force import rest_positions as _rest_positions

_EXACT = ("st-venant-kirchhoff", "linear")
"""Materials whose forces are polynomials."""


class ReducedForces(NamedTuple):
    """Elastic energy and its derivatives at coordinates of a reduced model.

    Attributes:
        energy: J.
        gradient: (r,), minus the elastic forces on the coordinates.
        stiffness: (r, r), the second derivative.
    """

    energy: float
    gradient: Floats
    stiffness: Floats


class ReducedModel(MemoryOwner):
    """Basis and forces of a reduced body: what its set-up computes once. Immutable; bodies share it, and it pickles with all of it.

    Args:
        mesh: a `mesh.TetMesh`, a mesh of meshio or PyVista, or an (m, 4) int32 array of nodes, without flat or inverted elements.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        modes: number of modes of vibration, lowest first; those of a body that is fixed nowhere are without the rigid motions.
        size: number of vectors of the basis: the modes, and principal components of all their modal derivatives. Default: `modes` alone.
        youngs_modulus: Pa; a number or one per element.
        poissons_ratio: above -1 and below 1/2; a number or one per element.
        density: kg/m^3; a number or one per element. Masses are lumped.
        material: as for `TetElements`. Forces of "st-venant-kirchhoff" and "linear" are exact polynomials of the coordinates; those of
            the others are sums over some weighted elements (cubature).
        fixed: nodes that do not move in the frame of the body, at least three that do not lie on a line; none for a body that flies.
        cubature_error: relative error of the forces at the training poses that ends the choice of elements.
        cubature_size: most elements; 0 for the sum over all of them, which is exact and slow.
        cubature_poses: (t, r) coordinates that the weights are fitted to; default 40 random ones, within which the body bends by
            about a tenth of its size.

    Raises:
        TypeError, ValueError: wrong types or values; more modes or vectors than there are; a body of several pieces.

    Source: Müller, Stam, James and Thürey 2008, chapter 7; Barbic and James 2005; An, Kim and James 2008.
    """

    def __init__(
        self,
        mesh: Any,
        rest_positions: Floats | None = None,
        *,
        modes: int = 8,
        size: int | None = None,
        youngs_modulus: npt.ArrayLike = 1e6,
        poissons_ratio: npt.ArrayLike = 0.3,
        density: npt.ArrayLike = 1000.0,
        material: Material = "st-venant-kirchhoff",
        fixed: Sequence[int] | Ints = (),
        cubature_error: float = 0.01,
        cubature_size: int = 200,
        cubature_poses: Floats | None = None,
    ) -> None:
        mesh = own_mesh(mesh)
        self.tets = of_mesh("mesh", mesh, "tets", 4)
        self.rest_positions: Floats = np.array(_rest_positions(mesh, rest_positions, self.tets))
        count = len(self.tets)
        constants = {"youngs_modulus": youngs_modulus, "poissons_ratio": poissons_ratio, "density": density}
        values = {name: _per_element(name, value, count) for name, value in constants.items()}
        self.material = _checks.choice("material", material, Material)
        number = _checks.integer("modes", modes, at_least=1)
        rows = number if size is None else _checks.integer("size", size, at_least=number)
        self.fixed = _nodes("fixed", fixed, len(self.rest_positions))
        self._elements = (self.rest_positions, self.tets, values["youngs_modulus"], values["poissons_ratio"])
        self.masses: Floats = lumped_masses(self.rest_positions, self.tets, values["density"])
        held = np.zeros(len(self.masses), np.uint8)
        held[self.fixed] = 1
        vectors, self.eigenvalues = _solids.reduced_basis(*self._elements, self.masses, held, number, rows)
        self.vectors: Floats = vectors
        self.cubature_elements: Ints = np.zeros(0, np.int32)
        self.cubature_weights: Floats = np.zeros(0)
        self.cubature_error = 0.0
        self._coefficients: Floats = np.zeros(0)
        if self.material in _EXACT:
            self._coefficients = _solids.cubic_coefficients(*self._elements, self.vectors, self.material != "linear")
        elif _checks.integer("cubature_size", cubature_size, at_least=0) == 0:
            self.cubature_elements = np.arange(count, dtype=np.int32)
            self.cubature_weights = np.ones(count)
        else:
            poses = self.sample_poses(40) if cubature_poses is None else np.ascontiguousarray(_checks.numbers("poses", cubature_poses))
            self.cubature_elements, self.cubature_weights, self.cubature_error = _solids.choose_cubature(
                *self._elements,
                self.vectors,
                MATERIAL("material", self.material),
                poses,
                _checks.positive("cubature_error", cubature_error),
                cubature_size,
                0,
            )
        self._finish()

    def _finish(self) -> None:
        """Make the compiled parts from the arrays."""
        self._core = _solids.ReducedModel(self.rest_positions, self.masses, self.vectors, self.eigenvalues, self.clamped)
        self._forces = self.make_forces()
        for array in (self.rest_positions, self.masses, self.vectors, self.eigenvalues, self.fixed):
            array.flags.writeable = False

    def make_forces(self) -> Any:
        """Return the compiled forces, with scratch memory of their own."""
        if self.material in _EXACT:
            return _solids.ReducedForces.cubic(self.size, self._coefficients)
        x, tets, moduli, ratios = self._elements
        at = self.cubature_elements
        moduli, ratios = (v if len(v) == 1 else v[at] for v in (moduli, ratios))
        kind = MATERIAL("material", self.material)
        return _solids.ReducedForces.sampled(x, tets[at], moduli, ratios, self.cubature_weights, self.vectors, kind)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arrays of the set-up, which need not be computed again."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("_core", "_forces")}
        return _rebuild, (state,)

    @property
    def size(self) -> int:
        """Number of coordinates, r."""
        return len(self.eigenvalues)

    @property
    def clamped(self) -> bool:
        """Whether nodes are fixed in the frame, which then does not fly."""
        return len(self.fixed) > 0

    @property
    def mass(self) -> float:
        """Mass, kg."""
        return float(self._core.mass)

    @property
    def center(self) -> Floats:
        """Centre of mass at rest (3,), m."""
        return self._core.center

    @property
    def frequencies(self) -> Floats:
        """Natural frequencies (r,), Hz: of the modes, and of what the derivatives add to them."""
        result: Floats = np.sqrt(np.maximum(self.eigenvalues, 0)) / (2 * np.pi)
        return result

    def displacements(self, coordinates: Floats) -> Floats:
        """Return the displacements (n, 3) at coordinates (r,) in axes of the frame, m."""
        q = _checks.numbers("coordinates", coordinates)
        if q.shape != (self.size,):
            raise ValueError(f"coordinates must have shape ({self.size},), not {q.shape}")
        result: Floats = (q @ self.vectors).reshape(-1, 3)
        return result

    def coordinates(self, displacements: Floats) -> Floats:
        """Return the coordinates (r,) whose displacements are nearest to those given (n, 3), by mass."""
        u = _checks.points("displacements", displacements, np.dtype(np.float64), 3)
        if u.shape != self.rest_positions.shape:
            raise ValueError(f"displacements must have shape {self.rest_positions.shape}, not {u.shape}")
        result: Floats = self.vectors @ (self.masses[:, None] * u).ravel()
        return result

    def forces_at(self, coordinates: Floats) -> ReducedForces:
        """Return the elastic energy, its gradient and its second derivative at coordinates (r,)."""
        q = np.ascontiguousarray(_checks.numbers("coordinates", coordinates))
        return ReducedForces(*self._forces.at(q))

    def sample_poses(self, count: int, bend: float = 0.1, seed: int = 0) -> Floats:
        """Return random coordinates (count, r).

        The lowest vector moves a node by about `bend` of the size of the body, stiffer ones by less, in proportion to 1 / frequency.
        """
        extent = float(np.linalg.norm(np.ptp(self.rest_positions, axis=0)))
        reach = np.linalg.norm(self.vectors[0].reshape(-1, 3), axis=1).max()
        scale = bend * extent / reach * np.sqrt(self.eigenvalues[0] / self.eigenvalues)
        result: Floats = np.random.default_rng(seed).normal(size=(count, self.size)) * scale
        return result

    def __repr__(self) -> str:
        """One line: size, nodes, frequencies."""
        low, high = self.frequencies[[0, -1]]
        return f"<ReducedModel, {self.size} coordinates of {len(self.masses)} nodes, {self.material}, {low:.3g} to {high:.3g} Hz>"


def lumped_masses(x: Floats, tets: Ints, density: Floats) -> Floats:
    """Return the masses (n,) of nodes, a quarter of those of their elements, kg."""
    p = x[tets]
    volumes = np.linalg.det(p[:, 1:] - p[:, :1]) / 6
    shares = np.repeat(density * volumes / 4, 4)
    return np.asarray(np.bincount(tets.ravel(), shares, minlength=len(x)), np.float64)


def _rebuild(state: dict[str, Any]) -> ReducedModel:
    model = ReducedModel.__new__(ReducedModel)
    model.__dict__.update(state)
    model._finish()
    return model


def _per_element(name: str, value: npt.ArrayLike, count: int) -> Floats:
    array = np.ascontiguousarray(_checks.numbers(name, value)).reshape(-1)
    if array.size not in (1, count):
        raise ValueError(f"{name} must be a number or have shape ({count},), not {np.shape(value)}")
    if name == "density" and not ((array > 0) & np.isfinite(array)).all():
        if not np.isfinite(array).all():
            raise ValueError("density must be finite")
        raise ValueError(f"density must be positive, but is {array.min():g}")
    return array


def _nodes(name: str, value: Any, count: int) -> Ints:
    array = np.asarray(value)
    if array.size == 0:
        return np.zeros(0, np.int32)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be nodes, not of dtype {array.dtype}")
    if array.ndim != 1 or array.min() < 0 or array.max() >= count:
        raise ValueError(f"{name} must be nodes from 0 to {count - 1}")
    return np.unique(array).astype(np.int32)
