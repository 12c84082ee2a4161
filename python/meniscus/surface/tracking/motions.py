"""Motions of tracked surfaces by their own geometry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus._options import CoreOption
from meniscus.surface.tracking.reports import MotionReport
from meniscus.surface.tracking.tracked_surface import TrackedSurface

Floats = npt.NDArray[np.float64]
NormalMotion = Literal["faces", "vertices"]
CurvatureMethod = Literal["explicit", "backward-euler"]

NORMAL_MOTION = CoreOption(NormalMotion, _surface.NormalMotion)
# Parts of a step that get nowhere, one after the other.
_MOST_IDLE = 20


def normal_motion(
    surface: TrackedSurface, speed: float | npt.ArrayLike, dt: float, *, method: NormalMotion = "faces", improve: bool = True
) -> MotionReport:
    """Move a surface along its normals for dt seconds, after improving it.

    Triangles move along their normals, and vertices to where their planes meet; where the surface opens, it becomes round. The step is cut
    where a triangle would turn over; the mesh is improved there, too.

    Args:
        surface: is changed.
        speed: m/s, outwards where positive: a number, or one per triangle, (m,); then the surface is not improved.
        dt: s.
        method: "faces", or "vertices" for the mean normals of vertices, which do not converge to the solution where the surface has edges.
        improve: whether to improve the mesh first, and at every cut.

    Returns:
        The sums over the motions of the step; `cuts` counts those beyond the first.

    Raises:
        TypeError, ValueError: wrong shapes, values that are not finite, dt <= 0.
        RuntimeError: the surface is stuck.

    Source: Brochu 2012, section 3.3.1; Jiao 2007.
    """
    _checks.one_of_type("surface", surface, TrackedSurface)
    rule = NORMAL_MOTION("method", method)
    uniform = isinstance(speed, (int, float, np.integer, np.floating)) and not isinstance(speed, bool)
    speeds = None if uniform else np.ascontiguousarray(_checks.numbers("speed", speed))
    if speeds is not None and speeds.shape != (len(surface.triangles),):
        raise ValueError(f"speed must have one value per triangle, ({len(surface.triangles)},), not {speeds.shape}")
    if speeds is not None:
        _checks.require_finite("speed", speeds)
    constant = _checks.number("speed", speed) if uniform else 0.0

    def ends(left: float) -> tuple[Floats, float]:
        x, t = np.array(surface.vertices), np.array(surface.triangles)
        offsets = left * (np.full(len(t), constant) if speeds is None else speeds)
        ways = _surface.offset_faces(x, t, offsets, rule, surface.options.ridge)
        part = _surface.largest_step(x, t, ways)
        return x + part * ways, part

    return _in_parts(surface, _checks.positive("dt", dt), ends, improve and speeds is None)


def mean_curvature_motion(
    surface: TrackedSurface,
    dt: float,
    *,
    method: CurvatureMethod = "explicit",
    coefficient: float = 1.0,
    largest_step: float | None = None,
    improve: bool = True,
) -> MotionReport:
    """Move a surface for dt seconds with its mean curvature, the sum of both principal curvatures, towards its centres of curvature.

    Args:
        surface: is changed. Vertices of its boundary stay.
        dt: s. The explicit step takes as many parts as stability asks for: 1 / (coefficient W), with the greatest sum W of weights of a
            vertex.
        method: "explicit", or "backward-euler", which is stable for every step.
        coefficient: b of the speed b k, m^2/s.
        largest_step: s, of a part; None: as stability allows.
        improve: whether to improve the mesh before each part.

    Returns:
        The sums over the parts; `cuts` counts those beyond the first.

    Raises:
        TypeError, ValueError: values out of range; a solve that does not converge.
        RuntimeError: the surface is stuck.

    Source: Brochu 2012, section 3.3.2; Meyer et al. 2002; Desbrun et al. 1999.
    """
    _checks.one_of_type("surface", surface, TrackedSurface)
    _checks.choice("method", method, CurvatureMethod)
    b = _checks.positive("coefficient", coefficient)
    most = np.inf if largest_step is None else _checks.positive("largest_step", largest_step)

    def ends(left: float) -> tuple[Floats, float]:
        x, t = np.array(surface.vertices), np.array(surface.triangles)
        if len(t) == 0:
            return x, 1.0
        if method == "backward-euler":
            part = min(1.0, most / left)
            y, _ = _surface.curvature_step(x, t, b * part * left, surface.fixed)
            return y, part
        velocity, weight = _surface.curvature_velocity(x, t)
        part = min(1.0, most / left, 1.0 / (b * weight * left) if weight > 0 else 1.0)
        return x + b * part * left * velocity, part

    return _in_parts(surface, _checks.positive("dt", dt), ends, improve)


def _in_parts(surface: TrackedSurface, dt: float, ends: Callable[[float], tuple[Floats, float]], improve: bool) -> MotionReport:
    """Move a surface for dt seconds by ends(time left), which returns positions and the part of the time that these take."""
    reports: list[MotionReport] = []
    left, idle = dt, 0
    while idle <= _MOST_IDLE:
        if improve:
            surface.improve()
        y, part = ends(left)
        start = surface.time
        report = surface.move(y, part * left if part > 0 else left)
        reports.append(report)
        taken = part * report.fraction
        # Also where a motion got nowhere, which was tried for as long as the rest of the step.
        surface.time = start + taken * left
        idle = idle + 1 if taken < 1e-6 else 0
        if taken >= 1.0:
            return MotionReport.total(reports)
        left *= 1.0 - taken
    raise RuntimeError(f"the surface is stuck: {left:g} s of a step of {dt:g} s are left; a shorter step helps")
