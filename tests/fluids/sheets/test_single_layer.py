"""Single layers: flow around spheres and spheroids, added mass, iterations, several solids, and sheets beside them."""

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import SingleLayer, VortexSheet


def ellipsoid(level: int, axes: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> ms.mesh.TriangleMesh:
    ball = ms.mesh.icosphere(level)
    return ms.mesh.TriangleMesh(np.ascontiguousarray(ball.vertices * axes), ball.triangles)


@pytest.mark.parametrize("level", [2, 3, 4])
def test_iterations_on_a_sphere(level: int) -> None:
    layer = SingleLayer(ellipsoid(level))
    info = layer.solve(np.ascontiguousarray(layer.normals[:, 2]))
    assert info.iterations <= 5
    assert info.residual <= 1e-7


def test_flow_of_a_moving_sphere_converges_at_second_order() -> None:
    """Far from it, the flow is that of a dipole; sources have the density 3/2 cos."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3))
    x *= (1.5 + rng.random(200))[:, None] / np.linalg.norm(x, axis=1)[:, None]
    r = np.linalg.norm(x, axis=1)[:, None]
    exact = (3 * x[:, 2:] * x / r**2 - [0, 0, 1]) / (2 * r**3)
    errors = []
    for level in (2, 3, 4):
        layer = SingleLayer(ellipsoid(level))
        layer.solve(np.ascontiguousarray(layer.normals[:, 2]))
        errors.append(np.abs(layer.velocity(x) - exact).max())
    assert errors[2] < 2e-3
    assert errors[0] / errors[1] > 3.5
    assert errors[1] / errors[2] > 3.5


def test_added_mass_of_sphere_and_spheroid() -> None:
    mesh = ellipsoid(4)
    mass = SingleLayer(mesh).added_mass()
    volume = 4 / 3 * np.pi * 0.99785
    assert np.diag(mass) / volume == pytest.approx(0.5, rel=1.2e-3)
    assert np.abs(mass - np.diag(np.diag(mass))).max() < 1e-6
    spheroid = np.diag(SingleLayer(ellipsoid(4, (2.0, 1.0, 1.0))).added_mass()) / (2 * volume)
    assert spheroid[0] == pytest.approx(0.2100, rel=3e-3)
    assert spheroid[1:] == pytest.approx(0.7042, rel=3e-3)


def test_normal_flow_at_the_centres_and_beside_the_solid() -> None:
    layer = SingleLayer(ellipsoid(4))
    wind = np.array([0.0, 0.6, 0.8])
    layer.solve(-layer.normals @ wind)
    assert np.abs(layer.normal_velocity() + layer.normals @ wind).max() < 1e-6
    edge = np.sqrt(4 / np.sqrt(3) * layer.areas.mean())
    points = layer.centres + 0.5 * edge * layer.normals
    r = np.linalg.norm(points, axis=1)[:, None]
    exact = wind - (3 * (points @ wind)[:, None] * points / r**2 - wind) / (2 * r**3)
    assert np.abs(layer.velocity(points) + wind - exact).max() < 0.005


def test_two_solids_and_their_flux() -> None:
    one = ellipsoid(3)
    both = ms.mesh.TriangleMesh(
        np.concatenate([one.vertices, 0.5 * one.vertices + [1.8, 0, 0]]),
        np.concatenate([one.triangles, one.triangles + len(one.vertices)]).astype(np.int32),
    )
    layer = SingleLayer(both)
    f = np.ascontiguousarray(-layer.normals[:, 0])
    assert layer.solve(f).iterations <= 8
    assert abs((layer.density * layer.areas).sum() + f @ layer.areas) < 1e-6  # flux, by Gauss


def test_state_and_refusals() -> None:
    layer = SingleLayer(ellipsoid(2))
    layer.solve(np.ascontiguousarray(layer.normals[:, 0]))
    again = pickle.loads(pickle.dumps(layer))
    again.solve(np.ascontiguousarray(layer.normals[:, 0]))
    assert np.array_equal(layer.density, again.density)
    mesh = ellipsoid(1)
    with pytest.raises(ValueError, match="part 0 of mesh is turned inside out"):
        SingleLayer((mesh.vertices, np.ascontiguousarray(mesh.triangles[:, ::-1])))
    with pytest.raises(ValueError, match="mesh must be closed, but 3 of its edges have one triangle"):
        SingleLayer((mesh.vertices, mesh.triangles[1:]))
    with pytest.raises(ValueError, match="normal_velocity must have shape"):
        layer.solve(np.zeros(3))
    x = mesh.vertices.copy()
    x[0, 0] = np.nan
    with pytest.raises(ValueError, match="mesh"):
        SingleLayer((x, mesh.triangles))


def test_a_sheet_rises_around_a_sphere() -> None:
    """Smoke is never in the solid; a solid is not where the sheet begins."""
    sheet = VortexSheet(ms.surface.TrackedSurface(ms.mesh.icosphere(2, 0.4, (0.1, 0.0, -0.75))), (0.0, 0.0, 1.0), accuracy=1e-3)
    solid = ms.mesh.icosphere(2, 0.3)
    sheet.add_solid(solid)
    for _ in range(6):
        sheet.step(0.15)
        inside = np.abs(ms.collision.winding_number(solid, points=sheet.surface.vertices.copy())) > 0.5
        assert not inside.any()
        assert sheet.surface.audit().intersections == 0
    assert sheet.surface.vertices[:, 2].max() > -0.25
    with pytest.raises(ValueError, match="must begin outside of solids"):
        sheet.add_solid(ms.mesh.icosphere(1, 5.0))
