"""Small bodies whose motion is known exactly."""

from __future__ import annotations

import numpy as np

import meniscus as ms

Floats = np.ndarray


def oscillator(
    frequency: float, damping: float = 0.0, position: Floats | None = None, velocity: Floats | None = None
) -> ms.solids.DeformableBody:
    """A unit mass on a linear spring to the origin (node 0, pinned): x'' = -w^2 x - 2 zeta w x', with `damping` zeta w."""
    x = np.zeros((2, 3))
    x[1] = (1.0, 0.0, 0.0) if position is None else position
    body = ms.solids.DeformableBody(x, masses=1.0)
    if velocity is not None:
        body.velocities[1] = velocity
    edges = np.array([[0, 1]], np.int32)
    # Rest length 1 at distance 1 + x: linear along the axis, and the damping has a direction.
    if damping == 0:
        body.add(ms.solids.EdgeSprings(edges, ms.solids.SpringOptions(spring_constant=frequency**2), rest_lengths=0.0))
    else:
        x[1, 0] += 1.0
        body.positions = x
        body.add(
            ms.solids.EdgeSprings(edges, ms.solids.SpringOptions(spring_constant=frequency**2, damping=2.0 * damping), rest_lengths=1.0)
        )
    body.pin([0])
    return body


def net(rows: int, columns: int, spacing: float = 0.1) -> tuple[Floats, Floats]:
    """Positions (n, 3) and edges (m, 2) of a square net with diagonals, slightly crumpled."""
    i, j = np.mgrid[:rows, :columns]
    number = (i * columns + j).astype(np.int32)
    x = np.stack([spacing * i, 0.02 * spacing * np.sin(3.0 * i + 2.0 * j), spacing * j], axis=-1).reshape(-1, 3)
    pairs = [
        (number[1:], number[:-1]),
        (number[:, 1:], number[:, :-1]),
        (number[1:, 1:], number[:-1, :-1]),
        (number[1:, :-1], number[:-1, 1:]),
    ]
    return x.astype(np.float64), np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs]).astype(np.int32)


def flat_net(rows: int, columns: int, spacing: float = 0.1) -> Floats:
    """The rest positions of `net`."""
    x = net(rows, columns, spacing)[0]
    x[:, 1] = 0.0
    return x
