"""Signs of determinants against integers of any length, from the smallest to the largest doubles."""

from collections.abc import Callable

import numpy as np
import pytest
from support.build import same_bits
from support.exact import determinant, integers, sign

import meniscus as ms
from meniscus.numerics import incircle, insphere, orient2d, orient3d


def reference(predicate: Callable, points: np.ndarray) -> int:
    """The sign of the determinant of differences to the last point; the squares of these too for circles and spheres."""
    *rows, last = integers(points)
    m = [[x - y for x, y in zip(row, last, strict=True)] for row in rows]
    if predicate in (incircle, insphere):
        m = [[*row, sum(x * x for x in row)] for row in m]
    # The sides of a plane, and of a sphere, are named after the corners that are counter-clockwise as seen from there.
    return sign(determinant(m)) * (-1 if predicate in (orient3d, insphere) else 1)


PREDICATES = {orient2d: (3, 2), orient3d: (4, 3), incircle: (4, 2), insphere: (5, 3)}


def check(predicate: Callable, points: np.ndarray) -> np.ndarray:
    """points: (n, k, dimension). Returns the signs."""
    found = predicate(*(np.ascontiguousarray(points[:, k]) for k in range(points.shape[1])))
    assert found.dtype == np.int8
    assert found.tolist() == [reference(predicate, p) for p in points]
    return found


@pytest.fixture(params=PREDICATES, ids=lambda p: p.__name__)
def predicate(request: pytest.FixtureRequest) -> Callable:
    """Each of the predicates."""
    return request.param


def shape(predicate: Callable, n: int) -> tuple[int, int, int]:
    return (n, *PREDICATES[predicate])


def nearly_degenerate(predicate: Callable, n: int, rng: np.random.Generator) -> np.ndarray:
    """The last point is on the line, plane, circle or sphere of the others, but for its rounding."""
    p = rng.uniform(-1, 1, shape(predicate, n))
    k, dimension = PREDICATES[predicate]
    if predicate in (orient2d, orient3d):
        weights = rng.dirichlet(np.ones(k - 1), n)
        p[:, -1] = (weights[:, :, None] * p[:, :-1]).sum(axis=1)
    else:
        p = p / np.linalg.norm(p, axis=2, keepdims=True) + rng.uniform(-1, 1, (n, 1, dimension))
    return p


def test_known_signs() -> None:
    def one(f: Callable, *points: tuple[float, ...]) -> int:
        return int(f(*(np.array([p], float) for p in points))[0])

    assert one(orient2d, (0, 0), (1, 0), (0, 1)) == 1
    assert one(orient3d, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)) == 1
    assert one(orient3d, (0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 5, 0)) == 0
    assert one(incircle, (0, 0), (1, 0), (0, 1), (0.5, 0.5)) == 1
    assert one(incircle, (0, 0), (0, 1), (1, 0), (0.5, 0.5)) == -1
    assert one(incircle, (0, 0), (1, 0), (0, 1), (1, 1)) == 0
    assert one(insphere, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0.5, 0.5)) == 1
    assert one(insphere, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 2, 2)) == -1
    assert one(insphere, (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)) == 0


@pytest.mark.parametrize("size", [1, 2, 5])
def test_small_grids(predicate: Callable, size: int, rng: np.random.Generator) -> None:
    found = check(predicate, rng.integers(-size, size + 1, shape(predicate, 1500)).astype(float))
    assert (found == 0).mean() > 0.003


def test_random_points(predicate: Callable, rng: np.random.Generator) -> None:
    check(predicate, rng.uniform(-1, 1, shape(predicate, 1000)))


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e5, 1e16])
def test_degenerate_but_for_rounding(predicate: Callable, offset: float, rng: np.random.Generator) -> None:
    check(predicate, nearly_degenerate(predicate, 1000, rng) + offset)


@pytest.mark.parametrize("exponent", [-1074, -1060, -1030, -800, -540, -400, -300, -200, 180, 240, 320, 400, 505, 900, 1022, 1023])
def test_from_the_smallest_to_the_greatest_doubles(predicate: Callable, exponent: int, rng: np.random.Generator) -> None:
    p = nearly_degenerate(predicate, 100, rng) / 2
    p[::3] = rng.uniform(-1, 1, p[::3].shape)
    p[1::5] = rng.integers(-2, 3, p[1::5].shape)
    with np.errstate(under="ignore"):
        check(predicate, np.ldexp(np.clip(p, -1, 1), exponent))


