"""Coats of hair on the mesh of air around a creature."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.collision import TetLocator
from meniscus.coupling.hair.hair_post import HairPost
from meniscus.coupling.hair.hair_styles import clumped, matted, sagged_nodes
from meniscus.coupling.kdsm import KDSM
from meniscus.grid import Grid
from meniscus.solids import Groom
from meniscus.surface import LevelSet

Floats = npt.NDArray[np.float64]
AnyFloats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int32]
Precision = Literal["compact", "double"]

_MARGIN = 3.0  # cells of the grid of distances around the skin


class CoatStyles(MutableMapping[str, Floats]):
    """Shapes of the strands at rest, by name: (n, 3), m. Assignment embeds them in the mesh."""

    def __init__(self, coat: HairCoat) -> None:
        self._coat = coat
        self._locator = TetLocator(coat.kdsm.rest, ranks=coat.kdsm.layers)
        self._embedded: dict[str, tuple[Ints, AnyFloats]] = {}

    def __setitem__(self, name: str, points: npt.ArrayLike) -> None:
        """Store a style. Raises ValueError for one of other strands, or with points outside of the mesh."""
        coat = self._coat
        x = np.ascontiguousarray(points, np.float64)
        if x.shape != coat.groom.points.shape:
            raise ValueError(f"a style of these strands has shape {coat.groom.points.shape}, not {x.shape}")
        _checks.require_finite("points", x)
        found = self._locator.locate(x)
        if (found.tets < 0).any():
            i = int(np.argmax(found.tets < 0))
            raise ValueError(f"hair must lie in the mesh of air, but point {i} does not; build it with `enclose`, or more layers")
        weights = np.ascontiguousarray(found.barycentric[:, 1:], np.float32 if coat.precision == "compact" else np.float64)
        self._embedded[name] = (np.ascontiguousarray(found.tets, np.int32), weights)

    def __getitem__(self, name: str) -> Floats:
        """Return a style at rest. Raises KeyError if there is none of that name."""
        return self._coat._skinned([self._embedded[name]], self._coat.kdsm.rest.vertices, self._coat.kdsm.skin.vertices)

    def __delitem__(self, name: str) -> None:
        """Forget a style. Raises ValueError for "dry"."""
        if name == "dry":
            raise ValueError("the style of the groom stays")
        del self._embedded[name]

    def __iter__(self) -> Iterator[str]:
        """Names, in the order in which they came."""
        return iter(self._embedded)

    def __len__(self) -> int:
        """Return the number of styles."""
        return len(self._embedded)

    def embedded(self, name: str) -> tuple[Ints, AnyFloats]:
        """Return elements (n,) and the weights (n, 3) of their last three corners."""
        return self._embedded[name]


class HairCoat:
    """Hair that the mesh of air around a creature carries: each frame depends on its own mesh alone.

    Args:
        kdsm: the mesh.
        groom: strands at rest, in the mesh. Roots on triangles of the creature's skin follow these, others the mesh.
        precision: of the weights: "compact", with 16 bytes a point and style, or "double", with 28.
        post: treatment of lengths and of points inside; see `HairPost`.

    Attributes:
        styles: shapes at rest by name; "dry" is that of the groom. Assignment embeds another.
        blend: names of styles from dry to wet, between which `wetness` goes.
        wetness: (n,) float32 in [0, 1]: where each point is between these styles, all at equal distances; writable.

    Raises:
        TypeError, ValueError: wrong types; points outside of the mesh.

    Source: Lee 2018, sections 2.3.1 and 2.3.3.
    """

    def __init__(self, kdsm: KDSM, groom: Groom, *, precision: Precision = "compact", post: HairPost | None = None) -> None:
        _checks.one_of_type("kdsm", kdsm, KDSM)
        _checks.one_of_type("groom", groom, Groom)
        self.kdsm, self.groom = kdsm, groom
        self.precision = _checks.choice("precision", precision, Precision)
        self.post = HairPost() if post is None else post
        lengths = np.append(np.linalg.norm(np.diff(groom.points, axis=0), axis=1), 0.0)
        lengths[groom.offsets[1:] - 1] = 0.0
        on_skin = groom.skin is not None and np.array_equal(groom.skin.vertices, kdsm.skin.vertices)
        corners, weights = np.zeros((0, 3), np.int32), np.zeros((0, 3))
        if on_skin and groom.root_triangles is not None and groom.root_weights is not None:
            corners, weights = np.ascontiguousarray(kdsm.skin.triangles[groom.root_triangles]), groom.root_weights
        self._strands = (groom.offsets, corners, np.ascontiguousarray(weights), lengths.astype(np.float32))
        self._distance: tuple[float, LevelSet] | None = None
        self.wetness = np.zeros(len(groom.points), np.float32)
        self.blend: tuple[str, ...] = ("dry",)
        self.styles = CoatStyles(self)
        self.styles["dry"] = groom.points

    # --- frames --------------------------------------------------------------------------------------------------------------

    def positions(self, t: float, out: Floats | None = None, *, nodes: Floats | None = None) -> Floats:
        """Return the points (n, 3) at a time (s), m.

        Args:
            t: seconds.
            out: (n, 3), to fill and return.
            nodes: (k, 3) other positions of the coarse nodes of the mesh, m, such as those of a simulated copy; None: those at `t`.

        Raises:
            TypeError, ValueError: a time outside of the animation, an `out` of another shape, wetness beyond [0, 1], no such style.
        """
        x = self.kdsm.at(t, level=0) if nodes is None else np.ascontiguousarray(nodes, np.float64)
        if x.shape != self.kdsm.rest.vertices.shape:
            raise ValueError(f"nodes must have shape {self.kdsm.rest.vertices.shape}, not {x.shape}")
        chosen = [self.styles.embedded(name) for name in self._blended()]
        places = np.zeros(0, np.float32)
        if len(chosen) > 1:
            if not (self.wetness.min() >= 0 and self.wetness.max() <= 1):
                raise ValueError("wetness must be within [0, 1]")
            places = np.ascontiguousarray(self.wetness * np.float32(len(chosen) - 1))
        return self._skinned(chosen, x, self.kdsm.skin_at(t), places, t, out)

    def finish(self, points: Floats, t: float) -> Floats:
        """Give points (n, 3) at a time (s) their lengths, and push them out of the creature, in place; see `post`."""
        x: Floats = _checks.incoming("points", points, np.dtype(np.float64), self.groom.points.shape)
        _coupling.finish_hair(self._strands, self._post(t), x)
        return x

    def _blended(self) -> tuple[str, ...]:
        if not self.blend or any(name not in self.styles for name in self.blend):
            raise ValueError(f"blend must name styles of {tuple(self.styles)}, not {self.blend}")
        return self.blend

    def _skinned(
        self,
        chosen: list[tuple[Ints, AnyFloats]],
        nodes: Floats,
        skin: Floats,
        places: npt.NDArray[np.float32] | None = None,
        t: float | None = None,
        out: Floats | None = None,
    ) -> Floats:
        """Points of embedded styles; without a time, lengths stay as they come and nothing is pushed."""
        x = (
            np.empty(self.groom.points.shape)
            if out is None
            else _checks.incoming("out", out, np.dtype(np.float64), self.groom.points.shape)
        )
        post = (0, 0, 0.0, 1.0, None) if t is None else self._post(t)
        where = np.zeros(0, np.float32) if places is None else places
        _coupling.skin_hair(self._strands, (nodes, self.kdsm.rest.tets, skin), chosen, where, post, x)
        return x

    def _post(self, t: float) -> tuple[int, int, float, float, Any]:
        o = self.post
        field = None if o.pushout == "none" else self.distance(t)._field._core
        return (*o.codes, o.thickness, o.depth_beside(self.kdsm.cell_size), field)

    def distance(self, t: float) -> LevelSet:
        """Return the signed distance from the skin at a time (s), near the skin; that of the last time is kept."""
        if self._distance is None or self._distance[0] != t:
            o, skin = self.post, self.kdsm.skin_at(t)
            h = 0.25 * self.kdsm.cell_size if o.spacing is None else o.spacing
            low, high = skin.min(axis=0) - _MARGIN * h - o.thickness, skin.max(axis=0) + _MARGIN * h + o.thickness
            shape = tuple(int(n) for n in np.ceil((high - low) / h))
            grid = Grid(shape, spacing=h, origin=tuple(low))
            self._distance = (t, LevelSet.from_mesh(grid, skin, self.kdsm.skin.triangles, band=o.thickness + _MARGIN * h))
        return self._distance[1]

    # --- styles --------------------------------------------------------------------------------------------------------------

    def clump(self, count: int, strength: float = 0.8, *, seed: int = 0, style: str = "dry") -> Floats:
        """Return a style (n, 3) in which strands gather towards `count` of them: by `strength` at the tips, and not at the roots.

        Raises ValueError for more clumps than strands, or a strength beyond [0, 1].
        """
        return clumped(self.groom, self.styles[style], count, strength, seed)

    def sag(self, gravity: Sequence[float] = (0.0, -9.81, 0.0), *, density: float = 50.0, hold: float = 1.0, style: str = "dry") -> Floats:
        """Return a style (n, 3) that hangs: the mesh of air at rest under gravity, as heavy as wet hair, carries it.

        Args:
            gravity: m/s^2.
            density: of the air with the wet hair in it, kg/m^3.
            hold: N, of springs of length zero that tie each node of the mesh to its place, as for `AirSprings.binding_stiffness`.
            style: which hangs.

        Raises:
            TypeError, ValueError: wrong values.
            ConvergenceError: no rest was found.
        """
        nodes = sagged_nodes(self.kdsm, np.array(gravity, np.float64), density, hold)
        x = self._skinned([self.styles.embedded(style)], nodes, self.kdsm.skin.vertices)
        return self._at_rest(x)

    def mat(self, amount: float = 0.8, *, style: str = "dry") -> Floats:
        """Return a style (n, 3) that lies on the skin: distances from it are smaller by the part `amount`, from the roots to the tips.

        Raises ValueError for an amount beyond [0, 1].
        """
        return self._at_rest(matted(self.groom, self.styles[style], self.kdsm.skin, amount))

    def _at_rest(self, points: Floats) -> Floats:
        """Lengths, and push-out from the skin at rest."""
        known, self._distance = self._distance, None
        o, skin = self.post, self.kdsm.skin
        h = 0.25 * self.kdsm.cell_size if o.spacing is None else o.spacing
        low, high = skin.vertices.min(axis=0) - _MARGIN * h, skin.vertices.max(axis=0) + _MARGIN * h
        grid = Grid(tuple(int(n) for n in np.ceil((high - low) / h)), spacing=h, origin=tuple(low))
        field = LevelSet.from_mesh(grid, skin, band=o.thickness + _MARGIN * h)
        post = (*o.codes, o.thickness, o.depth_beside(self.kdsm.cell_size), field._field._core)
        _coupling.finish_hair(self._strands, post, points)
        self._distance = known
        return points

    @property
    def nbytes(self) -> int:
        """Bytes of the styles, lengths and wetness."""
        parts = [a for pair in (self.styles.embedded(n) for n in self.styles) for a in pair]
        return sum(int(a.nbytes) for a in (*parts, *self._strands, self.wetness))

    def __repr__(self) -> str:
        """One line: strands, points, styles, memory."""
        g = self.groom
        return f"<HairCoat: {len(g)} strands, {len(g.points)} points, styles {', '.join(self.styles)}, {self.nbytes / 1e6:.3g} MB>"
