"""Small balls in a ray-traced picture: drops that mirror the sky, and white spray, foam and bubbles."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid.particles.storage import Particles
from meniscus.viz.optics import WATER, Floats, fresnel, normalized, sky
from meniscus.viz.view import View
from meniscus.viz.water_light import SKYLIGHT, SUNLIGHT, Tracer

Indices = npt.NDArray[np.intp]
WhitewaterLike = Particles | Mapping[str, Any]
"""Particles with the columns 'radius' and 'kind', or arrays by the names 'position', 'radius' and 'kind'."""

_AT_ONCE = 200_000  # samples of discs
_WHITE = 0.88  # albedo of foam
_OPACITY = np.array([0.8, 0.75, 0.35])  # of discs of spray, foam and bubbles: each is a few, smaller ones
_LAYER = 0.01  # of the diagonal: foam this far behind the surface lies on it


@dataclass(frozen=True)
class Canvas:
    """A picture in linear light (h, w, 3), of `samples` along each side of a pixel, and the distance (h, w) of what it shows, m."""

    picture: Floats
    depth: Floats
    view: View
    samples: int
    tracer: Tracer


def require_balls(name: str, centers: npt.ArrayLike, radius: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return positions (k, 3) and radii (k,). Raises ValueError for other shapes and values that are not finite."""
    x = np.asarray(centers, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 3:
        raise ValueError(f"{name} must have shape (k, 3), not {x.shape}")
    _checks.require_finite(name, x)
    return x, np.broadcast_to(np.asarray(radius, float), (len(x),))


def whitewater_arrays(given: WhitewaterLike) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """Return positions (k, 3), radii (k,) and kinds (k,) of whitewater. Raises KeyError or ValueError where they are missing or wrong."""
    places = given.positions if isinstance(given, Particles) else given["position"]
    x, radius = require_balls("whitewater", places, given["radius"])
    kind = np.asarray(given["kind"], np.intp)
    if kind.shape != (len(x),) or (len(kind) and not 0 <= kind.min() <= kind.max() <= 2):
        raise ValueError("whitewater has a kind for each particle: 0 spray, 1 foam, 2 bubble")
    return x, radius, kind


def draw_drops(canvas: Canvas, centers: Floats, radii: Floats) -> None:
    """Draw drops as small balls that mirror the sky, in front of farther objects; drops smaller than a sample cover a part of it."""
    view, tracer = canvas.view, canvas.tracer

    def shade(of: Indices, normal: Floats, u: Floats, v: Floats, w: Floats) -> Floats:
        share = fresnel(np.maximum(w, 1e-3), np.full(len(w), 1 / WATER))[:, None]
        mirrored = normalized(2 * w[:, None] * normal - view.back)
        # A ball of water shows what is behind it upside down.
        bent = normalized(-view.back - 1.2 * (u[:, None] * view.right + v[:, None] * view.above))
        bent[:, tracer.axis] = np.maximum(bent[:, tracer.axis], 0.02)  # the floor is about as bright as the horizon
        light: Floats = share * sky(mirrored, tracer.axis, tracer.sun) + (1 - share) * sky(bent, tracer.axis, tracer.sun)
        return light

    _draw(canvas, _Discs(canvas, centers, radii), shade)


def draw_whitewater(canvas: Canvas, given: WhitewaterLike) -> None:
    """Draw spray, foam and bubbles: white, those in the water behind what it absorbs."""
    centers, radii, kind = whitewater_arrays(given)
    tracer = canvas.tracer
    order = np.argsort(kind != 2, kind="stable")  # bubbles first: all others lie before them
    centers, radii, kind = centers[order], radii[order], kind[order]
    for begin, end in itertools.pairwise(np.searchsorted(kind != 2, [False, True, 2])):
        if begin == end:
            continue
        part = slice(begin, end)
        discs = _Discs(canvas, centers[part], radii[part], _OPACITY[kind[part]])
        if kind[begin] == 2:
            discs.behind = np.full(len(discs.cover), np.inf)
        else:
            discs.behind = np.full(len(discs.cover), _LAYER * tracer.scene.diagonal)

        def shade(of: Indices, normal: Floats, u: Floats, v: Floats, w: Floats) -> Floats:
            # Light comes through foam from all sides, so that it is dim nowhere.
            lit = 0.55 + 0.45 * np.maximum(normal @ tracer.sun, 0)
            light: Floats = _WHITE * (lit[:, None] * SUNLIGHT + SKYLIGHT)
            return light

        _draw(canvas, discs, shade)


class _Discs:
    """Balls as discs of samples, the farthest first.

    Attributes:
        cover: part of a sample that a disc covers.
        behind: m that a disc may lie behind what the picture shows. Beyond a thousandth of a picture's diagonal it is under water.
    """

    def __init__(self, canvas: Canvas, centers: Floats, radii: Floats, opacity: Floats | float = 1.0) -> None:
        view, self.shape = canvas.view, canvas.depth.shape
        place, far = view.project(centers)
        size = radii / np.maximum(far, 1e-9) * view.scale * canvas.samples
        order = np.argsort(-far, kind="stable")
        order = order[far[order] > 0]
        self.place = canvas.samples * place[order]
        self.distance = np.linalg.norm(centers - view.eye, axis=1)[order]
        self.radius = np.maximum(size[order], 0.5)
        self.cover = np.minimum(1.0, (size[order] / self.radius) ** 2) * np.broadcast_to(opacity, (len(centers),))[order]
        self.behind = np.zeros(len(order))
        ends = np.array(self.shape[::-1])
        # Within a million samples around the picture, so that they are numbers of samples.
        inside = np.clip(self.place, -1e6, 1e6)
        reach = np.minimum(self.radius, 2e6)[:, None]
        self.low = np.clip(np.floor(inside - reach).astype(np.int64), 0, ends)
        self.count = np.maximum(np.clip(np.floor(inside + reach).astype(np.int64) + 1, 0, ends) - self.low, 0)

    def parts(self) -> list[slice]:
        """Return slices of discs with a limited number of samples in all."""
        before = np.concatenate([[0], np.cumsum(self.count.prod(axis=1))])
        cuts = [0]
        while cuts[-1] < len(self.cover):
            cuts.append(max(int(np.searchsorted(before, before[cuts[-1]] + _AT_ONCE, side="right")) - 1, cuts[-1] + 1))
        return [slice(a, b) for a, b in itertools.pairwise(cuts)]


_Shade = Callable[[Indices, Floats, Floats, Floats, Floats], Floats]


def _draw(canvas: Canvas, discs: _Discs, shade: _Shade) -> None:
    """Draw discs over the picture; `shade` returns the light of samples from discs, normals and places on the discs."""
    for part in discs.parts():
        _draw_part(canvas, discs, part, shade)


def _draw_part(canvas: Canvas, discs: _Discs, part: slice, shade: _Shade) -> None:
    picture, depth, view = canvas.picture, canvas.depth, canvas.view
    samples = discs.count[part].prod(axis=1)
    of = np.repeat(np.arange(part.start, part.start + len(samples)), samples)
    number = np.arange(len(of)) - np.repeat(np.cumsum(samples) - samples, samples)
    wide = discs.count[of, 0]
    x, y = discs.low[of, 0] + number % np.maximum(wide, 1), discs.low[of, 1] + number // np.maximum(wide, 1)
    u, v = (x + 0.5 - discs.place[of, 0]) / discs.radius[of], (discs.place[of, 1] - y - 0.5) / discs.radius[of]
    hidden = discs.distance[of] - depth[y, x]
    wet = canvas.tracer.in_water[y, x]
    seen = (u * u + v * v <= 1) & (hidden < np.where(wet, discs.behind[of], 0.0))
    if not seen.any():
        return
    x, y, u, v, of, hidden = x[seen], y[seen], u[seen], v[seen], of[seen], hidden[seen]
    w = np.sqrt(1 - u * u - v * v)
    normal = u[:, None] * view.right + v[:, None] * view.above + w[:, None] * view.back
    through = np.exp(-np.maximum(hidden, 0)[:, None] * canvas.tracer.absorption)
    light = through * shade(of, normal, u, v, w)
    opaque = discs.cover[of, None] * through.max(axis=1, keepdims=True)
    # Discs over the same sample one after the other: first the farthest of each sample, then the next ones.
    pixel = y * depth.shape[1] + x
    sorting = np.argsort(pixel, kind="stable")
    begins = np.flatnonzero(np.diff(pixel[sorting], prepend=-1))
    turn = np.arange(len(pixel)) - np.repeat(begins, np.diff(begins, append=len(pixel)))
    by_turn = np.argsort(turn, kind="stable")
    for chosen in np.split(sorting[by_turn], np.cumsum(np.bincount(turn))[:-1]):
        cover = opaque[chosen]
        at = y[chosen], x[chosen]
        picture[at] = (1 - cover) * picture[at] + cover * light[chosen]
