"""Coats of hair: exact frames, lengths, push-out, styles, guides."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.creatures import BALL, TIMES, built, turn

import meniscus as ms
from meniscus.coupling import GuideHairs, HairCoat, HairPost, blend_along
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]
SHEAR = np.array([[1.2, 0.3, -0.1], [0.0, 0.9, 0.4], [0.25, 0.0, 1.1]])
PLAIN = HairPost(length="free", pushout="none")


def fur(count: int = 60, length: float = 0.2, **options: Any) -> Groom:
    return Groom.grow(BALL, count, length, segments=12, noise=0.2, seed=5, **options)


def stretched(t: float) -> Floats:
    return BALL.vertices @ (np.eye(3) + 8 * t * (turn(0.9) @ SHEAR - np.eye(3))).T + t * np.array([1.0, 2.0, -1.0])


@pytest.mark.parametrize(("precision", "error"), [("double", 1e-12), ("compact", 1e-6)])
def test_affine_motion_of_the_mesh_is_exact(precision: Any, error: float) -> None:
    kdsm, groom = built(times=TIMES[:2]), fur()
    coat = HairCoat(kdsm, Groom(groom.points, groom.offsets), precision=precision, post=PLAIN)
    matrix, shift = turn(0.7) @ SHEAR, np.array([3.0, -1.0, 2.0])
    found = coat.positions(0.0, nodes=kdsm.rest.vertices @ matrix.T + shift)
    assert np.abs(found - groom.points @ matrix.T - shift).max() < error
    assert coat.nbytes / len(groom.points) < (26 if precision == "compact" else 38)  # with lengths and wetness, without offsets


def test_frames_in_any_order_and_on_any_number_of_threads_have_the_same_bits() -> None:
    kdsm, groom = built(), fur()
    coat = HairCoat(kdsm, groom)
    first = [coat.positions(float(t)) for t in TIMES]
    before = ms.num_threads()
    try:
        for threads, order in zip((1, 2, 3, 5, 8), ((3, 0, 5), (5, 4, 3), (1, 2, 0), (0, 5, 0), (2, 1, 4)), strict=True):
            ms.set_num_threads(threads)
            other = HairCoat(kdsm, groom)
            for k in order:
                assert np.array_equal(other.positions(float(TIMES[k])), first[k])
    finally:
        ms.set_num_threads(before)
    out = np.empty_like(first[0])
    assert coat.positions(float(TIMES[2]), out) is out
    assert np.array_equal(out, first[2])


def test_roots_lie_on_the_skin_and_lengths_are_kept() -> None:
    kdsm, groom = built(stretched), fur()
    rest = np.linalg.norm(np.diff(groom.points, axis=0), axis=1)
    inner = np.ones(len(rest), bool)
    inner[groom.offsets[1:-1] - 1] = False
    t = float(TIMES[-1])
    lengths = {}
    for mode in ("free", "shorten", "keep"):
        coat = HairCoat(kdsm, groom, precision="double", post=HairPost(length=mode, pushout="none"))
        x = coat.positions(t)
        assert x[groom.offsets[:-1]] == pytest.approx(groom.roots_on(kdsm.skin_at(t)), abs=1e-12)
        lengths[mode] = (np.linalg.norm(np.diff(x, axis=0), axis=1) / rest)[inner]
    assert lengths["free"].max() > 1.1
    assert lengths["free"].min() < 0.97
    assert lengths["shorten"].max() < 1 + 1e-6
    assert lengths["shorten"].min() < 0.99
    assert np.abs(lengths["keep"] - 1).max() < 1e-6
    # Strands that are short enough everywhere keep all bits.
    still = HairCoat(built(lambda t: BALL.vertices, times=TIMES[:2]), groom, post=HairPost(pushout="none"))
    free = HairCoat(still.kdsm, groom, post=PLAIN)
    longer = np.float32(rest) >= np.linalg.norm(np.diff(free.positions(0.0), axis=0), axis=1)
    ends = groom.offsets
    whole = [s for s in range(len(groom)) if longer[ends[s] : ends[s + 1] - 1].all()]
    for s in whole:
        assert np.array_equal(still.positions(0.0)[ends[s] : ends[s + 1]], free.positions(0.0)[ends[s] : ends[s + 1]])


@pytest.mark.parametrize("mode", ["inside", "order"])
def test_points_inside_are_pushed_out(mode: Any) -> None:
    kdsm = built(lambda t: BALL.vertices, times=TIMES[:2])
    centre, rng = BALL.vertices.mean(axis=0), np.random.default_rng(1)
    normal = rng.standard_normal((40, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    heights = np.array([0.0, 0.08, 0.05, 0.02, 0.005, -0.005, -0.01, -0.02, -0.03])  # of points of each strand above the ball
    points = (centre + (0.5 + heights[None, :, None]) * normal[:, None]).reshape(-1, 3)
    groom = Groom(points, np.arange(41) * len(heights))
    post = HairPost(length="free", pushout=mode, thickness=0.03, depth=0.06, spacing=0.03)
    coat = HairCoat(kdsm, groom, post=post)
    before = ms.surface.MeshDistance(BALL).signed_distance(points).reshape(40, -1)
    after = ms.surface.MeshDistance(BALL).signed_distance(coat.positions(0.0)).reshape(40, -1)
    assert after[:, 1:].min() > -1e-3 * 0.03 - 1e-3  # the distance is interpolated
    far = before > 0.035
    assert np.abs(after - before)[far].max() < 1e-6
    if mode == "order":
        assert (np.diff(after[:, 1:], axis=1) < 1e-4).all()  # deeper points stay deeper
        near = ~far
        near[:, 0] = False
        expected = 0.03 * (before + 0.06) / 0.09
        assert after[near] == pytest.approx(expected[near], abs=2e-3)
    moved = coat.positions(0.0) - points
    radial = moved - (moved * normal.repeat(len(heights), axis=0)).sum(axis=1)[:, None] * normal.repeat(len(heights), axis=0)
    assert np.abs(radial).max() < 0.2 * np.abs(moved).max()  # the ball has facets


def test_styles_blend_linearly_and_move_with_the_mesh() -> None:
    kdsm, groom = built(), fur()
    coat = HairCoat(kdsm, groom, precision="double", post=PLAIN)
    coat.styles["clumped"] = coat.clump(6, seed=1)
    coat.styles["matted"] = coat.mat(0.5)
    assert coat.styles["clumped"] == pytest.approx(coat.clump(6, seed=1), abs=1e-12)
    coat.blend = ("dry", "clumped", "matted")
    t = float(TIMES[3])
    shapes = []
    for name in coat.blend:
        one = HairCoat(kdsm, groom, precision="double", post=PLAIN)
        one.styles["only"] = coat.styles[name]
        one.blend = ("only",)
        shapes.append(one.positions(t))
    roots = groom.offsets[:-1]
    free = np.setdiff1d(np.arange(len(groom.points)), roots)
    for wetness, expected in ((0.0, shapes[0]), (0.5, shapes[1]), (1.0, shapes[2]), (0.25, 0.5 * (shapes[0] + shapes[1]))):
        coat.wetness[:] = wetness
        assert coat.positions(t)[free] == pytest.approx(expected[free], abs=1e-12)
    coat.wetness[3] = 1.5
    with pytest.raises(ValueError, match=r"wetness must be within \[0, 1\]"):
        coat.positions(t)


def test_what_styles_do() -> None:
    kdsm, groom = built(times=TIMES[:2], layers=2), fur(length=0.15)
    coat = HairCoat(kdsm, groom)
    tips, roots = groom.offsets[1:] - 1, groom.offsets[:-1]

    def spread(x: Floats) -> float:
        d = np.linalg.norm(x[:, None] - x[None], axis=2)
        return float(np.sort(d, axis=1)[:, 1].mean())

    clump = coat.clump(8, 0.9)
    assert spread(clump[tips]) < 0.4 * spread(groom.points[tips])
    assert np.array_equal(clump[roots], groom.points[roots])
    distance = ms.surface.MeshDistance(BALL).signed_distance
    mat = coat.mat(0.8)
    assert distance(mat).mean() < 0.6 * distance(groom.points).mean()
    sag = coat.sag((0.0, -9.81, 0.0), density=100.0, hold=4.0)
    assert sag[:, 1].mean() < groom.points[:, 1].mean() - 1e-4
    assert distance(sag).min() > -0.1 * 0.25 * kdsm.cell_size  # of the grid of distances
    for name, style in {"clumped": clump, "matted": mat, "sagged": sag}.items():
        coat.styles[name] = style


def test_blends_along_the_hair_and_guides() -> None:
    kdsm, groom = built(), fur()
    coat = HairCoat(kdsm, groom)
    x = coat.positions(float(TIMES[2]))
    y = x + 0.1
    assert np.array_equal(blend_along(groom, [y, x], [0.0, 1.0]), x)
    mixed = blend_along(groom, [y, x], [[0.0, 1.0], [1.0, 0.0]])
    assert mixed[groom.offsets[:-1]] == pytest.approx(x[groom.offsets[:-1]], abs=1e-14)
    assert mixed[groom.offsets[1:] - 1] == pytest.approx(y[groom.offsets[1:] - 1], abs=1e-12)
    with pytest.raises(ValueError, match="sum to 1"):
        blend_along(groom, [y, x], [0.6, 0.6])
    every = GuideHairs(groom, np.arange(len(groom)))
    moved = x + 0.01 * np.random.default_rng(0).standard_normal(x.shape)
    assert np.array_equal(every.lead(x, moved), moved)
    some = GuideHairs(groom, [3, 17, 40])
    assert np.array_equal(some.lead(x, x), x)
    assert some.lead(x, x + 0.05) == pytest.approx(x + 0.05, abs=1e-12)


def test_what_a_coat_refuses() -> None:
    kdsm, groom = built(times=TIMES[:2]), fur()
    with pytest.raises(ValueError, match="hair must lie in the mesh of air"):
        HairCoat(kdsm, fur(length=3.0))
    coat = HairCoat(kdsm, groom)
    with pytest.raises(ValueError, match="a style of these strands has shape"):
        coat.styles["other"] = groom.points[:-1]
    coat.blend = ("dry", "wet")
    with pytest.raises(ValueError, match="blend must name styles"):
        coat.positions(0.0)
    with pytest.raises(ValueError, match="pushout must be"):
        HairPost(pushout="somehow")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="too few"):
        coat.clump(100)
    assert "60 strands" in repr(coat)
