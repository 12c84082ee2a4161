"""Frames of a run: fields on cells and nodes, particles and meshes, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import CellField, Grid, MacField, NodeField, Particles
from meniscus.grid.conversion import cell_means
from meniscus.grid.particles.global_order import in_global_order, sorted_cells
from meniscus.mesh import QuadraticTetMesh, SegmentMesh, TetMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.parallel import exchange
from meniscus.surface import LevelSet

_MESHES = (SegmentMesh, TriangleMesh, TetMesh, QuadraticTetMesh)


@dataclass(frozen=True)
class FrameMesh:
    """A mesh of a frame, where it is at that time.

    Attributes:
        vertices: (n, 3) float64, m.
        elements: (m, 2 | 3 | 4 | 10) int32: segments, triangles, tetrahedra, quadratic tetrahedra.
        columns: values at the vertices by name, (n,) or (n, k).
        element_columns: values of the elements by name, (m,) or (m, k).
    """

    vertices: npt.NDArray[np.float64]
    elements: npt.NDArray[np.int32]
    columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    element_columns: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)


FrameItem: TypeAlias = (
    CellField
    | NodeField
    | MacField
    | LevelSet
    | Particles
    | SegmentMesh
    | TriangleMesh
    | TetMesh
    | QuadraticTetMesh
    | FrameMesh
    | npt.NDArray[Any]
)
"""Objects that a scene may name for its frames."""


@dataclass(frozen=True)
class FrameData:
    """The arrays of one frame, from the live state or from its files.

    Attributes:
        number: of the frame; 0 is the start.
        time: s.
        grid: the grid of all fields; None if there are only particles or nothing.
        cells: arrays on cells by name, indexed [i, j(, k)]; vectors have their components last.
        nodes: arrays on nodes.
        particles: per set of particles, its columns by name; `position` and `id` among them.
        meshes: by name.
        levelsets: names of the arrays on cells or nodes that are level sets.
    """

    number: int
    time: float
    grid: Grid | None = None
    cells: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    nodes: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    particles: Mapping[str, Mapping[str, npt.NDArray[Any]]] = field(default_factory=dict)
    meshes: Mapping[str, FrameMesh] = field(default_factory=dict)
    levelsets: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return an array on cells or nodes; KeyError names the existing ones."""
        for arrays in (self.cells, self.nodes):
            if name in arrays:
                return arrays[name]
        raise KeyError(f"frame {self.number} has no field {name!r}; it has {', '.join([*self.cells, *self.nodes]) or 'none'}")


def collect(items: Mapping[str, FrameItem], number: int, time: float) -> FrameData:
    """Return the arrays of the named state: a face velocity is averaged to the cells, all other arrays are not copied.

    Where the grid is cut among ranks it is collective, each rank gets the samples of its block, and of the particles a contiguous part of
    those of all ranks in the order that they have on one. A deformed mesh is `mesh.moved(body.positions)`; a `FrameMesh` has values at its
    vertices too. Meshes of trimesh, meshio and PyVista are welcome.

    Raises:
        TypeError: an object that cannot be part of a frame.
        ValueError: fields on different grids, or an array that has neither one value per cell nor one per node.
    """
    _checks.one_of_type("items", items, Mapping)
    _checks.integer("number", number, at_least=0)
    _checks.number("time", time)
    grid = None
    for name, item in items.items():
        own = None if isinstance(item, (Particles, np.ndarray, FrameMesh, *_MESHES)) else getattr(item, "grid", None)
        if grid is not None and own is not None and own != grid:
            raise ValueError(f"all fields of a frame must be on one grid, but {name!r} is on {own}, the others on {grid}")
        grid = own or grid
    cells: dict[str, npt.NDArray[Any]] = {}
    nodes: dict[str, npt.NDArray[Any]] = {}
    particles: dict[str, Mapping[str, npt.NDArray[Any]]] = {}
    meshes: dict[str, FrameMesh] = {}
    for name, item in items.items():
        samples = item.field if isinstance(item, LevelSet) else own_mesh(item)
        if isinstance(samples, (NodeField, MacField)) and samples.grid.comm.size > 1:
            exchange([samples], 1)  # what lies between two blocks is there twice
        if isinstance(samples, Particles):
            columns = {"position": samples.positions, "id": samples.ids, **{c: samples[c] for c in samples.columns}}
            cut = grid is not None and grid.comm.size > 1 and grid.dimension == samples.dimension
            particles[name] = in_global_order(columns, sorted_cells(samples), grid) if cut and grid else columns
        elif isinstance(samples, MacField):
            cells[name] = cell_means(samples)
        elif isinstance(samples, CellField):
            cells[name] = samples.array
        elif isinstance(samples, NodeField):
            nodes[name] = samples.array
        elif isinstance(samples, _MESHES):
            meshes[name] = FrameMesh(samples.vertices, samples.elements)
        elif isinstance(samples, FrameMesh):
            meshes[name] = samples
        elif isinstance(samples, np.ndarray):
            (cells if _on_cells(name, samples, grid) else nodes)[name] = samples
        else:
            raise TypeError(f"a frame takes fields, level sets, particles, meshes and arrays, but {name!r} is a {type(item).__name__}")
    return FrameData(
        number, time, grid, cells, nodes, particles, meshes, tuple(n for n, item in items.items() if isinstance(item, LevelSet))
    )


def _on_cells(name: str, array: npt.NDArray[Any], grid: Grid | None) -> bool:
    if grid is None:
        raise ValueError(f"the array {name!r} needs a field in the same frame, whose grid says where its values are")
    shape = array.shape[: grid.dimension]
    nodes = tuple(n + 1 for n in grid.local_shape)
    if array.ndim > grid.dimension + 1 or shape not in (grid.local_shape, nodes):
        raise ValueError(
            f"the array {name!r} must have one value per cell {grid.local_shape} or per node {nodes}, not the shape {array.shape}"
        )
    return shape == grid.local_shape
