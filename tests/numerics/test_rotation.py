"""Rotations of matrices: closeness, symmetry, and cases where the rotation is not unique."""

import numpy as np
import pytest
from support.build import same_bits
from support.variants import slow_but

import meniscus as ms
from meniscus.numerics import polar_rotation, svd3

IDENTITY = np.eye(3)


def random_rotations(n: int, rng: np.random.Generator) -> np.ndarray:
    """Rotations of uniformly random axis and angle distribution."""
    q = rng.normal(size=(n, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1)[:, None]).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.ascontiguousarray(np.moveaxis(np.array(rows), 2, 0))


def with_singular_values(s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Matrices u diag(s) v^T with random rotations."""
    u, v = random_rotations(len(s), rng), random_rotations(len(s), rng)
    return np.ascontiguousarray(u * s[:, None, :] @ np.swapaxes(v, 1, 2))


def matrices(n: int, rng: np.random.Generator) -> np.ndarray:
    """Of all kinds: random, nearly rigid, inverted, of rank 0, 1 and 2, nearly of rank 2, equal singular values, tiny and huge."""
    a = rng.normal(size=(n, 3, 3))
    part = n // 10
    a[:part] = random_rotations(part, rng) + 0.1 * a[:part]
    a[part : 2 * part, :, 1] = a[part : 2 * part, :, 0] * rng.normal(size=(part, 1))
    a[2 * part : 3 * part, :, rng.integers(3)] = 0
    a[3 * part : 3 * part + 20, :, :2] = 0
    a[3 * part + 20 : 3 * part + 30] = 0
    rest = slice(4 * part, 5 * part)
    equal = rng.choice([1.0, -1.0, 0.5, 1e-9, 0.0], size=(part, 3))
    a[rest] = with_singular_values(equal, rng)
    a[5 * part : 6 * part] *= 10.0 ** rng.integers(-150, 150, size=(part, 1, 1))
    a[6 * part : 7 * part] = with_singular_values(
        np.column_stack([np.ones(part), np.ones(part), -(10.0 ** rng.uniform(-16, 0, part))]), rng
    )
    a[7 * part : 8 * part] = with_singular_values(
        np.column_stack([np.ones(part), rng.uniform(0.2, 1, part), 10.0 ** rng.uniform(-16, 0, part)]), rng
    )
    return a


@pytest.mark.parametrize("method", slow_but(["polar", "svd", "gram-schmidt"], "polar"))
def test_rotations_of_a_million_matrices(method: str, rng: np.random.Generator) -> None:
    for _ in range(4):
        r = polar_rotation(matrices(250_000, rng), method)
        worst = np.abs(np.einsum("nki,nkj->nij", r, r) - IDENTITY).max()
        assert worst <= 1e-14
        assert np.abs(np.linalg.det(r) - 1).max() <= 1e-14


def test_both_ways_to_the_polar_rotation_agree_and_match_lapack(rng: np.random.Generator) -> None:
    a = matrices(20_000, rng)
    u, s, vt = np.linalg.svd(a)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    unique = s[:, 1] + sign * s[:, 2] > 1e-3 * s[:, 0]
    expected = np.einsum("nik,nk,nkj->nij", u, np.stack([np.ones_like(sign), np.ones_like(sign), sign], 1), vt)
    for method in ("polar", "svd"):
        r = polar_rotation(a, method)
        assert np.abs(r - expected)[unique].max() <= 1e-11
    well = s[:, 1] + sign * s[:, 2] > 0.1 * s[:, 0]
    assert well.sum() > 5000
    assert np.abs(polar_rotation(a) - polar_rotation(a, "svd"))[well].max() <= 1e-14


def test_no_rotation_is_closer(rng: np.random.Generator) -> None:
    a = matrices(2000, rng)
    a /= np.maximum(np.abs(a).max(axis=(1, 2)), 1e-300)[:, None, None]
    r = polar_rotation(a)
    distance = np.linalg.norm(a - r, axis=(1, 2))
    for q in random_rotations(300, rng):
        assert (distance <= np.linalg.norm(a - q, axis=(1, 2)) + 1e-14).all()
    # Nearby rotations are the hardest competitors.
    for angle in (1e-1, 1e-3):
        for axis in rng.normal(size=(20, 3)):
            k = np.cross(IDENTITY, angle * axis / np.linalg.norm(axis))
            q = np.linalg.solve(IDENTITY - 0.5 * k, IDENTITY + 0.5 * k)
            assert (distance <= np.linalg.norm(a - q @ r, axis=(1, 2)) + 1e-14).all()


def test_turning_the_matrix_turns_its_rotation(rng: np.random.Generator) -> None:
    a = with_singular_values(rng.uniform([1.5, 1, -0.7], [2, 1.4, 0.9], (5000, 3)), rng)
    q = random_rotations(5000, rng)
    r = polar_rotation(a)
    assert np.abs(polar_rotation(q @ a) - q @ r).max() <= 2e-14
    assert np.abs(polar_rotation(np.ascontiguousarray(a @ q)) - r @ q).max() <= 2e-14


def test_a_shear_has_a_rotation_that_gram_schmidt_does_not_see() -> None:
    for g in (1e-3, 0.4, 1.0, -3.0):
        a = np.array([[[1, g, 0], [0, 1, 0], [0, 0, 1]]], float)
        assert same_bits(polar_rotation(a, "gram-schmidt"), IDENTITY[None])
        c, s = np.cos(-np.arctan(g / 2)), np.sin(-np.arctan(g / 2))
        assert np.abs(polar_rotation(a)[0] - [[c, -s, 0], [s, c, 0], [0, 0, 1]]).max() <= 1e-15


def test_newton_alone_reflects_what_is_inverted(rng: np.random.Generator) -> None:
    a = with_singular_values(np.tile([2.0, 1.0, -0.5], (100, 1)), rng)
    q = polar_rotation(a, "newton")
    assert np.abs(np.linalg.det(q) + 1).max() <= 1e-14
    r = polar_rotation(a)
    # They differ in the direction of the smallest singular value only.
    flip = np.swapaxes(q, 1, 2) @ r
    assert np.abs(np.sort(np.linalg.eigvalsh(0.5 * (flip + np.swapaxes(flip, 1, 2))), axis=1) - [-1, 1, 1]).max() <= 1e-13
    assert np.abs(polar_rotation(-a, "newton") - polar_rotation(-a)).max() <= 1e-14
    # Singular matrices have no inverse to iterate with, but a closest orthogonal matrix.
    flat = polar_rotation(with_singular_values(np.tile([2.0, 1.0, 0], (50, 1)), rng), "newton")
    assert np.abs(np.swapaxes(flat, 1, 2) @ flat - IDENTITY).max() <= 1e-14


def test_the_quaternion_iteration_follows_a_motion(rng: np.random.Generator) -> None:
    a = with_singular_values(rng.uniform([1.2, 0.8, 0.4], [1.5, 1.1, 0.7], (500, 3)), rng)
    start = np.tile([1.0, 0, 0, 0], (500, 1))
    expected = polar_rotation(a, "svd")
    found = polar_rotation(a, "quaternion", start=start, max_iterations=200)
    assert np.abs(found - expected).max() <= 1e-8
    # A small change from there is followed within the usual number of steps; from far away a few steps are not enough.
    b = a + 1e-3 * rng.normal(size=a.shape)
    warm = polar_rotation(b, "quaternion", start=start)
    cold = polar_rotation(b, "quaternion", max_iterations=3)
    assert np.abs(warm - polar_rotation(b, "svd")).max() <= 1e-8
    assert np.abs(cold - polar_rotation(b, "svd")).max() > 1e-2
    assert np.abs(np.linalg.norm(start, axis=1) - 1).max() <= 1e-15


def test_matrices_without_a_unique_rotation() -> None:
    zero = np.zeros((1, 3, 3))
    for method in ("polar", "svd", "quaternion", "newton"):
        assert np.abs(np.linalg.det(polar_rotation(zero, method)) - 1).max() <= 1e-15
    assert same_bits(polar_rotation(zero), IDENTITY[None])
    # Rank 1 takes x to y: the smallest such turn is by 90 degrees about z.
    a = np.zeros((1, 3, 3))
    a[0, 1, 0] = 7
    assert np.abs(polar_rotation(a)[0] - [[0, -1, 0], [1, 0, 0], [0, 0, 1]]).max() <= 1e-15
    # x to -x has no unique smallest turn, but all are by 180 degrees.
    a = np.zeros((1, 3, 3))
    a[0, 0, 0] = -2
    r = polar_rotation(a)[0]
    assert abs(np.trace(r) + 1) <= 1e-15
    assert r[0, 0] == -1


def test_singular_values(rng: np.random.Generator) -> None:
    a = matrices(20_000, rng)
    size = np.abs(a).max(axis=(1, 2))
    u, s, v = svd3(a)
    for q in (u, v):
        assert np.abs(np.swapaxes(q, 1, 2) @ q - IDENTITY).max() <= 1e-14
        assert np.abs(np.linalg.det(q) - 1).max() <= 1e-14
    assert (np.abs(u * s[:, None, :] @ np.swapaxes(v, 1, 2) - a).max(axis=(1, 2)) <= 1e-14 * size).all()
    assert (s[:, 0] >= s[:, 1]).all()
    assert (s[:, 1] >= np.abs(s[:, 2])).all()
    assert (np.abs(np.abs(s) - np.linalg.svd(a, compute_uv=False)).max(axis=1) <= 1e-14 * np.maximum(size, 1e-300)).all()
    regular = np.abs(s[:, 2]) > 1e-8 * s[:, 0]
    normal = a / np.maximum(size, 1e-300)[:, None, None]
    assert (np.sign(s[:, 2]) == np.sign(np.linalg.det(normal)))[regular].all()
    p = svd3(a, signed=False)
    assert (p.s >= 0).all()
    assert (np.abs(p.u * p.s[:, None, :] @ np.swapaxes(p.v, 1, 2) - a).max(axis=(1, 2)) <= 1e-14 * size).all()


def test_small_singular_values_are_accurate_where_columns_are_scaled(rng: np.random.Generator) -> None:
    # A = Q D with orthogonal Q: the singular values are the scales, to full relative precision.
    q = random_rotations(200, rng)
    scales = np.sort(10.0 ** rng.uniform(-14, 0, (200, 3)), axis=1)[:, ::-1]
    s = svd3(np.ascontiguousarray(q * scales[:, None, :])).s
    assert np.abs(s / scales - 1).max() <= 1e-14


def test_neighbours_threads_and_width_do_not_matter(rng: np.random.Generator, default_parallelism: None) -> None:
    a = matrices(3001, rng)
    expected = polar_rotation(a)
    order = rng.permutation(len(a))
    assert same_bits(polar_rotation(np.ascontiguousarray(a[order])), expected[order])
    assert same_bits(np.concatenate([polar_rotation(a[i : i + 1]) for i in range(200)]), expected[:200])
    levels = ["baseline", "avx2", "avx512"]
    for level in levels[: levels.index(ms.core.simd_supported()) + 1]:
        ms.core.set_simd_level(level)
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            assert same_bits(polar_rotation(a), expected)


def test_arguments() -> None:
    good = np.eye(3)[None].copy()
    assert polar_rotation(np.empty((0, 3, 3))).shape == (0, 3, 3)
    assert svd3(np.empty((0, 3, 3))).s.shape == (0, 3)
    bad = good.copy()
    bad[0, 1, 2] = np.nan
    with pytest.raises(ValueError, match=r"matrices must be finite, but \[0, 1, 2\] is nan"):
        polar_rotation(bad)
    with pytest.raises(TypeError, match="float32"):
        polar_rotation(good.astype(np.float32))
    with pytest.raises(ValueError, match=r"shape \(n, 3, 3\)"):
        svd3(np.eye(3))
    with pytest.raises(TypeError, match="C-contiguous"):
        polar_rotation(np.zeros((2, 3, 3)).transpose(0, 2, 1))
    with pytest.raises(ValueError, match="method must be one of"):
        polar_rotation(good, "jacobi")
    with pytest.raises(ValueError, match="start is for"):
        polar_rotation(good, start=np.ones((1, 4)))
    with pytest.raises(ValueError, match="must have 1 rows"):
        polar_rotation(good, "quaternion", start=np.ones((2, 4)))
    with pytest.raises(ValueError, match="that of matrix 0 is"):
        polar_rotation(good, "quaternion", start=np.zeros((1, 4)))
    with pytest.raises(ValueError, match="max_iterations must be at least 1"):
        polar_rotation(good, "quaternion", max_iterations=0)
