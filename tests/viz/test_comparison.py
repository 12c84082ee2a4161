"""Pictures side by side and split, and animations of two runs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meniscus import viz

image = pytest.importorskip("PIL.Image")


def plain(value: int, height: int = 20, width: int = 30) -> Any:
    return np.full((height, width, 3), value, np.uint8)


def test_pictures_beside_each_other_and_split_keep_their_pixels() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 255, (20, 30, 3), dtype=np.uint8) for _ in range(2))
    beside = viz.compare(a, b)
    assert beside.shape == (20, 64, 3)
    np.testing.assert_array_equal(beside[:, :30], a)
    np.testing.assert_array_equal(beside[:, 34:], b)
    assert (beside[:, 30:34] == 255).all()
    split = viz.compare(a, b, how="split")
    assert split.shape == a.shape
    np.testing.assert_array_equal(split[:, :15], a[:, :15])
    np.testing.assert_array_equal(split[:, 16:], b[:, 16:])


def test_labels_are_written_on_their_picture() -> None:
    labelled = viz.compare(plain(0, 40, 60), plain(0, 40, 60), labels=("", "fine"))
    assert (labelled[:, :60] == 0).all()
    assert (labelled[:, 64:] > 100).any()


@pytest.mark.parametrize("name", ["both.gif", "both.webp"])
def test_runs_are_joined_frame_by_frame(tmp_path: Path, name: str) -> None:
    for run, values in (("a", (10, 20, 30)), ("b", (110, 120))):
        (tmp_path / run).mkdir()
        for k, value in enumerate(values):
            image.fromarray(plain(value)).save(tmp_path / run / f"frame-{k:04d}.png")
    out = viz.compare_runs([tmp_path / "a", tmp_path / "b"], tmp_path / name, frames_per_second=10)
    with image.open(out) as opened:
        assert opened.n_frames == 2
        opened.seek(1)
        pixels = np.asarray(opened.convert("RGB")).astype(int)
        assert pixels.shape == (20, 64, 3)
        assert abs(pixels[10, 10] - 20).max() <= 6
        assert abs(pixels[10, 50] - 120).max() <= 6


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="two pictures or more, not 1"):
        viz.compare(plain(0))
    with pytest.raises(ValueError, match="one size, not 30x20 and 31x20"):
        viz.compare(plain(0), plain(0, 20, 31))
    with pytest.raises(ValueError, match="a label for each of the 2 pictures, not 1"):
        viz.compare(plain(0), plain(0), labels=("a",))
    with pytest.raises(ValueError, match="no pictures of the same frames"):
        viz.compare_runs([tmp_path, tmp_path], tmp_path / "x.gif")
    with pytest.raises(ValueError, match=r"end in .gif or .webp"):
        viz.animate([tmp_path / "p.png"], tmp_path / "x.mov")
