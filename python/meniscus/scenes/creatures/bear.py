"""Anatomy and motions of the bear."""

from __future__ import annotations

import math
from functools import reduce

from meniscus.scenes.creatures.skeleton import Bone, Skeleton, Turns, ramp
from meniscus.surface import Ellipsoid, Shape, SmoothUnion

SPACING = 0.032
PLACE = (0.0, 0.0, 0.0)

_UP, _SIDE, _AHEAD = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
_LEGS = (("left fore leg", 0.52, -1.0), ("right fore leg", 0.52, 1.0), ("left hind leg", -0.58, -1.0), ("right hind leg", -0.58, 1.0))


def shape() -> Shape:
    """Return the body at rest; it stands with its paws at y = 0."""
    parts: list[tuple[Shape, float]] = [
        (Ellipsoid((-0.05, 0.86, 0.0), (0.85, 0.38, 0.36)), 0.1),
        (Ellipsoid((-0.45, 0.88, 0.0), (0.48, 0.40, 0.38)), 0.1),
        (Ellipsoid((0.78, 1.05, 0.0), (0.36, 0.24, 0.23)), 0.2),
        (Ellipsoid((1.05, 1.12, 0.0), (0.27, 0.25, 0.25)), 0.1),
        (Ellipsoid((1.30, 1.05, 0.0), (0.20, 0.11, 0.12)), 0.1),
        (Ellipsoid((-0.98, 0.95, 0.0), (0.13, 0.09, 0.09)), 0.08),
    ]
    for side in (-1.0, 1.0):
        parts.append((Ellipsoid((0.98, 1.37, 0.17 * side), (0.07, 0.10, 0.09)), 0.06))
    for _, x, side in _LEGS:
        parts.append((Ellipsoid((x, 0.52, 0.22 * side), (0.17, 0.40, 0.15)), 0.12))
        parts.append((Ellipsoid((x + 0.01, 0.25, 0.23 * side), (0.115, 0.25, 0.115)), 0.08))
        parts.append((Ellipsoid((x + 0.07, 0.075, 0.23 * side), (0.17, 0.075, 0.12)), 0.08))
    return reduce(lambda whole, part: SmoothUnion(whole, part[0], part[1]), parts[1:], parts[0][0])


def _bones() -> list[Bone]:
    bones = [
        Bone("hips", None, (-0.1, 0.9, 0.0), (-0.75, 0.9, 0.0), 0.34),
        Bone("chest", "hips", (-0.1, 0.9, 0.0), (0.5, 0.9, 0.0), 0.34),
        Bone("neck", "chest", (0.5, 0.95, 0.0), (0.85, 1.05, 0.0), 0.26),
        Bone("head", "neck", (0.85, 1.08, 0.0), (1.3, 1.1, 0.0), 0.22),
    ]
    for name, x, side in _LEGS:
        bones += [
            Bone(name, "chest" if x > 0 else "hips", (x, 0.78, 0.22 * side), (x, 0.42, 0.23 * side), 0.16),
            Bone(f"{name} below", name, (x, 0.42, 0.23 * side), (x + 0.02, 0.12, 0.23 * side), 0.12),
            Bone(f"{name} paw", f"{name} below", (x + 0.02, 0.12, 0.23 * side), (x + 0.18, 0.06, 0.23 * side), 0.11),
        ]
    return bones


SKELETON = Skeleton(_bones())


def _legs(phase: float, amount: float, swing: float) -> dict[str, tuple[tuple[float, float, float], float]]:
    """Legs that swing in the order of a walk, knees bent while they go ahead, paws level."""
    turns: dict[str, tuple[tuple[float, float, float], float]] = {}
    for (name, x, _), delay in zip(_LEGS, (0.25, 0.75, 0.0, 0.5), strict=True):
        p = phase - 2.0 * math.pi * delay
        hip = amount * swing * math.sin(p)
        knee = amount * swing * max(math.cos(p), 0.0) ** 2 * (1.1 if x > 0 else -0.9) * -1.0
        turns[name] = (_SIDE, hip)
        turns[f"{name} below"] = (_SIDE, knee)
        turns[f"{name} paw"] = (_SIDE, -0.6 * (hip + knee))
    return turns


def walk(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """One stride of 0.7 m a second; the trunk sways and the head nods."""
    phase, start = 2.0 * math.pi * t, ramp(t, 0.0, 0.5)
    turns = _legs(phase, start, math.radians(24.0))
    turns["chest"] = (_UP, start * math.radians(4.0) * math.sin(phase))
    turns["neck"] = (_SIDE, start * math.radians(5.0) * math.sin(2.0 * phase))
    turns["head"] = (_UP, -start * math.radians(7.0) * math.sin(phase))
    return turns, (0.7 * t * start, 0.015 * start * math.sin(phase) ** 2, 0.0)


def shake(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """It shakes the water off: trunk and head roll against each other, four times a second."""
    start = ramp(t, 0.2, 0.6) - ramp(t, 2.0, 2.6)
    phase = 8.0 * math.pi * t
    return {
        "chest": (_AHEAD, start * math.radians(12.0) * math.sin(phase)),
        "neck": (_AHEAD, start * math.radians(14.0) * math.sin(phase + 0.7)),
        "head": (_AHEAD, start * math.radians(20.0) * math.sin(phase + 1.4)),
    }, (0.0, 0.0, 0.0)


def swim(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """It paddles with all four legs."""
    return _legs(4.0 * math.pi * t / 3.0, ramp(t, 0.0, 0.5), math.radians(20.0)), (0.0, 0.0, 0.0)


MOTIONS = {"walk": (walk, 4.0), "shake": (shake, 3.0), "swim": (swim, 3.0)}
