"""Reduced models of tetrahedral bodies: modes, modal derivatives, and elastic forces in the coordinates of a basis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Cubature:
    """Choice of the elements whose weighted forces stand for all.

    Attributes:
        error: relative error of the forces at the training poses that ends the choice.
        size: most elements; 0 for the sum over all of them, which is exact and slow.
        poses: (t, r) coordinates that the weights are fitted to; default 40 random ones, within which the body bends by about a tenth of
            its size.

    Raises:
        TypeError, ValueError: other values.
    """

    error: float = 0.01
    size: int = 200
    poses: Floats | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.positive("error", self.error)
        _checks.integer("size", self.size, at_least=0)


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


class ComponentModes(NamedTuple):
    """Component modes of a body (Craig and Bampton), as `ReducedModel.component_modes` returns them.

    Components are joined by adding their matrices at the coordinates of the nodes that they share.

    Attributes:
        vectors: (m + 3b, 3n): modes with the interface held, then the static displacements per displacement along x, y, z of its nodes.
        stiffness, mass: (m + 3b, m + 3b) of these coordinates.
    """

    vectors: Floats
    stiffness: Floats
    mass: Floats


class Compliance(NamedTuple):
    """Static response of nodes of a body to forces on them, as `ReducedModel.compliance` returns it.

    Attributes:
        nodes: (k,).
        matrix: (3k, 3k), m/N: displacements u = G f, three rows per node; symmetric.

    Source: James and Pai, "ArtDefo: accurate real time deformable objects", 1999.
    """

    nodes: Ints
    matrix: Floats

    def press(
        self, contacts: npt.ArrayLike, directions: npt.ArrayLike, displacements: npt.ArrayLike, loads: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return displacements (k, 3), m, and forces (k, 3), N, where contacts prescribe displacements along directions.

        Args:
            contacts: (c,) places in `nodes`; several of one node need independent directions.
            directions: (c, 3).
            displacements: (c,) along these, m.
            loads: (k, 3), N, on the nodes besides; default none.

        Raises:
            TypeError, ValueError: other arguments, dependent directions.
        """
        at = np.ascontiguousarray(contacts, np.int32)
        n, d = (np.ascontiguousarray(_checks.numbers(*v)) for v in (("directions", directions), ("displacements", displacements)))
        f = np.zeros(len(self.matrix)) if loads is None else np.ascontiguousarray(_checks.numbers("loads", loads)).reshape(-1)
        u, forces = _solids.press(self.matrix, at, n.reshape(-1, 3), d, f)
        return u.reshape(-1, 3), forces.reshape(-1, 3)


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
        interface: nodes at which others act, by loads, joints or contact: the basis holds the `modes` with these at rest and the static
            response to forces on them (component modes of Craig and Bampton), which is then exact; three more vectors for each.
        warping: whether linear modes turn parts of the body by large angles (modal warping of Choi and Ko): of each node, its displacement
            follows the rotation there. For the material "linear" and fixed nodes.
        cubature: how elements are chosen for materials without exact forces.

    Raises:
        TypeError, ValueError: wrong types or values; more modes or vectors than there are; a body of several pieces.

    Source: Müller, Stam, James and Thürey 2008, chapter 7; Barbic and James 2005; An, Kim and James 2008; Craig and Bampton 1968; Choi and
    Ko 2005.
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
        interface: Sequence[int] | Ints = (),
        warping: bool = False,
        cubature: Cubature = Cubature(),
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
        self.interface = _nodes("interface", interface, len(self.rest_positions))
        if len(self.interface) and rows != number:
            raise ValueError("a basis with an interface has no modal derivatives: leave size out")
        if _checks.flag("warping", warping) and (self.material != "linear" or not self.clamped):
            raise ValueError('warping is for the material "linear" and a body with fixed nodes')
        self._solid = (*self._elements, self.masses, np.isin(np.arange(len(self.masses)), self.fixed).astype(np.uint8))
        vectors, self.eigenvalues = _solids.reduced_basis(*self._solid, self.interface, number, rows)
        self.vectors: Floats = vectors
        self._turns = _solids.node_turns(*self._elements, vectors) if warping else None
        self.cubature_elements: Ints = np.zeros(0, np.int32)
        self.cubature_weights: Floats = np.zeros(0)
        self.cubature_error = 0.0
        self._coefficients: Floats = np.zeros(0)
        if self.material in _EXACT:
            self._coefficients = _solids.cubic_coefficients(*self._elements, self.vectors, self.material != "linear")
        elif _checks.one_of_type("cubature", cubature, Cubature).size == 0:
            self.cubature_elements = np.arange(count, dtype=np.int32)
            self.cubature_weights = np.ones(count)
        else:
            poses = self.sample_poses(40) if cubature.poses is None else np.ascontiguousarray(_checks.numbers("poses", cubature.poses))
            self.cubature_elements, self.cubature_weights, self.cubature_error = _solids.choose_cubature(
                *self._elements,
                self.vectors,
                MATERIAL("material", self.material),
                poses,
                cubature.error,
                cubature.size,
                0,
            )
        self._finish()

    def _finish(self) -> None:
        """Make the compiled parts from the arrays."""
        self._core = _solids.ReducedModel(self.rest_positions, self.masses, self.vectors, self.eigenvalues, self.clamped, self._turns)
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
        """Return the displacements (n, 3) at coordinates (r,) in axes of the frame, m; warped ones of a model with `warping`."""
        q = _checks.numbers("coordinates", coordinates)
        if q.shape != (self.size,):
            raise ValueError(f"coordinates must have shape ({self.size},), not {q.shape}")
        if self._turns is not None:
            return np.subtract(self._core.positions(np.ascontiguousarray(q)), self.rest_positions)
        result: Floats = (q @ self.vectors).reshape(-1, 3)
        return result

    def component_modes(self, interface: Sequence[int] | Ints, modes: int) -> ComponentModes:
        """Return the component modes of the body at rest, with `modes` (0 or more) vibrations of what is not fixed or interface.

        Raises:
            TypeError, ValueError: other nodes or numbers; a body that can move rigidly while interface and fixed nodes rest.

        Source: Craig and Bampton, "Coupling of substructures for dynamic analyses", 1968.
        """
        nodes, number = _nodes("interface", interface, len(self.masses)), _checks.integer("modes", modes, at_least=0)
        return ComponentModes(*_solids.component_modes(*self._solid, nodes, number))

    def compliance(self, nodes: Sequence[int] | Ints) -> Compliance:
        """Return the static response of nodes that are not fixed, such as those of the surface, to forces on them; of a held body.

        Raises:
            TypeError, ValueError: other nodes; a body that flies.
        """
        at = _nodes("nodes", nodes, len(self.masses))
        return Compliance(at, _solids.compliance(*self._solid, at))

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
