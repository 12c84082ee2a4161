"""Types of the core over dimensions and scalars, for annotations."""

from __future__ import annotations

from meniscus._meniscus import fluids, grid, surface

AnyGrid = grid.Grid2 | grid.Grid3
AnyField = grid.Field2d | grid.Field3f | grid.Field3d
AnyThinWalls = grid.ThinWalls2 | grid.ThinWalls3
AnyPoissonSolver = grid.PoissonSolver2 | grid.PoissonSolver3
AnyFieldExchange = grid.FieldExchange2 | grid.FieldExchange3
AnyShape = surface.ImplicitShape2 | surface.ImplicitShape3
AnyLiquidRegion = fluids.LiquidRegion2 | fluids.LiquidRegion3
