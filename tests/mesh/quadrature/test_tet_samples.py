"""Sample points of tetrahedra: symmetries, exactness, uniform distribution, and how errors of shared volumes fall."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support.same_bits import everywhere
from support.variants import slow_but

import meniscus as ms
from meniscus.mesh import tet_quadrature, tet_samples

FIXED = (1, 4, 5, 8, 10, 20, 35, 64)
# Zhang, Cui and Liu 2009: degree and number of points.
RULES = {1: 1, 2: 4, 3: 8, 5: 14, 6: 24, 7: 35, 8: 46, 9: 61, 10: 81, 11: 109}
RED = (8, 64)
RANDOM = ("stratified", "independent")
PERMUTATIONS = [list(p) for p in itertools.permutations(range(4))]


def keys(points: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in np.round(points * 2**40).astype(np.int64)}


@pytest.mark.parametrize("n", FIXED)
def test_fixed_sets_are_inside_and_exact_for_linear_functions(n: int) -> None:
    x = tet_samples("fixed", n)
    assert x.shape == (n, 4)
    assert (x > 0).all()
    assert len(keys(x)) == n
    np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=2e-16)
    np.testing.assert_allclose(x.mean(axis=0), 0.25, atol=1e-15)
    slope = np.array([3.0, -1.5, 0.25, 7.0])
    assert (x @ slope).mean() == pytest.approx(slope.mean(), abs=1e-14)


@pytest.mark.parametrize("n", FIXED)
def test_symmetries_of_fixed_sets(n: int) -> None:
    x = tet_samples("fixed", n)
    kept = [p for p in PERMUTATIONS if keys(x[:, p]) == keys(x)]
    assert len(kept) == (8 if n in RED else 24)


@pytest.mark.parametrize("n", RED)
def test_red_centroids_are_those_of_a_subdivision(n: int) -> None:
    corners = np.vstack([np.zeros(3), np.eye(3)])
    mesh = ms.mesh.TetMesh(corners, np.array([[0, 1, 2, 3]], np.int32))
    fine = ms.mesh.SubdivisionHierarchy(mesh, {8: 1, 64: 2}[n]).mesh({8: 1, 64: 2}[n])
    here = tet_samples("fixed", n) @ corners
    # Both cut octahedra along one of three diagonals, so one of the 24 symmetries carries one set to the other, if diagonals agree.
    there = fine.vertices[fine.tets].mean(axis=1)
    weights = np.column_stack([1 - there.sum(axis=1), there])
    assert here.shape == there.shape
    if n == 8:
        assert any(keys(weights[:, p]) == keys(tet_samples("fixed", n)) for p in PERMUTATIONS)
    np.testing.assert_allclose(here.mean(axis=0), there.mean(axis=0), atol=1e-15)


@pytest.mark.parametrize("kind", RANDOM)
def test_random_points_are_uniform(kind: str) -> None:
    # Four corners of 1/8 of the volume, and the eight octants of the octahedron between them of 1/16.
    x = tet_samples(kind, 7, elements=np.arange(40000), seed=5).reshape(-1, 4)
    assert (x >= 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=2e-16)
    corner = np.argmax(x, axis=1)
    octant = 4 + (x[:, 0] + x[:, 1] > 0.5) + 2 * (x[:, 0] + x[:, 2] > 0.5) + 4 * (x[:, 0] + x[:, 3] > 0.5)
    part = np.where(x.max(axis=1) > 0.5, corner, octant)
    counts = np.bincount(part, minlength=12)
    expected = len(x) * np.array([1 / 8] * 4 + [1 / 16] * 8)
    # 11 degrees of freedom: beyond 31.3 once in a thousand.
    assert ((counts - expected) ** 2 / expected).sum() < 31.3
    # Second moments of the uniform distribution.
    np.testing.assert_allclose(x.T @ x / len(x), (np.ones((4, 4)) + np.eye(4)) / 20, atol=1e-3)


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("seed", [0, 1, 2**63 + 11])
def test_mean_of_many_draws_is_the_centroid(kind: str, seed: int) -> None:
    x = tet_samples(kind, 1, elements=np.arange(10000), seed=seed, step=3)[:, 0]
    sigma = np.sqrt(3 / 80 / len(x))
    assert (np.abs(x.mean(axis=0) - 0.25) < 3 * sigma).all()


@pytest.mark.parametrize("kind", RANDOM)
def test_random_points_depend_on_seed_element_and_step_alone(kind: str, default_parallelism: None) -> None:
    ids = np.arange(3001)[::-1] * 7
    everywhere(lambda: [tet_samples(kind, 6, elements=ids, seed=9, step=2)])
    x = tet_samples(kind, 6, elements=ids, seed=9, step=2)
    assert np.array_equal(tet_samples(kind, 6, elements=ids[5:8], seed=9, step=2), x[5:8])
    assert np.array_equal(tet_samples(kind, 4, elements=ids, seed=9, step=2), x[:, :4])
    for other in (
        tet_samples(kind, 6, elements=ids, seed=10, step=2),
        tet_samples(kind, 6, elements=ids, seed=9, step=3),
        tet_samples(kind, 6, elements=ids + 1, seed=9, step=2),
    ):
        assert not (other == x).any(axis=(0, 1)).all()
        assert (np.abs(other - x).max(axis=(1, 2)) > 0).all()


def shared_volume_errors(kind: str, count: int, elements: int = 3000) -> float:
    """Root of the mean squared error of the part of a tetrahedron below a random plane."""
    rng = np.random.default_rng(count)
    phi = rng.uniform(-1, 1, (elements, 4))
    phi[:, 0], phi[:, 1] = -np.abs(phi[:, 0]), np.abs(phi[:, 1])
    if kind == "fixed":
        x = np.broadcast_to(tet_samples("fixed", count), (elements, count, 4))
    else:
        x = tet_samples(kind, count, elements=np.arange(elements), seed=3)
    counted = (np.einsum("esk,ek->es", x, phi) <= 0).mean(axis=1)
    exact = np.array([below(row) for row in phi])
    return float(np.sqrt(((counted - exact) ** 2).mean()))


def below(phi: np.ndarray) -> float:
    """The share of a tetrahedron where a linear function is negative, as a divided difference (Curry and Schoenberg)."""
    return float(sum(max(-p, 0.0) ** 3 / np.prod([q - p for j, q in enumerate(phi) if j != i]) for i, p in enumerate(phi)))


@pytest.mark.parametrize(
    ("kind", "order", "constant"), slow_but([("independent", -0.45, 0.45), ("stratified", -0.55, 0.45)], ("stratified", -0.55, 0.45))
)
def test_errors_of_shared_volumes_fall(kind: str, order: float, constant: float) -> None:
    counts = np.array([4, 8, 16, 32, 64, 128, 256])
    errors = np.array([shared_volume_errors(kind, n) for n in counts])
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope < order
    assert (errors < constant * counts**order).all()


def overlap_error(kind: str, count: int, shift: float) -> float:
    """Relative error of the part that a tetrahedron moved by `shift` edges in a random direction shares with where it was."""
    rng = np.random.default_rng(7)
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(8.0)  # edges of 1
    directions = rng.normal(size=(1500, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    moved = np.linalg.solve(np.vstack([corners.T, np.ones(4)]), np.vstack([shift * directions.T, np.zeros(1500)])).T
    # A part with all coordinates above bounds is a smaller copy of the tetrahedron.
    exact = (1 - np.maximum(moved, 0).sum(axis=1)).clip(0) ** 3
    x = tet_samples("fixed", count)[None] if kind == "fixed" else tet_samples(kind, count, elements=np.arange(1500))
    counted = ((x + moved[:, None]) > 0).all(axis=2).mean(axis=1)
    return float(np.sqrt(((counted - exact) ** 2).mean()) / exact.mean())


@pytest.mark.parametrize("shift", [0.02, 0.05])
def test_fixed_sets_do_not_converge_while_random_ones_do(shift: float) -> None:
    fixed = [overlap_error("fixed", n, shift) for n in (4, 10, 20, 35)]
    # A step so short takes no point of the inner ones out of its tetrahedron.
    assert min(fixed) > 0.99 * fixed[0]
    random = [overlap_error("stratified", n, shift) for n in (4, 35, 280)]
    assert random[1] < 0.6 * fixed[3]
    assert random[2] < 0.1 * random[0]


def moment_error(points: np.ndarray, weights: np.ndarray, powers: tuple[int, ...]) -> float:
    """Relative error of the mean of a product of powers of barycentric coordinates, which is 6 a! b! c! d! / (a + b + c + d + 3)!."""
    exact = 6 * Fraction(math.prod(map(math.factorial, powers)), math.factorial(sum(powers) + 3))
    return float(weights @ np.prod(points ** np.array(powers), axis=1)) / float(exact) - 1


@pytest.mark.parametrize(("degree", "count"), RULES.items())
def test_rules_integrate_all_monomials_of_their_degree_and_no_more(degree: int, count: int) -> None:
    x, w = tet_quadrature(degree)
    assert x.shape == (count, 4)
    # Polynomials of lower degree are sums of these, as the four coordinates sum to 1.
    monomials = [p for p in itertools.product(range(degree + 2), repeat=4) if sum(p) == degree]
    assert max(abs(moment_error(x, w, p)) for p in monomials) < 1e-13
    beyond = [p for p in itertools.product(range(degree + 2), repeat=4) if sum(p) == degree + 1]
    assert max(abs(moment_error(x, w, p)) for p in beyond) > 1e-4


@pytest.mark.parametrize("degree", RULES)
def test_rules_have_positive_weights_inner_points_and_all_symmetries(degree: int) -> None:
    x, w = tet_quadrature(degree)
    assert (w > 0).all()
    assert (x > 0).all()
    np.testing.assert_allclose(x.sum(axis=1), 1.0, atol=2e-16)
    np.testing.assert_allclose(x.mean(axis=0), 0.25, atol=1e-16)
    assert w.sum() == pytest.approx(1, abs=1e-14)
    weight = dict(zip(map(tuple, np.round(x * 2**40).astype(np.int64)), w, strict=True))
    assert len(weight) == len(x)
    for p in PERMUTATIONS:
        turned = dict(zip(map(tuple, np.round(x[:, p] * 2**40).astype(np.int64)), w, strict=True))
        assert turned == weight


def test_rules_serve_lower_degrees_and_give_sets_of_samples() -> None:
    assert len(tet_quadrature(0)[0]) == 1
    np.testing.assert_array_equal(tet_quadrature(4)[0], tet_quadrature(5)[0])
    for degree, count in RULES.items():
        x = tet_samples("quadrature", count)
        np.testing.assert_array_equal(x, tet_quadrature(degree)[0])
        # With equal weights: exact for linear functions, and of 8 points for cubic ones.
        equal = np.full(count, 1 / count)
        exact = 3 if count == 8 else 2 if count == 4 else 1
        for p in itertools.product(range(exact + 1), repeat=4):
            assert sum(p) != exact or abs(moment_error(x, equal, p)) < 1e-14


def test_rules_converge_at_their_order() -> None:
    """Of the mean of an exponential over tetrahedra of half the size, the error falls by 2^(degree + 1) or more."""
    slope = np.array([1.7, -0.4, 0.9, 0.0])

    def error(degree: int, size: float) -> float:
        x, w = tet_quadrature(degree)
        # The mean of exp(s . x) is 6 times the divided difference of the exponential at the slopes.
        terms = [
            np.longdouble(math.factorial(3)) * np.longdouble(size) ** k * complete(slope, k) / math.factorial(k + 3) for k in range(40)
        ]
        return abs(float(w.astype(np.longdouble) @ np.exp(np.longdouble(size) * (x @ slope.astype(np.longdouble))) - sum(terms)))

    for degree in (1, 2, 3, 5):
        assert error(degree, 0.5) < error(degree, 1.0) / 2 ** (degree + 0.5)
        assert error(degree, 0.5) < 10.0**-degree


def complete(s: np.ndarray, k: int) -> np.longdouble:
    """The sum of all products of k of the numbers, with repetition: the term of order k of a divided difference of the exponential."""
    sums = [np.longdouble(1)] + [np.longdouble(0)] * k
    for value in s:
        for i in range(1, k + 1):
            sums[i] += np.longdouble(value) * sums[i - 1]
    return sums[k]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="1, 4, 8, 14, 24, 35, 46, 61, 81 or 109 points, not 5"):
        tet_samples("quadrature", 5)
    with pytest.raises(ValueError, match="degree must be below 12"):
        tet_quadrature(12)
    with pytest.raises(ValueError, match="1, 4, 5, 8, 10, 20, 35 or 64 points, not 7"):
        tet_samples("fixed", 7)
    with pytest.raises(ValueError, match="kind must be one of"):
        tet_samples("random", 4)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count must be at least 1"):
        tet_samples("stratified", 0)
    with pytest.raises(TypeError, match="elements must be one row of integers"):
        tet_samples("stratified", 4, elements=[0.5])
    with pytest.raises(ValueError, match="elements must not be negative"):
        tet_samples("stratified", 4, elements=[-1])
    with pytest.raises(ValueError, match="seed must be at least 0"):
        tet_samples("stratified", 4, seed=-1)
    with pytest.raises(ValueError, match="step must be below"):
        tet_samples("stratified", 4, step=2**32)
