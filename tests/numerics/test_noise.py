"""Fractal noise: gradients, smoothness, range, time and octaves."""

from typing import Any

import numpy as np
import pytest
from support.build import same_bits

from meniscus.numerics import FractalNoise


def points_in(dimension: int, n: int, rng: np.random.Generator, size: float = 40.0) -> np.ndarray:
    return size * (rng.random((n, dimension)) - 0.5)


@pytest.mark.parametrize("noise", [FractalNoise(3), FractalNoise(4, 0.7, 0.3), FractalNoise(5, 2.0, 0.1, 4, 0.6, 1.9)])
def test_gradient_against_finite_differences(noise: FractalNoise, dimension: int, rng: np.random.Generator) -> None:
    x = points_in(dimension, 500, rng)
    values, gradients = noise.with_gradient(x, 0.4)
    assert values.shape == (500,)
    assert gradients.shape == (500, dimension)
    assert same_bits(noise(x, 0.4), values)
    h = 1e-4 * noise.wavelength / noise.lacunarity ** (noise.octaves - 1)
    scale = np.abs(gradients).max()
    for d in range(dimension):
        e = np.zeros(dimension)
        e[d] = h
        # Fourth order: the error is far below 1e-6 inside lattice cells, and the third derivative is bounded across their sides.
        slope = (8 * (noise(x + e, 0.4) - noise(x - e, 0.4)) - noise(x + 2 * e, 0.4) + noise(x - 2 * e, 0.4)) / (12 * h)
        assert np.abs(slope - gradients[:, d]).max() < 1e-6 * scale


def test_value_and_gradient_are_continuous_across_lattice_planes(dimension: int, rng: np.random.Generator) -> None:
    noise = FractalNoise(8, 0.5, 0.2, 2)
    for d in range(dimension):
        x = points_in(dimension, 400, rng)
        x[:, d] = 0.5 * np.round(x[:, d] / 0.5)
        step = np.zeros(dimension)
        step[d] = 1e-9
        (v0, g0), (v1, g1) = noise.with_gradient(x - step, 1.0), noise.with_gradient(x + step, 1.0)
        assert np.abs(v1 - v0).max() < 1e-6
        assert np.abs(g1 - g0).max() < 1e-6
        (_, gm), (_, gp) = noise.with_gradient(x - 1e5 * step, 1.0), noise.with_gradient(x + 1e5 * step, 1.0)
        assert np.abs(gp - gm).max() > 1e-5  # the same comparison does see a change


def test_range_and_mean(dimension: int, rng: np.random.Generator) -> None:
    values = FractalNoise(1)(points_in(dimension, 200_000, rng, 400.0))
    assert np.abs(values).max() <= 1.0
    assert values.min() < -0.5
    assert values.max() > 0.5
    assert abs(values.mean()) < 0.02
    assert 0.1 < values.std() < 0.5


def test_zero_at_lattice_points(dimension: int) -> None:
    x = 0.25 * np.stack(np.meshgrid(*[np.arange(-3.0, 4.0)] * dimension), -1).reshape(-1, dimension)
    values, gradients = FractalNoise(2, 0.25, 0.5).with_gradient(x, 3.3)
    np.testing.assert_allclose(values, 0, atol=1e-14)
    lengths = np.linalg.norm(gradients, axis=1)
    np.testing.assert_allclose(lengths, 2 / np.sqrt(dimension) / 0.25, rtol=1e-12)


def test_octaves_add_up(dimension: int, rng: np.random.Generator) -> None:
    x = points_in(dimension, 300, rng)
    whole = FractalNoise(11, 2.0, 0.3, 3, 0.4, 1.7)
    parts = [FractalNoise(11 + o, 2.0 / 1.7**o, 0.3 * 1.7**o) for o in range(3)]
    expected = [sum(0.4**o * p.with_gradient(x, 0.9)[i] for o, p in enumerate(parts)) for i in (0, 1)]
    value, gradient = whole.with_gradient(x, 0.9)
    np.testing.assert_allclose(value, expected[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(gradient, expected[1], rtol=0, atol=1e-12)


def test_time(dimension: int, rng: np.random.Generator) -> None:
    x = points_in(dimension, 300, rng)
    turning, still = FractalNoise(6, rate=0.25), FractalNoise(6)
    assert same_bits(still(x, 5.0), still(x, 0.0))
    np.testing.assert_allclose(turning(x, 0.0), still(x), atol=1e-14)
    assert np.abs(turning(x, 0.5) - turning(x, 0.0)).max() > 0.1
    np.testing.assert_allclose(turning(x, 4.0), turning(x, 0.0), atol=1e-13)  # one full turn
    np.testing.assert_allclose(turning(x, 2.0), -turning(x, 0.0), atol=1e-13)  # half a turn
    a, b, c = (turning(x, t) for t in (1.0, 1.0 + 1e-4, 1.0 + 2e-4))
    assert np.abs(c - 2 * b + a).max() < 1e-7  # smooth in time


def test_seeds_and_scale(dimension: int, rng: np.random.Generator) -> None:
    x = points_in(dimension, 1000, rng)
    a, b = FractalNoise(1)(x), FractalNoise(2)(x)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.15
    assert same_bits(FractalNoise(1)(x), a)
    np.testing.assert_allclose(FractalNoise(1, wavelength=4.0)(4.0 * x), a, atol=1e-14)
    assert same_bits(FractalNoise(1)(x[::-1].copy()), a[::-1])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"seed": 2**64}, ValueError, "seed must be below"),
        ({"seed": 0.5}, TypeError, "seed must be an integer"),
        ({"wavelength": 0.0}, ValueError, "wavelength must be positive"),
        ({"wavelength": np.nan}, ValueError, "wavelength must be finite"),
        ({"rate": np.inf}, ValueError, "rate must be finite"),
        ({"octaves": 0}, ValueError, "octaves must be at least 1"),
        ({"octaves": 33}, ValueError, "octaves must be below 33"),
        ({"octaves": 2.0}, TypeError, "octaves must be an integer"),
        ({"gain": np.nan}, ValueError, "gain must be finite"),
        ({"lacunarity": -1.0}, ValueError, "lacunarity must be positive"),
    ],
)
def test_bad_parameters(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        FractalNoise(**arguments)


def test_bad_points() -> None:
    noise = FractalNoise()
    for points in ([[0.0, 0.0]], np.zeros(3), np.zeros((3, 1)), np.zeros((3, 4))):
        with pytest.raises(ValueError, match="points must be a NumPy array of shape"):
            noise(points)
    with pytest.raises(TypeError, match="points must be of dtype float64"):
        noise(np.zeros((3, 2), np.float32))
    with pytest.raises(TypeError, match="points must be C-contiguous"):
        noise(np.zeros((2, 3)).T)
    with pytest.raises(ValueError, match=r"points must be finite, but \[1, 0\] is nan"):
        noise(np.array([[0.0, 0.0], [np.nan, 0.0]]))
    with pytest.raises(ValueError, match="time must be finite"):
        noise(np.zeros((3, 2)), np.nan)
    assert noise(np.zeros((0, 2))).shape == (0,)
