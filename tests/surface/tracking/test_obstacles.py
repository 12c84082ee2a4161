"""Obstacles of tracked surfaces: meshes, shapes, solids that move by themselves."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import TrackedSurface, TrackingOptions


def ball(level: int = 2, radius: float = 1.0, center: tuple[float, ...] = (0.0, 0.0, 0.0)) -> ms.mesh.TriangleMesh:
    return ms.mesh.icosphere(level, radius, center)


def test_obstacles_are_not_crossed_and_push() -> None:
    surface = TrackedSurface(ball(3), options=TrackingOptions(gaps=(0.0, 0.05)))
    wall = np.array([[1.2, -5, -5], [1.2, 5, -5], [1.2, 0, 7]], float), np.array([[0, 1, 2]], np.int32)
    place = surface.add_obstacle(wall)
    surface.move(np.asarray(surface.vertices) + np.array([0.4, 0, 0]), 0.1)
    assert surface.vertices[:, 0].max() < 1.2
    assert surface.vertices[:, 0].min() == pytest.approx(-0.6, abs=1e-12)
    ends = surface.obstacle_vertices
    ends[place] -= [0.3, 0, 0]
    surface.move_obstacles(ends)
    surface.move(np.asarray(surface.vertices), 0.1)
    assert np.array_equal(surface.obstacle_vertices, ends)
    assert surface.vertices[:, 0].max() < 0.9
    assert surface.audit().intersections == 0
    surface.improve()
    assert surface.audit().intersections == 0
    with pytest.raises(ValueError, match="the obstacle meets the surface at"):
        surface.add_obstacle(ball(1, 0.5, (0.8, 0, 0)))
    floor = surface.add_obstacle(ms.surface.Box((-2.0, -2.0, -1.8), (2.0, 2.0, -1.5)))
    assert floor.start == 3
    surface.move(np.asarray(surface.vertices) - np.array([0, 0, 0.8]), 0.1)
    assert surface.vertices[:, 2].min() > -1.52
    assert surface.audit().intersections == 0


def test_solids_as_obstacles_move_by_themselves() -> None:
    """A paddle that turns, and a mesh that breathes, push the surface out of their way; the volume stays."""
    from meniscus.surface import Box, KinematicSolid, Pose, SolidGroup, StoredSolid
    from meniscus.surface.tracking.meshes_of_shapes import shape_mesh

    def turn(time: float) -> Pose:
        c, s = np.cos(time), np.sin(time)
        return Pose((-1.4, 0.0, 0.0), ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))

    paddle = KinematicSolid(Box((-0.1, -2.0, -0.5), (0.1, 2.0, 0.5)), turn)
    seed = ball(2, 0.2)
    breathing = KinematicSolid.deforming(lambda t: np.asarray(seed.vertices) * (1 + t) + [1.35, 0, 0], seed.triangles)
    surface = TrackedSurface(ball(3), 0.15)
    rows = surface.add_obstacle(SolidGroup([paddle, breathing]))
    paddle_triangles = shape_mesh(paddle.shape, 0.15)[1]  # type: ignore[arg-type]
    assert rows == slice(0, len(surface.obstacle_vertices))
    for _ in range(20):
        surface.improve()
        surface.move(np.array(surface.vertices), 0.04)
        assert surface.audit().intersections == 0
    assert surface.time == pytest.approx(0.8)
    x = np.asarray(surface.vertices)
    blades = ms.surface.MeshDistance(surface.obstacle_vertices[: -len(seed.vertices)], paddle_triangles)
    assert blades.signed_distance(np.ascontiguousarray(x)).min() > 0
    # The edges of the paddle are as round as a mesh with these edges makes them.
    assert paddle.signed_distance(np.ascontiguousarray(x), 0.8).min() > -0.1 * 0.15
    assert np.linalg.norm(x - [1.35, 0, 0], axis=1).min() > 0.2 * 1.8 - 0.01
    at_end = surface.obstacle_vertices[-len(seed.vertices) :]
    assert np.array_equal(at_end, np.asarray(seed.vertices) * (1 + surface.time) + [1.35, 0, 0])
    still = KinematicSolid(ball(1, 0.1))
    place = surface.add_obstacle(KinematicSolid(still.shape, lambda t: (0.0, 0.0, 3.0 + t)))
    assert surface.obstacle_vertices[place][:, 2].mean() == pytest.approx(3.0 + surface.time)
    with pytest.raises(TypeError, match="an obstacle must be a mesh, a shape or a level set"):
        surface.add_obstacle(KinematicSolid(lambda points: points[:, 0], dimension=3))
    grid = ms.grid.Grid((8, 8, 8), 0.5)
    frames = [ms.surface.LevelSet.from_shape(grid, ms.surface.Sphere((2.0, 2.0, 2.0), 0.6))] * 2
    stored = StoredSolid([0.0, 1.0], frames, [ms.grid.MacField(grid)] * 2)
    with pytest.raises(TypeError, match="a StoredSolid has no mesh that moves along"):
        surface.add_obstacle(stored)


def test_a_group_is_added_as_a_whole_or_not_at_all() -> None:
    from meniscus.surface import KinematicSolid, SolidGroup

    apart, across = (KinematicSolid(ball(1, 0.3), lambda t, x=x: (x + t, 0.0, 0.0)) for x in (3.0, 1.0))
    surface = TrackedSurface(ball(2))
    with pytest.raises(ValueError, match="the obstacle meets the surface at"):
        surface.add_obstacle(SolidGroup([apart, across]))
    assert len(surface.obstacle_vertices) == 0
    surface.move(np.array(surface.vertices), 0.1)
    assert len(surface.obstacle_vertices) == 0
    surface.add_obstacle(SolidGroup([apart, KinematicSolid(ball(1, 0.3), lambda t: (-3.0 - t, 0.0, 0.0))]))
    surface.move(np.array(surface.vertices), 0.1)
    x = surface.obstacle_vertices.reshape(2, -1, 3).mean(axis=1)[:, 0]
    assert x == pytest.approx([3.2, -3.2])
