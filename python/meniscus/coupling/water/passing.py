"""Transfers between tetrahedra, drops and a grid: one audited call for each way."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from meniscus.core import uniform
from meniscus.coupling.water.ledger import Transfers
from meniscus.coupling.water.options import KDSMWaterOptions
from meniscus.coupling.water.ownership import GRID, GridBlock, Kept, Owners, around, centroids_of, parts_of, spread_points
from meniscus.coupling.water.setting import edge_of
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.vof import TetVOF
from meniscus.grid import sample
from meniscus.mesh.placement import box_around

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
_DEBRIS = 1e-2  # fill up to which water beside tetrahedra of the grid passes to it
_LEAST = 1e-9  # part of a cell that counts as a share
_DRAW = 13  # of the points that stand for water of the grid


class Passing:
    """The transfers of a `KDSMWater`.

    Args:
        vof: the water in tetrahedra.
        liquid: the water on the grid.
        owner: (m,) of the water in each tetrahedron; written to.
        transfers: books what passes.
        options: of the whole.
    """

    def __init__(self, vof: TetVOF, liquid: LiquidSolver, owner: Owners, transfers: Transfers, options: KDSMWaterOptions) -> None:
        self.vof, self.liquid, self.owner, self.transfers, self.options = vof, liquid, owner, transfers, options
        self._kept: Kept | None = None
        self._block: GridBlock | None = None

    def forget(self) -> None:
        """Forget what the grid keeps, which was found for one step."""
        self._kept = None

    # --- accounts --------------------------------------------------------------------------------------------------------------------

    def _take_in(self, way: str, tets: Ints, volumes: Floats, velocities: Floats, taken: Floats, total: float) -> None:
        """Add water to tetrahedra, and book it: `total` (m^3) and `taken` (m^4/s) are what the other side has lost."""
        added = self.vof.absorb(tets, volumes, velocities)
        quantum = self.vof.quantum
        given = (np.rint(volumes / quantum)[:, None] * quantum * velocities).sum(axis=0)
        self.transfers.book(way, added, taken, given)
        self.transfers.keep(total - added)

    def add_drops(self, way: str, positions: Floats, velocities: Floats, volumes: Floats) -> None:
        """Let drops fly that were another's; those beyond open sides of the grid are gone, and closed sides hold them."""
        if not len(volumes):
            return
        grid = self.liquid.grid
        low, high = np.array(grid.origin), np.array(grid.origin) + np.array(grid.extent)
        is_open = np.array([[f"{axis}{end}" in self.liquid.surface.open_sides for axis in "xyz"] for end in "-+"])
        positions = np.clip(positions, np.where(is_open[0], -np.inf, low), np.where(is_open[1], np.inf, high))
        beyond = ((positions < low) | (positions > high)).any(axis=1)
        total, momentum = math.fsum(volumes), (volumes[:, None] * velocities).sum(axis=0)
        added = np.zeros(3)
        if not beyond.all():
            put = self.liquid.add_drops(positions[~beyond], velocities[~beyond], volumes[~beyond])
            added, total = added + put.momentum, total - put.volume
        if beyond.any():
            gone, moving = math.fsum(volumes[beyond]), (volumes[beyond, None] * velocities[beyond]).sum(axis=0)
            self.transfers.book("drops left", gone, moving, moving)
            added, total = added + moving, total - gone
        self.transfers.book(way, math.fsum(volumes), momentum, added)
        self.transfers.keep(total)

    # --- who owns what ---------------------------------------------------------------------------------------------------------------

    def _find_kept(self, dt: float) -> Kept | None:
        """Return what the grid keeps around the mesh, dt after the begin of the step; None: the grid has no water there."""
        radius = self.options.resolved
        pad = min(math.ceil(3 * radius), 12) + 3
        block = GridBlock(self.liquid.grid, *box_around(self.vof.positions), pad)
        if self._block is None or block.cells != self._block.cells:
            self._block = block
        block = self._block  # with its fields, where the mesh is in the same cells as before
        if block.empty or not (self._reaches_out() or (self.liquid.levelset.array[block.cells] <= 0).any()):
            return None
        solid = self.liquid.solid_after(dt)
        return Kept(block, self.liquid.levelset, None if solid is None else solid.outside_cells, radius)

    def _reaches_out(self) -> bool:
        """Return whether the mesh goes beyond the grid."""
        grid = self.liquid.grid
        (low, high), origin = box_around(self.vof.positions), np.array(grid.origin)
        return bool((low < origin).any() or (high > origin + np.array(grid.extent)).any())

    def own(self, dt: float) -> None:
        """Find which tetrahedra are the grid's, dt after the begin of the step; water that was theirs becomes drops."""
        self._kept = kept = self._find_kept(dt)
        v, owner = self.vof, self.owner.copy()
        if kept is None or not (kept.any_kept() or self._reaches_out()):
            changed = bool(owner.any())
            owner[...] = 0
        else:
            changed = kept.update_owners(v.positions, v.tets, owner, self.liquid.grid)
        if changed or owner.any():
            self._release_to_grid(owner == GRID)
        if changed:
            self.owner[...] = owner
            v.excluded = owner == GRID

    def _release_to_grid(self, owned: Bools) -> None:
        """Make drops of the water in tetrahedra that are the grid's now, and of debris beside them, which would hang there and fall."""
        v = self.vof
        wet = np.flatnonzero(v.volume > 0)
        beside = v.neighbours[wet]
        debris = (v.volume[wet] < _DEBRIS * v.capacity[wet]) & (owned[beside] & (beside >= 0)).any(axis=1)
        lost = wet[owned[wet] | debris]
        if not len(lost):
            return
        which = np.zeros(len(owned), bool)
        which[lost] = True
        where = centroids_of(v.positions, v.tets, lost)
        volumes, velocities = v.give(which)
        self.add_drops("tetrahedra to drops", where, velocities, volumes)

    # --- from the grid to tetrahedra -------------------------------------------------------------------------------------------------

    def hand_to_tets(self, dt: float) -> None:
        """Pass water of the grid that is too thin for it to the tetrahedra where it is."""
        kept, self._kept = self._kept, None
        if kept is None:
            return
        marked = kept.thin()
        if not marked.any():
            return
        block, time = kept.block, self.vof.time + dt
        before = self.liquid.levelset.volume_fractions().array[block.cells].copy()
        # Cells with water around them lose some, too, so these have to be in the mesh as well.
        holds = (before > 0) | kept.wet
        near = around(marked, any_of=True) & holds
        found = self.vof.mesh.locate(block.centres(near), time).tets
        takes = ~(kept.outside & holds)
        takes[near] |= (found >= 0) & (self.vof.rank[found] >= 0)
        marked &= around(takes, any_of=False)
        if not marked.any():
            return
        given = self.liquid.hand_over(kept.region(marked), dt=dt)
        after = self.liquid.levelset.volume_fractions().array[block.cells]
        share = np.where(kept.outside, np.maximum(before - after, 0.0), 0.0)
        self._fill_tets(kept, marked, share, given.volume, np.array(given.momentum), time)

    def _fill_tets(self, kept: Kept, marked: Bools, share: Floats, volume: float, momentum: Floats, time: float) -> None:
        """Put a volume, m^3, with its momentum, m^4/s, into tetrahedra, where cells have had a share of it, or else in the marked ones."""
        block, mesh = kept.block, self.vof.mesh
        h = block.grid.spacing
        # What was too little to be passed on before goes along; a grid that has gained gets it back with the next.
        volume += self.transfers.take_volume()
        if not volume > 0:
            self.transfers.keep(volume, momentum)
            return
        if not (share > _LEAST).any():
            share = marked.astype(np.float64)  # what has gone waited for room, which is not measured
        cells = share > _LEAST
        amounts = share[cells]
        n = parts_of(h, edge_of(self.vof))
        each = n**3
        keys = np.repeat(np.flatnonzero(cells.ravel()), each) * each + np.tile(np.arange(each), len(amounts))
        step, seed = self.vof.steps % 2**32, self.vof.options.seed
        draws = np.concatenate([uniform(seed, keys, step, _DRAW), uniform(seed, keys, step, _DRAW + 1)[:, :1]], axis=1)
        points = spread_points(block.centres(cells), h, n, draws)
        tets = mesh.locate(points, time).tets
        takes = (tets >= 0) & (self.vof.rank[tets] >= 0)
        wet = takes & (sample(kept.liquid, points) <= 0)
        cell = np.repeat(np.arange(len(amounts)), each)
        # Where a cell holds no point in its water, all of its points that are in tetrahedra stand for it.
        none = np.bincount(cell[wet], minlength=len(amounts)) == 0
        stands = wet | (takes & none[cell])
        count = np.bincount(cell[stands], minlength=len(amounts))
        reached = count > 0
        if not reached.any():
            where = block.centres(cells)
            volumes = volume * amounts / amounts.sum()
            velocities = self._carriers(where, volumes, momentum)
            self.add_drops("grid to tetrahedra", where, velocities, volumes)
            return
        weight = np.where(reached, amounts, 0.0)
        per_point = volume * weight / weight.sum() / np.maximum(count, 1)
        volumes, where = per_point[cell[stands]], np.ascontiguousarray(points[stands])
        velocities = self._carriers(where, volumes, momentum)
        taken = (volumes[:, None] * velocities).sum(axis=0)
        self._take_in("grid to tetrahedra", tets[stands], volumes, velocities, taken, volume)

    def _carriers(self, where: Floats, volumes: Floats, momentum: Floats) -> Floats:
        """Return velocities (k, 3) of volumes at points: those of the grid, changed so that they carry a momentum, m^4/s.

        Too little volume could do so only at any speed; then the rest is kept for the next transfer.
        """
        velocities = np.asarray(sample(self.liquid.velocity, where.astype(self.liquid.velocity.dtype)), np.float64)
        fastest = float(np.sqrt((velocities**2).sum(axis=1).max()))
        slow = math.sqrt(self.liquid.grid.spacing * float(np.linalg.norm(self.liquid.gravity)))
        wanted = momentum + self.transfers.take_momentum()
        change = (wanted - (volumes[:, None] * velocities).sum(axis=0)) / math.fsum(volumes)
        size = float(np.linalg.norm(change))
        velocities += change * min(1.0, max(fastest, slow) / size if size > 0 else 1.0)
        self.transfers.keep(0.0, wanted - (volumes[:, None] * velocities).sum(axis=0))
        return velocities

    # --- drops -----------------------------------------------------------------------------------------------------------------------

    def release_drops(self) -> None:
        """Let what has left the tetrahedra fly with all other drops, and what waits for more where no more is."""
        self.vof.release(self.vof.volume <= self.options.least * self.vof.capacity)
        drops = self.vof.drops
        if len(drops):
            x, v, volumes = (np.array(a) for a in (drops.positions, drops["velocity"], drops["volume"]))
            drops.remove(np.ones(len(x), bool))
            self.add_drops("tetrahedra to drops", x, v, volumes)

    def absorb(self, dt: float) -> None:
        """Take drops into tetrahedra that hold water or stand on the body."""
        spray = self.liquid.require_spray()
        if not len(spray):
            return
        v = self.vof
        x = np.ascontiguousarray(spray.positions, np.float64)
        low, high = box_around(v.positions)
        near = ((x >= low) & (x <= high)).all(axis=1)
        if not near.any():
            return
        tets = np.full(len(x), -1, np.int32)
        tets[near] = v.mesh.locate(np.ascontiguousarray(x[near]), v.time + dt).tets
        volume = v.volume[tets]
        enough = (volume > self.options.least * v.capacity[tets]) & (volume > 0) & (v.rank[tets] >= 0)
        meets = (tets >= 0) & (enough | v.cut[tets])
        if not meets.any():
            return
        drops = self.liquid.take_drops(meets)
        velocities = np.ascontiguousarray(drops.velocities, np.float64)
        taken = (drops.volumes[:, None] * velocities).sum(axis=0)
        self._take_in("drops to tetrahedra", tets[meets], drops.volumes, velocities, taken, math.fsum(drops.volumes))

    def join(self, dt: float) -> None:
        """Let drops that are in the water of the grid join it, and those that fill cells of air become such."""
        if not self.liquid.surface.drops:
            return
        joined = [self.liquid.rejoin(dt, expand=self.options.expansion)]
        if self.options.gather:
            joined.append(self.liquid.gather(dt))
        for part in joined:
            if part.count:
                self.transfers.book("drops to grid", part.volume, part.momentum, part.momentum)

    # --- velocities and pressures ----------------------------------------------------------------------------------------------------

    def pressure_gradient(self, dt: float) -> Floats | None:
        """Return the pressure gradient (m, 3), Pa/m, at wet tetrahedra within the liquid of the grid, 0 at others; None: there are none.

        In dt it changes no velocity by more than the liquid is fast.
        """
        wet = np.flatnonzero(self.vof.volume > 0)
        if not len(wet):
            return None
        where = centroids_of(self.vof.positions, self.vof.tets, wet)
        liquid = self.liquid
        inside = np.asarray(liquid.levelset.sample(where.astype(liquid.levelset.dtype))) <= 0
        low = np.array(liquid.grid.origin)
        inside &= ((where >= low) & (where <= low + np.array(liquid.grid.extent))).all(axis=1)
        if not inside.any():
            return None
        found = np.asarray(liquid.pressure_gradient_at(where[inside]), np.float64)
        # Beside a body that a coarse grid sees move by jumps, gradients are of the size of pressure over a part of a cell.
        slow = math.sqrt(liquid.grid.spacing * float(np.linalg.norm(liquid.gravity)))
        most = self.vof.options.density * max(liquid.report.max_speed if liquid.report else 0.0, slow) / max(dt, 1e-300)
        size = np.linalg.norm(found, axis=1)
        found *= (np.minimum(size, most) / np.maximum(size, 1e-300))[:, None]
        gradient = np.zeros((len(self.vof.volume), 3))
        gradient[wet[inside]] = found
        return gradient

    # --- literal exchange ------------------------------------------------------------------------------------------------------------

    def copy_to_tets(self, protected: int, *, fill: bool) -> None:
        """Give tetrahedra within the water of the grid its velocity, and with `fill` as much as they have room for.

        Source: Lee 2018, section 3.4, step 2b and 4c.
        """
        v, liquid = self.vof, self.liquid
        phi = np.asarray(liquid.levelset.sample(np.ascontiguousarray(v.positions, liquid.levelset.dtype)))
        low = np.array(liquid.grid.origin)
        below = (phi <= 0) & ((v.positions >= low) & (v.positions <= low + np.array(liquid.grid.extent))).all(axis=1)
        # Without a body, ranks count from the middle of the mesh.
        free = (v.rank > protected) | ((v.rank >= 0) & (v.solid is None))
        tets = np.flatnonzero(below[v.tets].all(axis=1) & free).astype(np.int32)
        if not fill:
            tets = tets[v.volume[tets] > 0]
        if not len(tets):
            return
        centres = centroids_of(v.positions, v.tets, tets)
        velocities = np.asarray(sample(liquid.velocity, centres.astype(liquid.velocity.dtype)), np.float64)
        which = np.zeros(len(v.volume), bool)
        which[tets] = True
        room = v.capacity[tets]
        volumes, moving = v.give(which)
        wanted = room if fill else volumes
        momentum = (volumes[:, None] * moving).sum(axis=0)
        self.transfers.book("overwritten in tetrahedra", math.fsum(volumes), momentum, momentum)
        added = v.absorb(tets, np.floor(wanted / v.quantum) * v.quantum, velocities)
        copied = (wanted[:, None] * velocities).sum(axis=0)
        self.transfers.book("copied to tetrahedra", added, copied, copied)


def grid_beyond_mesh(liquid: LiquidSolver, points: Floats, time: float) -> tuple[Floats, Floats]:
    """Return how wet points beyond a mesh are, and the velocities there, m/s, by the grid."""
    x = np.ascontiguousarray(points, liquid.levelset.dtype)
    phi = np.asarray(liquid.levelset.sample(x), np.float64)
    wet = np.clip(0.5 - phi / liquid.grid.spacing, 0.0, 1.0)
    low = np.array(liquid.grid.origin)
    wet[((points < low) | (points > low + np.array(liquid.grid.extent))).any(axis=1)] = 0.0
    return wet, np.asarray(sample(liquid.velocity, x), np.float64)
