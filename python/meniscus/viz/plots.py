"""Plots through matplotlib: lines, images and contours. Needs the extra `viz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.surface import LevelSet
from meniscus.viz.picture import figure as figure_of_size

_COLORS = ("0.6", "tab:blue", "tab:red", "tab:green", "tab:purple", "tab:orange")


def _picture_of(name: str, array: object, dimensions: int) -> None:
    """Raise TypeError or ValueError for what is no array of so many dimensions with at least one number."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iufb":
        raise TypeError(f"{name} must be a NumPy array of numbers, not {type(array).__name__}")
    if array.ndim != dimensions or not array.size:
        raise ValueError(f"{name} must have {dimensions} dimensions and at least one value, not the shape {array.shape}")


def lines(
    x: npt.ArrayLike,
    curves: Mapping[str, npt.ArrayLike],
    *,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
    log: bool = False,
) -> Any:
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
    values: npt.NDArray[Any],
    *,
    extent: tuple[float, float, float, float] | None = None,
    title: str = "",
    limits: tuple[float, float] | None = (0.0, 1.0),
    colors: str = "magma",
    size: tuple[float, float] = (6.0, 5.2),
    solid: npt.NDArray[Any] | None = None,
) -> Any:
    """Return a figure of a 2-D array indexed [i, j] = x, y.

    Args:
        values: (nx, ny).
        extent: x and y range of the picture, m.
        title: above the picture.
        limits: values of the ends of the colour scale; None: the range of the array.
        colors: name of a matplotlib colour map.
        size: width and height of the figure, inches.
        solid: signed distance on the nodes (nx + 1, ny + 1) of a solid that covers the picture where it is not above 0; needs `extent`.
    """
    _picture_of("values", values, 2)
    if solid is not None:
        _picture_of("solid", solid, 2)
    low, high = _checks.vector("limits", limits, 2) if limits is not None else (float(values.min()), float(values.max()))
    ends = None if extent is None else _checks.vector("extent", extent, 4)
    figure = figure_of_size(*_checks.vector("size", size, 2))
    axes = figure.add_subplot()
    picture = axes.imshow(values.T, origin="lower", extent=ends, cmap=colors, vmin=low, vmax=high, interpolation="nearest")
    figure.colorbar(picture, ax=axes)
    if solid is not None:
        if extent is None:
            raise ValueError("a solid needs the extent of the picture")
        x, y = (np.linspace(*ends, n) for ends, n in zip((extent[:2], extent[2:]), solid.shape, strict=True))
        axes.contourf(x, y, solid.T, levels=[-np.inf, 0.0], colors=["0.35"])
    axes.set(title=title, xlabel="x", ylabel="y")
    return figure


def streamlines(
    velocity: npt.NDArray[Any],
    *,
    extent: tuple[float, float, float, float],
    title: str = "",
    limits: tuple[float, float] | None = None,
    colors: str = "viridis",
) -> Any:
    """Return a figure of the speed of a 2-D flow with streamlines.

    Args:
        velocity: at the cell centres (nx, ny, 2), m/s.
        extent, title, limits, colors: as for `image`.
    """
    _picture_of("velocity", velocity, 3)
    figure = image(np.hypot(velocity[..., 0], velocity[..., 1]), extent=extent, title=title, limits=limits, colors=colors)
    if not velocity.any():
        return figure
    axes = figure.axes[0]
    x, y = (a + (b - a) * (np.arange(n) + 0.5) / n for (a, b), n in zip((extent[:2], extent[2:]), velocity.shape[:2], strict=True))
    axes.streamplot(x, y, velocity[..., 0].T, velocity[..., 1].T, color="white", linewidth=0.7, arrowsize=0.7, density=1.6)
    axes.set(xlim=extent[:2], ylim=extent[2:])
    return figure


def contours(x: npt.ArrayLike, y: npt.ArrayLike, fields: Mapping[str, npt.NDArray[Any]], *, level: float = 0.0, title: str = "") -> Any:
    """Return a figure with one contour line of each named field (nx, ny)."""
    _checks.one_of_type("fields", fields, Mapping)
    for name, values in fields.items():
        _picture_of(f"fields[{name!r}]", values, 2)
    _checks.number("level", level)
    figure = figure_of_size(5.5, 5.5)
    axes = figure.add_subplot()
    handles = []
    for color, (name, values) in zip(_COLORS, fields.items(), strict=False):
        axes.contour(x, y, values.T, levels=[level], colors=[color], linewidths=1.5)
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
) -> Any:
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
