"""Wind, drag, loads and pressure: terminal velocities, resultants, and forces per area."""

import numpy as np
import pytest
from support.forces.meshes import herring_bone, sphere

from meniscus.solids import Drag, PointLoads, Pressure, WindDrag


def fall(force: WindDrag | Drag, x: np.ndarray, mass: np.ndarray, dt: float, steps: int) -> np.ndarray:
    """The velocities after falling from rest, with implicit drag."""
    v, x = np.zeros_like(x), x.copy()
    for step in range(steps):
        force.prepare(x, v, step * dt)
        blocks = mass[:, None, None] * np.eye(3) - dt * force.diagonal(x, 0.0, 1.0)
        rhs = mass[:, None] * v + dt * (force.forces(x) + mass[:, None] * [0, 0, -9.8])
        v = np.ascontiguousarray(np.linalg.solve(blocks, rhs[:, :, None])[:, :, 0])
        x += dt * v
    return v


def test_a_sheet_falls_at_its_terminal_velocity() -> None:
    x, t = herring_bone(3, 2)
    c = np.linspace(0.5, 0.6, len(x))
    # There are no springs: every vertex falls at m g / c, the same for all, so that the sheet stays level.
    mass = 0.4 * c
    v = fall(WindDrag(t, coefficient=c), x, mass, 0.05, 300)
    assert np.abs(v[:, 2] + 0.4 * 9.8).max() <= 1e-12
    assert np.abs(v[:, :2]).max() <= 1e-9
    v = fall(WindDrag(t, coefficient=c, quadratic=True), x, mass, 0.05, 300)
    assert np.abs(v[:, 2] + np.sqrt(0.4 * 9.8)).max() <= 1e-9
    # Rising air carries it.
    v = fall(WindDrag(t, coefficient=c, wind=(0, 0, 1.0)), x, mass, 0.05, 250)
    assert np.abs(v - [0, 0, 1.0 - 0.4 * 9.8]).max() <= 1e-9


def test_drag_without_a_direction() -> None:
    x, c = np.zeros((3, 3)), np.array([1.0, 2.0, 3.0])
    assert np.abs(fall(Drag(c, wind=(2.0, 0, 0)), x, c, 0.1, 400) - [2.0, 0, -9.8]).max() <= 1e-12
    v = fall(Drag(c, wind=(0, 0, 0.5), quadratic=True), x, c, 0.02, 2000)
    assert np.abs(v - [0, 0, 0.5 - np.sqrt(9.8)]).max() <= 1e-9
    force = Drag(2.0, nodes=2)
    force.set_wind(np.array([(1.0, 0, 0), (0, 1.0, 0)]))
    assert np.array_equal(force.forces(np.zeros((2, 3))), [(2.0, 0, 0), (0, 2.0, 0)])


def test_the_drag_of_a_surface_does_not_depend_on_how_finely_it_is_divided() -> None:
    n = np.array([0.6, 0.0, 0.8])
    turn = np.array([(0.8, 0, -0.6), (0, 1, 0), n]).T
    wind, v = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0, -1.0])
    for size in (1, 2, 5):
        x, t = herring_bone(2 * size, size)
        x = np.ascontiguousarray(x / size @ turn.T)
        for quadratic in (False, True):
            force = WindDrag(t, x, per_area=1.7, wind=wind, quadratic=quadratic)
            velocities = np.ascontiguousarray(np.broadcast_to(v, x.shape))
            force.prepare(x, velocities, 0.0)
            across = (wind - v) @ n
            expected = 1.7 * 2.0 * across * (abs(across) if quadratic else 1) * n
            total = (force.forces(x) + force.damping_forces(x, velocities)).sum(axis=0)
            assert np.abs(total - expected).max() <= 1e-12
    # Along the surface, wind does nothing.
    force.set_wind(np.cross(n, (1.0, 2, 3)))
    force.prepare(x, np.zeros_like(x), 0.0)
    assert np.abs(force.forces(x)).max() <= 1e-14


