"""Pictures through matplotlib: lines, images and contours. Needs the extra `viz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

_COLORS = ("0.6", "tab:blue", "tab:red", "tab:green", "tab:purple", "tab:orange")


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib; install it with: pip install 'meniscus[viz]'") from error
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


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
    figure = _figure(7.0, 4.0)
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
) -> Any:
    """Return a figure of a 2-D array indexed [i, j] = x, y.

    Args:
        values: (nx, ny).
        extent: x and y range of the picture, m.
        title: above the picture.
        limits: values of the ends of the colour scale; None: the range of the array.
        colors: name of a matplotlib colour map.
    """
    figure = _figure(6.0, 5.2)
    axes = figure.add_subplot()
    low, high = limits if limits is not None else (float(values.min()), float(values.max()))
    picture = axes.imshow(values.T, origin="lower", extent=extent, cmap=colors, vmin=low, vmax=high, interpolation="nearest")
    figure.colorbar(picture, ax=axes)
    axes.set(title=title, xlabel="x", ylabel="y")
    return figure


def contours(x: npt.ArrayLike, y: npt.ArrayLike, fields: Mapping[str, npt.NDArray[Any]], *, level: float = 0.0, title: str = "") -> Any:
    """Return a figure with one contour line of each named field (nx, ny)."""
    figure = _figure(5.5, 5.5)
    axes = figure.add_subplot()
    handles = []
    for color, (name, values) in zip(_COLORS, fields.items(), strict=False):
        axes.contour(x, y, values.T, levels=[level], colors=[color], linewidths=1.5)
        handles.append(axes.plot([], [], color=color, label=name)[0])
    axes.legend(handles=handles, loc="upper right")
    axes.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    return figure
