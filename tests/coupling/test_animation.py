"""Animations from arrays, functions and files, and registration of frames with other triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.creatures import BALL, TIMES, built, squirm

import meniscus as ms
from meniscus.coupling.animation import Animation
from meniscus.coupling.registration import registered


def test_functions_arrays_and_files_are_the_same_animation(tmp_path: Path) -> None:
    for k, t in enumerate(TIMES):
        ms.mesh.TriangleMesh(squirm(t), BALL.triangles).write(tmp_path / f"ball-{k:03d}.ply")
    files = sorted(tmp_path.glob("ball-*.ply"))
    sources = [squirm, np.stack([squirm(t) for t in TIMES]), str(tmp_path / "ball-*.ply"), files]
    for source in sources:
        animation = Animation(BALL, source, TIMES)
        assert len(animation) == 6
        for k in (5, 0, 3):
            np.testing.assert_allclose(animation.frame(k), squirm(TIMES[k]), atol=1e-15)


def test_frames_with_other_triangles_are_refused_or_registered(tmp_path: Path) -> None:
    """The same moving ellipsoid, meshed anew in every frame."""
    template = ms.mesh.icosphere(3, radius=0.5)
    for k in range(4):
        other = ms.mesh.icosphere(2 if k % 2 else 3, radius=0.5)
        turned = other.vertices @ np.linalg.qr(np.random.default_rng(k).normal(size=(3, 3)))[0]
        if np.linalg.det(np.linalg.lstsq(other.vertices, turned, rcond=None)[0]) < 0:
            turned = -turned
        x = turned * [1.0 + 0.15 * k, 1.0, 1.0 - 0.08 * k] + [0.05 * k, 0.0, 0.0]
        ms.mesh.TriangleMesh(x, other.triangles).write(tmp_path / f"f-{k}.ply")
    times = np.arange(4) / 24.0
    with pytest.raises(ValueError, match=r"frame 0 of the animation, '.*f-0\.ply', has other triangles .* register=True"):
        Animation(ms.mesh.icosphere(1), str(tmp_path / "f-*.ply"), times).frame(0)
    animation = Animation(template, str(tmp_path / "f-*.ply"), times, register=True)
    for k in range(4):
        x = animation.frame(k)
        scaled = (x - [0.05 * k, 0.0, 0.0]) / (0.5 * np.array([1.0 + 0.15 * k, 1.0, 1.0 - 0.08 * k]))
        on_facets = np.linalg.norm(scaled, axis=1)
        assert 0.95 < on_facets.min() <= on_facets.max() < 1.0 + 1e-9
        moved = ms.mesh.TriangleMesh(x, template.triangles)
        quality = moved.quality()
        assert quality.smallest_angle.min() > 15.0
        assert moved.volume() > 0.9 * 4.0 / 3.0 * np.pi * 0.125 * (1.0 + 0.15 * k) * (1.0 - 0.08 * k)


def test_registration_leaves_a_surface_that_fits() -> None:
    target = ms.mesh.TriangleMesh(squirm(0.05), BALL.triangles)
    x = registered(BALL, squirm(0.05), target)
    np.testing.assert_allclose(x, squirm(0.05), atol=1e-12)


def test_a_kdsm_is_built_from_files(tmp_path: Path) -> None:
    for k, t in enumerate(TIMES[:3]):
        ms.mesh.TriangleMesh(squirm(t), BALL.triangles).write(tmp_path / f"ball-{k:03d}.ply")
    kdsm = built(str(tmp_path / "ball-*.ply"), times=TIMES[:3])
    np.testing.assert_allclose(kdsm.frame(2), built(times=TIMES[:3]).frame(2), atol=1e-9)
    with pytest.raises(ValueError, match="there is no file"):
        built(str(tmp_path / "none-*.ply"))
    with pytest.raises(ValueError, match="there are 3 files and 6 times"):
        built(str(tmp_path / "ball-*.ply"))
