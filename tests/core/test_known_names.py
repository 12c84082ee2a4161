"""Attributes that objects do not have: refused from outside, with what was meant."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus import fluids, solids, surface

GRID = ms.Grid((6, 6, 6), 1 / 6)
BALL = ms.mesh.icosphere(1, 0.2, (0.5, 0.5, 0.5))
THINGS = [
    solids.RigidBody(BALL),
    solids.DeformableBody(ms.mesh.cloth_mesh(3, 3), density=0.2),
    solids.PositionBody(ms.mesh.cloth_mesh(3, 3), density=0.2),
    solids.World(),
    solids.RigidSystem(),
    fluids.SmokeSolver(GRID),
    fluids.LiquidSolver(GRID),
    fluids.ParticleLiquidSolver(GRID),
    ms.CellField(GRID),
    ms.MacField(GRID),
    BALL,
    surface.LevelSet(GRID),
    surface.MeshDistance(BALL),
    surface.TrackedSurface(BALL),
    surface.KinematicSolid(surface.Sphere((0, 0, 0), 1)),
    ms.collision.CollisionMesh(BALL),
    ms.io.Table(),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_what_is_misspelt_is_not_taken(thing: Any) -> None:
    with pytest.raises(AttributeError, match=f"{type(thing).__name__!r} object has no attribute 'positon'"):
        thing.positon = 1.0
    assert "positon" not in vars(thing)
    with pytest.raises(AttributeError, match="object has no attribute 'vertexes'"):
        thing.vertexes  # noqa: B018
    assert not hasattr(thing, "_nothing_of_the_kind")
    thing._of_my_own = 1


@pytest.mark.parametrize(
    ("thing", "name", "sentence"),
    [
        (THINGS[0], "position", "'position'; it is called 'center' here"),
        (BALL, "verts", "'verts'; it is called 'vertices' here"),
        (THINGS[6], "sources", r"'sources'; give it when the object is made: LiquidSolver\(..., sources=...\)"),
        (THINGS[5], "densty", "'densty'; did you mean 'density'?"),
        (THINGS[3], "simulate", "'simulate'; it is called 'advance' here"),
    ],
)
def test_what_was_meant(thing: Any, name: str, sentence: str) -> None:
    with pytest.raises(AttributeError, match=sentence):
        setattr(thing, name, 1.0)
    if name != "sources":
        with pytest.raises(AttributeError, match=sentence):
            getattr(thing, name)


def test_fields_keep_their_memory_and_options_are_given_once() -> None:
    smoke = fluids.SmokeSolver(GRID)
    with pytest.raises(TypeError, match=r"'density' of a SmokeSolver is a CellField; set its values: .density.array\[...\]"):
        smoke.density = np.ones(GRID.shape)
    with pytest.raises(TypeError, match=r"'velocity' of a SmokeSolver is a MacField; set its values: .velocity.u\[...\]"):
        smoke.velocity = np.ones(3)
    smoke.density[...] = 0.5
    smoke.density[0, 0, 0] = 1.5
    assert smoke.density.max() == 1.5
    assert smoke.density[1].shape == (6, 6)
    with pytest.raises(ValueError, match="value must be finite"):
        smoke.density[0] = np.nan
    smoke.step(0.01)
    for liquid in (THINGS[6], THINGS[7]):
        with pytest.raises(AttributeError, match=f"'options' is given when a {type(liquid).__name__} is made"):
            liquid.options = liquid.options


def test_classes_of_users_and_known_names_are_free() -> None:
    class Mine(fluids.SmokeSolver):
        def __init__(self, grid: ms.Grid) -> None:
            super().__init__(grid)
            self.counter = 0

    mine = Mine(GRID)
    mine.counter += 1
    mine.remark = "free"
    body = solids.RigidBody(BALL)
    body.gravity = (0, 0, -1.0)
    body.center = (1.0, 2.0, 3.0)
    for twin in (copy.deepcopy(body), pickle.loads(pickle.dumps(body))):
        assert twin.center.tolist() == [1.0, 2.0, 3.0]


def test_names_at_the_top_say_where_they_are() -> None:
    for name, room in (("SmokeSolver", "fluids"), ("World", "solids"), ("TriangleMesh", "mesh"), ("LevelSet", "surface")):
        with pytest.raises(AttributeError, match=f"module 'meniscus' has no attribute '{name}'; it is meniscus.{room}.{name}"):
            getattr(ms, name)
    with pytest.raises(AttributeError, match=r"module 'meniscus' has no attribute 'nothing'$"):
        ms.nothing  # noqa: B018


def test_names_of_other_libraries() -> None:
    """Faces of trimesh, mass of a body, meshes as water and as solids, a mesh from a level set."""
    assert BALL.faces is BALL.triangles
    assert solids.RigidBody(BALL, mass=2.0).properties.mass == 2.0
    assert solids.RigidBody.box((1, 1, 1), mass=3.0).properties.inertia[0, 0] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="a density or a mass, not both"):
        solids.RigidBody(BALL, mass=2.0, density=1.0)
    grid = ms.Grid((24, 24, 24), 1 / 24)
    ball = ms.mesh.icosphere(3, 0.2, (0.5, 0.5, 0.5))
    liquid = fluids.LiquidSolver(grid)
    liquid.fill(ball)
    assert liquid.levelset.volume() == pytest.approx(surface.LevelSet.from_mesh(grid, ball, location="cells").volume(), rel=1e-4)
    exact = fluids.SmokeSolver(grid, solid=surface.Sphere((0.5, 0.5, 0.5), 0.2))
    given = fluids.SmokeSolver(grid, solid=ball)
    for smoke in (exact, given):
        smoke.velocity.u[...] = 0.1
        smoke.step(0.02)
    assert np.abs(exact.velocity.u - given.velocity.u).max() < 5e-3
    mesh = surface.LevelSet.from_mesh(grid, ball).to_mesh()
    vertices, triangles = mesh
    assert mesh.vertices is vertices
    assert mesh.triangles is mesh.faces is triangles
    assert ms.mesh.TriangleMesh(mesh).check_watertight().watertight
    flat = surface.LevelSet.from_shape(ms.Grid((16, 16), 1 / 16), surface.Sphere((0.5, 0.5), 0.2)).to_mesh()
    assert flat.elements.shape[1] == 2
    with pytest.raises(AttributeError, match="has segments, no triangles"):
        flat.triangles  # noqa: B018


def test_a_property_that_fails_tells_why() -> None:
    class Broken(fluids.SmokeSolver):
        @property
        def total(self) -> float:
            return float(self.density.arrray.sum())

    with pytest.raises(AttributeError, match=r"'CellField' object has no attribute 'arrray'; did you mean 'array'\?"):
        Broken(GRID).total  # noqa: B018


def test_what_does_nothing_is_said() -> None:
    far = surface.Box((10.0, 10.0, 10.0), (11.0, 11.0, 11.0))
    for liquid in (fluids.LiquidSolver(GRID), fluids.ParticleLiquidSolver(GRID)):
        with pytest.warns(ms.core.SolverWarning, match="the region adds nothing"):
            liquid.fill(far)
    hot = fluids.Emitter(surface.Sphere((0.5, 0.5, 0.5), 0.2), density=1.0, temperature=300.0)
    with pytest.warns(ms.core.SolverWarning, match="heat has no lift"):
        fluids.SmokeSolver(GRID, emitters=[hot])


def test_a_level_set_far_away_is_far_away() -> None:
    """Beyond the domain, where the mirrored samples said that a point 2.2 m away was inside."""
    grid = ms.Grid((32, 32, 32), 0.1, origin=(-1.6, -1.6, -1.6))
    ball = surface.LevelSet.from_shape(grid, surface.Sphere((0.0, 0.0, 0.0), 1.0))
    points = np.array([[1.5, 0.0, 0.0], [2.0, 0.0, 0.0], [-3.2, 0.0, 0.0], [2.5, 2.5, 0.0]])
    exact = np.linalg.norm(points, axis=1) - 1.0
    found = ball.sample(points)
    assert found[:3] == pytest.approx(exact[:3], abs=1e-3)
    assert exact[3] - 1e-3 < found[3] < exact[3] + 0.1
    assert np.array_equal(grid.nearest(points)[1], [1.6, 0.0, 0.0])
    around = ms.Grid((8, 8, 8), 0.25, periodic=(True, False, False))
    assert np.array_equal(around.nearest(np.array([[5.0, 5.0, -1.0]])), [[5.0, 2.0, 0.0]])
