"""Vortex sheets: first kick of a buoyant sphere, impulse, circulations through changes of the mesh, oscillations, and state."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from support.build import same_bits
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import VortexSheet

DATA = Path(os.environ.get("MENISCUS_TEST_DATA", "nowhere"))
BUOYANCY = np.array([0.3, -0.4, 1.2])


def sphere(level: int, radius: float = 1.0) -> ms.surface.TrackedSurface:
    return ms.surface.TrackedSurface(ms.mesh.icosphere(level, radius))


@pytest.mark.parametrize(("level", "bound"), [(3, 2.1e-3), (4, 5.2e-4)])
def test_first_kick_of_a_buoyant_sphere(level: int, bound: float) -> None:
    """Inside, the velocity is two thirds of the acceleration times the time; outside it is that of a dipole."""
    sheet = VortexSheet(sphere(level), BUOYANCY, accuracy=1e-7)
    sheet.add_buoyancy(0.1)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (400, 3))
    x = np.ascontiguousarray(x[np.linalg.norm(x, axis=1) < 0.6])
    kick = 0.1 * BUOYANCY
    assert np.abs(sheet.velocity(x) - 2 / 3 * kick).max() < bound * np.linalg.norm(kick)
    y = 3.0 * x / np.linalg.norm(x, axis=1)[:, None]
    dipole = (3 * (y @ kick)[:, None] * y / 9.0 - kick) / (3 * 27.0)
    assert np.abs(sheet.velocity(y) - dipole).max() < bound * np.linalg.norm(kick)


def bumpy() -> ms.mesh.TriangleMesh:
    ball = ms.mesh.icosphere(3)
    x = ball.vertices * (1 + 0.3 * np.sin(3 * ball.vertices[:, :1] + 1) * np.cos(4 * ball.vertices[:, 2:]))
    return ms.mesh.TriangleMesh(np.ascontiguousarray(x), ball.triangles)


@pytest.mark.parametrize("name", ["bumpy", "spot.obj", "rocker-arm.obj"])
def test_impulse_grows_by_that_of_buoyancy(name: str) -> None:
    if name == "bumpy":
        mesh = bumpy()
    elif (DATA / name).exists():
        mesh = ms.mesh.TriangleMesh.read(DATA / name)
    else:
        pytest.skip(f"{name} is not in MENISCUS_TEST_DATA")
    surface = ms.surface.TrackedSurface(mesh, safety=False)
    sheet = VortexSheet(surface, BUOYANCY)
    for _ in range(3):
        before = sheet.impulse()
        sheet.add_buoyancy(0.25)
        grown = sheet.impulse() - before
        exact = 0.25 * BUOYANCY * surface.volume()
        size = np.abs(surface.vertices).max() * surface.area()
        assert np.abs(grown - exact).max() < 1e-13 * max(np.linalg.norm(exact), size)
        assert np.abs(sheet.vorticity.sum(axis=0)).max() < 1e-13 * np.abs(sheet.vorticity).sum()


def test_vorticity_is_tangent_and_energy_is_that_of_the_dipole() -> None:
    sheet = VortexSheet(sphere(4), (0.0, 0.0, 1.0), accuracy=1e-6)
    sheet.add_buoyancy(1.0)
    corners = sheet.surface.vertices[sheet.surface.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.abs(np.einsum("ij,ij->i", normals, sheet.vorticity)).max() < 1e-15
    # Inside half the square of 2/3 times the volume; the dipole outside has half of that.
    assert sheet.energy() == pytest.approx(0.5 * (4 / 9) * 1.5 * 4 / 3 * np.pi, rel=0.01)


def halves(sheet: VortexSheet, edge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vorticity of the triangles at an edge."""
    t = sheet.surface.triangles
    at = (t == edge[0]).any(axis=1) & (t == edge[1]).any(axis=1)
    return t[at], sheet.vorticity[at]


