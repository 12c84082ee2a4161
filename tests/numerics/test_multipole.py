"""Fast multipole method: errors against direct sums on hard distributions, equal bits, and refusals."""

import numpy as np
import pytest
from support.build import same_bits
from support.same_bits import everywhere

from meniscus.numerics import FastMultipole, direct_biot_savart, direct_laplace

Floats = np.ndarray


def relative(found: Floats, exact: Floats) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def cube(n: int, rng: np.random.Generator) -> Floats:
    return rng.random((n, 3))


def sphere(n: int, rng: np.random.Generator) -> Floats:
    x = rng.standard_normal((n, 3))
    return np.array([3.0, -2.0, 5.0]) + x / np.linalg.norm(x, axis=1)[:, None]


def plume(n: int, rng: np.random.Generator) -> Floats:
    z, angle = rng.random(n) ** 2, 2 * np.pi * rng.random(n)
    r = 0.02 + 0.3 * z + 0.02 * np.sin(7 * angle + 30 * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), 3 * z], axis=1)


def clusters(n: int, rng: np.random.Generator) -> Floats:
    x = 1e-6 * rng.random((n, 3))
    x[n // 2 :] += [1.0, 0.7, 0.3]
    return x


def one_place(n: int, rng: np.random.Generator) -> Floats:
    x = rng.random((n, 3))
    x[-1000:] = x[0]
    return x


DISTRIBUTIONS = {f.__name__: f for f in (cube, sphere, plume, clusters, one_place)}


@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
@pytest.mark.parametrize("accuracy", [1e-3, 1e-6, 1e-9])
def test_error_is_at_most_the_accuracy(distribution: str, accuracy: float, rng: np.random.Generator) -> None:
    n, chosen = 6000, 300
    x = DISTRIBUTIONS[distribution](n, rng)
    y = x[:: n // chosen].copy()
    tree = FastMultipole(x, accuracy=accuracy)
    for q in (rng.random(n), rng.standard_normal(n)):
        found, exact = tree.laplace(q), direct_laplace(x, q, y)
        for a, b in zip(found, exact, strict=True):
            assert relative(a[:: n // chosen], b) < accuracy
    w = rng.standard_normal((n, 3))
    assert relative(tree.biot_savart(w)[:: n // chosen], direct_biot_savart(x, w, y)) < accuracy


def test_all_digits(rng: np.random.Generator) -> None:
    x, q, p = rng.random((3000, 3)), rng.standard_normal(3000), rng.standard_normal((3000, 3))
    for found, exact in zip(FastMultipole(x, accuracy=1e-12).laplace(q, p), direct_laplace(x, q, dipoles=p), strict=True):
        assert relative(found, exact) < 1e-12


def test_direct_sums_are_the_formulas(rng: np.random.Generator) -> None:
    x, y, q, p, w = (rng.standard_normal(s) for s in ((40, 3), (30, 3), 40, (40, 3), (40, 3)))
    y[0] = x[3]  # the same place: no action
    d = y[:, None] - x[None]
    r = np.linalg.norm(d, axis=2)
    r[0, 3] = np.inf
    potential, gradient = direct_laplace(x, q, y, p)
    along = (p[None] * d).sum(axis=2)
    assert np.allclose(potential, (q / r + along / r**3).sum(axis=1), rtol=1e-13)
    slopes = -(q / r**3 + 3 * along / r**5)[..., None] * d + p[None] / r[..., None] ** 3
    assert np.allclose(gradient, slopes.sum(axis=1), rtol=1e-12)
    turned = np.cross(w[None], d) / (4 * np.pi * r[..., None] ** 3)
    assert np.allclose(direct_biot_savart(x, w, y), turned.sum(axis=1), rtol=1e-12)
    for core in (0.3, 1.5):
        narrow, wide = (1 - np.exp(-((r / b) ** 3)) for b in (core, 2 * core))
        narrow[0, 3] = wide[0, 3] = 0.0
        printed = direct_biot_savart(x, w, y, kernel="mollified", core=core)
        assert np.allclose(printed, (turned * narrow[..., None]).sum(axis=1), rtol=1e-11, atol=1e-14)
        second = direct_biot_savart(x, w, y, kernel="second-order", core=core)
        assert np.allclose(second, (turned * (2 * narrow - wide)[..., None]).sum(axis=1), rtol=1e-11, atol=1e-14)


def test_kernels_near_their_centre(rng: np.random.Generator) -> None:
    """Velocities of a vortex grow linearly from its centre: w x d (1 / core^3), and 15/8 of it, over 4 pi."""
    d = 1e-5 * rng.standard_normal((20, 3))
    w = np.array([[0.3, -1.0, 2.0]])
    linear = np.cross(w, d) / (4 * np.pi)
    assert relative(direct_biot_savart(np.zeros((1, 3)), w, d, kernel="mollified", core=1.0), linear) < 1e-12
    assert relative(direct_biot_savart(np.zeros((1, 3)), w, d, kernel="second-order", core=1.0), 1.875 * linear) < 1e-12


@pytest.mark.parametrize("kernel", ["mollified", "second-order"])
@pytest.mark.parametrize("core", [0.002, 0.02, 0.2])
def test_cores(kernel: str, core: float, rng: np.random.Generator) -> None:
    x, w = sphere(6000, rng), rng.standard_normal((6000, 3))
    found = FastMultipole(x, accuracy=1e-6, kernel=kernel, core=core).biot_savart(w)
    assert relative(found, direct_biot_savart(x, w, kernel=kernel, core=core)) < 1e-6


def test_other_targets(rng: np.random.Generator) -> None:
    """Targets far from the sources, denser or sparser than they, and some in their places."""
    x, q, p = cube(4000, rng), rng.standard_normal(4000), rng.standard_normal((4000, 3))
    for y in (x[:50] + 5.0, [0.47, 0.41, 0.56] + 0.01 * rng.standard_normal((5000, 3)), 20 * rng.random((3000, 3)) - 10, x[:1].copy()):
        tree = FastMultipole(x, y)
        for found, exact in zip(tree.laplace(q, p), direct_laplace(x, q, y, p), strict=True):
            assert found.shape == exact.shape
            # In the cloud there is little but the far field, to which errors are relative.
            assert relative(found, exact) < 4e-6


def test_dense_sources_beside_few_targets_and_the_reverse(rng: np.random.Generator) -> None:
    """Leaves of different sizes side by side: expansions act on points, and points on expansions."""
    fine, coarse = 1e-3 * rng.random((5000, 3)), rng.random((3000, 3)) + np.array([1.5e-3, 0, 0])
    for x, y in ((fine, coarse), (coarse, fine)):
        q, p = rng.standard_normal(len(x)), 1e-3 * rng.standard_normal((len(x), 3))
        for found, exact in zip(FastMultipole(x, y, 1e-7).laplace(q, p), direct_laplace(x, q, y, p), strict=True):
            assert relative(found, exact) < 1e-7


def test_columns_share_the_tree(rng: np.random.Generator) -> None:
    x, q = plume(3000, rng), rng.standard_normal((3000, 5))
    tree = FastMultipole(x, accuracy=1e-8)
    potential, gradient = tree.laplace(q)
    assert potential.shape == (3000, 5)
    assert gradient.shape == (3000, 5, 3)
    for k in range(5):
        u, g = tree.laplace(q[:, k].copy())
        assert relative(potential[:, k], u) < 1e-12
        assert relative(gradient[:, k], g) < 1e-12


@pytest.mark.usefixtures("default_parallelism")
def test_equal_bits_over_threads_and_vector_widths(rng: np.random.Generator) -> None:
    x, y, w = plume(6000, rng), cube(1500, rng), rng.standard_normal((6000, 3))

    def run() -> np.ndarray:
        tree = FastMultipole(x, y, 1e-3, kernel="second-order", core=0.01)
        parts = [tree.biot_savart(w), tree.laplace(w)[1], tree.laplace(w[:, 0].copy(), w)[1], tree.biot_savart(w)]
        assert same_bits(parts[0], parts[-1])
        return np.concatenate([p.ravel() for p in parts])

    everywhere(run)


def test_few_points() -> None:
    one = np.array([[1.0, 2.0, 3.0]])
    assert FastMultipole(one).laplace([2.0])[0].tolist() == [0.0]
    assert FastMultipole(one, [[1.0, 2.0, 5.0]]).laplace([2.0])[0] == pytest.approx(1.0, rel=1e-14)
    none = FastMultipole(np.zeros((0, 3)), one)
    assert none.laplace(np.zeros(0))[1].tolist() == [[0.0, 0.0, 0.0]]
    assert FastMultipole(one, np.zeros((0, 3))).laplace([1.0])[0].shape == (0,)
    assert "1 sources, 1 targets" in repr(FastMultipole(one))


def test_refusals(rng: np.random.Generator) -> None:
    x = rng.random((10, 3))
    with pytest.raises(ValueError, match=r"sources must have shape \(n, 3\), not \(10, 2\)"):
        FastMultipole(x[:, :2])
    with pytest.raises(ValueError, match=r"accuracy must be between 1e-13 and 0\.1, not 1e-20"):
        FastMultipole(x, accuracy=1e-20)
    with pytest.raises(ValueError, match="core must be above 0 for the kernel 'mollified', not 0"):
        FastMultipole(x, kernel="mollified")
    with pytest.raises(ValueError, match="core must be 0 for the singular kernel"):
        FastMultipole(x, core=1.0)
    with pytest.raises(ValueError, match="kernel"):
        FastMultipole(x, kernel="none")  # type: ignore[arg-type]
    tree = FastMultipole(x)
    with pytest.raises(ValueError, match=r"charges must have shape \(10,\) or \(10, k\), not \(9,\)"):
        tree.laplace(np.zeros(9))
    with pytest.raises(ValueError, match=r"charges must have shape \(10,\), not \(10, 2\)"):
        tree.laplace(np.zeros((10, 2)), x)
    with pytest.raises(ValueError, match=r"strengths must have shape \(10, 3\), not \(10,\)"):
        tree.biot_savart(np.zeros(10))
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match="sources"):
        FastMultipole(x)
