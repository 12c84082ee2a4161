"""Ray tracer for water: reflection, refraction and absorption, and caustics by photons traced to the floor."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.viz.optics import WATER, Floats, dot, fresnel, normalized, refract, sky
from meniscus.viz.water_scene import Scene

_ABSORPTION = np.array([2.6, 0.62, 0.38])  # over the length `clarity`
_SCATTER = np.array([0.010, 0.075, 0.095])  # light scattered back from deep water
SUNLIGHT = np.array([1.0, 0.94, 0.83]) * 2.1
"""Red, green and blue of the sun on a surface that faces it."""
SKYLIGHT = np.array([0.58, 0.70, 0.88]) * 0.55
"""Red, green and blue of the whole sky."""
_BOUNCES = 7
_TEXELS = 192  # of the light map on the floor, along each axis
_PHOTONS_PER_TEXEL = 4  # along each axis of a texel


class Tracer:
    """Follows rays through a scene.

    Attributes:
        in_water: whether the rays that were traced last first meet water.
    """

    def __init__(self, scene: Scene, axis: int, floor: float, clarity: float, sun: Floats, solid_color: Floats) -> None:
        self.scene, self.axis, self.floor, self.sun, self.solid_color = scene, axis, floor, sun, solid_color
        self.absorption = _ABSORPTION / clarity
        self.across = [d for d in range(3) if d != axis]
        self.reach = 40.0 * scene.diagonal
        self.push = 1e-6 * scene.diagonal
        self.map: Floats | None = None
        self.in_water: npt.NDArray[np.bool_] = np.zeros(0, bool)

    def hits(self, origins: Floats, directions: Floats) -> tuple[Floats, npt.NDArray[Any], npt.NDArray[Any], Floats]:
        """Return the first hits of rays: distance (at most `reach`), body (-1 nothing, -2 the floor), triangle and barycentric
        coordinates."""
        n = len(origins)
        if self.scene.surface is None or n == 0:
            far, body = np.full(n, self.reach), np.full(n, -1)
            triangle, barycentric = np.full(n, -1), np.zeros((n, 3))
        else:
            found = self.scene.surface.cast(np.ascontiguousarray(origins), origins + self.reach * directions)
            far, body, triangle, barycentric = self.reach * found.fractions, found.bodies.astype(int), found.triangles, found.barycentric
        # Water stands on the floor: what leaves it there meets the floor.
        slope = directions[:, self.axis]
        with np.errstate(divide="ignore", invalid="ignore"):
            down = np.where(slope < 0, (self.floor - origins[:, self.axis]) / slope, np.inf)
        down = np.where((down > -2 * self.push / np.maximum(np.abs(slope), 1e-3)) & (slope < 0), np.maximum(down, 0), np.inf)
        on_floor = down <= far + 2 * self.push / np.maximum(np.abs(slope), 1e-3)
        return np.where(on_floor, np.minimum(down, far), far), np.where(on_floor, -2, body), triangle, barycentric

    def trace(self, origins: Floats, directions: Floats) -> tuple[Floats, Floats]:
        """Return the light (n, 3) along rays from outside of the water, and the distance of the first hit."""
        n = len(directions)
        color, weight = np.zeros((n, 3)), np.ones((n, 3))
        first = np.full(n, self.reach)
        active = np.arange(n)
        x, d = np.array(origins), np.array(directions)
        inside = np.zeros(n, bool)
        for bounce in range(_BOUNCES):
            if not len(active):
                break
            far, body, triangle, barycentric = self.hits(x, d)
            if bounce == 0:
                first[:] = far
                self.in_water = body == 0
            self._pass_water(color, weight, active, inside, far)
            at = x + far[:, None] * d
            opaque = body != 0
            color[active[opaque]] += weight[active[opaque]] * self._opaque(at, d, body, triangle, barycentric, opaque, inside)
            if bounce == _BOUNCES - 1:
                break
            active, x, d, inside = self._through(color, weight, active, at, d, inside, triangle, barycentric, ~opaque, bounce)
        return color, first

    def _pass_water(self, color: Floats, weight: Floats, active: npt.NDArray[Any], inside: npt.NDArray[Any], far: Floats) -> None:
        """Apply absorption along a path through water, and add scattered light."""
        in_water = active[inside]
        kept = np.exp(-np.minimum(far[inside], self.reach)[:, None] * self.absorption)
        color[in_water] += weight[in_water] * (1 - kept) * _SCATTER * 1.6
        weight[in_water] *= kept

    def _through(
        self,
        color: Floats,
        weight: Floats,
        active: npt.NDArray[Any],
        at: Floats,
        d: Floats,
        inside: npt.NDArray[Any],
        triangle: npt.NDArray[Any],
        barycentric: Floats,
        in_water: npt.NDArray[Any],
        bounce: int,
    ) -> tuple[npt.NDArray[Any], Floats, Floats, npt.NDArray[Any]]:
        """Continue rays at the surface of the water that they have met: refracted, or totally reflected."""
        active, at, d, triangle, barycentric = active[in_water], at[in_water], d[in_water], triangle[in_water], barycentric[in_water]
        flat = self.scene.face_normals[triangle]
        normal = self.scene.normals_at(triangle, barycentric)
        # The triangle says which side a ray comes from; its state may be wrong where a ray has met an edge.
        entering = dot(d, flat) < 0
        facing = np.where(entering[:, None], normal, -normal)
        geometric = np.where(entering[:, None], flat, -flat)
        cosine = np.clip(-dot(d, facing), 1e-3, 1.0)
        ratio = np.where(entering, 1 / WATER, WATER)
        share = fresnel(cosine, ratio)
        mirrored = normalized(d + 2 * cosine[:, None] * facing)
        # A smooth normal must not send a reflected ray to the other side of its triangle.
        under = dot(mirrored, geometric)
        mirrored = normalized(mirrored + np.maximum(1e-3 - under, 0)[:, None] * geometric)
        bent, gets_through = refract(d, facing, ratio)
        outer = entering & (share > 0.004 if bounce == 0 else share > 0.05)
        if outer.any():
            seen = self._environment(at[outer] + self.push * geometric[outer], mirrored[outer])
            color[active[outer]] += weight[active[outer]] * share[outer, None] * seen
        weight[active] *= np.where(gets_through, 1 - share, 1.0)[:, None]
        onward = np.where(gets_through[:, None], bent, mirrored)
        start = at - np.where(gets_through, 1.0, -1.0)[:, None] * self.push * geometric
        return active, start, onward, np.where(gets_through, entering, ~entering)

    def _environment(self, x: Floats, d: Floats) -> Floats:
        """Return the light of a reflected ray; other water counts as a mirror of the sky over deep water."""
        far, body, triangle, barycentric = self.hits(x, d)
        at = x + far[:, None] * d
        result = np.zeros_like(d)
        opaque = body != 0
        result[opaque] = self._opaque(at, d, body, triangle, barycentric, opaque, np.zeros(len(d), bool))
        if not opaque.all():
            normal = self.scene.normals_at(triangle[~opaque], barycentric[~opaque])
            cosine = np.clip(-dot(d[~opaque], normal), 1e-3, 1.0)
            share = fresnel(cosine, np.full(len(cosine), 1 / WATER))[:, None]
            mirrored = normalized(d[~opaque] + 2 * cosine[:, None] * normal)
            result[~opaque] = share * sky(mirrored, self.axis, self.sun) + (1 - share) * (1.4 * _SCATTER + 0.12 * SKYLIGHT)
        return result

    def _opaque(
        self,
        at: Floats,
        d: Floats,
        body: npt.NDArray[Any],
        triangle: npt.NDArray[Any],
        barycentric: Floats,
        chosen: npt.NDArray[Any],
        inside: npt.NDArray[Any],
    ) -> Floats:
        """Return the light from the sky, the floor and solids along the chosen rays."""
        at, d, body, triangle, barycentric, inside = (
            at[chosen],
            d[chosen],
            body[chosen],
            triangle[chosen],
            barycentric[chosen],
            inside[chosen],
        )
        result = np.zeros_like(d)
        nothing = body == -1
        result[nothing] = sky(d[nothing], self.axis, self.sun)
        floor = body == -2
        if floor.any():
            result[floor] = self._floor(at[floor], d[floor])
        solid = body > 0
        if solid.any():
            normal = self.scene.normals_at(triangle[solid], barycentric[solid])
            normal *= -np.sign(dot(d[solid], self.scene.face_normals[triangle[solid]]))[:, None]
            lit = self._sunlit(at[solid] + 4 * self.push * normal) * np.maximum(dot(normal, self.sun), 0)
            upward = 0.5 + 0.5 * normal[:, self.axis]
            glint = np.maximum(dot(normalized(normal * 2 * dot(normal, self.sun)[:, None] - self.sun), -d[solid]), 0) ** 40
            albedo = np.where((body[solid] == self.scene.frame)[:, None], 0.10, self.solid_color)
            light = lit[:, None] * SUNLIGHT + (0.25 + 0.75 * upward)[:, None] * SKYLIGHT
            result[solid] = albedo * light + 0.25 * (glint * lit)[:, None] * SUNLIGHT
        return result

    def _sunlit(self, x: Floats) -> Floats:
        """Return the part of the sunlight that reaches points: solids stop it, water absorbs a third."""
        _, body, _, _ = self.hits(x, np.broadcast_to(self.sun, x.shape))
        lit: Floats = np.where(body == 0, 0.66, np.where(body > 0, 0.0, 1.0))
        return lit

    def _floor(self, at: Floats, d: Floats) -> Floats:
        """Return the colour of the floor: pale tiles that fade into the haze of the horizon."""
        place = at[:, self.across]
        center = (self.scene.low + self.scene.high)[self.across] / 2
        tile = self.scene.diagonal / 14
        u = (place - center) / tile
        joint = 0.5 - np.abs(u - np.round(u)).max(axis=1)
        checker = np.round(u).sum(axis=1) % 2
        tone = 0.27 + 0.05 * checker - 0.09 * (joint < 0.02)
        away = np.linalg.norm(place - center, axis=1) / self.scene.diagonal
        albedo = tone[:, None] * np.array([1.0, 0.97, 0.92])
        light = self._on_floor(place)[:, None] * SUNLIGHT * self.sun[self.axis] + SKYLIGHT
        haze = 1 - np.exp(-np.maximum(away - 1.2, 0) * 0.35)
        level = d.copy()
        level[:, self.axis] = 0.0
        result: Floats = albedo * light * (1 - haze)[:, None] + haze[:, None] * 0.8 * sky(normalized(level), self.axis, self.sun)
        return result

    def _on_floor(self, place: Floats) -> Floats:
        """Return the sunlight on the floor, 1 if unobstructed."""
        if self.map is None:
            return np.ones(len(place))
        u = (place - self.map_low) / self.map_step - 0.5
        i = np.clip(np.floor(u).astype(int), 0, _TEXELS - 2)
        f = np.clip(u - i, 0, 1)
        m = self.map
        low = m[i[:, 0], i[:, 1]] * (1 - f[:, 1]) + m[i[:, 0], i[:, 1] + 1] * f[:, 1]
        high = m[i[:, 0] + 1, i[:, 1]] * (1 - f[:, 1]) + m[i[:, 0] + 1, i[:, 1] + 1] * f[:, 1]
        outside = ((u < 0) | (u > _TEXELS - 1)).any(axis=1)
        return np.where(outside, 1.0, low * (1 - f[:, 0]) + high * f[:, 0])

    def light_floor(self) -> None:
        """Trace sunlight to the floor: every photon represents an equal part of the unobstructed light."""
        corners = np.array([[(self.scene.low, self.scene.high)[i >> d & 1][d] for d in range(3)] for i in range(8)])
        shadow = corners - ((corners[:, self.axis] - self.floor) / self.sun[self.axis])[:, None] * self.sun
        low, high = shadow[:, self.across].min(axis=0), shadow[:, self.across].max(axis=0)
        margin = 0.06 * float((high - low).max())
        self.map_low = low - margin
        self.map_step = (high - low + 2 * margin) / _TEXELS
        n = _TEXELS * _PHOTONS_PER_TEXEL
        u = self.map_low[0] + (np.arange(n) + 0.5) * self.map_step[0] / _PHOTONS_PER_TEXEL
        v = self.map_low[1] + (np.arange(n) + 0.5) * self.map_step[1] / _PHOTONS_PER_TEXEL
        target = np.full((n * n, 3), self.floor)
        target[:, self.across] = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1).reshape(-1, 2)
        x = target + 4 * self.scene.diagonal * self.sun
        d = np.broadcast_to(-self.sun, x.shape).copy()
        power, inside = np.ones(len(x)), np.zeros(len(x), bool)
        self.map = np.zeros((_TEXELS, _TEXELS))
        for _ in range(5):
            far, body, triangle, barycentric = self.hits(x, d)
            power = np.where(inside, power * np.exp(-far * self.absorption[1]), power)
            at = x + far[:, None] * d
            self._collect(at[body == -2], power[body == -2])
            in_water = body == 0
            if not in_water.any():
                break
            at, d, power, triangle, barycentric = at[in_water], d[in_water], power[in_water], triangle[in_water], barycentric[in_water]
            flat = self.scene.face_normals[triangle]
            normal = self.scene.normals_at(triangle, barycentric)
            entering = dot(d, flat) < 0
            side = np.where(entering, 1.0, -1.0)[:, None]
            ratio = np.where(entering, 1 / WATER, WATER)
            cosine = np.clip(-dot(d, side * normal), 1e-3, 1.0)
            bent, passes = refract(d, side * normal, ratio)
            power = power * (1 - fresnel(cosine, ratio))
            x = (at - self.push * side * flat)[passes]
            d, power, inside = bent[passes], power[passes], entering[passes]
        # One pass of a small tent takes the grain off.
        for axis in range(2):
            ends = [(1, 1) if a == axis else (0, 0) for a in range(2)]
            p = np.pad(self.map, ends, mode="edge")
            self.map = 0.25 * p.take(range(_TEXELS), axis) + 0.5 * self.map + 0.25 * p.take(range(2, _TEXELS + 2), axis)
        self.map /= _PHOTONS_PER_TEXEL**2

    def _collect(self, at: Floats, power: Floats) -> None:
        u = (at[:, self.across] - self.map_low) / self.map_step - 0.5
        i = np.floor(u).astype(int)
        f = u - i
        assert self.map is not None
        for a in range(2):
            for b in range(2):
                j, k = i[:, 0] + a, i[:, 1] + b
                ok = (j >= 0) & (j < _TEXELS) & (k >= 0) & (k < _TEXELS)
                part = power * (f[:, 0] if a else 1 - f[:, 0]) * (f[:, 1] if b else 1 - f[:, 1])
                flat = np.bincount(j[ok] * _TEXELS + k[ok], part[ok], minlength=_TEXELS * _TEXELS)
                self.map += flat.reshape(_TEXELS, _TEXELS)
