"""Volume rendering of smoke by shear-warp: absorption, scattering and self-shadowing; NumPy only, no display.

The volume is cut into slices across the axis closest to the direction of the camera. Seen from the camera, a slice is a scaled and shifted
copy on a plane in front of the volume, so its projection to the plane is two products with thin matrices. The slices are composited one by
one, and at the end the plane is warped into the camera's picture.

Source: Lacroute and Levoy 1994 (shear and warp); Kajiya and Von Herzen 1984 (single scattering).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.grid import CellField
from meniscus.viz.light import ambient_visibility, light_depth
from meniscus.viz.picture import Picture
from meniscus.viz.samples import distance_of, grid_of, values_of
from meniscus.viz.sheet_rays import SheetRays

Floats = npt.NDArray[np.float32]
Background = Literal["dark", "light"]
UpAxis = Literal["x", "y", "z"]

_BACKGROUNDS = {  # linear light at the top and the bottom of the picture
    "dark": ((0.012, 0.016, 0.024), (0.055, 0.062, 0.075)),
    "light": ((0.42, 0.52, 0.66), (0.80, 0.82, 0.84)),
}
_SUN = np.array([1.0, 0.93, 0.82], np.float32)
_SKY = np.array([0.52, 0.66, 0.90], np.float32)
_SLICES_PER_CELL = 2  # one shows as combs where smoke ends at a solid
_SPECULAR = 24.0  # exponent of the highlight on solids


@dataclass(frozen=True, kw_only=True)
class Camera:
    """Position and direction of the view of a volume.

    Attributes:
        azimuth: degrees around the upward axis, counter-clockwise seen from above; at 0 the first horizontal axis points to the right.
        elevation: degrees above the horizon, from -60 to 60.
        distance: of the camera from the centre of the volume, in diagonals of the volume; large values give parallel rays.
        zoom: size of the volume in the picture; 1 just contains it.
    """

    azimuth: float = 28.0
    elevation: float = 10.0
    distance: float = 1.6
    zoom: float = 1.0

    def __post_init__(self) -> None:
        """Check the values. Raises TypeError or ValueError."""
        _checks.options(self)
        _checks.positive("distance", self.distance)
        _checks.positive("zoom", self.zoom)


def smoke(
    density: CellField | npt.ArrayLike,
    *,
    solid: Any = None,
    walls: ShellWalls | None = None,
    size: tuple[int, int] = (480, 640),
    up: UpAxis = "z",
    camera: Camera | None = None,
    opacity: float = 40.0,
    albedo: float = 0.92,
    light: tuple[float, float, float] = (-0.8, 0.6, -0.1),
    background: Background = "dark",
    solid_color: tuple[float, float, float] = (0.75, 0.33, 0.16),
) -> Picture:
    """Return a picture of smoke, lit by one sun and by the sky, with a solid in it.

    Args:
        density: a 3-D field, or (nx, ny, nz) on cells; values below 0 count as 0.
        solid: signed distance in cells or metres (<= 0 inside), on the cells or on the nodes: an array, field or level set; with a field
            as density also anything that `surface.KinematicSolid` takes, such as a mesh or a shape.
        walls: thin shells on the grid of the smoke, drawn as sheets. Beside them, rays see the smoke, and the light in it, on their own
            side alone, so that nothing shines through.
        size: width and height, pixels.
        up: the axis that points upward.
        camera: default `Camera()`.
        opacity: optical depth of density 1 across the shortest edge of the volume.
        albedo: share of the light that smoke scatters; the rest it absorbs (soot: 0.5, steam: 0.98).
        light: direction towards the sun as (right, up, towards the camera) of the picture.
        background: 'dark' or 'light'.
        solid_color: red, green and blue of the solid in linear light.

    Returns:
        (height, width, 3) uint8, an array that notebooks show as a picture.

    Raises:
        ValueError, TypeError: wrong shapes, values that are not finite, an unknown option.
    """
    rho, phi = _checked_volume(values_of(density), None if solid is None else distance_of(solid, grid_of(density)))
    _checks.choice("background", background, Background)
    axis = "xyz".index(_checks.choice("up", up, UpAxis))
    rho = np.ascontiguousarray(_from_front(np.clip(rho, 0, None), axis), np.float32)
    view = _View(rho.shape, camera or Camera(), size)
    extinction = _checks.positive("opacity", opacity) / min(rho.shape)
    sun = view.to_volume(np.asarray(_checks.vector("light", light, 3)))
    shading: Floats | None = None
    opaque: Floats | None = None
    if phi is not None:
        distance: Floats = np.ascontiguousarray(_from_front(phi, axis), np.float32)
        distance /= np.abs(np.diff(distance, axis=1)).max() or 1.0  # in cells, whatever it came in
        normal: Floats = np.stack([np.gradient(distance, axis=d) for d in range(3)])
        normal /= np.maximum(np.linalg.norm(normal, axis=0), 1e-6)
        rho = rho * np.clip(0.5 + distance, 0, 1)
        # The shadow comes from a skin deeper, or interpolation would darken the smoke that touches the solid.
        opaque = np.clip(-0.5 - distance, 0, 1)
        shading = np.stack([distance, *normal])
    sheets = None if walls is None else SheetRays(_checked_walls(walls, grid_of(density)), axis, view, sun)
    depth = light_depth(rho * extinction, sun, opaque)
    sunlight = 0.7 * np.exp(-depth) + 0.3 * np.exp(-0.25 * depth)  # the second term stands for light scattered more than once
    sky = ambient_visibility(rho * extinction, opaque)
    if sheets is not None:
        sunlight, sky = sunlight * sheets.sunlit(), sheets.ambient(rho * extinction)
        sheets.light(np.exp(-light_depth(rho * extinction, sun)), sky)
    lights = [albedo * sunlight, albedo * sky]
    if phi is not None:
        # A solid is lit by what comes through the smoke; its own shadow is in its normals.
        lights += [np.exp(-light_depth(rho * extinction, sun)), ambient_visibility(rho * extinction)]
    layers = _march(view, rho * extinction, lights, shading, sun, sheets)
    return _develop(view, layers, background, np.asarray(solid_color, np.float32))


def _checked_volume(density: Any, solid: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    rho = np.asarray(density)
    if rho.ndim != 3 or min(rho.shape) < 2:
        raise ValueError(f"density must have 3 axes of at least 2 cells, not the shape {rho.shape}")
    _checks.require_finite("density", rho)
    if solid is None:
        return rho, None
    phi = np.asarray(solid)
    nodes = tuple(n + 1 for n in rho.shape)
    if phi.shape not in (rho.shape, nodes):
        raise ValueError(f"solid must have the shape of the cells {rho.shape} or of the nodes {nodes}, not {phi.shape}")
    _checks.require_finite("solid", phi)
    if phi.shape == nodes:
        for d in range(3):
            n = phi.shape[d]
            phi = 0.5 * (phi.take(range(n - 1), d) + phi.take(range(1, n), d))
    return rho, phi


def _checked_walls(walls: ShellWalls, grid: Any) -> ShellWalls:
    _checks.one_of_type("walls", walls, ShellWalls)
    if grid != walls.grid:
        raise ValueError("walls must have the grid of density, which must be a field")
    return walls


def _from_front(field: npt.NDArray[Any], up: int) -> npt.NDArray[Any]:
    """Return a field with the axes right, up and towards the viewer at azimuth 0, which are right-handed."""
    right, depth = (d for d in range(3) if d != up)
    turned: npt.NDArray[Any] = field.transpose(right, up, depth)
    if up != 1:
        turned = turned[:, :, ::-1]
    return turned


class _View:
    """The camera in the coordinates of the volume (cells; axes right, up, towards the viewer), and the plane that slices are brought to."""

    def __init__(self, shape: tuple[int, ...], camera: Camera, size: tuple[int, int]) -> None:
        azimuth, elevation = np.radians(camera.azimuth), np.radians(camera.elevation)
        if abs(camera.elevation) > 60:
            raise ValueError(f"elevation must be from -60 to 60 degrees, not {camera.elevation:g}")
        toward = np.array([np.sin(azimuth) * np.cos(elevation), np.sin(elevation), np.cos(azimuth) * np.cos(elevation)])
        right = np.array([np.cos(azimuth), 0.0, -np.sin(azimuth)])
        self.axes = np.stack([right, np.cross(toward, right), toward])
        self.shape = np.array(shape)
        self.width, self.height = (_checks.integer("size", n, 16) for n in size)
        diagonal = float(np.linalg.norm(self.shape))
        distance = max(_checks.positive("distance", camera.distance), 0.75) * diagonal
        center = self.shape / 2
        self.eye = center + distance * toward
        self.slice_axis = int(np.argmax(np.abs(toward)))
        self.others = tuple(d for d in range(3) if d != self.slice_axis)
        corners = np.array(np.meshgrid(*[(0, n) for n in shape], indexing="ij")).reshape(3, -1).T
        rays = (corners - self.eye) @ self.axes.T
        seen = rays[:, :2] / -rays[:, 2:]
        low, high = seen.min(0), seen.max(0)
        # Pixels per unit of the picture plane at distance 1.
        self.scale = 0.96 * _checks.positive("zoom", camera.zoom) * min(self.width / (high[0] - low[0]), self.height / (high[1] - low[1]))
        middle = (low + high) / 2
        x = (np.arange(self.width) + 0.5 - self.width / 2) / self.scale + middle[0]
        y = (self.height / 2 - np.arange(self.height) - 0.5) / self.scale + middle[1]
        self.rays = x[None, :, None] * self.axes[0] + y[:, None, None] * self.axes[1] - self.axes[2]
        self._lay_plane(corners, distance)

    def _lay_plane(self, corners: npt.NDArray[Any], distance: float) -> None:
        """Return the plane in front of the volume, with the resolution of the picture, and the position of each pixel on it."""
        c = self.slice_axis
        self.plane = float(self.shape[c]) if self.eye[c] > self.shape[c] else 0.0
        shrink = (self.plane - self.eye[c]) / (corners[:, c] - self.eye[c])
        spread = self.eye + (corners - self.eye) * shrink[:, None]
        pixel = distance / self.scale
        self.low = np.array([spread[:, d].min() for d in self.others])
        counts = [int(np.ceil((spread[:, d].max() - low) / pixel)) + 1 for d, low in zip(self.others, self.low, strict=True)]
        self.pixel = pixel
        self.grid = [low + pixel * np.arange(n) for low, n in zip(self.low, counts, strict=True)]
        hit = self.eye + self.rays * ((self.plane - self.eye[c]) / self.rays[..., c : c + 1])
        self.at = [(hit[..., d] - low) / pixel for d, low in zip(self.others, self.low, strict=True)]

    def to_volume(self, direction: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A direction given as (right, up, towards the camera), level with the horizon, in the axes of the volume; unit length."""
        right = self.axes[0]
        back = np.cross(right, (0.0, 1.0, 0.0))
        result: npt.NDArray[Any] = direction[0] * right + direction[1] * np.array([0.0, 1.0, 0.0]) + direction[2] * back
        result /= np.linalg.norm(result)
        return result

    def slices(self) -> list[float]:
        """Positions (in cells, whole numbers at their centres) of the slices from the nearest to the farthest."""
        n = int(self.shape[self.slice_axis])
        positions = [i / _SLICES_PER_CELL for i in range(_SLICES_PER_CELL * (n - 1) + 1)]
        return positions[::-1] if self.plane > 0 else positions

    def cut(self, field: Floats, k: float) -> Floats:
        """Return the slice of a field (with or without an axis of components before the others) at position k."""
        axis = self.slice_axis + field.ndim - 3
        i = int(k)
        part = np.float32(k - i)
        result: Floats = field.take([i], axis).squeeze(axis)
        if part > 0:
            result = (1 - part) * result + part * field.take([i + 1], axis).squeeze(axis)
        return result

    def places(self, k: float) -> npt.NDArray[Any]:
        """Return the places (in cells) on the slice at k that the pixels of the plane show."""
        c = self.slice_axis
        shrink = (self.plane - self.eye[c]) / (k + 0.5 - self.eye[c])
        result = np.empty((len(self.grid[0]), len(self.grid[1]), 3))
        for n, d in enumerate(self.others):
            line = self.eye[d] + (self.grid[n] - self.eye[d]) / shrink
            result[..., d] = line[:, None] if n == 0 else line[None, :]
        result[..., c] = k + 0.5
        return result

    def weights(self, k: float) -> list[Floats]:
        """Return matrices that map the two axes of the slice at k to the grid of the plane."""
        c = self.slice_axis
        shrink = (self.plane - self.eye[c]) / (k + 0.5 - self.eye[c])
        places = [self.eye[d] + (g - self.eye[d]) / shrink for d, g in zip(self.others, self.grid, strict=True)]
        return [_spline(p - 0.5, int(self.shape[d])) for d, p in zip(self.others, places, strict=True)]

    def step(self) -> Floats:
        """Return the length of a ray between two slices, cells, on the plane's grid."""
        a, b = (g - self.eye[d] for d, g in zip(self.others, self.grid, strict=True))
        height = self.plane - self.eye[self.slice_axis]
        length: Floats = (np.sqrt(1.0 + (a[:, None] ** 2 + b[None, :] ** 2) / height**2) / _SLICES_PER_CELL).astype(np.float32)
        return length


