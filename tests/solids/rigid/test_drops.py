"""Bodies that fall fast on sheets and on closed meshes, with default options: none goes through, none is caught in one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose, Twist

FORMS = ("box", "ball", "hull", "mesh")
TARGETS = ("sheet", "bumps", "path", "block", "bumpy block")
STEP = 1 / 60
SIDE = 3.0


def sheet(quads: int, bumps: float) -> TriangleMesh:
    flat = ms.mesh.cloth_mesh(quads, quads, (2 * SIDE, 2 * SIDE), origin=(-SIDE, -SIDE, 0))
    x = np.array(flat.vertices)
    x[:, 2] = bumps * np.sin(3 * x[:, 0] + 0.5) * np.cos(2.3 * x[:, 1])
    return TriangleMesh(x, flat.triangles)


def block(top: TriangleMesh) -> TriangleMesh:
    """A closed block 0.5 m deep with such a top."""
    n = len(top.vertices)
    low = top.vertices.copy()
    low[:, 2] = -0.5
    edges = top.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    known = {tuple(e) for e in edges.tolist()}
    rim = np.array([(a, b) for a, b in edges.tolist() if (b, a) not in known])
    a, b = rim.T
    sides = np.concatenate([np.stack([b, a, a + n], axis=1), np.stack([b, a + n, b + n], axis=1)])
    return TriangleMesh(
        np.concatenate([top.vertices, low]), np.concatenate([top.triangles, top.triangles[:, ::-1] + n, sides]).astype(np.int32)
    )


def heights(top: TriangleMesh, points: np.ndarray) -> np.ndarray:
    """How far points (n, 3) are above a sheet, m."""
    a, b, c = (top.vertices[top.triangles[:, k]] for k in range(3))
    result = np.full(len(points), np.inf)
    for k, p in enumerate(points):
        d, e, f = (b - a)[:, :2], (c - a)[:, :2], (p - a)[:, :2]
        area = d[:, 0] * e[:, 1] - d[:, 1] * e[:, 0]
        u = (f[:, 0] * e[:, 1] - f[:, 1] * e[:, 0]) / area
        v = (d[:, 0] * f[:, 1] - d[:, 1] * f[:, 0]) / area
        inside = np.flatnonzero((u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9))
        if len(inside):
            t = inside[0]
            result[k] = p[2] - (a[t] + u[t] * (b - a)[t] + v[t] * (c - a)[t])[2]
    return result


def torus(radius: float) -> TriangleMesh:
    i, j = np.meshgrid(np.arange(16), np.arange(8), indexing="ij")
    p, q = 2 * np.pi * i.ravel() / 16, 2 * np.pi * j.ravel() / 8
    ring = radius * (1 + np.cos(q) / 3)
    x = np.stack([ring * np.cos(p), ring * np.sin(p), radius / 3 * np.sin(q)], axis=1)
    right, up = (8 * ((i + 1) % 16) + j).ravel(), (8 * i + (j + 1) % 8).ravel()
    both, own = (8 * ((i + 1) % 16) + (j + 1) % 8).ravel(), (8 * i + j).ravel()
    return TriangleMesh(x, np.concatenate([np.stack([own, right, both], axis=1), np.stack([own, both, up], axis=1)]).astype(np.int32))


def body_of(form: str, size: float, rng: np.random.Generator, **motion: Any) -> RigidBody:
    if form == "box":
        return RigidBody.box((size, size * rng.uniform(0.3, 1), size * rng.uniform(0.3, 1)), **motion)
    if form == "ball":
        return RigidBody.sphere(size / 2, **motion)
    if form == "hull":
        return RigidBody.hull(rng.normal(size=(20, 3)) * size / 6 + np.array([0, 0, 1e-3]), **motion)
    return RigidBody(torus(size / 2), **motion)


def swing(time: float) -> Pose:
    angle = 0.05 * np.sin(4 * time)
    return Pose((0, 0, 0.15 * np.sin(6 * time)), (float(np.cos(angle)), float(np.sin(angle)), 0, 0))


def drop(seed: int, speed: float | None = None, spin: float | None = None) -> None:
    rng = np.random.default_rng(seed)
    target, form = TARGETS[seed % 5], FORMS[seed // 5 % 4]
    top = sheet(int(rng.integers(4, 24)), 0.08 if "bump" in target else 0.0)
    size = float(rng.uniform(0.06, 0.3))
    fast = float(np.exp(rng.uniform(0, np.log(50)))) if speed is None else speed
    world = World(gravity=(0, 0, -9.81))
    swinging = None
    if target == "path":
        swinging = world.add(RigidBody(top, shell=True, density=1.0, motion=swing), friction=0.5)
    elif "block" in target:
        world.add_obstacle(block(top), friction=0.5)
    else:
        world.add_obstacle(top, sides="both", friction=0.5)
    turn = rng.normal(size=4)
    lean, side = rng.uniform(0, 0.7), rng.uniform(0, 2 * np.pi)
    way = np.array([np.sin(lean) * np.cos(side), np.sin(lean) * np.sin(side), -np.cos(lean)])
    twist = Twist(tuple(fast * way), tuple(rng.normal(size=3) * (rng.choice([0, 3, 20]) if spin is None else spin)))
    pose = Pose((*rng.uniform(-0.5, 0.5, 2), 1.0), tuple(turn / np.linalg.norm(turn)))
    body = world.add(body_of(form, size, rng, pose=pose, twist=twist), friction=0.5)
    energy = world.energy()["total"]
    for _ in range(round(2 / STEP)):
        world.step(STEP)
        if np.abs(body.center[:2]).max() > SIDE - size:
            return
        points = np.vstack([body.center, (body.mesh.vertices - body.properties.center) @ body.rotation.T + body.center])
        if swinging is not None:
            points = (points - swinging.center) @ swinging.rotation + swinging.properties.center
        else:
            assert world.energy()["total"] <= energy + 0.01 * abs(energy)
        assert heights(top, points[:1])[0] > 0, (target, form, fast)
    assert heights(top, points).min() > -0.1 * size, (target, form, fast)


@pytest.mark.parametrize("seed", [33, 38, 40])
def test_what_falls_fast_is_stopped_by_sheets_and_blocks(seed: int) -> None:
    drop(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 160, 20))
def test_nothing_that_falls_goes_through_or_is_caught(first: int) -> None:
    for seed in range(first, first + 20):
        drop(seed)


@pytest.mark.parametrize(("speed", "dt"), [(0.0, 1 / 60), (5.0, 1 / 240)])
def test_a_box_that_spins_does_not_fall_through_a_thin_sheet(speed: float, dt: float) -> None:
    """With a thickness of 2 mm a corner that turns goes farther behind the sheet than contact would bring it back."""
    world = World(gravity=(0, 0, -9.81))
    world.add_obstacle(ms.mesh.cloth_mesh(8, 8, (4, 4), origin=(-2, -2, 0)), sides="both", thickness=0.002, friction=0.5)
    body = world.add(RigidBody.box((0.1,) * 3, pose=Pose((0.03, 0.05, 1.0)), twist=Twist((0, 0, -speed), (1, 2, 3))), friction=0.5)
    cut = 0
    for _ in range(round(1.0 / dt)):
        cut += world.step(dt).rigid.cut
        assert body.center[2] > 0.02
    assert cut > 0


def test_a_sheet_on_a_path_takes_along_what_it_would_go_through() -> None:
    """A thin sheet flies at a box, 30 m/s: in a step it goes five times as far as the box is high."""
    world = World(gravity=(0, 0, -9.81))
    flat = ms.mesh.cloth_mesh(4, 4, (2, 2), origin=(-1, -1, 0))
    plate = RigidBody(flat, shell=True, density=1.0, motion=lambda t: Pose((0, 0, -2 + 30 * t)))
    world.add(plate, thickness=0.002)
    body = world.add(RigidBody.box((0.1,) * 3, pose=Pose((0.03, 0.05, 0.5), (0.8, 0.6, 0, 0))))
    for _ in range(20):
        world.step(STEP)
        assert body.center[2] > plate.center[2]
    assert world.report.rigid.unresolved == ()


def test_slow_bodies_are_not_tested() -> None:
    world = World(gravity=(0, 0, -9.81))
    world.add_obstacle(sheet(8, 0.0), sides="both")
    world.add(RigidBody.box((0.2,) * 3, pose=Pose((0.03, 0.05, 0.2))))
    for _ in range(30):
        report = world.step(0.005).rigid
        assert not report.certified
        assert report.cut == 0
    assert not world.rigid._guard._meshes