def test_halves_of_a_split_triangle_have_half_of_its_vorticity() -> None:
    """With the vertex in the middle, as on a flat part."""
    surface = ms.surface.TrackedSurface(ms.mesh.icosphere(3), volume_change=1e9)
    sheet = VortexSheet(surface, (0, 0, 1.0))
    sheet.circulation[:] = np.random.default_rng(2).standard_normal(len(sheet.circulation))
    edge = surface.edges[17]
    rows, old = halves(sheet, edge)
    ends, _ = surface.apply("split", edge[None])
    assert ends[0] == 0
    fresh = len(surface.vertices) - 1
    middle = surface.vertices.copy()
    middle[fresh] = 0.5 * (middle[edge[0]] + middle[edge[1]])
    vorticity = sheet._vortices(middle)[0]
    all_new = [i for i, t in enumerate(surface.triangles) if fresh in t]
    assert np.abs(vorticity[all_new].sum(axis=0) - old.sum(axis=0)).max() < 1e-13
    # Of a potential without jumps each half has half.
    sheet.circulation[:] = 0.0
    sheet.add_buoyancy(1.0)
    edge = surface.edges[40]
    rows, old = halves(sheet, edge)
    ends, _ = surface.apply("split", edge[None])
    assert ends[0] == 0
    fresh = len(surface.vertices) - 1
    middle = surface.vertices.copy()
    middle[fresh] = 0.5 * (middle[edge[0]] + middle[edge[1]])
    vorticity = sheet._vortices(middle)[0]
    for row, whole in zip(rows, old, strict=True):
        (apex,) = set(row) - set(edge)
        for i, t in enumerate(surface.triangles):
            if {apex, fresh} <= set(t) and set(t) & set(edge):
                assert np.abs(vorticity[i] - 0.5 * whole).max() < 1e-14


def change_mesh(rule: str, count: int) -> float:
    """The change of the impulse of a sphere by random splits, flips and collapses, relative."""
    rng = np.random.default_rng(5)
    surface = ms.surface.TrackedSurface(ms.mesh.icosphere(4), volume_change=1e9)
    sheet = VortexSheet(surface, (0, 0, 1.0), rule=rule)  # type: ignore[arg-type]
    sheet.add_buoyancy(1.0)
    start, done = sheet.impulse(), 0
    while done < count:
        for kind in ("split", "flip", "collapse"):
            edges = surface.edges[rng.choice(len(surface.edges), 60, replace=False)]
            ends, _ = surface.apply(kind, edges)  # type: ignore[arg-type]
            done += int((ends == 0).sum())
            assert np.abs(sheet.vorticity.sum(axis=0)).max() < 1e-12
    return float(np.linalg.norm(sheet.impulse() - start) / np.linalg.norm(start))


def test_random_changes_of_the_mesh_keep_the_impulse() -> None:
    exact, printed = change_mesh("exact", 1000), change_mesh("printed", 1000)
    assert exact < 0.01
    assert printed > 3 * exact


def test_smoothing_keeps_a_linear_potential() -> None:
    """Circulations of g . x follow vertices that move within the surface."""
    rng = np.random.default_rng(3)
    ball = ms.mesh.icosphere(4)
    x = ball.vertices + 0.006 * rng.standard_normal(ball.vertices.shape)
    x /= np.linalg.norm(x, axis=1)[:, None]
    surface = ms.surface.TrackedSurface(ms.mesh.TriangleMesh(np.ascontiguousarray(x), ball.triangles))
    sheet = VortexSheet(surface, BUOYANCY)
    sheet.add_buoyancy(1.0)
    before = surface.vertices.copy()
    assert surface.smooth() > 100
    moved = np.abs(surface.vertices - before).max()
    edges = surface.edges
    exact = -(0.5 * (surface.vertices[edges[:, 0]] + surface.vertices[edges[:, 1]])) @ BUOYANCY
    stale = -(0.5 * (before[edges[:, 0]] + before[edges[:, 1]])) @ BUOYANCY
    assert np.abs(sheet.circulation - exact).max() < 0.1 * np.abs(stale - exact).max()
    assert moved > 0.002


