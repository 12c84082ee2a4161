"""Grooms: growth on meshes, roots that follow, files, refusals."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import Groom


def sphere(radius: float = 0.1) -> ms.mesh.TriangleMesh:
    return ms.mesh.icosphere(3, radius)


def test_strands_grow_uniformly_by_area_and_along_normals() -> None:
    skin = sphere()
    groom = Groom.grow(skin, 4000, 0.03, segments=5, seed=3)
    r = groom.roots / np.linalg.norm(groom.roots, axis=1)[:, None]
    assert np.abs(r.mean(axis=0)).max() < 4 / math.sqrt(3 * 4000)  # four standard deviations
    assert (np.einsum("si,si->s", r, groom.directions) > 0.99).all()
    assert groom.lengths == pytest.approx(np.full(4000, 0.03), rel=1e-12)
    assert np.array_equal(groom.points, Groom.grow(skin, 4000, 0.03, segments=5, seed=3).points)
    assert not np.array_equal(groom.points, Groom.grow(skin, 4000, 0.03, segments=5, seed=4).points)


def test_curls_have_their_radius_pitch_and_length() -> None:
    groom = Groom.grow(sphere(), 7, 0.2, curl_radius=0.004, pitch=0.01, segments=400)
    points = groom.points.reshape(7, 401, 3)
    assert groom.lengths == pytest.approx(np.full(7, 0.2), rel=1e-10)
    edges = np.diff(points, axis=1)
    normals = np.cross(edges[:, :-1], edges[:, 1:])

    def angles(v: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
        u = v / np.linalg.norm(v, axis=2)[:, :, None]
        return np.arccos(np.einsum("sij,sij->si", u[:, 1:], u[:, :-1])) / (0.2 / 400)

    scale = 0.004**2 + (0.01 / (2 * math.pi)) ** 2
    assert angles(edges) == pytest.approx(np.full((7, 399), 0.004 / scale), rel=3e-3)  # curvature
    assert angles(normals) == pytest.approx(np.full((7, 398), 0.01 / (2 * math.pi) / scale), rel=3e-3)  # torsion


def test_roots_and_frames_turn_with_the_skin() -> None:
    skin = sphere()
    groom = Groom.grow(skin, 50, 0.02, noise=0.3, seed=1)
    a = 0.7
    turn = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
    moved = skin.vertices @ turn.T + np.array([1.0, 2, 3])
    directions, directors = groom.frames_on(moved)
    assert groom.roots_on(moved) == pytest.approx(groom.roots @ turn.T + np.array([1.0, 2, 3]), abs=1e-14)
    assert directions == pytest.approx(groom.directions @ turn.T, abs=1e-13)
    assert directors == pytest.approx(groom.directors @ turn.T, abs=1e-13)
    # What stretches a triangle keeps frames of its edge and normal.
    d, e = groom.frames_on(skin.vertices * 2)
    assert d == pytest.approx(groom.directions, abs=1e-13)
    assert e == pytest.approx(groom.directors, abs=1e-13)


@pytest.mark.parametrize("kind", ["hair", "vtp"])
def test_files_keep_the_strands(kind: str, tmp_path: Path) -> None:
    if kind == "vtp":
        pytest.importorskip("pyvista")
    points = np.random.default_rng(0).standard_normal((9, 3))
    groom = Groom(points, [0, 2, 6, 9], radius=np.array([1e-3, 2e-3, 3e-3]))
    groom.save(tmp_path / f"a.{kind}")
    back = Groom.load(tmp_path / f"a.{kind}")
    precision = 1e-7 if kind == "hair" else 1e-15
    assert back.points == pytest.approx(groom.points, rel=precision)
    assert np.array_equal(back.offsets, groom.offsets)
    assert back.radius == pytest.approx(groom.radius, rel=1e-7)


def test_bad_input_gives_one_sentence(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((5, 3))
    with pytest.raises(ValueError, match="strand 1 has 1 points; two are the least"):
        Groom(x, [0, 4, 5])
    with pytest.raises(ValueError, match="offsets must go from 0 to the 5 points"):
        Groom(x, [0, 4])
    with pytest.raises(ValueError, match="points 1 and 2 coincide"):
        Groom(x[[0, 1, 1, 2, 3]], [0, 3, 5])
    with pytest.raises(ValueError, match="points"):
        Groom(np.where(x == x[2, 1], np.nan, x), [0, 5])
    skin = sphere()
    with pytest.raises(ValueError, match="m off its triangle"):
        Groom(x, [0, 5], skin=skin, root_triangles=[3], root_weights=[[0.2, 0.3, 0.5]])
    groom = Groom(x, [0, 5])
    with pytest.raises(ValueError, match="a style of these strands"):
        groom.add_style("short", x[:3])
    assert groom.styles == {}
    groom.save(tmp_path / "a.hair")
    raw = (tmp_path / "a.hair").read_bytes()
    for cut in (3, 100, 140, len(raw) - 1):
        (tmp_path / "b.hair").write_bytes(raw[:cut])
        with pytest.raises(ValueError, match="cut short"):
            Groom.load(tmp_path / "b.hair")
    with pytest.raises(ValueError, match="read from"):
        Groom.load(tmp_path / "a.txt")


def test_pickles_keep_all() -> None:
    groom = Groom.grow(sphere(), 5, 0.1)
    groom.add_style("half", 0.5 * groom.points)
    back = pickle.loads(pickle.dumps(groom))
    assert np.array_equal(back.points, groom.points)
    assert np.array_equal(back.styles["half"], groom.styles["half"])
    assert np.array_equal(back.frames_on(back.skin.vertices)[0], groom.frames_on(groom.skin.vertices)[0])
