"""Grids: errors, equality, pickling and positions of samples."""

import pickle

import numpy as np
import pytest

import meniscus as ms

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"shape": (0, 3), "spacing": 1.0}, ValueError, r"shape\[0\] must be at least 1"),
        ({"shape": (3, 4, 0), "spacing": 1.0}, ValueError, r"shape\[2\] must be at least 1"),
        ({"shape": (3, -4), "spacing": 1.0}, ValueError, r"shape\[1\]"),
        ({"shape": (5,), "spacing": 1.0}, ValueError, "2 or 3 axes"),
        ({"shape": (2, 2, 2, 2), "spacing": 1.0}, ValueError, "2 or 3 axes, not 4"),
        ({"shape": 8, "spacing": 1.0}, TypeError, "sequence of 2 or 3 integers"),
        ({"shape": "ab", "spacing": 1.0}, TypeError, "sequence of 2 or 3 integers"),
        ({"shape": (4.0, 4), "spacing": 1.0}, TypeError, "integer"),
        ({"shape": (4, True), "spacing": 1.0}, TypeError, "integer"),
        ({"shape": (4, 4), "spacing": 0.0}, ValueError, "spacing must be positive"),
        ({"shape": (4, 4), "spacing": -1.0}, ValueError, "spacing must be positive"),
        ({"shape": (4, 4), "spacing": NAN}, ValueError, "spacing must be finite"),
        ({"shape": (4, 4), "spacing": INF}, ValueError, "spacing must be finite"),
        ({"shape": (4, 4), "spacing": "1"}, TypeError, "spacing must be a number"),
        ({"shape": (4, 4), "spacing": (1.0, 2.0)}, ValueError, "same on every axis"),
        ({"shape": (4, 4), "spacing": (1.0, 1.0, 1.0)}, ValueError, "a number or 2 equal ones"),
        ({"shape": (4, 4), "spacing": 1.0, "origin": (0.0, NAN)}, ValueError, r"origin\[1\] must be finite"),
        ({"shape": (4, 4), "spacing": 1.0, "origin": (INF, 0.0)}, ValueError, r"origin\[0\] must be finite"),
        ({"shape": (4, 4), "spacing": 1.0, "origin": (0.0, 0.0, 0.0)}, ValueError, "origin must hold 2"),
        ({"shape": (4, 4), "spacing": 1.0, "periodic": (True,)}, ValueError, "periodic must be"),
        ({"shape": (4, 4), "spacing": 1.0, "periodic": (1, 0)}, ValueError, "periodic must be"),
        ({"shape": (4, 4), "spacing": 1.0, "periodic": 1}, ValueError, "periodic must be"),
    ],
)
def test_refuses(arguments: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        ms.Grid(**arguments)


def test_properties() -> None:
    g = ms.Grid(np.array([4, 6, 2]), (0.5, 0.5, 0.5), [1, 2, 3], (True, False, True))
    assert (g.dimension, g.shape, g.local_shape) == (3, (4, 6, 2), (4, 6, 2))
    assert (g.spacing, g.origin, g.periodic) == (0.5, (1.0, 2.0, 3.0), (True, False, True))
    assert g.extent == (2.0, 3.0, 1.0)
    assert g.sides == ("y-", "y+")
    assert ms.Grid((4, 4), 1.0, periodic=True).periodic == (True, True)


def test_equality_and_hash() -> None:
    a = ms.Grid((4, 5), 0.1, (1.0, 2.0), (True, False))
    assert a == ms.Grid([4, 5], (0.1, 0.1), [1, 2], [True, False])
    assert hash(a) == hash(ms.Grid([4, 5], 0.1, [1, 2], [True, False]))
    different = [
        ms.Grid((5, 4), 0.1, (1.0, 2.0), (True, False)),
        ms.Grid((4, 5), 0.2, (1.0, 2.0), (True, False)),
        ms.Grid((4, 5), 0.1, (1.0, 2.5), (True, False)),
        ms.Grid((4, 5), 0.1, (1.0, 2.0), (False, True)),
        ms.Grid((4, 5, 1), 0.1, (1.0, 2.0, 0.0), (True, False, False)),
    ]
    assert all(a != b for b in different)
    assert len({a, *different}) == len(different) + 1
    assert a != "grid"


@pytest.mark.parametrize("g", [ms.Grid((4, 5), 0.1), ms.Grid((3, 4, 5), 1 / 3, (0.1, 0.2, 0.3), (True, False, True))])
def test_pickle_and_repr_give_the_grid_back(g: ms.Grid) -> None:
    assert pickle.loads(pickle.dumps(g)) == g
    assert eval(repr(g), {"Grid": ms.Grid}) == g


def test_coordinates(dimension: int) -> None:
    g = ms.Grid((4, 3, 2)[:dimension], 0.5, (1.0, -2.0, 8.0)[:dimension])
    assert [c.shape for c in g.nodes()] == [tuple(n + 1 if a == d else 1 for a in range(dimension)) for d, n in enumerate(g.shape)]
    np.testing.assert_array_equal(g.cell_centers()[0].ravel(), [1.25, 1.75, 2.25, 2.75])
    np.testing.assert_array_equal(g.nodes()[1].ravel(), [-2.0, -1.5, -1.0, -0.5])
    faces = g.face_centers(1)
    np.testing.assert_array_equal(faces[0].ravel(), g.cell_centers()[0].ravel())
    np.testing.assert_array_equal(faces[1].ravel(), g.nodes()[1].ravel())
    np.testing.assert_array_equal(g.coordinates((1,) * dimension)[-1], g.nodes()[-1])
    v = ms.MacField(g)
    assert np.broadcast_shapes(*[c.shape for c in faces]) == v.v.shape


@pytest.mark.parametrize("axis", [-1, 2, 7])
def test_face_centers_refuse_an_axis_that_is_not_there(axis: int) -> None:
    with pytest.raises(ValueError, match="axis"):
        ms.Grid((4, 4), 1.0).face_centers(axis)
