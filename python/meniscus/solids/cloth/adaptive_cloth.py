"""Cloth that remeshes as it folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.state import Arguments
from meniscus.core.stateful import exclusively
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.solids.body import DeformableBody
from meniscus.solids.cloth.options import ClothMaterial, RemeshOptions, SheetSizing, core_options
from meniscus.solids.cloth.remesher import ClothRemesher, hold, sheet_arrays
from meniscus.solids.cloth.reports import RemeshReport
from meniscus.solids.cloth.rest_state import rest_areas, rest_masses, rest_of
from meniscus.solids.constraints import Path
from meniscus.solids.elements.membrane import TriangleMembrane
from meniscus.solids.elements.plate_bending import PlateBending
from meniscus.solids.force import Force
from meniscus.solids.previous_positions import PreviousPositions
from meniscus.solids.remeshing import SomeWorld
from meniscus.solids.springs.altitude_and_bending import DihedralBending
from meniscus.solids.springs.edge_springs import BendingSprings
from meniscus.solids.springs.options import SpringOptions
from meniscus.surface.tracking.carried import CarriedData, CarriedList, CarryFunction, CarryRule, SurfaceShape
from meniscus.surface.tracking.events import CarryOn, SurfaceEvents

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
ForceMaker = Callable[["AdaptiveCloth"], Force]
_Self = TypeVar("_Self", bound="AdaptiveCloth")


class AdaptiveCloth(DeformableBody):
    """Cloth whose mesh is fine in its folds and coarse elsewhere, and which passes nothing while it is remeshed.

    A `DeformableBody` of triangles with a rest state in a plane, of a material that resists stretch and bending the same on every mesh.
    In a `World` it remeshes itself before a loop begins. Operations are splits, flips and collapses of edges. New vertices are weighted
    sums of others, with the same weights at rest, in space, for velocities and for data that are carried: uniform stretch and affine
    motions stay what they are, to rounding errors, and so does the momentum. An operation is done only if exact tests show that on its
    way nothing of the cloth, of other bodies and of obstacles that are meshes is met or passed; else at another place; else it is
    refused, with the cause.

    Pinned and moved vertices stay, and edges between two of them. The outline at rest stays.

    Args:
        mesh: the cloth as it is now: a surface with edges of one or two triangles; holes and several pieces are allowed.
        rest: (n, 2), m, where all triangles are positive; the mesh itself if left out, which must be flat then.
        material: stretch, bending, weight.
        edges: shortest and longest length of edges that are wanted, m.
        sizing: "curvature": edges are `options.turn` over the largest curvature at their ends; "tensor": likewise by direction, and
            shorter where cloth is compressed.
        options: of the remeshing.
        gravity: m/s^2; None: no gravity, or that of the world.

    Attributes:
        material, edges, sizing, options: as given.
        generation: number of remeshings that changed the mesh.
        events: the operations of the last one (`SurfaceEvents`); None before.
        remeshed: the report of the last one; None before.

    Raises:
        TypeError, ValueError: rest triangles that are inverted, edges with more than two triangles, `edges` that make no sense, values
            that are not finite; see also `DeformableBody`.

    Source: Brochu 2012, section 4.2.4; Narain, Samii and O'Brien, "Adaptive anisotropic remeshing for cloth simulation", 2012 (tensors).
    """

    settings = ("gravity", "_setup")

    def __init__(
        self,
        mesh: object,
        rest: npt.ArrayLike | None = None,
        *,
        material: ClothMaterial | None = None,
        edges: tuple[float, float] = (0.004, 0.05),
        sizing: SheetSizing = "curvature",
        options: RemeshOptions | None = None,
        gravity: Sequence[float] | Floats | None = None,
    ) -> None:
        own = own_mesh(mesh)
        if not isinstance(own, TriangleMesh):
            raise TypeError(f"mesh must be a mesh of triangles, not {type(own).__name__}")
        low, high = (_checks.positive("edges", value) for value in edges)
        if low > high:
            raise ValueError(f"edges must be the shortest and the longest length, not {low:g} and {high:g} m")
        self.material = ClothMaterial() if material is None else material
        self.edges, self.sizing, self.options = (low, high), sizing, RemeshOptions() if options is None else options
        self._core_options = core_options(self.material, self.edges, sizing, self.options)
        self._rest = rest_of(own, rest)
        self._triangles = np.array(own.triangles, np.int32)
        self.remesher: ClothRemesher = ClothRemesher(self)
        self._rigid: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._material_forces: list[Force] = []
        self._makers: list[ForceMaker] = []
        self._carried = CarriedList()
        self.events: SurfaceEvents | None = None
        self.remeshed: RemeshReport | None = None
        super().__init__(own, masses=rest_masses(self._rest, self._triangles, self.material.density), gravity=gravity)
        self._elements = self._triangles
        self._make_forces()
        self.generation = self.declare("generation", 0)
        self.remesh_every = self.declare("remesh_every", 1)
        self.loops = self.declare("loops", 0)
        self.declare("sheet", self.sheet, resizable=1)

    # --- what it is ----------------------------------------------------------------------------------------------------------

    @property
    def mesh(self) -> TriangleMesh:
        """The cloth now, as a mesh of its own."""
        return TriangleMesh(self.positions.copy(), self._triangles)

    @property
    def rest(self) -> Floats:
        """(n, 2), m, read-only: the vertices at rest."""
        view: Floats = self._rest.view()
        view.flags.writeable = False
        return view

    @property
    def rest_mesh(self) -> TriangleMesh:
        """The cloth at rest, in the plane z = 0."""
        return TriangleMesh(np.concatenate([self._rest, np.zeros((len(self._rest), 1))], axis=1), self._triangles)

    @property
    def triangles(self) -> Ints:
        """(m, 3), read-only."""
        view: Ints = self._triangles.view()
        view.flags.writeable = False
        return view

    def edge_sizes(self) -> tuple[Ints, Floats]:
        """Return the edges (k, 2), and their lengths over the wanted ones (k,)."""
        edges = np.array(self.mesh.edges)
        return edges, np.asarray(_solids.edge_sizes(sheet_arrays(self), edges, self._core_options))

    def carry(self, values: npt.ArrayLike, on: CarryOn = "vertices", rule: CarryRule | CarryFunction = "interpolate") -> CarriedData:
        """Let data follow all operations from now on, as `TrackedSurface.carry` does; arguments and errors as there."""
        return self._carried.add(values, on, rule, SurfaceShape(self.positions, self._triangles))

    # --- forces and constraints -----------------------------------------------------------------------------------------------

    @exclusively
    def add(self, force: ForceMaker) -> Force:  # type: ignore[override]
        """Let a force act: a function that makes it for the cloth as it is, called again after each remeshing. Returns the force.

        Raises:
            TypeError: a force itself, whose triangles would soon be others.
            ValueError: it acts on nodes outside of the cloth.
        """
        if isinstance(force, Force) or not callable(force):
            raise TypeError("give a function of the cloth that makes the force, such as lambda cloth: WindDrag(cloth.mesh, ...)")
        made = force(self)
        super().add(made)
        self._makers.append(force)
        return made

    @exclusively
    def remove(self, force: Force) -> None:
        """Remove a force that `add` has returned, if the cloth has not been remeshed since. Raises ValueError for another one."""
        known = self._forces[len(self._forces) - len(self._makers) :]
        k = next((k for k, own in enumerate(known) if own is force), None)
        if k is None:
            raise ValueError("the cloth has no such force, or it is part of the material")
        super().remove(force)
        del self._makers[k]

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Fix nodes, as for any body. Triangles whose nodes are all constrained do not bend: an edge of them is a clamp."""
        super().pin(nodes)
        self._make_forces()

    def move(self, nodes: npt.ArrayLike, path: npt.ArrayLike | Path) -> None:
        """Move nodes along a path, as for any body."""
        super().move(nodes, path)
        self._make_forces()

    def release(self, nodes: npt.ArrayLike | None = None) -> None:
        """Free nodes, as for any body."""
        super().release(nodes)
        self._make_forces()

    # --- remeshing ------------------------------------------------------------------------------------------------------------

    @exclusively
    def remesh(self, world: SomeWorld | None = None) -> RemeshReport:
        """Adapt the mesh to the shape, between loops of a world. Returns the report, also stored as `remeshed`.

        An error or Ctrl-C leaves everything as it was. Pairs that a world has released to pass through each other forbid it.

        Args:
            world: that has the cloth; its bodies and obstacles are not passed. None: only the cloth itself is not.

        Raises:
            ValueError: in the middle of a loop; a world that has not this cloth.
        """
        return self.remesher.remesh(world)

    @exclusively
    def apply(self, kind: str, edges: npt.ArrayLike, world: SomeWorld | None = None) -> RemeshReport:
        """Do one kind of operation ("split", "flip", "collapse") at edges (k, 2), one after the other, whatever their sizes and energies.

        Vertices are those of now. Safety, angles, outline and what is held count as in `remesh`; arguments and errors as there.
        """
        return self.remesher.apply(kind, edges, world)

    # --- state of a mesh that changes ------------------------------------------------------------------------------------------

    @property
    def sheet(self) -> dict[str, Any]:
        """Rest state, triangles and constrained nodes: state, as far as remeshing changes them."""
        sliding, normals = self._core.sliding()
        return {
            "rest": self._rest,
            "triangles": self._triangles,
            "constrained": self._core.constrained,
            "moved": self._core.moved,
            "sliding": sliding,
            "normals": normals,
            "on_paths": [where for where, _ in self._paths],
        }

    @sheet.setter
    def sheet(self, value: Mapping[str, Any]) -> None:
        """Nothing: whoever restores the state has done so before."""

    def _become(self, x: Floats, v: Floats, rest: Floats, triangles: Ints, constraints: Mapping[str, Any]) -> None:
        """Take another mesh, with its state and constraints."""
        core = _solids.DeformableBody(np.ascontiguousarray(x), rest_masses(rest, triangles, self.material.density))
        core.velocities[...] = v
        core.time, core.gravity = self._core.time, self._core.gravity
        self._core, self._rest, self._triangles = core, rest, triangles
        self._elements = triangles
        self.previous = PreviousPositions(core)
        self._paths = [(where, path) for where, (_, path) in zip(constraints["on_paths"], self._paths, strict=True)]
        self._targets = {}
        hold(self._core, constraints)
        self._forces = []
        self._make_forces(anew=True)

    def _make_forces(self, *, anew: bool = False) -> None:
        """Make the forces of the material, and those that were added if all are made anew."""
        m, rest3 = self.material, self.rest_mesh
        held = np.zeros(len(self), np.bool_)
        held[self.constrained] = True
        rigid: npt.NDArray[np.bool_] = np.asarray(held[self._triangles].all(axis=1), np.bool_)
        if self._forces and not anew:
            if np.array_equal(rigid, self._rigid):
                return
            for force in self._forces:
                self._core.remove(force.core)
        others = [maker(self) for maker in self._makers] if anew or not self._forces else self._forces[len(self._material_forces) :]
        self._rigid = rigid
        membrane = TriangleMembrane(
            rest3,
            youngs_modulus=m.youngs_modulus,
            poissons_ratio=m.poissons_ratio,
            thickness=m.thickness,
            material=m.model,
            damping=m.damping,
        )
        self._material_forces = [membrane, *_bending(m, self.edges, rest3, rigid)]
        self._forces = [*self._material_forces, *others]
        for force in self._forces:
            self._core.add(force.core)

    # --- snapshots and copies ------------------------------------------------------------------------------------------------

    def copy(self: _Self) -> _Self:
        """Return an independent cloth in the same state, with the same constraints and forces of its own."""
        arguments, named = self._arguments()
        return self._duplicate(arguments, named, self._settings())

    def _arguments(self) -> Arguments:
        named = {"material": self.material, "edges": self.edges, "sizing": self.sizing, "options": self.options}
        return (TriangleMesh(self.positions.copy(), self._triangles), self._rest.copy()), named

    @property
    def _setup(self) -> dict[str, Any]:
        """Makers of forces, constraints, and data that are carried."""
        held = {name: part for name, part in self.sheet.items() if name not in ("rest", "triangles", "on_paths")}
        carried = [CarriedData(data.array.copy(), data.on, data.rule) for data in self._carried]
        return {**held, "makers": list(self._makers), "paths": list(self._paths), "targets": dict(self._targets), "carried": carried}

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        self._paths, self._targets = setup["paths"], setup["targets"]
        hold(self._core, setup)
        self._carried = CarriedList(setup["carried"])
        self._make_forces()
        for maker in setup["makers"]:
            self.add(maker)

    def _restore_within(self, snapshot: Mapping[str, Any]) -> None:
        if isinstance(snapshot, Mapping) and isinstance(sheet := snapshot.get("sheet"), Mapping) and {*sheet} == {*self.sheet}:
            self._take_sheet(sheet, snapshot.get("positions"), snapshot.get("velocities"))
        super()._restore_within(snapshot)

    def _take_sheet(self, sheet: Mapping[str, Any], x: npt.ArrayLike | None, v: npt.ArrayLike | None) -> None:
        """Become a sheet of a snapshot, if it is another one."""
        rest, triangles = np.array(sheet["rest"], np.float64), np.array(sheet["triangles"], np.int32)
        if np.array_equal(rest, self._rest) and np.array_equal(triangles, self._triangles):
            return
        at, speed = np.array(x, np.float64), np.array(v, np.float64)
        if at.shape != (len(rest), 3) or speed.shape != at.shape or (rest_areas(rest, triangles) <= 0).any():
            raise ValueError("the sheet in the snapshot and its positions do not fit each other")
        self._become(at, speed, rest, triangles, sheet)

    def _bring_back(self, backup: Mapping[str, Any]) -> None:
        saved = backup.get("sheet")
        if saved is not None:
            was = {name: [p.copy for p in part.copy] if isinstance(part.copy, list) else part.copy for name, part in saved.copy.items()}
            self._take_sheet(was, backup["positions"].copy, backup["velocities"].copy)
        super()._bring_back(backup)
        self.previous = PreviousPositions(self._core)


def _bending(m: ClothMaterial, edges: tuple[float, float], rest: TriangleMesh, rigid: npt.NDArray[np.bool_]) -> list[Force]:
    """Return what resists bending, if anything does."""
    b = m.stiffness_of_bending
    if not len(rest.hinges):
        return []
    if m.resists_bending == "plate":
        return [
            PlateBending(rest, rest.vertices[:, :2].copy(), stiffness=b, poissons_ratio=m.poissons_ratio, damping=m.damping, rigid=rigid)
        ]
    if m.resists_bending == "hinges":
        # The stiffness against cylinders is half that of hinges.
        return [DihedralBending(rest, SpringOptions(stiffness=2 * b))]
    return [BendingSprings(rest, SpringOptions(stiffness=m.youngs_modulus * m.thickness * edges[1]))]
