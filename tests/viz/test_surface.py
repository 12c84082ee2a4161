"""Shaded pictures of triangle meshes: what is in front, sides, shadows and edges, in pixels."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from meniscus.mesh import TriangleMesh, icosphere

viz = pytest.importorskip("meniscus.viz")
Image = pytest.importorskip("PIL.Image")

RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
BOX = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
LOOK: dict[str, Any] = {"eye": (0.0, 0.0, 1.0), "up": (0.0, 1.0, 0.0), "box": BOX, "size": (3.0, 3.0), "edges": False}


def pixels(figure: Any) -> np.ndarray:
    """Return (height, width, 3) of what the picture shows of the box, from -1 to 1 in both directions, from the top down."""
    memory = io.BytesIO()
    figure.savefig(memory, format="png")
    whole = np.asarray(Image.open(memory).convert("RGB")).astype(float)
    axes = figure.axes[0]
    ends = axes.transData.transform([(-1.0, -1.0), (1.0, 1.0)])
    (x0, y0), (x1, y1) = np.round(ends).astype(int)
    height = len(whole)
    return np.asarray(whole[height - y1 : height - y0, x0:x1])


def at(picture: np.ndarray, x: float, y: float) -> np.ndarray:
    """Return the colour at a point of the plane of the picture."""
    h, w = picture.shape[:2]
    return np.asarray(picture[int((1 - y) / 2 * h), int((x + 1) / 2 * w)])


def colored(*parts: tuple[Any, Any]) -> tuple[Any, Any, np.ndarray]:
    """Return one mesh of several with the colours of its triangles."""
    vertices, triangles, colors, first = [], [], [], 0
    for (x, t), color in parts:
        vertices.append(np.asarray(x, float))
        triangles.append(np.asarray(t, np.int32) + first)
        colors.append(np.tile(color, (len(t), 1)))
        first += len(x)
    return np.concatenate(vertices), np.concatenate(triangles), np.concatenate(colors)


def test_triangles_that_pass_through_each_other_meet_at_their_seam() -> None:
    """Sorted by the depth of their middles, one would hide the other everywhere."""
    falling = ([(-1.0, -0.8, 1.0), (1.0, -0.8, -1.0), (1.0, 0.8, -1.0), (-1.0, 0.8, 1.0)], [(0, 1, 2), (0, 2, 3)])
    rising = ([(-1.0, -0.8, -1.0), (1.0, -0.8, 1.0), (1.0, 0.8, 1.0), (-1.0, 0.8, -1.0)], [(0, 1, 2), (0, 2, 3)])
    x, t, colors = colored((falling, RED), (rising, BLUE))
    picture = pixels(viz.surface(x, t, color=colors, back=colors, **LOOK))
    for y in (-0.6, 0.0, 0.6):
        for s in (0.1, 0.5, 0.9):
            left, right = at(picture, -s, y), at(picture, s, y)
            assert left[0] > 100
            assert left[2] == 0
            assert right[2] > 100
            assert right[0] == 0


def test_sides_have_their_colours_from_either_side() -> None:
    square = TriangleMesh(np.array([(-0.5, -0.5, 0.0), (0.5, -0.5, 0.0), (0.5, 0.5, 0.0), (-0.5, 0.5, 0.0)]), [(0, 1, 2), (0, 2, 3)])
    for eye, seen in ((1.0, 0), (-1.0, 2)):
        picture = pixels(viz.surface(square, color=RED, back=BLUE, **{**LOOK, "eye": (0.0, 0.0, eye)}))
        color = at(picture, 0.0, 0.0)
        assert color[seen] > 100
        assert color[2 - seen] == 0
        assert (at(picture, 0.8, 0.8) == 255).all()
        # A quarter of the box, to the pixels of its rim.
        assert (picture.min(axis=2) < 128).mean() == pytest.approx(0.25, abs=0.01)


def test_balls_are_smooth() -> None:
    ball = pixels(viz.surface(icosphere(2, 0.9), color=(0.9, 0.9, 0.9), **LOOK))
    facets = pixels(viz.surface(icosphere(2, 0.9), color=(0.9, 0.9, 0.9), smooth=False, **LOOK))
    inner = np.hypot(*np.meshgrid(np.linspace(-1, 1, ball.shape[1]), np.linspace(-1, 1, ball.shape[0]))) < 0.6
    inner = inner[1:, 1:] & inner[:-1, 1:] & inner[1:, :-1]
    steps = [np.percentile(np.abs(np.diff(p[..., 0], axis=0))[:, 1:][inner], 99) for p in (ball, facets)]
    assert steps[0] < 4
    assert steps[1] > 12


def test_boxes_keep_their_edges() -> None:
    x = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)]) - 0.5
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    picture = pixels(viz.surface(x, triangles, color=(0.9, 0.9, 0.9), **{**LOOK, "eye": (1.0, 1.0, 1.0)}))
    # Three sides, each of one colour.
    _, counts = np.unique(picture[picture.min(axis=2) < 250][:, 0], return_counts=True)
    assert (counts > 0.2 * counts.sum()).sum() == 3
    assert np.sort(counts)[-3:].sum() > 0.9 * counts.sum()


def test_floors_take_shadows_and_are_not_seen_from_below() -> None:
    ball = icosphere(3, 0.3)
    look = {**LOOK, "eye": (0.0, 1.0, 1.0)}
    bare, floor = (pixels(viz.surface(ball, floor=f, **look)) for f in (None, -0.3))
    assert (bare[0, 0] == 255).all()
    light = at(floor, 0.0, -0.5)
    assert 220 < light.min() < 250
    shadow = (floor.max(axis=2) < light.min() - 20) & (np.ptp(floor, axis=2) < 12)
    radius = 0.3 / 2 * floor.shape[0]
    # An ellipse, of which the ball hides a part.
    assert 0.2 * np.pi * radius**2 < shadow.sum() < 2 * np.pi * radius**2
    below = {**LOOK, "eye": (0.0, -1.0, 1.0)}
    np.testing.assert_array_equal(pixels(viz.surface(ball, floor=-0.3, **below)), pixels(viz.surface(ball, **below)))


def test_edges_are_drawn_where_triangles_are_large_enough() -> None:
    plain = {k: v for k, v in LOOK.items() if k != "edges"}
    for level, drawn in ((1, True), (6, False)):
        with_edges, without = (pixels(viz.surface(icosphere(level, 0.9), edges=e, **plain)) for e in (True, False))
        darker = (without - with_edges).max(axis=2) > 8
        assert (darker.mean() > 0.02) == drawn
        assert darker.mean() < 0.3


def test_places_far_from_the_origin_look_alike() -> None:
    box = tuple(tuple(1e9 + c for c in corner) for corner in BOX)
    near, far = (viz.surface(icosphere(2, 0.9).translated(t), **{**LOOK, "box": b}) for t, b in (((0,) * 3, BOX), ((1e9,) * 3, box)))
    a, b = (np.asarray(f.axes[0].images[0].get_array(), float) for f in (near, far))
    assert np.abs(a - b).mean() < 1.0


def test_nothing_and_wrong_values() -> None:
    with pytest.raises(ValueError, match="nothing needs a box"):
        viz.surface(np.empty((0, 3)), np.empty((0, 3), np.int32))
    empty = TriangleMesh(np.empty((0, 3)), np.empty((0, 3), np.int32))
    assert (pixels(viz.surface(empty, **LOOK)) == 255).all()
    with pytest.raises(TypeError, match="floor must be"):
        viz.surface(icosphere(1, 1.0), floor="low")
    with pytest.raises(TypeError, match="smooth must be"):
        viz.surface(icosphere(1, 1.0), smooth=1)
