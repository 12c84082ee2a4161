"""Interactive three-dimensional views through PyVista; needs the extra `view`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus._extras import require
from meniscus.grid import CellField, MacField, NodeField, Particles
from meniscus.mesh import QuadraticTetMesh, SegmentMesh, TetMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.surface import LevelSet
from meniscus.viz.picture import Picture, png

_COLORS = ("#5b8fd6", "#d98c4a", "#69a85c", "#b8638f", "#8a7cc2", "#c2a83e")
# A field has no name that could stand over its bar.
_COLOR_BAR = {"title": " ", "fmt": "%.2g"}


class View:
    """A view of simulation objects. In a notebook it shows a picture of itself; `show` opens the interactive one.

    See `view3d`.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._pyvista = pyvista()
        self._size = size
        self._parts: list[tuple[Any, dict[str, Any]]] = []
        self._is_flat = True

    def add(self, item: Any, **look: Any) -> View:
        """Add an object, with arguments for PyVista's `add_mesh` (or `add_volume`) about its look; return the view.

        Raises:
            TypeError: an object that cannot be shown.
        """
        data, default = _dataset(self._pyvista, item, _COLORS[len(self._parts) % len(_COLORS)])
        low, high = data.bounds[4], data.bounds[5]
        self._is_flat = self._is_flat and low == high
        self._parts.append((data, {**default, **look}))
        return self

    def plotter(self, **options: Any) -> Any:
        """Return a `pyvista.Plotter` with everything in it, made with these options, to go on with in PyVista."""
        plotter = self._pyvista.Plotter(window_size=list(self._size), **options)
        for data, look in self._parts:
            if look.get("volume"):
                plotter.add_volume(data, **{name: value for name, value in look.items() if name != "volume"})
            else:
                plotter.add_mesh(data, **look)
        plotter.add_axes()
        if self._is_flat:
            plotter.view_xy()
        return plotter

    def show(self, **options: Any) -> Any:
        """Open the interactive view, in the notebook or in a window, with options of PyVista's `show`."""
        return self.plotter().show(**options)

    def picture(self) -> Picture:
        """Return a picture (height, width, 3) uint8, drawn without a window."""
        with _without_warnings():
            plotter = self.plotter(off_screen=True)
            try:
                return Picture(np.asarray(plotter.screenshot(return_img=True))[..., :3])
            finally:
                plotter.close()

    def _repr_png_(self) -> bytes:
        return png(np.asarray(self.picture()))

    def __repr__(self) -> str:
        """One line: what is shown."""
        return f"<View of {len(self._parts)} objects; show() opens it>"


def view3d(*items: Any, size: tuple[int, int] = (800, 600), **look: Any) -> View:
    """Return a view of fields, level sets, meshes, particles and arrays of points, which a notebook shows and `show()` opens.

    A scalar field is drawn as a volume (in 2-D as an image), a velocity as arrows, a level set as its surface, a mesh or what a mesh is
    made from as it is, a data set of PyVista with its values, and particles and points (n, 3) as dots.

    Args:
        *items: the objects.
        size: width and height, pixels.
        **look: arguments of PyVista's `add_mesh` for all objects, such as `opacity`; `View.add` takes those of one object.

    Raises:
        TypeError: an object that cannot be shown.
        ImportError: PyVista is missing.
    """
    view = View((_checks.integer("size[0]", size[0], 1), _checks.integer("size[1]", size[1], 1)))
    for item in items:
        view.add(item, **look)
    return view


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep VTK from writing to the standard error that it looked for a display before it drew without one; errors are written."""
    logger = importlib.import_module("vtkmodules.vtkCommonCore").vtkLogger
    before = logger.GetCurrentVerbosityCutoff()
    logger.SetStderrVerbosity(min(before, logger.VERBOSITY_ERROR))
    try:
        yield
    finally:
        logger.SetStderrVerbosity(before)


def pyvista() -> Any:
    """Return the module. Raises ImportError with the way to install it."""
    return require("pyvista", "interactive views need")


def _dataset(pyvista: Any, item: Any, color: str) -> tuple[Any, dict[str, Any]]:
    """Return the data of PyVista of an object, and how it looks if nothing else is asked for."""
    if isinstance(item, pyvista.DataSet):
        return item, {"color": color} if item.active_scalars is None else {}
    item = own_mesh(item)
    if isinstance(item, LevelSet):
        vertices, elements = item.to_mesh()
        return _elements(pyvista, np.pad(vertices, ((0, 0), (0, 3 - vertices.shape[1]))), elements), {"color": color}
    if isinstance(item, (CellField, NodeField)):
        data = item.to_pyvista()
        return data, {"scalar_bar_args": _COLOR_BAR} | ({"volume": True} if item.grid.dimension == 3 else {})
    if isinstance(item, MacField):
        data = item.to_pyvista().cell_centers()
        speed = float(np.linalg.norm(data["velocity"], axis=1).max(initial=0.0))
        longest = 2 * item.grid.spacing / speed if speed > 0 else 1.0
        return data.glyph(orient="velocity", scale="velocity", factor=longest), {}
    if isinstance(item, Particles):
        return pyvista.PolyData(_in_space(np.asarray(item.positions))), {"color": color, "render_points_as_spheres": True, "point_size": 5}
    if isinstance(item, QuadraticTetMesh):
        item = item.pieces
    if isinstance(item, (SegmentMesh, TriangleMesh, TetMesh)):
        return _elements(pyvista, item.vertices, item.elements), {"color": color}
    if isinstance(item, np.ndarray) and item.ndim == 2 and item.shape[1] in (2, 3) and item.dtype.kind in "fiu":
        return pyvista.PolyData(_in_space(item)), {"color": color, "render_points_as_spheres": True, "point_size": 5}
    raise TypeError(f"a view shows fields, level sets, meshes, particles and points (n, 3), not a {type(item).__name__}")


def _elements(pyvista: Any, vertices: Any, elements: Any) -> Any:
    kind = {2: 3, 3: 5, 4: 10}[elements.shape[1]]  # VTK's numbers of lines, triangles and tetrahedra
    return pyvista.UnstructuredGrid({kind: np.array(elements)}, np.array(vertices))


def _in_space(points: Any) -> Any:
    """Return 2-D points in the plane z = 0, 3-D ones as they are."""
    return np.pad(np.asarray(points, np.float64), ((0, 0), (0, 3 - points.shape[1])))
