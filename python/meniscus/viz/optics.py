"""Optics of water: reflection and refraction at the surface, the sky, and tone mapping."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.viz.picture import Picture

Floats = npt.NDArray[np.float64]

WATER = 1.33
"""Refractive index."""

_ZENITH = np.array([0.13, 0.31, 0.66])
_MIDDLE = np.array([0.42, 0.60, 0.86])
_HORIZON = np.array([0.86, 0.90, 0.94])
_SUN = np.array([1.0, 0.93, 0.80])


def dot(a: Floats, b: Floats) -> Floats:
    """Return the dot products of rows."""
    result: Floats = np.einsum("...j,...j->...", a, b)
    return result


def normalized(v: Floats) -> Floats:
    """Return rows of unit length; zero stays zero."""
    length = np.sqrt(dot(v, v))[..., None]
    result: Floats = np.divide(v, length, out=np.zeros_like(v), where=length > 0)
    return result


def fresnel(cosine: Floats, ratio: Floats) -> Floats:
    """Return the part of unpolarised light that is reflected.

    Args:
        cosine: (n,), of the angle between the ray and the normal, above 0.
        ratio: (n,), refractive index before the surface over that behind it.
    """
    inner = 1 - ratio**2 * (1 - cosine**2)
    behind = np.sqrt(np.maximum(inner, 0))
    across = (ratio * cosine - behind) / (ratio * cosine + behind)
    along = (cosine - ratio * behind) / (cosine + ratio * behind)
    result: Floats = np.where(inner <= 0, 1.0, 0.5 * (across**2 + along**2))
    return result


def refract(d: Floats, normal: Floats, ratio: Floats) -> tuple[Floats, npt.NDArray[Any]]:
    """Return directions (n, 3) behind a surface, and whether light is transmitted (zero directions if not).

    Args:
        d: (n, 3), unit directions.
        normal: (n, 3), unit normals against them.
        ratio: (n,), as for `fresnel`.
    """
    cosine = np.clip(-dot(d, normal), 1e-3, 1.0)
    inner = 1 - ratio**2 * (1 - cosine**2)
    passes = inner > 0
    bent = ratio[:, None] * d + (ratio * cosine - np.sqrt(np.maximum(inner, 0)))[:, None] * normal
    return np.where(passes[:, None], normalized(bent), 0.0), passes


def clear_sky(d: Floats, axis: int) -> Floats:
    """Return light (n, 3) from a clear sky without its sun: pale at the horizon, blue above; below the horizon a dim ground.

    Args:
        d: (n, 3), unit directions.
        axis: the one that points upward.
    """
    return _over_ground(_air(d[:, axis]), d[:, axis])


def sky(d: Floats, axis: int, sun: Floats) -> Floats:
    """Return light (n, 3) from a clear sky with a sun and its glow.

    Args:
        d: (n, 3), unit directions.
        axis: the one that points upward.
        sun: (3,), unit direction towards the sun.
    """
    toward = np.maximum(dot(d, sun), 0)[:, None]
    color = _air(d[:, axis]) + _SUN * (14.0 * toward**900 + 0.8 * toward**60 + 0.18 * toward**6)
    return _over_ground(color, d[:, axis])


def _air(up: Floats) -> Floats:
    t = np.clip(up, 0, 1)[:, None]
    result: Floats = (
        _HORIZON + (_MIDDLE - _HORIZON) * np.minimum(t / 0.25, 1) ** 0.7 + (_ZENITH - _MIDDLE) * np.clip((t - 0.15) / 0.85, 0, 1)
    )
    return result


def _over_ground(color: Floats, up: Floats) -> Floats:
    ground = np.array([0.34, 0.33, 0.31])
    blend = np.clip(-up / 0.06, 0, 1)[:, None]
    result: Floats = color * (1 - blend) + ground * blend
    return result


def developed(picture: Floats) -> Picture:
    """Return linear light as bytes, with highlights rolled off (a curve of the form that films have)."""
    x = np.maximum(picture, 0.0) * 0.82
    x = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    x = np.clip(x, 0.0, 1.0)
    x = np.where(x < 0.0031308, 12.92 * x, 1.055 * np.power(np.maximum(x, 1e-9), 1 / 2.4) - 0.055)
    return Picture(np.round(255.0 * x).astype(np.uint8))
