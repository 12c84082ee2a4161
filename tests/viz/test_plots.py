"""Plots of flows: order of layers and orientation."""

import numpy as np
import pytest

from meniscus import viz

pytest.importorskip("matplotlib")

UNIT = (0.0, 1.0, 0.0, 1.0)


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)


def pixel_at(figure, x, y):
    picture = pixels(figure)
    column, row = figure.axes[0].transData.transform((x, y))
    return picture[picture.shape[0] - 1 - int(row), int(column)]


def test_solid_covers_the_image_where_it_is():
    x = np.linspace(0, 1, 33)
    phi = np.hypot(x[:, None] - 0.25, x[None, :] - 0.75) - 0.15
    values = np.ones((32, 32))
    with_solid = viz.image(values, extent=UNIT, solid=phi)
    np.testing.assert_array_equal(pixel_at(with_solid, 0.25, 0.75), [89, 89, 89])
    bare = viz.image(values, extent=UNIT)
    for point in ((0.75, 0.25), (0.75, 0.75), (0.25, 0.25)):
        np.testing.assert_array_equal(pixel_at(with_solid, *point), pixel_at(bare, *point))
    with pytest.raises(ValueError, match="needs the extent"):
        viz.image(values, solid=phi)


def test_streamlines_are_drawn_over_the_speed():
    centers = (np.arange(24) + 0.5) / 24
    x, y = np.meshgrid(centers, centers, indexing="ij")
    turning = np.stack([0.5 - y, x - 0.5], axis=-1)
    figure = viz.streamlines(turning, extent=UNIT)
    assert len(figure.axes[0].collections) == 1
    # They reach beyond the middle.
    points = np.concatenate([p.vertices for p in figure.axes[0].collections[0].get_paths()])
    radii = np.hypot(*(points - 0.5).T)
    assert radii.max() > 0.3
    speed = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(speed, np.hypot(turning[..., 0], turning[..., 1]).T)
    still = viz.streamlines(np.zeros((24, 24, 2)), extent=UNIT, limits=(0.0, 1.0))
    assert not still.axes[0].collections
