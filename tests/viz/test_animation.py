"""Animations: every picture once, with its duration."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus import viz

image = pytest.importorskip("PIL.Image")


@pytest.fixture
def pictures(tmp_path):
    paths = []
    for i in range(5):
        paths.append(tmp_path / f"{i}.png")
        image.fromarray(np.full((33, 47, 3), 50 * i, np.uint8)).save(paths[-1])
    return paths


def test_gif_shows_all_pictures_in_order(tmp_path, pictures):
    path = viz.animate(pictures, tmp_path / "a.gif", frames_per_second=10)
    with image.open(path) as opened:
        assert opened.n_frames == 5
        assert opened.size == (47, 33)
        for i in range(5):
            opened.seek(i)
            assert opened.info["duration"] == 100
            assert np.asarray(opened.convert("RGB")).mean() == pytest.approx(50 * i, abs=2)
    with pytest.raises(ValueError, match="at least one picture"):
        viz.animate([], tmp_path / "b.gif")


def test_a_movie_comes_along_where_it_can_be_made(tmp_path, pictures):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    gif, movie = viz.animations(pictures, tmp_path / "a.gif", frames_per_second=10)
    assert (gif.name, movie.name) == ("a.gif", "a.mp4")
    frames = ffmpeg.read_frames(str(movie))
    assert next(frames)["size"] == (48, 34)  # even sizes, as the codec wants
    means = [np.frombuffer(f, np.uint8).reshape(34, 48, 3)[:33, :47].mean() for f in frames]
    np.testing.assert_allclose(means, [0, 50, 100, 150, 200], atol=6)


def test_without_the_module_there_is_no_movie(tmp_path, pictures, monkeypatch):
    monkeypatch.setattr(viz.animation.importlib.util, "find_spec", lambda name: None)
    assert viz.animations(pictures, tmp_path / "a.gif") == [tmp_path / "a.gif"]
    assert not (tmp_path / "a.mp4").exists()
