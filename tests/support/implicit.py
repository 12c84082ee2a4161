"""Bodies on which implicit Euler must converge at its defaults: every force, usual motions, and starts that nobody would wish for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from meniscus.mesh import TetMesh, cloth_mesh, tet_block
from meniscus.solids import (
    AltitudeSprings,
    DeformableBody,
    DihedralBending,
    Drag,
    EdgeSprings,
    SpringOptions,
    TetElements,
    TriangleMembrane,
    WindDrag,
)

Make = Callable[[], DeformableBody]
SOLIDS = ("linear", "corotational", "st-venant-kirchhoff", "neo-hookean")
MEMBRANES = SOLIDS[1:]
BIPHASIC = ((-1.0, 0.2), (0.0, 1.0), (0.05, 20.0))


class Motion(NamedTuple):
    """A body, a step in seconds, and whether energy may enter: by wind, by nodes that are moved, or by springs that change."""

    make: Make
    dt: float
    driven: bool = False
    most: int = 12


def turned(x: np.ndarray, angle: float) -> np.ndarray:
    """Turned about its mean, around a direction that is no axis."""
    n = np.array([1.0, 2.0, -0.5]) / np.linalg.norm([1.0, 2.0, -0.5])
    k = np.cross(np.eye(3), n)
    return (x - x.mean(axis=0)) @ (np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k) + x.mean(axis=0)


def started(x: np.ndarray, how: str) -> np.ndarray:
    """Positions at which a body starts."""
    c, y = x.mean(axis=0), x - x.mean(axis=0)
    rng = np.random.default_rng(3)
    if how == "turned":
        return turned(x, 2.5)
    if how == "stretched":
        return turned(c + y * [1.6, 0.7, 1.2], 0.7)
    if how == "mirrored":
        return turned(c + y * [1, 1, -1], 0.7)
    if how == "rough":
        return x + 0.06 * np.ptp(x, axis=0).max() * rng.normal(size=x.shape)
    return c + y * {"rest": (1, 1, 1), "plane": (1, 1, 0), "line": (1, 0, 0), "point": (0, 0, 0)}[how]


def block(
    material: Any,
    *,
    boxes: tuple[int, int, int] = (4, 3, 3),
    modulus: float = 1e4,
    ratio: float = 0.3,
    how: str = "rest",
    pinned: bool = False,
    speed: float = 0.0,
    spin: float = 0.0,
    gravity: Any = (0.0, 0.0, -9.8),
    damping: float = 0.0,
    density: float = 1000.0,
    **options: Any,
) -> Make:
    """A block of tetrahedra, as long as it has boxes of a quarter of a metre."""

    def make() -> DeformableBody:
        mesh = tet_block(*boxes, tuple(0.25 * b for b in boxes))
        body = DeformableBody(mesh, density=density, gravity=gravity)
        body.add(TetElements(mesh, youngs_modulus=modulus, poissons_ratio=ratio, material=material, damping=damping, **options))
        body.positions = started(mesh.vertices, how)
        body.velocities = speed * np.random.default_rng(1).normal(size=mesh.vertices.shape)
        body.velocities += np.cross((0.0, spin, 0.3 * spin), body.positions - body.positions.mean(axis=0))
        if pinned:
            body.pin(np.flatnonzero(mesh.vertices[:, 0] == 0))
        return body

    return make


def tetrahedron(material: Any, how: str) -> Make:
    """A single element in free fall."""

    def make() -> DeformableBody:
        mesh = TetMesh(0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 1, 2, 3]], np.int32))
        body = DeformableBody(mesh, density=1000.0, gravity=(0.0, 0.0, -9.8))
        body.add(TetElements(mesh, youngs_modulus=1e5, poissons_ratio=0.4, material=material))
        body.positions = started(mesh.vertices, how)
        return body

    return make


def cloth(
    *,
    boxes: int = 10,
    stiffness: float = 50.0,
    pieces: Any = None,
    membrane: Any = None,
    bending: Any = "shell",
    bending_stiffness: float = 1e-2,
    damping: float = 0.0,
    wind: str = "",
    how: str = "rest",
    pinned: bool = True,
    gravity: Any = (0.0, 0.0, -9.8),
) -> Make:
    """A square metre of cloth, of springs or of triangles, that hangs by two corners."""

    def make() -> DeformableBody:
        mesh = cloth_mesh(boxes, boxes)
        body = DeformableBody(mesh, density=0.2, gravity=gravity)
        if membrane:
            body.add(TriangleMembrane(mesh, thickness=1e-3, youngs_modulus=1e3 * stiffness, material=membrane, damping=damping))
        else:
            body.add(EdgeSprings(mesh, SpringOptions(stiffness=stiffness, damping=damping, pieces=pieces)))
        if bending:
            body.add(DihedralBending(mesh, SpringOptions(stiffness=bending_stiffness, damping=damping), law=bending))
        if wind == "isotropic":
            body.add(Drag(1e-3, nodes=len(body), wind=(3.0, 1.0, 4.0), quadratic=True))
        elif wind:
            body.add(WindDrag(mesh, per_area=0.5, wind=(3.0, 1.0, 4.0), quadratic=wind == "quadratic"))
        body.positions = started(mesh.vertices, how)
        if pinned:
            body.pin([0, boxes])
        return body

    return make


def altitudes(how: str = "rest", *, beyond: float | None = None, damping: float = 0.0) -> Make:
    """Tetrahedra of edge and altitude springs, pinned at one side."""

    def make() -> DeformableBody:
        mesh = tet_block(3, 3, 3)
        body = DeformableBody(mesh, density=100.0, gravity=(0.0, 0.0, -9.8))
        options = SpringOptions(stiffness=1000.0, damping=damping)
        body.add(EdgeSprings(mesh, options))
        body.add(AltitudeSprings(mesh, options, only_beyond=beyond))
        body.positions = started(mesh.vertices, how)
        if how in ("rest", "rough"):
            body.pin(np.flatnonzero(mesh.vertices[:, 0] == 0))
        return body

    return make


def twisted(material: Any) -> Make:
    """A beam whose end turns by a circle each second."""

    def make() -> DeformableBody:
        mesh = tet_block(8, 2, 2, (1.2, 0.3, 0.3), origin=(0, -0.15, -0.15), pattern="five")
        body = DeformableBody(mesh, density=1000.0)
        body.add(TetElements(mesh, youngs_modulus=5e4, poissons_ratio=0.4, material=material, damping=0.003))
        x = mesh.vertices
        end = np.flatnonzero(x[:, 0] == x[:, 0].max())
        body.pin(np.flatnonzero(x[:, 0] == 0))

        def path(t: float) -> tuple[np.ndarray, np.ndarray]:
            c, s, w = np.cos(2 * np.pi * t), np.sin(2 * np.pi * t), 2 * np.pi
            p = x[end] @ np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
            return p, np.cross((w, 0.0, 0.0), p)

        body.move(end, path)
        return body

    return make


def motions() -> dict[str, Motion]:
    """Usual motions; name -> body and step."""
    found = {}
    for m in SOLIDS:
        found |= {
            f"cantilever/{m}": Motion(block(m, modulus=1e5, pinned=True, boxes=(8, 3, 3)), 1 / 30),
            f"stiff cantilever/{m}": Motion(block(m, modulus=1e8, ratio=0.45, pinned=True, boxes=(8, 2, 2)), 1 / 24),
            f"soft and light/{m}": Motion(block(m, modulus=1e2, pinned=True, density=1.0, gravity=(0, 0, -1.0)), 1 / 60),
            f"near rest/{m}": Motion(block(m, modulus=1e5, gravity=None, speed=1e-9), 1 / 100),
            f"nearly incompressible/{m}": Motion(block(m, modulus=1e4, ratio=0.49, speed=0.5, gravity=None), 1 / 50),
            f"damped/{m}": Motion(block(m, modulus=1e4, pinned=True, speed=1.0, damping=0.02), 1 / 50),
            f"damped, matrix-free/{m}": Motion(block(m, pinned=True, speed=1.0, damping=0.02, stiffness="matrix-free"), 1 / 50),
            f"short steps/{m}": Motion(block(m, modulus=1e5, pinned=True, speed=1.0), 1 / 1000),
        }
    for m in SOLIDS[1:]:
        found |= {
            f"twist/{m}": Motion(twisted(m), 1 / 96, driven=True),
            f"spinning fall/{m}": Motion(block(m, modulus=1e5, ratio=0.4, spin=6.0), 1 / 60),
            f"sheet/{m}": Motion(block(m, modulus=1e5, boxes=(8, 8, 1), pinned=True), 1 / 60),
        }
    for law in ("shell", "sine", "bridson"):
        for wind in ("", "linear", "quadratic"):
            # The printed law has no energy that could stay.
            driven = bool(wind) or law == "bridson"
            found[f"cloth/{law}/{wind or 'calm'}"] = Motion(cloth(bending=law, wind=wind), 1 / 60, driven)
    found |= {
        "cloth/isotropic drag": Motion(cloth(wind="isotropic"), 1 / 60, driven=True),
        "cloth/stiff": Motion(cloth(stiffness=1e4, bending_stiffness=1.0), 1 / 30),
        "cloth/damped": Motion(cloth(damping=1e-3), 1 / 60),
        "cloth/biphasic": Motion(cloth(pieces=BIPHASIC), 1 / 30),
        # Wrinkles: nothing but the mesh decides about their size.
        "cloth/no bending": Motion(cloth(bending=None), 1 / 60, most=16),
        "cloth/no bending, wind": Motion(cloth(bending=None, wind="quadratic"), 1 / 60, driven=True, most=36),
        "altitude springs": Motion(altitudes(), 1 / 30, driven=True),
        "altitude springs beyond a strain": Motion(altitudes(beyond=0.1), 1 / 30, driven=True),
        "altitude springs, damped": Motion(altitudes(damping=2.0), 1 / 30, driven=True),
    }
    for m in MEMBRANES:
        found[f"membrane/{m}"] = Motion(cloth(membrane=m), 1 / 60)
        found[f"membrane in wind/{m}"] = Motion(cloth(membrane=m, bending="sine", wind="quadratic"), 1 / 60, driven=True)
        found[f"membrane, damped/{m}"] = Motion(cloth(membrane=m, damping=1e-3), 1 / 60)
    return found


STARTS = ("turned", "stretched", "mirrored", "plane", "line", "point", "rough")


def bad_starts() -> dict[str, Motion]:
    """Starts that are turned, strained, inverted or collapsed; the first steps look for the state of rest from far away."""
    found = {}
    for how in STARTS:
        for m in SOLIDS[1:]:
            found[f"{how}/{m}"] = Motion(block(m, boxes=(4, 4, 4), density=100.0, how=how, gravity=None), 1 / 20)
            found[f"{how}, tetrahedron/{m}"] = Motion(tetrahedron(m, how), 1 / 24)
        for m in MEMBRANES:
            found[f"{how}, membrane/{m}"] = Motion(cloth(boxes=6, membrane=m, how=how, pinned=False, gravity=None), 1 / 24)
        found[f"{how}, net"] = Motion(cloth(boxes=8, how=how, pinned=False, gravity=None), 1 / 24)
        if how != "turned":
            # While inverted elements recover, their springs change from one altitude to another at every step.
            found[f"{how}, altitude springs"] = Motion(altitudes(how), 1 / 30, most=24 if how == "mirrored" else 12)
    return found
