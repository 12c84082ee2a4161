"""A mesh of air that does not fold onto itself where parts of the creature come together. Source: Lee 2018, sections 2.3.1 and 3.2."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built

import meniscus as ms
from meniscus.coupling import KDSM, Skinning

BALLS = ms.mesh.TriangleMesh(
    np.vstack([BALL.vertices, BALL.vertices + np.array([1.9, 0.0, 0.0])]), np.vstack([BALL.triangles, BALL.triangles + len(BALL.vertices)])
)
TOGETHER = np.arange(6) / 24.0


def approached(t: float, most: float) -> np.ndarray:
    """Two balls, each with 0.3 m or more of air around it, come together by `most` (m) each: skins are 0.9 m apart at first."""
    x = np.array(BALLS.vertices)
    way = most * min(t / TOGETHER[-2], 1.0)
    x[: len(BALL.vertices), 0] += way
    x[len(BALL.vertices) :, 0] -= way
    return x


def fork(times=TOGETHER, most: float = 0.2, **options) -> KDSM:
    return KDSM.build(BALLS, lambda t: approached(t, most), times, **{"cell_size": 0.25, "layers": 1, **options})


@cache
def firmly() -> KDSM:
    return fork(skinning=Skinning(self_collision=True))


def crossings(kdsm: KDSM, k: int) -> int:
    surface = ms.collision.CollisionMesh(kdsm.rest.boundary)
    return len(surface.self_intersections(np.ascontiguousarray(kdsm.frame(k))))


def test_layers_of_air_keep_out_of_each_other() -> None:
    """Without, they overlap, by the exact test over all tetrahedra; with, they yield, and no element turns over."""
    loose, firm = fork(), firmly()
    assert loose.rest.components == firm.rest.components == 2
    assert loose.rest.is_embedded(loose.frame(0))
    assert not loose.rest.is_embedded(loose.frame(len(TOGETHER) - 1))
    for k in range(len(TOGETHER)):
        assert firm.rest.is_embedded(firm.frame(k))
    assert firm.report().largest_gap.max() < 1.0


@pytest.mark.slow
def test_air_that_is_pressed_flat_does_not_cross_itself_and_comes_apart_again() -> None:
    """Skins come as close as 0.1 m, elements between them collapse and are repaired, nodes are pushed out; then they touch, and part."""
    firm = fork(most=0.4, skinning=Skinning(self_collision=True))
    assert [crossings(firm, k) for k in range(len(TOGETHER))] == [0] * len(TOGETHER)
    assert crossings(fork(most=0.4), len(TOGETHER) - 1) > 0
    times = np.arange(13) / 24.0
    there_and_back = KDSM.build(
        BALLS,
        lambda t: approached(TOGETHER[-2] * np.sin(np.pi * t / times[-1]), 0.46),
        times,
        cell_size=0.25,
        layers=1,
        skinning=Skinning(self_collision=True),
    )
    assert crossings(there_and_back, len(times) - 1) == 0


def test_where_nothing_touches_the_mesh_is_that_without() -> None:
    loose, firm = built(), built(skinning=Skinning(self_collision=True))
    for k in range(len(TIMES)):
        np.testing.assert_allclose(firm.frame(k), loose.frame(k), atol=2e-4)
    still = built(lambda t: BALL.vertices, skinning=Skinning(self_collision=True))
    np.testing.assert_allclose(still.frame(len(TIMES) - 1), still.rest.vertices, atol=1e-12)


def test_a_build_that_goes_on_has_the_same_bits(tmp_path: Path) -> None:
    options = Skinning(self_collision=True)
    pytest.importorskip("h5py")
    whole = firmly()
    fork(TOGETHER[:4], skinning=options, out=tmp_path / "fork.h5")
    later = fork(skinning=options, out=tmp_path / "fork.h5")
    for k in range(len(TOGETHER)):
        np.testing.assert_array_equal(later.frame(k), whole.frame(k))


def test_frames_at_rest_have_no_collisions() -> None:
    with pytest.raises(ValueError, match='self_collision needs the mode "dynamic"'):
        Skinning(mode="quasi-static", self_collision=True)
