"""Samples hidden by walls are felt in other blocks too, also farther away than ghosts are."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms


def carried(shape: tuple[int, ...], periodic: tuple[bool, ...], stagger: str, cfl: float) -> np.ndarray | None:
    grid = ms.Grid(shape, 0.1, periodic=periodic)
    if grid.comm.size > 1:
        grid.comm.poison_ghosts()
    kind = {"cells": ms.CellField, "nodes": ms.NodeField}[stagger]
    field = kind.from_function(grid, lambda *x: np.sin(3 * x[0]) + np.cos(5 * x[1]))
    hidden = kind.from_function(grid, lambda *x: 1.0 * (np.sin(4 * x[0] + 2.3 * sum(x[1:]) + 0.5) > 0.9)).array > 0.5
    velocity = ms.MacField.from_function(grid, lambda x, t: np.stack([1 + 0.3 * np.sin(x[:, -1])] * len(shape), axis=1))
    dt = cfl * grid.spacing / ms.grid.max_speed(velocity)
    ms.grid.advect(field, velocity, dt, method="maccormack", visibility=ms.grid.Visibility(visible=~hidden), first_order_near="objects")
    result: np.ndarray | None = field.gather()
    return result


@pytest.mark.parametrize("stagger", ["cells", "nodes"])
@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((33, 21), (False, False)), ((26, 19), (True, False)), ((20, 27), (True, True)), ((14, 9, 12), (True, False, True))],
)
def test_the_bits_of_one_rank(shape: tuple[int, ...], periodic: tuple[bool, ...], stagger: str) -> None:
    for cfl in (1.5, 2.0, 2.4):
        alone = carried(shape, periodic, stagger, cfl)
        for count in (2, 3, 4):
            assert np.array_equal(ms.parallel.run_threads(count, carried, shape, periodic, stagger, cfl)[0], alone), (cfl, count)
