"""Anatomy and motions of the whale."""

from __future__ import annotations

import math
from functools import reduce

from meniscus.numerics.axis_angle import axis_and_angle, rotation_about
from meniscus.scenes.creatures.skeleton import Bone, Skeleton, Turns, bump, ramp
from meniscus.surface import Ellipsoid, Shape, SmoothUnion

SPACING = 0.09
PLACE = (9.6, 4.0, 9.6)

_UP, _SIDE, _AHEAD = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
_SIDES = (("left", -1.0), ("right", 1.0))


def shape() -> Shape:
    """Return the body at rest, around the origin, 8 m long."""
    parts: list[tuple[Shape, float]] = [
        (Ellipsoid((1.1, 0.0, 0.0), (2.5, 0.92, 0.88)), 0.3),
        (Ellipsoid((-0.9, 0.02, 0.0), (2.4, 0.70, 0.62)), 0.5),
        (Ellipsoid((-2.7, 0.08, 0.0), (1.5, 0.36, 0.30)), 0.4),
        (Ellipsoid((-1.5, 0.68, 0.0), (0.45, 0.30, 0.13)).rotated(rotation_about(_SIDE, 0.5), about=(-1.5, 0.68, 0.0)), 0.25),
    ]
    for _, side in _SIDES:
        parts.append((_blade((0.36, 0.13, 1.15), 0.45, 0.35, side).translated((1.25, -0.52, 1.35 * side)), 0.3))
        parts.append((_blade((0.26, 0.12, 0.62), 0.6, 0.35, side).translated((-1.55, -0.42, 0.78 * side)), 0.25))
        parts.append((_blade((0.42, 0.12, 0.95), 0.5, 0.0, side).translated((-4.15, 0.10, 0.72 * side)), 0.25))
    body = parts[0][0]
    return reduce(lambda whole, part: SmoothUnion(whole, part[0], part[1]), parts[1:], body)


def _blade(radii: tuple[float, float, float], sweep: float, droop: float, side: float) -> Shape:
    """Return a flat ellipsoid (m) that points to one side, turned back and down by angles (rad)."""
    turn = rotation_about(_AHEAD, droop * side) @ rotation_about(_UP, -sweep * side)
    return Ellipsoid((0.0, 0.0, 0.0), radii).rotated(turn)


def _bones() -> list[Bone]:
    spine = [2.2, 1.0, 0.0, -1.0, -2.0, -2.9, -3.7]
    bones = [Bone("chest", None, (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.85), Bone("head", "chest", (1.0, 0.0, 0.0), (3.4, 0.0, 0.0), 0.85)]
    parent = "chest"
    for i, (a, b, radius) in enumerate(zip(spine[2:], [*spine[3:], -4.4], (0.75, 0.6, 0.42, 0.32, 0.32), strict=True)):
        name = f"spine {i + 1}"
        bones.append(Bone(name, parent, (a, 0.05, 0.0), (b, 0.08, 0.0), radius))
        parent = name
    for name, side in _SIDES:
        bones += [
            Bone(f"{name} flipper", "chest", (1.35, -0.45, 0.72 * side), (1.2, -0.6, 1.5 * side), 0.32),
            Bone(f"{name} hand", f"{name} flipper", (1.2, -0.6, 1.5 * side), (0.85, -0.9, 2.3 * side), 0.32),
            Bone(f"{name} fin", "spine 2", (-1.45, -0.38, 0.45 * side), (-1.8, -0.6, 1.3 * side), 0.25),
            Bone(f"{name} fluke", "spine 5", (-4.0, 0.1, 0.3 * side), (-4.5, 0.1, 1.5 * side), 0.30),
        ]
    return bones


SKELETON = Skeleton(_bones())
_SPINE = [f"spine {i}" for i in range(1, 6)]


def _bend(angle: float) -> Turns:
    """Bend head and tail about the sideways axis by an angle in all, the same way round as seen from the chest."""
    share = angle / 6.0
    return {"head": (_SIDE, share), **{name: (_SIDE, -share) for name in _SPINE}}


def _flippers(raise_by: float, sweep: float = 0.0) -> Turns:
    """Turn the flippers up about the long axis, and back about the vertical one."""
    turns = {}
    for name, side in _SIDES:
        axis = (-side * raise_by, -side * sweep, 0.0)
        angle = math.hypot(raise_by, sweep)
        turns[f"{name} flipper"] = (axis if angle > 0 else _AHEAD, angle)
    return turns


def breach(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """It dives under, leaps up with its body bent by 60 degrees and its flippers turned by 45, and falls back on its side."""
    bend = math.radians(60.0) * (bump(t, 0.3, 1.0, 1.7) - 0.6 * bump(t, 1.6, 2.2, 3.0))
    flippers = math.radians(45.0) * bump(t, 0.9, 1.6, 2.6)
    pitch = math.radians(70.0) * (ramp(t, 0.4, 1.3) - ramp(t, 1.8, 3.0))
    roll = math.radians(50.0) * bump(t, 1.3, 2.3, 3.6)
    heading = axis_and_angle(rotation_about(_SIDE, pitch) @ rotation_about(_AHEAD, roll))
    turns = {**_bend(bend), **_flippers(flippers, -0.3 * flippers), "chest": heading}
    height = 8.0 * ramp(t, 0.5, 1.9) - 7.0 * ramp(t, 1.9, 3.3)
    return turns, (1.5 * ramp(t, 0.5, 3.0), height, 0.0)


def swim(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """A wave runs down the spine, once a second and a half; the flippers beat slowly."""
    phase = 2.0 * math.pi * t / 1.5
    start = ramp(t, 0.0, 0.75)
    turns: dict[str, tuple[tuple[float, float, float], float]] = {
        name: (_SIDE, start * math.radians(4.0 + 2.2 * i) * math.sin(phase - 0.55 * i)) for i, name in enumerate(_SPINE)
    }
    turns["head"] = (_SIDE, start * math.radians(4.0) * math.sin(phase + 0.6))
    for name, side in _SIDES:
        turns[f"{name} flipper"] = (_AHEAD, -side * start * math.radians(18.0) * math.sin(0.5 * phase))
    return turns, (0.0, 0.0, 0.0)


def walk(t: float) -> tuple[Turns, tuple[float, float, float]]:
    """It heaves itself ahead on its flippers, which swing in turn, once every two seconds."""
    phase = math.pi * t
    start = ramp(t, 0.0, 0.5)
    turns: dict[str, tuple[tuple[float, float, float], float]] = {}
    for name, side in _SIDES:
        swing = math.sin(phase + 0.5 * math.pi * (1.0 + side))
        turns[f"{name} flipper"] = ((0.4 * side, 1.0, 0.0), side * start * math.radians(30.0) * swing)
        turns[f"{name} hand"] = (_AHEAD, side * start * math.radians(15.0) * swing)
        turns[f"{name} fin"] = (_UP, -side * start * math.radians(20.0) * swing)
    for name in _SPINE[:3]:
        turns[name] = (_UP, start * math.radians(5.0) * math.sin(phase))
    turns["head"] = (_UP, -start * math.radians(6.0) * math.sin(phase))
    return turns, (0.35 * t * start, 0.06 * start * math.sin(phase) ** 2, 0.0)


MOTIONS = {"breach": (breach, 4.0), "swim": (swim, 3.0), "walk": (walk, 4.0)}
