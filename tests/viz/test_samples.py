"""Pictures of fields, level sets and solids in any form: the same pixels as of their arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import viz
from meniscus.grid.conversion import cell_means

pytest.importorskip("matplotlib")
pytest.importorskip("PIL")

FLAT = ms.Grid((30, 20), 0.05, origin=(-0.3, 0.2))
EXTENT = (-0.3, 1.2, 0.2, 1.2)
DEEP = ms.Grid((12, 10, 14), 0.1, origin=(0.1, -0.2, 0.3))
DISC = ms.surface.Sphere((0.4, 0.7), 0.2)
BALL = ms.surface.Sphere((0.7, 0.3, 1.0), 0.3)


def pixels(figure: object) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())


def test_an_image_of_a_field_lies_where_its_grid_does() -> None:
    field = ms.CellField.from_function(FLAT, lambda x, y: x + y)
    distance = ms.surface.LevelSet.from_shape(FLAT, DISC)
    expected = pixels(viz.image(field.array, extent=EXTENT, solid=distance.array))
    for solid in (DISC, distance, distance.field, ms.surface.LevelSetShape(distance)):
        np.testing.assert_array_equal(pixels(viz.image(field, solid=solid)), expected)
    np.testing.assert_array_equal(pixels(viz.image(distance, limits=None)), pixels(viz.image(distance.array, extent=EXTENT, limits=None)))


def test_streamlines_of_a_velocity() -> None:
    velocity = ms.MacField.from_function(FLAT, lambda x, t: np.stack([x[:, 1], -x[:, 0]], axis=1))
    expected = viz.streamlines(cell_means(velocity), extent=EXTENT, solid=ms.surface.LevelSet.from_shape(FLAT, DISC))
    np.testing.assert_array_equal(pixels(viz.streamlines(velocity, solid=DISC)), pixels(expected))


def test_contours_of_fields_and_level_sets() -> None:
    x, y = (a.ravel() for a in FLAT.coordinates((1, 1)))
    distance = ms.surface.LevelSet.from_shape(FLAT, DISC)
    expected = pixels(viz.contours(x, y, {"disc": distance.array}))
    for same in (distance, distance.field):
        np.testing.assert_array_equal(pixels(viz.contours(x, y, {"disc": same})), expected)


def test_values_that_are_unknown_do_not_spoil_the_scale() -> None:
    values = np.arange(12.0).reshape(4, 3)
    values[1, 2], values[3, 0] = np.nan, np.inf
    assert viz.image(values, limits=None).axes[0].images[0].get_clim() == (0.0, 11.0)
    assert viz.image(np.full((3, 3), np.nan), limits=None).axes[0].images[0].get_clim() == (0.0, 1.0)


@pytest.mark.parametrize("shape", [(200, 40), (40, 200), (64, 64)])
def test_an_image_fills_its_figure(shape: tuple[int, int]) -> None:
    figure = viz.image(np.ones(shape))
    figure.canvas.draw()
    box = figure.axes[0].get_window_extent()
    width, height = figure.get_size_inches() * figure.dpi
    assert box.width / box.height == pytest.approx(shape[0] / shape[1], rel=0.01)
    assert box.width > 0.7 * width or box.height > 0.9 * height
    assert box.width * box.height > 0.4 * width * height


def test_smoke_around_solids_in_any_form() -> None:
    density = ms.CellField.from_function(DEEP, lambda x, y, z: 0.3 + 0 * (x + y + z), dtype=np.float32)
    on_nodes = ms.surface.LevelSet.from_shape(DEEP, BALL)
    expected = viz.smoke(density.array, solid=on_nodes.array, size=(64, 64))
    assert len(np.unique(expected.reshape(-1, 3), axis=0)) > 50
    for solid in (BALL, on_nodes, on_nodes.field, lambda points: BALL.signed_distance(points)):
        np.testing.assert_array_equal(viz.smoke(density, solid=solid, size=(64, 64)), expected)
    mesh = ms.mesh.icosphere(3, 0.3, (0.7, 0.3, 1.0))
    difference = viz.smoke(density, solid=mesh, size=(64, 64)).astype(int) - expected
    assert np.abs(difference).mean() < 1.0


def test_water_and_surfaces_of_level_sets() -> None:
    ball = ms.surface.LevelSet.from_shape(DEEP, BALL)
    vertices, triangles, normals = ball.to_mesh(normals=True)
    expected = viz.water(vertices, triangles, normals=normals, size=(48, 48), look=viz.WaterLook(samples=1))
    np.testing.assert_array_equal(viz.water(ball, size=(48, 48), look=viz.WaterLook(samples=1)), expected)
    np.testing.assert_array_equal(pixels(viz.surface(ball)), pixels(viz.surface(*ball.to_mesh())))


def test_what_cannot_be_drawn_is_refused() -> None:
    deep, flat = ms.CellField(DEEP), ms.CellField(FLAT)
    with pytest.raises(ValueError, match="values must be 2-D"):
        viz.image(deep)
    with pytest.raises(ValueError, match=r"velocity must be a 2-D MacField or have shape \(nx, ny, 2\)"):
        viz.streamlines(ms.MacField(DEEP))
    with pytest.raises(ValueError, match="needs the extent"):
        viz.streamlines(np.ones((4, 4, 2)))
    with pytest.raises(ValueError, match="a shape needs a field"):
        viz.image(flat.array, extent=EXTENT, solid=DISC)
    with pytest.raises(ValueError, match=r"solid must have the shape of the nodes \(31, 21\)"):
        viz.image(flat, solid=np.ones((30, 20)))
    with pytest.raises(ValueError, match="solid must be 2-D"):
        viz.image(flat, solid=BALL)
    with pytest.raises(TypeError, match="solid must be a Shape"):
        viz.smoke(deep, solid=3)
    for draw in (viz.water, viz.surface):
        with pytest.raises(ValueError, match="surface must be a 3-D level set"):
            draw(ms.surface.LevelSet.from_shape(FLAT, DISC))


@pytest.mark.parametrize("name", ["a.png", "made/b.jpg", "C.PNG"])
def test_a_picture_is_saved(name: str, tmp_path: Path) -> None:
    from PIL import Image

    picture = viz.smoke(np.random.default_rng(1).random((8, 8, 8)), size=(40, 30))
    path = picture.save(tmp_path / name)
    assert path == tmp_path / name
    saved = np.asarray(Image.open(path)).astype(int)
    assert np.abs(saved - np.asarray(picture)).mean() < (3 if "jpg" in name else 1e-9)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_picture_that_cannot_be_saved_leaves_no_file(tmp_path: Path) -> None:
    picture = viz.Picture(np.zeros((4, 5, 3), np.uint8))
    with pytest.raises(ValueError, match="must end in a format of pictures"):
        picture.save(tmp_path / "a.txt")
    with pytest.raises(ValueError, match="must end in a format of pictures"):
        picture.save(tmp_path / "a")
    with pytest.raises(ValueError, match="only a picture"):
        picture[0].save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