def _spline(x: npt.NDArray[Any], n: int) -> Floats:
    """Rows of interpolation weights at positions x between n samples at 0, 1, ...: Mitchell's cubic, zero outside of the volume."""
    t = np.abs(x[:, None] - np.arange(n)[None, :]).astype(np.float32)
    near = (7.0 * t**3 - 12.0 * t**2 + 16.0 / 3.0) / 6.0
    far = (-7.0 / 3.0 * t**3 + 12.0 * t**2 - 20.0 * t + 32.0 / 3.0) / 6.0
    weights = np.where(t < 1, near, np.where(t < 2, far, 0)).astype(np.float32)
    weights[(x < -0.5) | (x > n - 0.5)] = 0
    return weights


def _march(
    view: _View, extinction: Floats, lights: list[Floats], shading: Floats | None, sun: npt.NDArray[Any], sheets: SheetRays | None
) -> dict[str, Floats]:
    """Composite the slices from front to back: light from the sun and the sky off smoke and off the solid, and what shines through.

    `lights` is the light of sun and sky in the smoke and, if there is a solid, on the solid.
    """
    shape = tuple(len(g) for g in view.grid)
    out = {name: np.zeros(shape, np.float32) for name in ("smoke sun", "smoke sky", "solid sun", "solid sky", "highlight")}
    through = np.ones(shape, np.float32)
    length = view.step()
    half = sun + view.axes[2]
    half /= np.linalg.norm(half)
    done = np.zeros(shape, bool)
    if sheets is not None:
        sheets.see([extinction, *lights[:2]])
    for k in view.slices():
        if sheets is not None:
            _cover(out, through, done, sheets, k)
        thickness = view.cut(extinction, k)
        has_smoke = float(thickness.max()) > 1e-5
        solid = None if shading is None else view.cut(shading, k)
        has_solid = solid is not None and float(solid[0].min()) < 1.0
        if not (has_smoke or has_solid):
            continue
        rows, columns = view.weights(k)

        def seen(values: Floats, rows: Floats = rows, columns: Floats = columns) -> Floats:
            result: Floats = rows @ values @ columns.T
            return result

        if has_smoke:
            dense, *lit = [seen(thickness), *(seen(view.cut(field, k)) for field in lights[:2])]
            if sheets is not None:
                sheets.correct(k, through, [dense, *lit])
            absorbed = through * -np.expm1(-np.maximum(dense, 0) * length)
            out["smoke sun"] += absorbed * lit[0]
            out["smoke sky"] += absorbed * lit[1]
            through -= absorbed
        if has_solid and solid is not None:
            inside = np.ones(shape, np.float32) * (rows.sum(1)[:, None] * columns.sum(1)[None, :] > 0.5)
            covered = through * inside * np.clip(0.5 - seen(solid[0]) / view.pixel, 0, 1)
            lit = [seen(view.cut(field, k)) for field in lights[2:]]
            normal = [seen(n) for n in solid[1:]]
            facing, upward, glint = (sum(n * np.float32(d) for n, d in zip(normal, v, strict=True)) for v in (sun, (0, 1, 0), half))
            out["solid sun"] += covered * np.maximum(facing, 0) * lit[0]
            out["solid sky"] += covered * (0.6 + 0.4 * upward) * lit[1]
            out["highlight"] += covered * np.maximum(glint, 0) ** _SPECULAR * lit[0]
            through -= covered
    if sheets is not None:
        _cover(out, through, done, sheets, -np.inf if view.plane > 0 else np.inf)
    return {**out, "background": through}


