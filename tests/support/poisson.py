"""Poisson matrices assembled entry by entry, and solved directly."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph
import scipy.sparse.linalg

import meniscus as ms


def random_faces(
    grid: ms.Grid, rng: np.random.Generator, *, ratio: float = 1.0, closed: float = 0.0, sides: bool = False
) -> list[np.ndarray]:
    """Coefficients in [1, ratio], evenly in the logarithm; a part `closed` of them zero; those on the domain's sides only where asked."""
    faces = []
    for d, n in enumerate(grid.shape):
        shape = tuple(m + (k == d) for k, m in enumerate(grid.shape))
        w = ratio ** rng.random(shape) * (rng.random(shape) >= closed)
        first, last = _ends(w, d)
        if grid.periodic[d]:
            w[last] = w[first]
        elif not sides:
            w[first] = w[last] = 0
        assert w.shape[d] == n + 1
        faces.append(w)
    return faces


def _ends(w: np.ndarray, axis: int) -> tuple[tuple, tuple]:
    before = (slice(None),) * axis
    return (*before, 0), (*before, w.shape[axis] - 1)


class PlainPoisson:
    """The matrix over all cells as a sparse one; rows of cells that are no unknowns are empty."""

    def __init__(self, grid: ms.Grid, faces: Sequence[np.ndarray], active: np.ndarray | None = None) -> None:
        shape = grid.shape
        number = np.arange(np.prod(shape)).reshape(shape)
        diagonal = np.zeros(shape)
        pairs = []
        for d, w in enumerate(faces):
            lower, upper = w.take(range(shape[d]), axis=d), w.take(range(1, shape[d] + 1), axis=d)
            if grid.periodic[d] and shape[d] == 1:
                continue  # a cell that is its own neighbour
            diagonal += lower + upper
            # Cell and the one below it, across the lower face.
            below = np.roll(number, 1, axis=d)
            inside = np.ones(shape, bool)
            if not grid.periodic[d]:
                inside[_ends(inside, d)[0]] = False
            pairs.append((number[inside], below[inside], lower[inside]))
        self.active = diagonal > 0 if active is None else active & (diagonal > 0)
        known = ~self.active.ravel()
        matrix = sp.lil_matrix((number.size, number.size)).tocsr()
        for i, j, w in pairs:
            use = ~known[i] & ~known[j] & (w > 0)
            block = sp.coo_matrix((-w[use], (i[use], j[use])), shape=matrix.shape)
            matrix = matrix + block + block.T
        self.matrix = (matrix + sp.diags(np.where(known, 0.0, diagonal.ravel()))).tocsr()
        self.shape = shape
        links = matrix != 0
        _, label = scipy.sparse.csgraph.connected_components(links, directed=False)
        label[known] = -1
        # Regions in the order of their first cells.
        order = [k for k in dict.fromkeys(label.tolist()) if k >= 0]
        self.label = np.full(label.shape, -1)
        for new, old in enumerate(order):
            self.label[label == old] = new
        balance = np.abs(np.asarray(self.matrix.sum(axis=1)).ravel()) > 1e-12 * np.where(known, 1.0, diagonal.ravel())
        self.regions = []
        for k in range(len(order)):
            cells = np.flatnonzero(self.label == k)
            closed = not balance[cells].any()
            self.regions.append(ms.grid.PoissonRegion(len(cells), closed, tuple(int(c) for c in np.unravel_index(cells[0], shape))))

    def without_means(self, values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Closed regions lose their sum, in equal parts or in proportion to weights; cells that are no unknowns become zero."""
        out = np.where(self.active, values, 0.0).ravel()
        share = np.ones(out.size) if weights is None else np.broadcast_to(weights, self.shape).ravel()
        for k, region in enumerate(self.regions):
            if region.closed:
                cells = self.label == k
                out[cells] -= out[cells].sum() * share[cells] / share[cells].sum()
        return out.reshape(self.shape)

    def multiply(self, x: np.ndarray) -> np.ndarray:
        return (self.matrix @ np.where(self.active, x, 0.0).ravel()).reshape(self.shape)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Directly, region by region, with mean zero in closed ones."""
        b, x = self.without_means(rhs).ravel(), np.zeros(rhs.size)
        for k, region in enumerate(self.regions):
            cells = np.flatnonzero(self.label == k)
            a = self.matrix[cells][:, cells].tocsc()
            if region.closed:
                # The first value is held at zero, and the mean removed afterwards.
                if len(cells) > 1:
                    x[cells[1:]] = scipy.sparse.linalg.spsolve(a[1:, 1:], b[cells[1:]])
            else:
                x[cells] = scipy.sparse.linalg.spsolve(a, b[cells])
        return self.without_means(x.reshape(self.shape))
