"""Overlaps of tetrahedra against rational arithmetic, and their sums over meshes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.clipping.rational import overlap_volume
from support.clipping.rotations import rotation

import meniscus as ms

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]
N = 30


def shared(rng: np.random.Generator, corners: int) -> Pair:
    a, b = rng.random((2, N, 4, 3))
    b[:, :corners] = a[:, :corners]
    return a, b


def thin(rng: np.random.Generator) -> Pair:
    a, b = rng.random((2, N, 4, 3))
    a[:, :, 2] = 0.5 + 1e-8 * a[:, :, 2]
    return a, b


def needles(rng: np.random.Generator) -> Pair:
    a, b = rng.random((2, N, 4, 3))
    a[:, :, 1:] = 0.5 + 1e-6 * a[:, :, 1:]
    return a @ rotation(3).T, b


def nested(rng: np.random.Generator) -> Pair:
    a = rng.random((N, 4, 3))
    return a, np.einsum("nij,njd->nid", rng.dirichlet([1.0] * 4, (N, 4)), a)


def on_a_face(rng: np.random.Generator) -> Pair:
    a, b = rng.random((2, N, 4, 3))
    b[:, :3] = np.einsum("nij,njd->nid", rng.dirichlet([1.0] * 3, (N, 3)), a[:, :3])
    return a, b


def moved(rng: np.random.Generator, by: float) -> Pair:
    a = rng.random((N, 4, 3))
    return a, a + by * rng.standard_normal(a.shape)


def grid(rng: np.random.Generator, cells: int) -> Pair:
    a, b = rng.integers(0, cells + 1, (2, 3 * N, 4, 3)) / cells
    return a, b


def touching(rng: np.random.Generator) -> Pair:
    """A corner of one in a face of the other, an edge across an edge, an edge in a face."""
    a, b = rng.random((2, N, 4, 3))
    b[::3, 0] = (a[::3, 0] + a[::3, 1] + a[::3, 2]) / 3
    b[1::3, 0] = (a[1::3, 0] + a[1::3, 1]) / 2 + (a[1::3, 2] - a[1::3, 3])
    b[1::3, 1] = (a[1::3, 0] + a[1::3, 1]) / 2 - (a[1::3, 2] - a[1::3, 3])
    b[2::3, :2] = (a[2::3, :2] + a[2::3, 2:3]) / 2
    return a, b


CASES: dict[str, Callable[[np.random.Generator], Pair]] = {
    "any": lambda rng: tuple(rng.random((2, N, 4, 3))),
    "far from 0": lambda rng: tuple(rng.random((2, N, 4, 3)) + np.array([1e6, -3e5, 7e3])),
    "tiny": lambda rng: tuple(1e-60 * rng.random((2, N, 4, 3))),
    "huge": lambda rng: tuple(1e60 * rng.random((2, N, 4, 3))),
    "tiny in large": lambda rng: (0.3 + 1e-5 * rng.random((N, 4, 3)), rng.random((N, 4, 3))),
    "equal": lambda rng: moved(rng, 0.0),
    "equal but for rounding": lambda rng: moved(rng, 1e-16),
    "almost equal": lambda rng: moved(rng, 1e-9),
    "moved": lambda rng: moved(rng, 0.05),
    "a shared corner": lambda rng: shared(rng, 1),
    "a shared edge": lambda rng: shared(rng, 2),
    "a shared face": lambda rng: shared(rng, 3),
    "grid of 1 cell": lambda rng: grid(rng, 1),
    "grid of 2 cells": lambda rng: grid(rng, 2),
    "grid of 3 cells": lambda rng: grid(rng, 3),
    "thin": thin,
    "needles": needles,
    "nested": nested,
    "on a face": on_a_face,
    "touching": touching,
}


@pytest.mark.parametrize("case", CASES)
def test_volumes_agree_with_rational_arithmetic(case: str) -> None:
    a, b = CASES[case](np.random.default_rng(sorted(CASES).index(case)))
    volumes = zip(ms.mesh.overlap_volumes(a, b), ms.mesh.overlap_volumes(b, a), strict=True)
    for x, y, both in zip(a, b, volumes, strict=True):
        size = min(np.ptp(x, axis=0).max(), np.ptp(y, axis=0).max())
        exact = overlap_volume(x, y)
        assert all(abs(float(exact - Fraction(float(volume)))) <= 4e-15 * size**3 for volume in both)


@pytest.mark.parametrize("case", CASES)
def test_volumes_do_not_depend_on_the_order_of_tetrahedra_and_corners(case: str) -> None:
    a, b = CASES[case](np.random.default_rng(7))
    volumes = ms.mesh.overlap_volumes(a, b)
    size = np.minimum(np.ptp(a, axis=1).max(axis=1), np.ptp(b, axis=1).max(axis=1)) ** 3
    others = [(b, a), (a[:, [1, 0, 2, 3]], b), (a[:, [2, 3, 1, 0]], b[:, [3, 1, 0, 2]]), (np.flip(a, 2), np.flip(b, 2))]
    for x, y in others:
        np.testing.assert_allclose(ms.mesh.overlap_volumes(x, y) / size, volumes / size, rtol=0, atol=4e-15)


@pytest.mark.parametrize(("angle", "scale", "away"), [(0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (2.0, 1e-4, 0.0), (3.0, 30.0, 1e5)])
def test_overlaps_with_a_mesh_sum_to_the_own_volume(angle: float, scale: float, away: float) -> None:
    rng = np.random.default_rng(int(10 * angle))
    mesh = ms.mesh.bcc_lattice((-1.0, -1.0, -1.0), 0.25, (8, 8, 8))
    corners = (scale * (mesh.vertices @ rotation(angle).T) + away)[mesh.tets]
    for width in (1.0, 0.2, 1e-3):
        for k in range(4):
            a = scale * width * (rng.random((4, 3)) - 0.5) + away
            if k == 3:
                a[:, 2] = away + 1e-6 * (a[:, 2] - away)
            own = abs(ms.mesh.TetMesh(a, np.array([[0, 1, 2, 3]], np.int32)).measures()[0])
            every = np.broadcast_to(a, corners.shape)
            for total in (ms.mesh.overlap_volumes(every, corners).sum(), ms.mesh.overlap_volumes(corners, every).sum()):
                assert total == pytest.approx(own, rel=1e-13, abs=0.0)


def test_tetrahedra_of_a_deformed_mesh_share_no_volume() -> None:
    rng = np.random.default_rng(3)
    mesh = ms.mesh.tet_block(3, 3, 3)
    vertices = mesh.vertices @ rotation(1.0).T + 0.08 * rng.standard_normal(mesh.vertices.shape) / 3 + 50
    x = vertices[mesh.tets]
    i, j = (index.ravel() for index in np.indices((len(x), len(x))))
    shared = ms.mesh.overlap_volumes(x[i], x[j]).reshape(len(x), len(x))
    np.testing.assert_array_equal(np.diag(shared), np.abs(mesh.measures(vertices)))
    np.fill_diagonal(shared, 0)
    assert not shared.any()


def test_a_translated_mesh_covers_the_common_box() -> None:
    mesh = ms.mesh.tet_block(2, 2, 2)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    x = mesh.vertices[mesh.tets]
    i, j = (index.ravel() for index in np.indices((len(x), len(x))))
    for part in (0.5, 0.3, 1.0, 2.0):
        shift = part * (high - low) * [0.5, 0.25, 0.5]
        total = ms.mesh.overlap_volumes(x[i], x[j] + shift).sum()
        assert total == pytest.approx(np.prod(np.clip(high - low - shift, 0, None)), rel=1e-14, abs=0.0)


def test_flat_tetrahedra_have_no_overlap() -> None:
    rng = np.random.default_rng(5)
    b = rng.random((40, 4, 3))
    a = rng.random((40, 4, 3))
    a[:10, :, 2] = 0.5
    a[10:20, 3] = a[10:20, 0]
    a[20:30] = a[20:30, :1]
    a[30:, 1:] = a[30:, :1] + np.arange(1, 4)[:, None] / 4 * (a[30:, 1:2] - a[30:, :1])
    for x, y in ((a, b), (b, a), (a, a)):
        assert (ms.mesh.overlap_volumes(x, y) <= 1e-16).all()


def test_the_same_bits_for_any_number_of_threads() -> None:
    a, b = np.random.default_rng(11).random((2, 3000, 4, 3))
    threads = ms.num_threads()
    try:
        found = []
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            found.append(ms.mesh.overlap_volumes(a, b))
    finally:
        ms.set_num_threads(threads)
    assert all(np.array_equal(found[0], other) for other in found[1:])


def test_results_are_written_to_out() -> None:
    a, b = np.random.default_rng(12).random((2, 20, 4, 3))
    out = np.full(20, np.nan)
    assert ms.mesh.overlap_volumes(a, b, out) is out
    np.testing.assert_array_equal(out, ms.mesh.overlap_volumes(a.tolist(), np.asfortranarray(b)))
    assert ms.mesh.overlap_volumes(np.empty((0, 4, 3)), np.empty((0, 4, 3))).shape == (0,)


A = np.zeros((2, 4, 3))
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (lambda: ms.mesh.overlap_volumes(A[:, :3], A), ValueError, r"a must have shape \(n, 4, 3\), not \(2, 3, 3\)"),
    "one": (lambda: ms.mesh.overlap_volumes(A, A[0]), ValueError, r"b must have shape \(n, 4, 3\), not \(4, 3\)"),
    "lengths": (lambda: ms.mesh.overlap_volumes(A, A[:1]), ValueError, "a and b must have as many tetrahedra, not 2 and 1"),
    "text": (lambda: ms.mesh.overlap_volumes("x", A), TypeError, "a must be an array of numbers"),
    "nan": (lambda: ms.mesh.overlap_volumes(A, A + np.nan), ValueError, r"b must be finite, but \[0, 0, 0\] is nan"),
    "far": (lambda: ms.mesh.overlap_volumes(A + 1e101, A), ValueError, r"a must be at most 1e\+100 m from 0, but \[0, 0, 0\] is 1e\+101"),
    "out": (lambda: ms.mesh.overlap_volumes(A, A, np.empty(3)), ValueError, r"out must have shape \(2,\)"),
    "out of floats": (
        lambda: ms.mesh.overlap_volumes(A, A, np.empty(2, np.float32)),
        TypeError,
        "out must be a NumPy array of dtype",
    ),
    "out in a": (lambda: ms.mesh.overlap_volumes(A, A.copy(), A.reshape(-1)[:2]), ValueError, "out must not share memory with an input"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