@pytest.mark.parametrize("spread", [20, 60, 100, 300, 600, 1000])
def test_coordinates_of_different_magnitude(predicate: Callable, spread: int, rng: np.random.Generator) -> None:
    for whole in (False, True):
        p = rng.integers(-3, 4, shape(predicate, 200)).astype(float) if whole else rng.uniform(-1, 1, shape(predicate, 200))
        p = np.ldexp(p, rng.integers(-spread, spread, p.shape))
        p[::2, 1] = p[::2, 0]  # the determinant vanishes, or is small
        p[1::4, -1] = -p[1::4, 0]
        check(predicate, p)


def test_one_bit_next_to_a_large_number(predicate: Callable, rng: np.random.Generator) -> None:
    p = rng.integers(-2, 3, shape(predicate, 400)).astype(float)
    tiny = rng.choice([0.0, 2.0**-1074, -(2.0**-1074), 2.0**-500, 2.0**-52, 1e300], p.shape, p=[0.6, 0.1, 0.1, 0.1, 0.05, 0.05])
    p = np.where(rng.random(p.shape) < 0.3, tiny, p + tiny)
    check(predicate, p)


def test_exchanging_two_points_changes_the_sign(predicate: Callable, rng: np.random.Generator) -> None:
    k = PREDICATES[predicate][0]
    p = nearly_degenerate(predicate, 20000, rng)
    p[::2] = rng.integers(-3, 4, p[::2].shape)
    expected = predicate(*np.ascontiguousarray(p.transpose(1, 0, 2)))
    assert set(expected.tolist()) == {-1, 0, 1}
    for i in range(k):
        j = int(rng.integers(0, k - 1))
        j += j >= i
        order = list(range(k))
        order[i], order[j] = order[j], order[i]
        assert (predicate(*np.ascontiguousarray(p[:, order].transpose(1, 0, 2))) == -expected).all()


def test_points_near_a_line() -> None:
    """The turns of points on the grid of doubles around (0.5, 0.5) to a line through it: straight borders, no noise."""
    steps = np.arange(-32, 33) * 2.0**-53
    x, y = np.meshgrid(0.5 + steps, 0.5 + steps, indexing="ij")
    a = np.stack([x.ravel(), y.ravel()], axis=1)
    b, c = np.full_like(a, 12.0), np.full_like(a, 24.0)
    assert (orient2d(a, b, c) == np.sign(a[:, 1] - a[:, 0])).all()


def test_predicates_are_the_same_on_all_threads_and_widths(
    predicate: Callable, default_parallelism: None, rng: np.random.Generator
) -> None:
    p = nearly_degenerate(predicate, 5000, rng)
    arrays = np.ascontiguousarray(p.transpose(1, 0, 2))
    ms.set_num_threads(1)
    expected = predicate(*arrays)
    for threads in (2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert same_bits(predicate(*arrays), expected)
    for level in ("baseline", "avx2", "avx512"):
        try:
            ms.core.set_simd_level(level)
        except ValueError:
            continue
        assert same_bits(predicate(*arrays), expected)


def test_nothing_and_what_is_refused(predicate: Callable) -> None:
    k, dimension = PREDICATES[predicate]
    assert predicate(*[np.empty((0, dimension))] * k).tolist() == []
    good = [np.zeros((4, dimension))] * k
    bad = np.zeros((4, dimension))
    bad[2, 1] = bad[3, 0] = np.nan
    with pytest.raises(ValueError, match=r"b must be finite, but \[2, 1\] is nan"):
        predicate(good[0], bad, *good[2:])
    with pytest.raises(ValueError, match="c must have as many rows as a, which has 4, not 3"):
        predicate(*good[:2], good[0][:3], *good[3:])
    with pytest.raises(TypeError, match="a must be of dtype float64, not float32"):
        predicate(good[0].astype(np.float32), *good[1:])
    with pytest.raises(ValueError, match=rf"a must have shape \(n, {dimension}\), not \(4, {5 - dimension}\)"):
        predicate(np.zeros((4, 5 - dimension)), *good[1:])
    with pytest.raises(TypeError, match="a must be C-contiguous"):
        predicate(np.asfortranarray(good[0]), *good[1:])
