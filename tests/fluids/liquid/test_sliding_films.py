"""Films on frictionless slopes move as bodies do: walls do not slow them, nor does the drift correction hold them in place."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import HalfSpace, LevelSet

G = 9.81


class Film:
    """A film on a plane slope, with ends across it; thickness and the `offset` of the plane along x in cells, `half` of its length in m.

    In three dimensions it is periodic across the slope.
    """

    def __init__(
        self,
        cells: int,
        thickness: float,
        degrees: float,
        dimension: int,
        *,
        side: int = 1,
        offset: float = 0.0,
        half: float = 0.2,
        falls: bool = True,
        **options: bool,
    ) -> None:
        self.spacing, self.angle = 1 / cells, np.deg2rad(degrees)
        self.normal, self.along, self.corner = np.zeros((3, dimension))
        self.normal[[0, -1]] = side * np.sin(self.angle), np.cos(self.angle)
        self.along[[0, -1]] = np.cos(self.angle) * side, -np.sin(self.angle)
        self.corner[[0, -1]] = 0.5 + offset * self.spacing, 0.45
        shape = (cells, cells) if dimension == 2 else (cells, 4, cells)
        self.grid = ms.Grid(shape, self.spacing, periodic=(False, False) if dimension == 2 else (False, True, False))
        gravity = None if falls else (0.0,) * dimension
        self.solver = LiquidSolver(
            self.grid, LiquidOptions(gravity=gravity, **options), solid=HalfSpace(tuple(self.corner), tuple(self.normal))
        )
        height = thickness * self.spacing

        def distance(*x: np.ndarray) -> np.ndarray:
            return np.maximum(self.over(x, self.normal) - height, np.abs(self.over(x, self.along)) - half)

        self.solver.fill(LevelSet.from_function(self.grid, distance, "cells"), None if falls else tuple(self.along))

    def over(self, x: tuple[np.ndarray, ...], direction: np.ndarray) -> np.ndarray:
        """How far points lie in a direction from the middle of the slope, m."""
        return sum((c - p) * d for c, p, d in zip(x, self.corner, direction, strict=True))

    def inside(self) -> np.ndarray:
        """Points of the liquid, of those that lie eight to a cell along each axis, or four in three dimensions."""
        fine = 8 if len(self.corner) == 2 else 4
        axes = [(np.arange(n * fine) + 0.5) * self.spacing / fine for n in self.grid.shape]
        points = np.stack([x.ravel() for x in np.meshgrid(*axes, indexing="ij")], 1)
        points = points[(points - self.corner) @ self.normal > 0]
        return np.ascontiguousarray(points[self.solver.levelset.sample(points) < 0])

    def place_and_speed(self) -> tuple[float, float]:
        """Mean place and velocity of the liquid along the slope, m and m/s."""
        points = self.inside()
        speed = ms.grid.sample(self.solver.velocity, points) @ self.along
        return float(((points - self.corner) @ self.along).mean()), float(speed.mean())

    def slide(self, seconds: float) -> tuple[float, float]:
        """Way and speed after some time, over g sin(a) t^2 / 2 and g sin(a) t."""
        start, _ = self.place_and_speed()
        while self.solver.time < seconds - 1e-9:
            self.solver.step(0.0025)
        place, speed = self.place_and_speed()
        pull, time = G * np.sin(self.angle), self.solver.time
        return (place - start) / (0.5 * pull * time**2), speed / (pull * time)


@pytest.mark.parametrize("offset", [0.0, 0.37])
@pytest.mark.parametrize("thickness", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("degrees", [10, 23, 33, 45, 60])
@pytest.mark.fast_cases("2d-*", "3d-45-0.6-0.37", "3d-33-1.0-0.0")
def test_walls_do_not_slow_what_slides(dimension: int, degrees: int, thickness: float, offset: float) -> None:
    """Without gravity, at 1 m/s for ten steps of a quarter of a cell; mean of the faces in the middle. With the velocity of the wall in the
    wall, films of a cell on slopes of 33 to 60 degrees lose 0.07 to 0.09 m/s and those of 0.6 cells 0.2 to 0.7 m/s. Ends of films thinner
    than half a cell stick.
    """
    film = Film(32 if dimension == 2 else 24, thickness, degrees, dimension, offset=offset, half=0.3, falls=False)
    for _ in range(10):
        film.solver.step(0.25 * film.spacing)
    errors = []
    for axis, wet in enumerate(film.solver.faces.liquid(film.solver.levelset)):
        places = [(np.arange(n) + (0.0 if d == axis else 0.5)) * film.spacing for d, n in enumerate(wet.shape)]
        x = tuple(np.meshgrid(*places, indexing="ij"))
        middle = wet & (film.over(x, film.normal) > 0) & (np.abs(film.over(x, film.along)) < 0.08)
        assert middle.any()
        errors.append(np.abs(film.solver.velocity.component(axis)[middle] - film.along[axis]))
    mean = float(np.concatenate(errors).mean())
    print(f"{degrees} degrees, {thickness} cells, offset {offset}: {mean:.4f}")
    assert mean < (0.035 if thickness >= 1 else 0.15)


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "side"), [(10, 1), (23, 1), (23, -1), (33, 1), (45, -1), (60, 1)])
@pytest.mark.parametrize("thickness", [0.6, 1.0, 1.3, 2.0])
def test_films_slide(thickness: float, degrees: int, side: int, request: pytest.FixtureRequest) -> None:
    """To 0.2 s. Where the steps of the wall are long, waves of their length slow the film; ends of thin films are thinner than a level
    set holds, so that their middle is read too far ahead.
    """
    if (thickness, degrees) == (0.6, 33):
        request.applymarker(pytest.mark.xfail(strict=True, reason="a way of 0.68: its ends stay behind"))
    way, speed = Film(64, thickness, degrees, 2, side=side).slide(0.2)
    print(f"{thickness} cells, {degrees} degrees, side {side}: way {way:.3f}, speed {speed:.3f} of the exact ones")
    assert (0.82 if thickness >= 1 else 0.65) < speed < 1.06
    assert (0.8 if thickness >= 1 else 0.7) < way < 1.35


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "side"), [(23, 1), (45, -1), (10, 1), (33, 1)])
@pytest.mark.parametrize("thickness", [1.0, 1.3])
def test_the_correction_of_drift_holds_no_film(thickness: float, degrees: float, side: int, request: pytest.FixtureRequest) -> None:
    """It slides as far as without, but for what the volume that it restores lies behind the middle."""
    if (thickness, degrees) in ((1.0, 33), (1.3, 10)):
        held = "0.91 and 0.85 of the way without, which is 0.95 and 1.07 of the exact one"
        request.applymarker(pytest.mark.xfail(strict=True, reason=held))
    with_it, without = (Film(64, thickness, degrees, 2, side=side, drift_correction=on).slide(0.15)[0] for on in (True, False))
    assert with_it > 0.93 * without


@pytest.mark.slow
@pytest.mark.parametrize("degrees", [23, 33])
def test_films_slide_in_three_dimensions(degrees: int) -> None:
    way, speed = Film(32, 1.0, degrees, 3).slide(0.15)
    print(f"3-D, {degrees} degrees: way {way:.3f}, speed {speed:.3f} of the exact ones")
    assert 0.9 < speed < 1.05
    assert 0.85 < way < 1.25