def test_wind_that_changes_in_space_and_time() -> None:
    x, t = herring_bone(2, 2)
    force = WindDrag(t, coefficient=2.0, wind=lambda p, time: np.stack([0 * p[:, 0], 0 * p[:, 0], p[:, 0] * time], axis=1))
    force.prepare(x, np.zeros_like(x), 3.0)
    assert np.abs(force.forces(x)[:, 2] - 2.0 * 3.0 * x[:, 0]).max() <= 1e-14
    force.set_wind((0.0, 0, 1.0))
    force.prepare(x, np.zeros_like(x), 4.0)
    assert np.abs(force.forces(x)[:, 2] - 2.0).max() <= 1e-14
    assert force.energy(x) == 0


def test_nodes_without_a_normal_feel_no_wind() -> None:
    x, t = herring_bone(2, 2)
    both_sides = np.concatenate([t, t[:, ::-1]])
    force = WindDrag(np.ascontiguousarray(both_sides), coefficient=2.0, wind=(1.0, 2.0, 3.0))
    v = np.ones_like(x)
    for answer in (force.forces(x), force.damping_forces(x, v), force.differentials(x, v)):
        assert not answer.any()


def test_loads_add_up_and_may_be_changed() -> None:
    loads = np.array([(1.0, 0, 0), (0, 2.0, 0), (0, 0, 3.0)])
    force = PointLoads(np.array([2, 0, 2], np.int32), loads)
    x = np.zeros((3, 3))
    assert np.array_equal(force.forces(x), [(0, 2.0, 0), (0, 0, 0), (1.0, 0, 3.0)])
    force.loads[1] = (5.0, 5.0, 5.0)
    assert np.array_equal(force.forces(x)[0], (5.0, 5.0, 5.0))
    assert np.array_equal(loads[1], (0, 2.0, 0))
    assert not force.damping_forces(x, np.ones_like(x)).any()


def test_pressure_pushes_outwards_and_knows_the_volume() -> None:
    x, t = sphere()
    far = x + np.array([100.0, -50.0, 3.0])
    force = Pressure(t, 2.0)
    volume = np.linalg.det(x[t]).sum() / 6
    assert force.volume(far) == pytest.approx(volume, rel=1e-12)
    f = force.forces(far)
    assert np.abs(f.sum(axis=0)).max() <= 1e-12
    assert ((f * x).sum(axis=1) > 0).all()
    # Growing by a factor 1 + e changes the volume by 3 e.
    assert (f * x).sum() == pytest.approx(2.0 * 3 * volume, rel=1e-12)
    force.pressure = -1.0
    assert np.array_equal(force.forces(far), -0.5 * f)
    sheet, s = herring_bone(3, 2)
    assert Pressure(s, 2.0).forces(sheet).sum(axis=0) == pytest.approx([0, 0, 2.0 * 6], abs=1e-14)
    assert Pressure(s, 2.0).energy(sheet) == 0


def test_what_external_forces_refuse() -> None:
    x, t = herring_bone(1, 1)
    for error, message, call in [
        (ValueError, "coefficient or per_area", lambda: WindDrag(t, x)),
        (ValueError, "coefficient must be finite and at least 0", lambda: WindDrag(t, coefficient=-1.0)),
        (ValueError, r"shape \(4, 3\)", lambda: WindDrag(t, coefficient=1.0, wind=np.zeros((3, 3)))),
        (ValueError, r"wind must be finite, but \[0, 1\] is nan", lambda: WindDrag(t, coefficient=1.0, wind=(0, np.nan, 0))),
        (ValueError, "number of nodes is not given", lambda: Drag(1.0)),
        (TypeError, "nodes must hold integers, not float64", lambda: PointLoads(np.array([0.0]), np.zeros((1, 3)))),
        (ValueError, "one load for each of the 1 nodes, not 2", lambda: PointLoads(np.array([0], np.int32), np.zeros((2, 3)))),
        (ValueError, r"loads must be finite, but \[0, 0\] is inf", lambda: PointLoads(np.array([0], np.int32), np.full((1, 3), np.inf))),
        (ValueError, "pressure must be finite", lambda: Pressure(t, np.nan)),
    ]:
        with pytest.raises(error, match=message):
            call()
