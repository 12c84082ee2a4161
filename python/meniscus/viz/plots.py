"""Plots through matplotlib: lines, images and contours. Needs the extra `viz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import MacField, ScalarField
from meniscus.surface import LevelSet
from meniscus.viz.picture import figure as figure_of_size
from meniscus.viz.samples import distance_of, extent_of, grid_of, values_of, velocities_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORS = ("0.6", "tab:blue", "tab:red", "tab:green", "tab:purple", "tab:orange")


def _picture_of(name: str, array: object, dimensions: int) -> None:
    """Raise TypeError or ValueError for what is no array of so many dimensions with at least one number."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
        raise TypeError(f"{name} must be a NumPy array of numbers, not {type(array).__name__}")
    if array.ndim != dimensions or not array.size:
        raise ValueError(f"{name} must be {dimensions}-D with at least one value, not of shape {array.shape}")


def _range(extent: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return the range of x and y. Raises TypeError or ValueError unless these are four numbers."""
    left, right, lower, upper = _checks.vector("extent", extent, 4)
    return left, right, lower, upper


def lines(
    x: npt.ArrayLike,
    curves: Mapping[str, npt.ArrayLike],
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    log: bool = False,
) -> Figure:
    """Return a figure of named curves over x; `log` for both axes logarithmic."""
    _checks.one_of_type("curves", curves, Mapping)
    _checks.flag("log", log)
    figure = figure_of_size(7.0, 4.0)
    axes = figure.add_subplot()
    for color, (name, y) in zip(_COLORS, curves.items(), strict=False):
        axes.plot(x, y, label=name, color=color)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    axes.legend()
    return figure


def image(
    values: ScalarField | LevelSet | npt.ArrayLike,
    *,
    extent: tuple[float, float, float, float] | None = None,
    title: str = "",
    limits: tuple[float, float] | None = (0.0, 1.0),
    colors: str = "magma",
    size: tuple[float, float] | None = None,
    solid: Any = None,
) -> Figure:
    """Return a figure of a 2-D field, or of an array indexed [i, j] = x, y.

    Args:
        values: a 2-D field or level set, or (nx, ny).
        extent: x and y range of the picture, m; default: that of the field's grid, cells of an array.
        title: above the picture.
        limits: values of the ends of the colour scale; None: the range of the finite ones. NaN stays white.
        colors: name of a matplotlib colour map.
        size: width and height of the figure, inches; default: fits the values.
        solid: covers the picture: signed distance on the nodes (nx + 1, ny + 1), not above 0 inside, or a level set on nodes; of a field
            also anything that `surface.KinematicSolid` takes.

    Raises:
        TypeError, ValueError: values that are not 2-D, a solid of another shape, or one without `extent`.
    """
    grid = grid_of(values)
    samples = values_of(values)
    _picture_of("values", samples, 2)
    extent = extent_of(values) if extent is None else _range(extent)
    shown = _size_for(extent or (0, samples.shape[0], 0, samples.shape[1])) if size is None else _checks.vector("size", size, 2)
    if limits is None:
        known = samples[np.isfinite(samples)]
        limits = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    low, high = _checks.vector("limits", limits, 2)
    figure = figure_of_size(*shown)
    axes = figure.add_subplot()
    picture = axes.imshow(samples.T, origin="lower", extent=extent, cmap=colors, vmin=low, vmax=high, interpolation="nearest")
    figure.colorbar(picture, ax=axes)
    if solid is not None:
        if extent is None:
            raise ValueError("a solid needs the extent of the picture")
        phi = distance_of(solid, grid)
        nodes = tuple(n + 1 for n in samples.shape)
        if phi.shape != nodes:
            raise ValueError(f"solid must have the shape of the nodes {nodes}, not {phi.shape}")
        x, y = (np.linspace(*ends, n) for ends, n in zip((extent[:2], extent[2:]), phi.shape, strict=True))
        axes.contourf(x, y, phi.T, levels=[-np.inf, 0.0], colors=["0.35"])
    unit = "cells" if extent is None else "m"
    axes.set(title=title, xlabel=f"x, {unit}", ylabel=f"y, {unit}")
    return figure


def streamlines(
    velocity: MacField | npt.ArrayLike,
    *,
    extent: tuple[float, float, float, float] | None = None,
    title: str = "",
    limits: tuple[float, float] | None = None,
    colors: str = "viridis",
    size: tuple[float, float] | None = None,
    solid: Any = None,
) -> Figure:
    """Return a figure of the speed of a 2-D flow with streamlines.

    Args:
        velocity: a 2-D `MacField`, or velocities at the cell centres (nx, ny, 2), m/s.
        extent: as for `image`; an array needs it.
        title, limits, colors, size, solid: as for `image`.

    Raises:
        TypeError, ValueError: as `image`; a velocity of another shape, or an array without `extent`.
    """
    extent = extent if extent is not None else extent_of(velocity)
    if solid is not None:
        solid = distance_of(solid, grid_of(velocity))
    vectors = velocities_of(velocity)
    if vectors.ndim != 3 or vectors.shape[2] != 2:
        raise ValueError(f"velocity must be a 2-D MacField or have shape (nx, ny, 2), not {vectors.shape}")
    _picture_of("velocity", vectors, 3)
    if extent is None:
        raise ValueError("an array of velocities needs the extent of the picture")
    speed = np.hypot(vectors[..., 0], vectors[..., 1])
    figure = image(speed, extent=extent, title=title, limits=limits, colors=colors, size=size, solid=solid)
    if not vectors.any():
        return figure
    axes = figure.axes[0]
    x, y = (a + (b - a) * (np.arange(n) + 0.5) / n for (a, b), n in zip((extent[:2], extent[2:]), vectors.shape[:2], strict=True))
    axes.streamplot(x, y, vectors[..., 0].T, vectors[..., 1].T, color="white", linewidth=0.7, arrowsize=0.7, density=1.6)
    axes.set(xlim=extent[:2], ylim=extent[2:])
    return figure


def contours(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    fields: Mapping[str, ScalarField | LevelSet | npt.ArrayLike],
    *,
    level: float = 0.0,
    title: str = "",
) -> Figure:
    """Return a figure with one contour line of each named field, level set or array (nx, ny)."""
    _checks.one_of_type("fields", fields, Mapping)
    for name, values in fields.items():
        _picture_of(f"fields[{name!r}]", values_of(values), 2)
    _checks.number("level", level)
    figure = figure_of_size(5.5, 5.5)
    axes = figure.add_subplot()
    handles = []
    for color, (name, values) in zip(_COLORS, fields.items(), strict=False):
        axes.contour(x, y, values_of(values).T, levels=[level], colors=[color], linewidths=1.5)
        handles.append(axes.plot([], [], color=color, label=name)[0])
    axes.legend(handles=handles, loc="upper right")
    axes.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    return figure


def liquid2d(
    phi: LevelSet,
    *,
    solid: LevelSet | None = None,
    spray: npt.NDArray[Any] | None = None,
    particles: Mapping[str, npt.NDArray[Any]] | None = None,
    title: str = "",
    size: tuple[float, float] = (6.0, 5.2),
) -> Figure:
    """Return a figure of a 2-D liquid, filled exactly inside of the mesh of `LevelSet.to_mesh`.

    Args:
        phi: 2-D level set of the liquid.
        solid: one of solids, drawn over the liquid.
        spray: positions (k, 2) of drops, m.
        particles: named sets of positions (k, 2), m, drawn as small dots.
        title: above the picture.
        size: width and height of the figure, inches.

    Raises:
        TypeError, ValueError: no 2-D level sets.
    """
    figure = figure_of_size(*size)
    from matplotlib.collections import LineCollection
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    axes = figure.add_subplot()
    for name, body, fill, line in (("phi", phi, "#5aa7d8", "#123f63"), ("solid", solid, "0.45", "0.2")):
        if body is None and name == "solid":
            continue
        if _checks.one_of_type(name, body, LevelSet).grid.dimension != 2:
            raise ValueError(f"{name} must be 2-D")
        assert body is not None
        vertices, segments = body.to_mesh(periods="closed")
        curves = _closed_curves(segments)
        if curves:
            codes = [np.concatenate([[Path.MOVETO], np.full(len(c) - 1, Path.LINETO), [Path.CLOSEPOLY]]) for c in curves]
            rings = [vertices[np.append(c, c[:1])] for c in curves]
            axes.add_patch(PathPatch(Path(np.concatenate(rings), np.concatenate(codes)), facecolor=fill, edgecolor="none"))
        vertices, segments = body.to_mesh(sides="open")
        axes.add_collection(LineCollection(list(vertices[segments]), colors=line, linewidths=1.1))
    if spray is not None:
        axes.plot(*np.asarray(spray).T, ".", color="#2b6ea3", markersize=2.5)
    for color, (label, points) in zip(_COLORS[1:], (particles or {}).items(), strict=False):
        axes.plot(*np.asarray(points).T, ".", color=color, markersize=1.2, label=label)
    if particles:
        axes.legend(loc="upper right", markerscale=6)
    low = np.array(phi.grid.origin)
    high = low + phi.grid.extent
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", title=title, xlabel="x", ylabel="y")
    return figure


def _size_for(extent: tuple[float, float, float, float]) -> tuple[float, float]:
    """Return the size, inches, of a figure that an image of this range fills, with room for labels and a colour bar."""
    ratio = min(max((extent[1] - extent[0]) / (extent[3] - extent[2]), 0.25), 5.0)
    height = 4.3 / ratio**0.5
    return height * ratio + 1.7, height + 0.9


def _closed_curves(segments: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int64]]:
    """Return the vertices of closed curves in order, from segments of which each vertex starts one."""
    following = np.empty(len(segments), np.int64)
    following[segments[:, 0]] = segments[:, 1]
    seen = np.zeros(len(segments), bool)
    curves = []
    for start in range(len(segments)):
        curve = []
        at = start
        while not seen[at]:
            seen[at] = True
            curve.append(at)
            at = int(following[at])
        if curve:
            curves.append(np.array(curve))
    return curves
