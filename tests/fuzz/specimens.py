"""Objects and values that calls are made with: good ones by the names of parameters, and bad ones of every kind."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import meniscus as ms


def objects() -> dict[str, Any]:
    """Return one object of every kind that has methods, small enough for thousands of calls."""
    grid2, grid3 = ms.Grid((8, 6), 0.125), ms.Grid((6, 5, 4), 0.25, periodic=(True, False, False))
    block, sheet = ms.mesh.tet_block(2, 2, 2), ms.mesh.icosphere(1)
    body = ms.solids.DeformableBody(block, density=1000.0, gravity=(0, -9.81, 0))
    body.add(ms.solids.TetElements(block, youngs_modulus=1e4))
    smoke = ms.fluids.SmokeSolver(grid2)
    smoke.density.array[2:4, 2:4] = 1.0
    water = ms.fluids.LiquidSolver(grid2)
    water.fill(ms.surface.Box((0, 0), (0.5, 0.4)))
    levelset = ms.surface.LevelSet.from_shape(grid3, ms.surface.Sphere((0.7, 0.6, 0.5), 0.3))
    hair = ms.mesh.SegmentMesh(np.random.default_rng(1).random((5, 3)), [(0, 1), (1, 2), (2, 3), (3, 4)])
    return {
        "grid2": grid2,
        "grid3": grid3,
        "cells": ms.CellField.from_function(grid2, lambda x, y: x * y),
        "nodes": ms.NodeField.from_function(grid3, lambda x, y, z: x + y * z),
        "velocity": ms.MacField.from_function(grid2, lambda x, t: x[:, ::-1] * (1, -1)),
        "particles": ms.Particles(np.random.default_rng(2).random((9, 2)), mass=np.ones(9)),
        "tets": block,
        "quadratic": ms.mesh.quadratic_mesh(block),
        "triangles": sheet,
        "segments": hair,
        "hierarchy": ms.mesh.SubdivisionHierarchy(sheet, 1),
        "body": body,
        "elements": body.forces[0],
        "springs": ms.solids.EdgeSprings(sheet, ms.solids.SpringOptions(stiffness=10.0)),
        "smoke": smoke,
        "water": water,
        "levelset": levelset,
        "sphere": ms.surface.Sphere((0.5, 0.5, 0.5), 0.2),
        "solid": ms.surface.KinematicSolid(sheet),
        "distance": ms.surface.MeshDistance(sheet),
        "collision": ms.collision.CollisionMesh(sheet),
        "contact_nodes": ms.collision.ContactNodes(np.ones(len(sheet.vertices))),
        "repulsion": ms.collision.Repulsion(ms.collision.CollisionMesh(sheet), sheet.vertices, np.ones(len(sheet.vertices))),
        "barrier": ms.collision.Barrier(ms.collision.CollisionMesh(sheet), sheet.vertices, 0.1),
        "locator": ms.collision.TetLocator(block),
        "thick": ms.collision.ThickSurface(sheet, 0.01),
        "flow": ms.fluids.single_vortex(),
        "tet_pressure": ms.fluids.TetPressureSolver(block),
        "table": ms.io.Table(),
    }


class Values:
    """Random arguments."""

    def __init__(self, chance: random.Random, things: dict[str, Any]) -> None:
        self._chance = chance
        self._things = things

    def any_of(self, parameter: str) -> Any:
        """Return a value for a parameter of this name: mostly one that could be meant, else anything."""
        c = self._chance
        if c.random() < 0.55:
            likely = self._likely(parameter)
            if likely is not None:
                return likely
        return c.choice((self._number, self._text, self._array, self._array, self._thing, self._thing, self._sequence))()

    def _likely(self, name: str) -> Any:
        c, t = self._chance, self._things
        for words, make in (
            (("mesh", "surface", "other"), lambda: t[c.choice(("tets", "triangles", "segments", "quadratic"))]),
            (("grid",), lambda: t[c.choice(("grid2", "grid3"))]),
            (("velocity", "velocities"), lambda: c.choice((t["velocity"], self.floats(42, 3)))),
            (("field", "density", "temperature"), lambda: c.choice((t["cells"], t["nodes"], 1.0))),
            (("levelset", "phi"), lambda: t["levelset"]),
            (("start", "end", "positions", "vertices", "x", "points"), lambda: self.floats(c.choice((42, 27, 4, 0)), 3)),
            (("triangles",), lambda: t["triangles"].triangles),
            (("tets",), lambda: t["tets"].tets),
            (("dt", "time", "radius", "spacing", "tolerance"), lambda: c.choice((0.01, 0.1, 1.0))),
            # A hundred million tetrahedra, which cells of a hundredth would make, take longer than a call may.
            (("cell_size",), lambda: c.choice((0.2, 0.5, 1.0))),
            (("n", "levels", "resolution", "count", "width", "capacity"), lambda: c.choice((1, 2, 3))),
            (("solid", "region", "shape"), lambda: c.choice((t["sphere"], t["solid"], t["levelset"], None))),
            (("snapshot",), lambda: t[c.choice(("cells", "water", "smoke", "body", "particles"))].snapshot()),
            (("function", "sizes"), lambda: lambda *x: np.ones(len(x[0]))),
            (("center", "origin", "axis", "low", "high"), lambda: (0.1, 0.2, 0.3)),
        ):
            if name in words:
                return make()
        return None

    def floats(self, n: int, columns: int) -> Any:
        """Return rows of moderate numbers."""
        return np.random.default_rng(self._chance.randrange(1000)).uniform(-1, 1, (n, columns))

    def _number(self) -> Any:
        # No large sizes that could be meant: memory for 2^24 cells is there, and takes a second.
        return self._chance.choice(
            (0, 1, -1, 2, 7, 2**31, 2**62, 2**63, -(2**63), 10**400, 0.5, -0.0, 1e-300, 1e300, float("nan"), float("inf"), -1e154, True, 1j)
        )

    def _text(self) -> Any:
        return self._chance.choice(("", "any", "linear", "x-", "no-slip", "definite", "\x00", "ü" * 20, b"raw", None, Ellipsis, object()))

    def _thing(self) -> Any:
        return self._things[self._chance.choice(list(self._things))]

    def _sequence(self) -> Any:
        c = self._chance
        return c.choice(
            ((), [], {}, (1,), (0.0, 0.0, 0.0), [1, 2], ("a", "b", "c"), [[0, 1, 2]], {"x-": ms.Open()}, (float("nan"),) * 3, range(3))
        )

    def _array(self) -> Any:
        c = self._chance
        shape = c.choice(
            ((), (0,), (3,), (4, 3), (42, 3), (27, 3), (8, 6), (9, 7), (6, 5, 4), (2, 4, 3), (0, 3), (1, 1, 1, 1), (3, 0), (42,), (27,))
        )
        dtype = c.choice(("f8", "f8", "f4", "i4", "i8", "u1", "?", "f2", "c16", ">f8", "U3", "O", "u8", "i2"))
        rng = np.random.default_rng(c.randrange(1000))
        scale = c.choice((1.0, 1.0, 5.0, 40.0, 1e-300, 1e160, 1e300))
        with np.errstate(all="ignore"):
            a = np.array(rng.uniform(-0.2, 1, shape) * scale).astype(dtype)
        if a.size and a.dtype.kind == "f" and c.random() < 0.2:
            a.flat[c.randrange(a.size)] = c.choice((np.nan, np.inf, -np.inf))
        form = c.randrange(6)
        if form == 0:
            a = np.asfortranarray(a)
        elif form == 1 and a.ndim:
            a = np.repeat(a, 2, axis=0)[::2]
        elif form == 2:
            a.flags.writeable = False
        elif form == 3 and a.dtype != object and a.size:
            raw = np.zeros(a.nbytes + 1, np.uint8)
            skewed = np.ndarray(a.shape, a.dtype, raw, 1)
            skewed[...] = a
            a = skewed
        elif form == 4 and a.ndim:
            a = a[::-1]
        return a
