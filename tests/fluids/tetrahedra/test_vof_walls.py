"""Walls of all thicknesses: no water gets through, on any way; bodies that are no thin walls keep their room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.creatures import built
from support.tet_vof.audit import Audit
from support.tet_vof.meshes import centroids, face_neighbours, inner, lattice, rounded, still, turned

import meniscus as ms
from meniscus.fluids import TetVOF

REST = (0.0, 0.0, 0.0)
EDGE = 0.2
MIDDLE = np.array([0.013, 0.021, 0.017])
THICKNESSES = (0.05, 0.25, 0.5, 1.0, 2.0)


def stirred() -> ms.mesh.TetMesh:
    """A convex block without any regularity."""
    mesh = ms.mesh.tet_block(6, 6, 6)
    x = mesh.vertices - mesh.vertices.mean(axis=0)
    x = 1.2 * x / np.ptp(x, axis=0) + inner(mesh)[:, None] * np.random.default_rng(0).uniform(-0.03, 0.03, x.shape)
    return ms.mesh.TetMesh(np.ascontiguousarray(x), mesh.tets)


MESHES = {"lattice": lattice(EDGE, (5, 5, 5)), "stirred": stirred()}


class Plate:
    """A plate through the middle of a mesh, with a direction that is drawn, and which tetrahedra are on which side."""

    def __init__(self, mesh: str, thickness: float, seed: int, kind: str = "shape", **options: Any) -> None:
        turn = turned(seed) if seed else np.eye(3)
        half = 0.5 * thickness * EDGE
        self.normal = turn[:, 2]
        solid: Any = ms.surface.Transformed(ms.surface.Box((-9.0, -9.0, -half), (9.0, 9.0, half)), turn, tuple(MIDDLE))
        if kind == "triangles":
            sheet = ms.mesh.tet_block(1, 1, 1).boundary
            corners = (sheet.vertices - sheet.vertices.mean(axis=0)) / np.ptp(sheet.vertices, axis=0) * [8.0, 8.0, 2 * half]
            solid = ms.surface.KinematicSolid(ms.mesh.TriangleMesh(corners @ turn.T + MIDDLE, sheet.triangles))
        self.vof = TetVOF(still(MESHES[mesh]), solid, **options)
        height = ((self.vof.positions - MIDDLE) @ self.normal)[self.vof.tets]
        usable = self.vof.rank >= 0
        self.above, self.below = (height.max(axis=1) > half) & usable, (height.min(axis=1) < -half) & usable
        self.dry = height.max(axis=1) < -half


@pytest.mark.parametrize("kind", ["shape", "triangles"])
@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("thickness", THICKNESSES)
def test_no_way_across_faces_leads_through_a_plate(thickness: float, mesh: str, kind: str) -> None:
    beside = face_neighbours(MESHES[mesh].tets)
    for seed in range(6):
        plate = Plate(mesh, thickness, seed, kind)
        assert not (plate.above & plate.below).any()
        assert plate.above.sum() > 200
        assert plate.below.sum() > 200
        found = beside[plate.above]
        assert not plate.below[found[found >= 0]].any()


@pytest.mark.fast_cases(
    "0.05-wall-random", "2.0-wall-random", "0.5-None-random", "2.0-wall-exact", "2.0-None-exact", "2.0-wall-adaptive", "0.25-None-adaptive"
)
@pytest.mark.parametrize("samples", ["random", "exact", "adaptive"])
@pytest.mark.parametrize("outside", [None, "wall"])
@pytest.mark.parametrize("thickness", THICKNESSES)
def test_water_that_is_thrown_at_a_plate_does_not_get_through(thickness: float, outside: Any, samples: Any) -> None:
    for seed, mesh in enumerate(("lattice", "stirred", "lattice", "stirred")):
        plate = Plate(mesh, thickness, seed, outside=outside, samples=samples, gravity=tuple(-9.81 * turned(seed)[:, 2]))
        vof = plate.vof
        wet = plate.above & (((vof.positions - MIDDLE) @ plate.normal)[vof.tets].min(axis=1) > 0)
        vof.volume[:] = rounded(vof, np.where(wet, 0.6 * vof.capacity, 0.0))
        vof.velocity[wet] = -5.0 * (seed % 2) * plate.normal
        audit = Audit()
        for _ in range(12):
            vof.step(0.02, audit)
            assert not vof.volume[plate.below].any()
        assert vof.volume[plate.above].sum() > 0


@pytest.mark.parametrize("samples", ["random", "exact"])
def test_water_stands_on_a_thin_plate(samples: Any) -> None:
    """Though no tetrahedron is inside of it, and none that it cuts holds water."""
    plate = Plate("stirred", 0.25, 0, outside="wall", samples=samples)
    vof = plate.vof
    wet = plate.above & (centroids(vof)[:, 2] < 0.3)
    vof.volume[:] = rounded(vof, np.where(wet, vof.capacity, 0.0))
    for _ in range(5):
        vof.step(0.01)
    weight = 9810 * vof.total_volume()
    assert vof.force_on_body()[2] == pytest.approx(-weight, rel=0.1)
    assert np.linalg.norm(vof.velocity, axis=1).max() < 1.0


def room(solid: Any, mesh: ms.mesh.TetMesh) -> int:
    vof = TetVOF(still(mesh), solid)
    vof.move(0.01)
    return len(vof._geometry._thin)


def test_bodies_that_are_not_thin_keep_their_room() -> None:
    mesh = lattice(0.1, (12, 12, 12), 4)
    kdsm = built()
    bodies = {
        "ball": ms.surface.Sphere((0.02, 0.01, 0.0), 0.35),
        "box": ms.surface.Box((-0.3, -0.33, -0.31), (0.35, 0.32, 0.34)),
        "mesh": ms.surface.KinematicSolid(ms.mesh.icosphere(3, radius=0.3)),
        "room": ms.surface.Complement(ms.surface.Box((-0.3, -0.33, -0.31), (0.35, 0.32, 0.34))),
        "group": ms.surface.SolidGroup([ms.surface.KinematicSolid(ms.surface.Sphere((s * 0.32, 0.0, 0.0), 0.2)) for s in (-1, 1)]),
    }
    for name, body in bodies.items():
        assert room(body, mesh) == 0, name
    creature = TetVOF(kdsm.moving(), kdsm.solid)
    creature.move(0.05)
    assert len(creature._geometry._thin) == 0


def test_a_slot_narrower_than_an_edge_stays_open() -> None:
    """Its walls face each other, but the way between them goes through water."""
    for seed in range(6):
        turn = turned(seed)
        slot = ms.surface.Transformed(ms.surface.Box((-9.0, -9.0, -0.06), (9.0, 9.0, 0.06)), turn, tuple(MIDDLE))
        assert room(ms.surface.Complement(slot), MESHES["stirred"]) == 0


def test_a_group_of_plates_is_tight() -> None:
    mesh = lattice(0.1, (10, 10, 10))
    turn = turned(3)
    plates = [
        ms.surface.KinematicSolid(ms.surface.Transformed(ms.surface.Box((-9, -9, h - 0.02), (9, 9, h + 0.02)), turn, tuple(MIDDLE)))
        for h in (-0.15, 0.15)
    ]
    vof = TetVOF(still(mesh), ms.surface.SolidGroup(plates), outside="wall", samples="random", gravity=REST)
    height = ((vof.positions - MIDDLE) @ turn[:, 2])[vof.tets]
    between = (height.max(axis=1) < 0.13) & (height.min(axis=1) > -0.13) & (vof.rank >= 0)
    assert between.sum() > 300
    beyond = (height.min(axis=1) > 0.17) | (height.max(axis=1) < -0.17)
    vof.volume[:] = rounded(vof, np.where(between, vof.capacity, 0.0))
    vof.velocity[between] = 3.0 * turn[:, 2]
    for _ in range(12):
        vof.step(0.02)
        assert not vof.volume[beyond].any()


@pytest.mark.fast_cases("random-*", "exact--0.075")
@pytest.mark.parametrize("floor", [-0.275, -0.2, -0.075])
@pytest.mark.parametrize("samples", ["random", "exact"])
def test_a_plate_is_tight_where_it_stands_on_a_floor(floor: float, samples: Any) -> None:
    """There the surface next to a vertex is that of the floor, and says nothing of the sides of the plate."""
    plate, far = ms.surface.Box((-0.02, -9.0, -9.0), (0.02, 9.0, 9.0)), ms.surface.Box((-9.0, -9.0, -9.0), (-0.02, 9.0, 9.0))
    solid = plate | ms.surface.Box((-9.0, -9.0, -9.0), (9.0, 9.0, floor))
    vof = TetVOF(still(lattice(EDGE, (8, 5, 5))), solid, outside="wall", samples=samples)
    vof.fill(far, velocity=(5.0, 0.0, 0.0))
    for _ in range(20):
        vof.step(0.02)
    beyond = centroids(vof)[:, 0] > 0.02 + 0.5 * EDGE
    assert vof.total_volume() > 0.1
    assert vof.volume[beyond].sum() <= 1e-3 * vof.total_volume()


@pytest.mark.parametrize("wall", [0.05, 0.1])
def test_a_closed_box_of_thin_walls_keeps_its_water(wall: float) -> None:
    mesh = lattice(EDGE, (6, 6, 6), 2, stir=0.15)
    room = ms.surface.Box((-0.25, -0.25, -0.25), (0.25, 0.25, 0.25))
    box = ms.surface.Box((-0.25 - wall,) * 3, (0.25 + wall,) * 3)
    vof = TetVOF(still(mesh), box - room)
    vof.fill(room)
    total = vof.total_volume()
    assert total > 0.01
    for _ in range(30):
        vof.step(0.02)
    outside = np.abs(centroids(vof)).max(axis=1) > 0.25 + wall + 0.5 * EDGE
    assert vof.volume[outside].sum() + vof.drops["volume"].sum() <= 5e-3 * total


@pytest.mark.fast_cases("5.0-exact", "5.0-random")
@pytest.mark.parametrize("samples", ["random", "exact"])
@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_a_plate_that_moves_with_the_mesh_holds_what_is_before_it(rate: float, samples: Any) -> None:
    """Water at rest in a mesh that moves away from it: in the mesh it moves, and the plate is in the way there."""
    rest = lattice(EDGE, (8, 5, 5), 1, stir=0.1)

    def pose(t: float) -> ms.surface.Pose:
        return ms.surface.Pose((0.3 * np.sin(rate * t), 0.0, 0.0))

    mesh = ms.mesh.MovingTetMesh(rest, lambda t: pose(t).apply(rest.vertices))
    plate = ms.surface.KinematicSolid(ms.surface.Box((-0.02, -9.0, -9.0), (0.02, 9.0, 9.0)), pose)
    vof = TetVOF(mesh, plate, outside="wall", samples=samples, gravity=REST)
    right = (rest.vertices[rest.tets].mean(axis=1)[:, 0] > 0) & (vof.rank >= 0)
    vof.volume[:] = rounded(vof, np.where(right, 0.6 * vof.capacity, 0.0))
    total = vof.total_volume()
    for _ in range(20):
        vof.step(0.02)
    there = rest.vertices[rest.tets].mean(axis=1)[:, 0] < -0.02 - 0.5 * EDGE
    assert vof.total_volume() == total
    assert vof.volume[there].sum() <= 5e-4 * total
