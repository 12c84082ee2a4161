"""Winding numbers: the sum of solid angles, integers for closed meshes, and the accuracy of the tree."""

import numpy as np
import pytest
from support.meshes import box, brute_force_winding, join, random_points, real_mesh, reversed_mesh, sphere_like, torus
from support.variants import slow_but

from meniscus.collision import winding_number


def test_the_sum_over_all_triangles(rng: np.random.Generator) -> None:
    for v, t in (box(), torus(), sphere_like(6, rng)):
        for part in (t, np.ascontiguousarray(t[len(t) // 3 :])):
            points = random_points((v, part), 200, rng, 0.3)
            exact = winding_number(v, part, points, accuracy=None)
            assert np.abs(exact - brute_force_winding((v, part), points)).max() <= 1e-13


def test_closed_meshes_have_integers(rng: np.random.Generator) -> None:
    outer, inner = box((-2, -2, -2), (2, 2, 2)), box((-1, -1, -1), (1, 1, 1))
    points = np.array([(0, 0.1, 0.2), (1.5, 0, 0.3), (3, 0.2, 0.1)])
    for mesh, expected in [
        (outer, (1, 1, 0)),
        (reversed_mesh(outer), (-1, -1, 0)),
        (join(outer, inner), (2, 1, 0)),
        (join(outer, reversed_mesh(inner)), (0, 1, 0)),
    ]:
        assert np.abs(winding_number(*mesh, points, accuracy=None) - expected).max() <= 1e-14
        assert np.abs(winding_number(*mesh, points) - expected).max() <= 0.05


def test_a_square_has_half_of_the_sphere_on_either_side() -> None:
    v = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], float)
    t = np.array([(0, 1, 2), (0, 2, 3)], np.int32)
    z = np.array([1e-12, -1e-12, 0, 1e9, 1.0])
    points = np.stack([np.full(5, 0.25), np.full(5, 0.125), z], axis=1)
    points[4, :2] = 0
    w = winding_number(v, t, points, accuracy=None)
    # The normal points up, so the lower side is the back; on the square itself both sides weigh the same. From one metre above its
    # centre, the square is one face of a cube of edge length 2.
    assert np.abs(w - [-0.5, 0.5, 0, 0, -1 / 6]).max() <= 1e-11


@pytest.mark.parametrize("name", slow_but(["spot", "stanford-bunny"], "spot"))
def test_accuracy_of_the_tree(name: str, rng: np.random.Generator) -> None:
    mesh = real_mesh(name)
    points = random_points(mesh, 1500, rng)
    exact = winding_number(*mesh, points, accuracy=None)
    assert np.abs(exact[:20] - brute_force_winding(mesh, points[:20])).max() <= 1e-12
    errors = [np.abs(winding_number(*mesh, points, accuracy=a) - exact).max() for a in (2.0, 4.0, 8.0, 16.0)]
    assert errors[0] <= 0.05
    # The first term that is left out falls with the third power of the accuracy, of a sum over parts of which there are more.
    assert errors[1] <= 0.012
    assert errors[2] <= 0.003
    assert errors[3] <= 0.0006
    default = winding_number(*mesh, points)
    assert np.abs(default - exact).max() == errors[0]


def test_far_away_the_expansion_has_its_orders() -> None:
    # Without a closed surface the dipole is what is left, then the quadrupole: the error falls with the fourth power of the distance.
    v, t = torus(n=60, m=30)
    t = np.ascontiguousarray(t[: len(t) // 4])
    direction = np.array([0.3, 0.5, 0.8])
    r = np.array([8.0, 16.0, 32.0])
    points = r[:, None] * direction
    exact = winding_number(v, t, points, accuracy=None)
    error = np.abs(winding_number(v, t, points, accuracy=1.0) - exact)
    assert (error <= 0.5 / r**4).all()
    order = np.log2(error[:-1] / error[1:])
    assert (order > 3.6).all(), order


def test_what_is_refused() -> None:
    v, t = box()
    p = np.zeros((1, 3))
    with pytest.raises(ValueError, match=r"accuracy must be at least 1, or None for the sum over all triangles, not 0\.5"):
        winding_number(v, t, p, accuracy=0.5)
    with pytest.raises(TypeError, match="accuracy must be a number"):
        winding_number(v, t, p, accuracy="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="accuracy must be finite"):
        winding_number(v, t, p, accuracy=float("nan"))
    with pytest.raises(TypeError, match="triangles must hold integers, not float64"):
        winding_number(v, t.astype(float), p)
    assert winding_number(v, t, p[:0]).shape == (0,)
