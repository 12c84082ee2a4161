"""The grids of the state that a scene declares."""

from __future__ import annotations

from meniscus.core.stateful import Stateful
from meniscus.grid import Grid


def grids_of(owner: Stateful) -> dict[str, Grid]:
    """Return the grid of every declared part that has one, and of the parts of these, by their paths: 'solver/velocity'."""
    found: dict[str, Grid] = {}
    for name, part in owner.state.items():
        grid = getattr(part, "grid", None)
        if isinstance(part, Stateful):
            found.update({f"{name}/{path}": grid for path, grid in grids_of(part).items()})
        elif isinstance(grid, Grid):
            found[name] = grid
    return found
