"""Emitters: their effect on cells, and its timing."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.fluids import Emitter, SmokeSolver
from meniscus.surface import Box, Pose, Sphere

N = 12
H = 1 / N


def solver(*emitters: Emitter, dimension: int = 2, dtype: Any = np.float64, periodic: Any = False, **options: Any) -> SmokeSolver:
    return SmokeSolver(ms.Grid((N,) * dimension, H, periodic=periodic), dtype=dtype, emitters=emitters, **options)


def ball(dimension: int, radius: float = 0.2, center: float = 0.5) -> Sphere:
    return Sphere((center,) * dimension, radius)


def inside(smoke: SmokeSolver, radius: float = 0.2, center: Any = 0.5) -> np.ndarray:
    x = np.meshgrid(*smoke.density.coordinates(), indexing="ij")
    c = np.broadcast_to(center, len(x))
    return np.sqrt(sum((a - m) ** 2 for a, m in zip(x, c, strict=True))) <= radius


def test_density_is_raised_and_temperature_set(dimension: int, dtype: type) -> None:
    smoke = solver(Emitter(region=ball(dimension), density=0.5, temperature=3.0), dimension=dimension, dtype=dtype)
    smoke.density.array[...] = np.random.default_rng(1).random(smoke.density.shape)
    smoke.temperature.array[...] = 7.0
    rho, cells = smoke.density.array.copy(), inside(smoke)
    smoke.emit(0.1)
    assert cells.any()
    assert same_bits(smoke.density.array, np.where(cells, np.maximum(rho, dtype(0.5)), rho))
    assert same_bits(smoke.temperature.array, np.where(cells, dtype(3.0), dtype(7.0)))


def test_rates_add_up_whatever_the_step(dimension: int, dtype: type) -> None:
    emitter = Emitter(region=ball(dimension), density_rate=2.0)
    one, many = (solver(emitter, dimension=dimension, dtype=dtype) for _ in range(2))
    one.emit(0.5)
    for _ in range(8):
        many.emit(0.0625)
    cells = inside(one)
    assert (one.density.array == np.where(cells, 1.0, 0.0)).all()
    assert same_bits(one.density.array, many.density.array)


def test_emitted_is_reported(dimension: int, dtype: type) -> None:
    smoke = solver(Emitter(region=ball(dimension), density_rate=2.0), dimension=dimension, dtype=dtype)
    report = smoke.step(0.25)
    assert report.emitted == pytest.approx(0.5 * inside(smoke).sum() * H**dimension, rel=1e-6)
    # The second step finds smoke there already: it adds the same again.
    assert smoke.step(0.25).emitted == pytest.approx(report.emitted, rel=1e-6)


def test_velocity_goes_to_the_faces_of_the_cells(dimension: int, dtype: type) -> None:
    given = (0.5, -0.25, 2.0)[:dimension]
    smoke = solver(Emitter(region=ball(dimension), velocity=given), dimension=dimension, dtype=dtype)
    smoke.emit(0.1)
    cells = inside(smoke)
    for d in range(dimension):
        faces = np.zeros(smoke.velocity.component(d).shape, bool)
        for end in (slice(None, -1), slice(1, None)):
            faces[tuple(end if k == d else slice(None) for k in range(dimension))] |= cells
        assert same_bits(smoke.velocity.component(d), np.where(faces, dtype(given[d]), dtype(0)))


@pytest.mark.parametrize("lower", [True, False])
def test_velocity_at_a_periodic_seam(lower: bool, dimension: int) -> None:
    """The first and the last face are one unknown: whichever of its two cells belongs to the emitter."""
    near, far = (0.0, 1.5 * H) if lower else (1 - 1.5 * H, 1.0)
    region = Box((near,) + (0.0,) * (dimension - 1), (far,) + (1.0,) * (dimension - 1))
    smoke = solver(Emitter(region=region, velocity=(3.0,) * dimension), dimension=dimension, periodic=True)
    smoke.emit(0.1)
    u = smoke.velocity.component(0)
    assert (u[0] == 3.0).all()
    assert (u[-1] == 3.0).all()
    kept = u.copy()
    smoke.velocity.fill_ghosts()
    assert same_bits(u, kept)


def test_timed() -> None:
    smoke = solver(Emitter(region=ball(2), density=1.0, start=0.25, end=0.5))
    amounts = [smoke.step(0.125).emitted for _ in range(6)]
    assert amounts[:2] == [0.0, 0.0]
    assert amounts[2] > 0
    assert amounts[4:] == [0.0, 0.0]
    emitter = Emitter(region=ball(2), start=0.25, end=0.5)
    assert [emitter.is_on(t) for t in (0.2, 0.25, 0.4, 0.5)] == [False, True, True, False]


def test_moving(dimension: int) -> None:
    """A region that moves is found anew at the beginning of every step."""

    def motion(t: float) -> Pose:
        return Pose((t,) + (0.0,) * (dimension - 1))

    smoke = solver(Emitter(region=ball(dimension, 0.15, 0.3), motion=motion, density=1.0), dimension=dimension)
    for t in (0.0, 0.2, 0.4):
        smoke.density.array[...] = 0.0
        smoke.time = t
        smoke.emit(0.1)
        assert (smoke.density.array == inside(smoke, 0.15, (0.3 + t,) + (0.3,) * (dimension - 1))).all()


def test_divergence_leaves_through_the_open_side(dimension: int, dtype: type) -> None:
    """The flux out is the volume of the region times the divergence, and the air nowhere else has a divergence."""
    side = "xyz"[dimension - 1] + "+"
    emitter = Emitter(region=ball(dimension), divergence=3.0)
    smoke = solver(emitter, dimension=dimension, dtype=dtype, boundary={side: ms.Open()})
    smoke.step(0.05)
    cells = inside(smoke)
    out = smoke.velocity.component(dimension - 1)[..., -1].sum(dtype=np.float64) * H ** (dimension - 1)
    assert out == pytest.approx(3.0 * cells.sum() * H**dimension, rel=1e-4)
    left = ms.fluids.divergence(smoke.velocity).array
    assert np.abs(left - 3.0 * cells).max() < 2e-3
    assert np.abs(left[cells] - 3.0).max() < 2e-3


def test_divergence_stops_with_the_emitter() -> None:
    emitter = Emitter(region=ball(2), divergence=3.0, end=0.1)
    smoke = solver(emitter, boundary={"y+": ms.Open()})
    smoke.step(0.06)
    smoke.step(0.06)
    assert ms.fluids.divergence(smoke.velocity).array.max() > 2.9
    smoke.step(0.06)
    assert np.abs(ms.fluids.divergence(smoke.velocity).array).max() < 1e-2


def test_several_work_in_their_order() -> None:
    cold, hot = (Emitter(region=ball(2), temperature=t, divergence=1.0) for t in (-1.0, 5.0))
    smoke = solver(cold, hot)
    smoke.emit(0.1)
    assert (smoke.temperature.array == np.where(inside(smoke), 5.0, 0.0)).all()


def test_errors() -> None:
    region = ball(2)
    cases: list[tuple[type[Exception], str, dict]] = [
        (TypeError, "region must be a Shape", {"region": "here"}),
        (TypeError, "density must be a number", {"density": "much"}),
        (ValueError, "temperature must be finite", {"temperature": math.nan}),
        (ValueError, "density_rate must be finite", {"density_rate": math.inf}),
        (ValueError, "velocity of an Emitter must hold 2 numbers", {"velocity": (1, 2, 3)}),
        (ValueError, "end must be after start, 1, not 1", {"start": 1.0, "end": 1.0}),
        (ValueError, "end must be finite", {"end": math.nan}),
    ]
    for kind, message, options in cases:
        with pytest.raises(kind, match=message):
            Emitter(**{"region": region, **options})
    with pytest.raises(ValueError, match="the region of an emitter must be 3-D, not 2-D"):
        solver(Emitter(region=region), dimension=3)
    with pytest.raises(TypeError, match="emitters must be a Emitter"):
        solver(region)  # type: ignore[arg-type]
