"""Fields as objects of other libraries: the same values at the same places."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms


@pytest.mark.parametrize("kind", [ms.CellField, ms.NodeField])
def test_data_arrays_share_the_memory(kind: type) -> None:
    pytest.importorskip("xarray")
    grid = ms.Grid((4, 3, 2), 0.5, (1.0, 2.0, 3.0))
    field = kind.from_function(grid, lambda x, y, z: x + 10 * y + 100 * z)
    array = field.to_xarray("heat")
    assert array.name == "heat"
    assert array.dims == ("x", "y", "z")
    assert float(array.sel(x=array.x[1], y=array.y[2], z=array.z[0])) == field.array[1, 2, 0]
    x = field.coordinates()[0].ravel()
    np.testing.assert_array_equal(array.x, x)
    assert array.x.attrs["units"] == "m"
    field.array[...] = 7.0
    assert (array == 7.0).all()


def test_a_velocity_is_a_data_set() -> None:
    pytest.importorskip("xarray")
    grid = ms.Grid((4, 3), 0.5)
    velocity = ms.MacField.from_function(grid, lambda x, t: x * (1.0, 2.0), boundary=ms.Open())
    data = velocity.to_xarray()
    assert data.u.dims == ("x_face", "y")
    assert data.v.dims == ("x", "y_face")
    np.testing.assert_allclose(data.v, np.broadcast_to(2 * data.y_face, data.v.shape))
    assert np.shares_memory(data.u.values, velocity.u)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2)])
def test_images_of_pyvista_hold_the_values_at_their_places(shape: tuple[int, ...]) -> None:
    pytest.importorskip("pyvista")
    grid = ms.Grid(shape, 0.5, (1.0, 2.0, 3.0)[: len(shape)])

    def ramp(*x: np.ndarray) -> np.ndarray:
        return sum(10**k * c for k, c in enumerate(x))

    slopes = 10.0 ** np.arange(3) * (np.arange(3) < len(shape))
    cells = ms.CellField.from_function(grid, ramp).to_pyvista()
    np.testing.assert_allclose(cells.cell_data["values"], cells.cell_centers().points @ slopes, rtol=1e-6)
    nodes = ms.NodeField.from_function(grid, ramp).to_pyvista("height")
    np.testing.assert_allclose(nodes.point_data["height"], nodes.points @ slopes, rtol=1e-6)
    flow = ms.MacField.from_function(grid, lambda x, t: 2 * x, boundary=ms.Open()).to_pyvista()
    inside = 2 * flow.cell_centers().points * (np.arange(3) < len(shape))
    np.testing.assert_allclose(flow.cell_data["velocity"], inside, rtol=1e-6)


@pytest.mark.parametrize("kind", [ms.CellField, ms.NodeField])
def test_other_libraries_take_the_memory_of_a_field(kind: type) -> None:
    field = kind(ms.Grid((5, 6, 7), 0.1))
    taken = np.from_dlpack(field)
    assert np.shares_memory(taken, field.array)
    field[1, 2, 3] = 5.0
    assert taken[1, 2, 3] == 5.0
    field.array = np.from_dlpack(field) * 2
    assert field[1, 2, 3] == 10.0