def _cover(out: dict[str, Floats], through: Floats, done: npt.NDArray[np.bool_], sheets: SheetRays, k: float) -> None:
    """Let the sheets before the slice at k, which are not done, stop the light that gets through; in place."""
    new = sheets.passed(k, done)
    if not new.any():
        return
    covered = np.where(new, through, np.float32(0))
    sun, sky = sheets.on_sheet
    out["solid sun"] += covered * np.maximum(sheets.facing, 0) * sun
    out["solid sky"] += covered * (0.6 + 0.4 * sheets.upward) * sky
    out["highlight"] += covered * np.maximum(sheets.glint, 0) ** _SPECULAR * sun
    through[new] = 0
    done |= new


def _develop(view: _View, layers: dict[str, Floats], background: Background, solid_color: Floats) -> Picture:
    """Turn the plane into the picture, add colours and the background, and map light to bytes."""
    seen = {name: _bilinear(layer, *view.at, outside=float(name == "background")) for name, layer in layers.items()}
    top, bottom = (np.array(c, np.float32) for c in _BACKGROUNDS[background])
    height = np.linspace(0, 1, view.height, dtype=np.float32)[:, None, None]
    picture = seen["background"][..., None] * (top + (bottom - top) * height)
    sun, sky = 1.9 * _SUN, 0.24 * _SKY
    picture += seen["smoke sun"][..., None] * sun + seen["smoke sky"][..., None] * sky
    picture += solid_color * (seen["solid sun"][..., None] * (1.6 * sun) + seen["solid sky"][..., None] * (1.6 * sky))
    picture += seen["highlight"][..., None] * (0.35 * _SUN)
    mapped = picture * (1.0 + picture / 6.0) / (1.0 + picture)  # Reinhard's curve with white at sqrt(6)
    coded = np.where(mapped < 0.0031308, 12.92 * mapped, 1.055 * np.maximum(mapped, 1e-8) ** (1 / 2.4) - 0.055)
    # A fixed pattern of less than a step of 8 bits keeps smooth backgrounds from showing bands.
    i, j = np.indices(coded.shape[:2], dtype=np.float32)
    pattern = np.modf(52.9829189 * np.modf(0.06711056 * j + 0.00583715 * i)[0])[0][..., None]
    return Picture(np.clip(coded * 255 + pattern, 0, 255).astype(np.uint8))


def _bilinear(image: Floats, x: npt.NDArray[Any], y: npt.NDArray[Any], *, outside: float) -> Floats:
    """Return the values of an image at positions in pixels; `outside` beyond it."""
    padded = np.pad(image, 1, constant_values=outside)
    x = np.clip(x + 1, 0, padded.shape[0] - 1.001)
    y = np.clip(y + 1, 0, padded.shape[1] - 1.001)
    i, j = x.astype(np.intp), y.astype(np.intp)
    s, t = (x - i).astype(np.float32), (y - j).astype(np.float32)
    flat, stride = padded.ravel(), padded.shape[1]
    at = i * stride + j
    low = flat[at] * (1 - t) + flat[at + 1] * t
    high = flat[at + stride] * (1 - t) + flat[at + stride + 1] * t
    result: Floats = low * (1 - s) + high * s
    return result