def test_merging_parts_fit_their_constants() -> None:
    """A constant on one of two balls means nothing, before they merge and after it."""
    x = ms.mesh.icosphere(3, 0.5)
    apart = np.array([0.501, 0.0, 0.0])
    two = np.concatenate([x.vertices - apart, x.vertices + apart])
    mesh = ms.mesh.TriangleMesh(two, np.concatenate([x.triangles, x.triangles + len(x.vertices)]).astype(np.int32))
    results = []
    for constant in (0.0, 100.0):
        surface = ms.surface.TrackedSurface(mesh)
        sheet = VortexSheet(surface, (0, 0, 1.0))
        sheet.add_buoyancy(1.0)
        sheet.circulation[surface.edges[:, 0] >= len(x.vertices)] += constant
        parts = surface.mesh.check_watertight().components
        surface.improve()
        assert parts == 2
        assert surface.mesh.check_watertight().components == 1
        results.append(sheet.impulse())
        assert np.abs(sheet.vorticity.sum(axis=0)).max() < 1e-11
    exact = 2 * 4 / 3 * np.pi * 0.125
    assert results[0][2] == pytest.approx(exact, rel=0.02)
    assert np.abs(results[1] - results[0]).max() < 1e-9


def heavy_ball(level: int, mode: int, *, kernel: str, core: float, periods: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and amplitudes of a mode of a ball that is drawn to its centre."""
    ball = ms.mesh.icosphere(level)
    z = ball.vertices[:, 2]
    shape = np.polynomial.legendre.Legendre.basis(mode)
    x = np.ascontiguousarray(ball.vertices * (1 + 0.01 * shape(z))[:, None])
    surface = ms.surface.TrackedSurface(ms.mesh.TriangleMesh(x, ball.triangles))
    sheet = VortexSheet(
        surface,
        lambda p: -0.5 * (p**2).sum(axis=1),
        kernel,
        core,
        accuracy=1e-5,
        method="rk4",
        improve=False,  # type: ignore[arg-type]
    )
    period = 2 * np.pi / np.sqrt(mode * (mode + 1) / (2 * mode + 1))
    weights = shape(z) / (shape(z) ** 2).sum()
    times, amplitudes = [0.0], [0.01]
    for _ in range(steps):
        sheet.step(periods * period / steps)
        v = surface.vertices
        times.append(sheet.time / period)
        amplitudes.append(float(weights @ (np.linalg.norm(v, axis=1) - 1.0)))
    return np.array(times), np.array(amplitudes)


@pytest.mark.parametrize(("kernel", "core", "least", "most"), [("second-order", 0.75, -0.012, 0.003), ("mollified", 1.0, -0.12, -0.06)])
def test_heavy_ball_oscillates(kernel: str, core: float, least: float, most: float) -> None:
    """A quarter of a period of mode 2 at 1,280 triangles: the printed kernel is slow at first order."""
    times, amplitudes = heavy_ball(3, 2, kernel=kernel, core=core, periods=0.5, steps=10)
    i = int(np.argmax(amplitudes < 0))
    zero = times[i - 1] + (times[i] - times[i - 1]) * amplitudes[i - 1] / (amplitudes[i - 1] - amplitudes[i])
    assert least < 0.25 / zero - 1.0 < most


@pytest.mark.slow
@pytest.mark.parametrize("mode", [2, 4])
def test_two_periods_of_a_heavy_ball(mode: int) -> None:
    times, amplitudes = heavy_ball(4, mode, kernel="second-order", core=0.75, periods=2.0, steps=60)
    crossings = [
        times[i] + (times[i + 1] - times[i]) * amplitudes[i] / (amplitudes[i] - amplitudes[i + 1])
        for i in range(len(times) - 1)
        if amplitudes[i] * amplitudes[i + 1] < 0
    ]
    assert 0.5 * (len(crossings) - 1) / (crossings[-1] - crossings[0]) == pytest.approx(1.0, abs=0.005)
    assert np.abs(amplitudes[-5:]).max() == pytest.approx(0.01, rel=0.03)


def test_rising_sphere_and_state() -> None:
    """Half a step in, a sphere has moved by (2/3) a t^2 / 2; copies, pickles and restored snapshots go on with the same bits."""
    sheet = VortexSheet(sphere(3), (0.0, 0.0, 1.0), method="rk2")
    age = sheet.surface.carry(np.zeros(len(sheet.surface.vertices)))
    for _ in range(4):
        report = sheet.step(0.05)
    assert report.triangles == len(sheet.surface.triangles)
    assert sheet.time == pytest.approx(0.2)
    corners = sheet.surface.vertices[sheet.surface.triangles]
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6
    height = float((volumes * corners.mean(axis=1)[:, 2] * 0.75).sum() / volumes.sum())
    assert height == pytest.approx(2 / 3 * 0.5 * 0.04, rel=0.02)
    assert len(age.array) == len(sheet.surface.vertices)
    saved = sheet.snapshot()
    others = [sheet.copy(), pickle.loads(pickle.dumps(sheet))]
    sheet.step(0.05)
    for other in others:
        other.step(0.05)
        assert same_bits(other.surface.vertices, sheet.surface.vertices)
        assert same_bits(other.circulation, sheet.circulation)
    end = sheet.surface.vertices.copy()
    sheet.restore(saved)
    assert sheet.time == pytest.approx(0.2)
    sheet.step(0.05)
    assert same_bits(sheet.surface.vertices, end)


def test_errors_leave_the_last_step() -> None:
    calls = []

    def potential(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        if len(calls) > 6:
            raise ZeroDivisionError
        return x[:, 2]

    sheet = VortexSheet(sphere(2), potential)
    sheet.step(0.05)
    before, g = sheet.surface.vertices.copy(), sheet.circulation.copy()
    with pytest.raises(ZeroDivisionError):
        sheet.step(0.05)
    assert same_bits(before, sheet.surface.vertices)
    assert same_bits(g, sheet.circulation)
    assert sheet.time == pytest.approx(0.05)


@pytest.mark.usefixtures("default_parallelism")
def test_equal_bits() -> None:
    def run() -> np.ndarray:
        sheet = VortexSheet(sphere(2), (0.1, 0.2, 1.0))
        sheet.step(0.2)
        sheet.step(0.2)
        return np.concatenate([sheet.surface.vertices.ravel(), sheet.circulation])

    everywhere(run)


def test_emission() -> None:
    """What a source emits has no vorticity; it is refused where it would meet the sheet."""
    sheet = VortexSheet(sphere(2))
    sheet.add_buoyancy(0.5)
    impulse, energy = sheet.impulse(), sheet.energy()
    assert not sheet.emit(ms.mesh.icosphere(2, 0.5, (0.9, 0.0, 0.0)))
    assert sheet.emit(ms.mesh.icosphere(2, 0.5, (3.0, 0.0, 0.0)))
    assert len(sheet.circulation) == len(sheet.surface.edges)
    assert np.allclose(sheet.impulse(), impulse, rtol=1e-13)
    assert sheet.energy() == pytest.approx(energy, rel=1e-3)


def test_refusals() -> None:
    with pytest.raises(TypeError, match="surface"):
        VortexSheet(ms.mesh.icosphere(1))  # type: ignore[arg-type]
    flat = ms.mesh.cloth_mesh(4, 4)
    plane = ms.surface.TrackedSurface((np.pad(flat.vertices, ((0, 0), (0, 3 - flat.vertices.shape[1]))), flat.triangles))
    with pytest.raises(ValueError, match="surface must be closed, but 16 of its edges have one triangle"):
        VortexSheet(plane)
    with pytest.raises(ValueError, match="core"):
        VortexSheet(sphere(1), core=-1.0)
    with pytest.raises(ValueError, match=r"buoyancy must return an array of shape"):
        VortexSheet(sphere(1), lambda x: x).add_buoyancy(1.0)
