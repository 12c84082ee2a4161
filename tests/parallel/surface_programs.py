"""Programs on level sets whose results must be bit-identical on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from support.build import scalar_types

import meniscus as ms
from meniscus.surface import (
    EscapedMarkers,
    KinematicSolid,
    LevelSet,
    LevelSetShape,
    MarkerTransport,
    ParticleLevelSet,
    ParticleOptions,
    Sphere,
    VolumeOfFluid,
    extend,
    extend_velocity,
    interpolate_levelsets,
    redistance,
    symmetric_difference,
)

Arrays = dict[str, np.ndarray]
Blocks = Sequence[Any] | None

Domain = tuple[tuple[int, ...], tuple[bool, ...]]
DOMAINS: dict[str, Domain] = {
    "2-D": ((37, 26), (False, False)),
    "2-D periodic": ((25, 34), (True, True)),
    "3-D": ((17, 12, 21), (False, True, False)),
    "3-D periodic": ((12, 16, 13), (True, False, True)),
    "3-D closed": ((18, 13, 9), (False, False, False)),
}


def whole(grid: ms.Grid, own: np.ndarray, on_side: Sequence[int]) -> np.ndarray:
    """Return the samples of all ranks, on every rank; copies of a sample must agree."""
    shape = tuple(n + s for n, s in zip(grid.shape, on_side, strict=True))
    result = np.zeros(shape, own.dtype)
    seen = np.zeros(shape, bool)
    for first, part in grid.comm.gather((grid.first_cell, own)):
        at = tuple(slice(f, f + n) for f, n in zip(first, part.shape, strict=True))
        assert np.array_equal(result[at][seen[at]], part[seen[at]])
        result[at] = part
        seen[at] = True
    assert seen.all()
    return result


def waves(grid: ms.Grid, *x: np.ndarray) -> np.ndarray:
    """Waves with kinks, periodic in the domain: smooth parts, thin parts and corners."""
    total: Any = -0.3
    for d, c in enumerate(x):
        angle = 2 * np.pi * c / grid.extent[d]
        total = total + np.cos(angle + 0.4 * d) + 0.5 * np.abs(np.sin(2 * angle))
    return 0.4 * total


def noise(grid: ms.Grid, on_side: Sequence[int], seed: int, dtype: Any = np.float64) -> np.ndarray:
    """Random numbers that belong to global samples; the two samples on a periodic side are one."""
    shape = tuple(n + s for n, s in zip(grid.shape, on_side, strict=True))
    numbers = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    for axis, periodic in enumerate(grid.periodic):
        if periodic and on_side[axis]:
            np.moveaxis(numbers, axis, 0)[0] = np.moveaxis(numbers, axis, 0)[-1]
    return numbers[tuple(slice(f, f + n + s) for f, n, s in zip(grid.first_cell, grid.local_shape, on_side, strict=True))]


def grids(blocks: Blocks = None, only: Sequence[str] = tuple(DOMAINS)) -> Iterator[tuple[str, ms.Grid]]:
    for name in only:
        shape, periodic = DOMAINS[name]
        if blocks is None or len(blocks) == len(shape):
            yield name, ms.Grid(shape, 0.1, periodic=periodic, blocks=blocks)


def level_set(grid: ms.Grid, location: Any, dtype: Any) -> LevelSet:
    return LevelSet.from_function(grid, lambda *x: waves(grid, *x), location, dtype=dtype)


def extension(blocks: Blocks = None) -> Arrays:
    """Extension of fields and velocities, with samples that only a local minimum reaches."""
    result: Arrays = {}
    for name, grid in grids(blocks):
        for dtype in scalar_types(grid.dimension):
            for location in ("cells", "nodes"):
                phi = level_set(grid, location, dtype)
                redistance(phi, band=0.6)
                key = f"{name} {location} {np.dtype(dtype).name}"
                for side in ("outside", "both"):
                    for share in (0.02, 0.3):
                        field = ms.CellField(grid, dtype) if share > 0.1 else ms.NodeField(grid, dtype)
                        field.array = noise(grid, field.on_side, 3, dtype)
                        known = noise(grid, field.on_side, 4) < {0.02: -2.0, 0.3: -0.5}[share]
                        found = extend(field, phi, known, band=0.45, side=side)  # type: ignore[arg-type]
                        result[f"{key} {side} {share}"] = whole(grid, field.array, field.on_side)
                        result[f"{key} {side} {share} known"] = whole(grid, found.known, field.on_side)
                        result[f"{key} {side} {share} counts"] = np.array([found.reached, found.unreached])
                velocity = ms.MacField(grid, dtype)
                masks = []
                for d in range(grid.dimension):
                    on_side = [int(a == d) for a in range(grid.dimension)]
                    velocity.component(d)[...] = noise(grid, on_side, 5 + d, dtype)
                    masks.append(noise(grid, on_side, 8 + d) < -0.8)
                found = extend_velocity(velocity, phi, masks, band=0.5)
                for d in range(grid.dimension):
                    on_side = [int(a == d) for a in range(grid.dimension)]
                    result[f"{key} velocity {d}"] = whole(grid, velocity.component(d), on_side)
                    result[f"{key} velocity {d} known"] = whole(grid, found.known[d], on_side)
                result[f"{key} velocity counts"] = np.array([found.reached, found.unreached])
    return result


def measures(blocks: Blocks = None) -> Arrays:
    """Volumes, areas, volume fractions, curvatures and components: of waves, and of noise with thousands of parts."""
    result: Arrays = {}
    for name, grid in grids(blocks):
        for dtype in scalar_types(grid.dimension):
            for location in ("cells", "nodes"):
                smooth = level_set(grid, location, dtype)
                rough = LevelSet(grid, location, dtype)
                rough.array = noise(grid, rough.field.on_side, 6, dtype) + dtype(0 if grid.periodic[0] else 0.4) * smooth.array
                for kind, phi in (("smooth", smooth), ("rough", rough)):
                    key = f"{name} {location} {np.dtype(dtype).name} {kind}"
                    result[f"{key} measure"] = np.array([phi.volume(), phi.area()])
                    result[f"{key} fractions"] = whole(grid, phi.volume_fractions().array, [0] * grid.dimension)
                    for curvature in ("level", "surface", "columns"):
                        values = phi.curvature(kind=curvature).array  # type: ignore[arg-type]
                        result[f"{key} {curvature} curvature"] = whole(grid, values, phi.field.on_side)
                    for sides, periods, positions in (("closed", "open", "linear"), ("open", "closed", "cubic")):
                        mesh = phi.to_mesh(sides=sides, periods=periods, positions=positions, normals=True)  # type: ignore[call-overload]
                        for part, values in zip(("vertices", "elements", "normals"), mesh, strict=True):
                            result[f"{key} mesh {positions} {part}"] = values
                    for both in (False, True):
                        found = phi.components(both=both)
                        result[f"{key} labels {both}"] = whole(grid, found.labels, phi.field.on_side)
                        result[f"{key} volumes {both}"] = found.volumes
                        result[f"{key} air volumes {both}"] = found.air_volumes
                        assert found.count == len(found.volumes)
    return result


def by_id(grid: ms.Grid, particles: ms.Particles) -> Arrays:
    """Return the particles of all ranks by id, every one once."""
    columns = {"ids": particles.ids, "positions": particles.positions, **{name: particles[name] for name in particles.columns}}
    parts = grid.comm.gather({name: column.copy() for name, column in columns.items()})
    every = {name: np.concatenate([part[name] for part in parts]) for name in columns}
    order = np.argsort(every["ids"])
    assert (np.diff(every["ids"][order]) > 0).all()
    return {name: column[order] for name, column in every.items()}


def add_drops(grid: ms.Grid, particles: ms.Particles, count: int, seed: int, speed: float) -> None:
    """Add drops everywhere in the domain."""
    rng = np.random.default_rng(seed)
    dtype = particles.positions.dtype
    x = (rng.random((count, grid.dimension)) * grid.extent).astype(dtype)
    v = (speed * rng.standard_normal((count, grid.dimension))).astype(dtype)
    particles.append(x, velocity=v, radius=np.full(count, 0.02, dtype), replicated=True, grid=grid)


def flow(grid: ms.Grid, dtype: Any, speed: float) -> ms.MacField:
    """A flow that is periodic in the domain."""

    def at(x: np.ndarray, time: float) -> np.ndarray:
        angle = 2 * np.pi * x / np.array(grid.extent)
        parts = [np.sin(angle[:, (d + 1) % grid.dimension] + d) * np.cos(angle[:, d]) + 0.3 for d in range(grid.dimension)]
        return speed * np.stack(parts, axis=1)

    return ms.MacField.from_function(grid, at, dtype=dtype)


def ball(grid: ms.Grid, location: Any, dtype: Any, radius: float) -> Any:
    """Samples of a ball in the middle of the domain, which lies in many blocks."""
    center = 0.5 * np.array(grid.extent)
    return LevelSet.from_function(
        grid, lambda *x: np.sqrt(sum((a - c) ** 2 for a, c in zip(x, center, strict=True))) - radius, location, dtype=dtype
    ).array


def particle_level_set(blocks: Blocks = None, only: Sequence[str] = tuple(DOMAINS), solid: bool = True) -> Arrays:
    """Whole steps of a particle level set, with spray that flies over several blocks, returns, and meets a solid."""
    result: Arrays = {}
    for name, grid in grids(blocks, only):
        dtype = scalar_types(grid.dimension)[-(list(DOMAINS).index(name) % 2)]
        for location, radii, cfl, deposit in (
            ("cells", "flow", 0.5, "momentum"),
            ("nodes", "levelset", 3.0, "liquid"),
            ("cells", "levelset", 10.0, "mean"),
        ):
            key = f"{name} {location} {radii} {cfl}"
            ways: Any = {"per_cell": {2: 16, 3: 4}[grid.dimension], "radii_from": radii, "reseed_every": 2}
            options = ParticleOptions(escaped=EscapedMarkers(spray=True, escaped_outside="bubbles", removal_distance=0.3), **ways)
            p = ParticleLevelSet(grid, location, dtype, options=options)  # type: ignore[arg-type]
            p.levelset.array = ball(grid, location, dtype, 0.33 * min(grid.extent))
            obstacle = KinematicSolid(Sphere(tuple(0.75 * e for e in grid.extent), 0.2 * min(grid.extent))).sample(grid, dtype=dtype)
            wall = obstacle if solid else None
            seeding = p.seed(solid=obstacle)
            add_drops(grid, p.spray, 300, 7, 20.0)
            v = flow(grid, dtype, 1.0)
            dt = cfl * grid.spacing / ms.grid.max_speed(v)
            numbers = [seeding.added, seeding.failed]
            for _ in range(2):
                r = p.advance(v, dt, solid=wall)
                f = p.advance_spray(dt, (0.0,) * (grid.dimension - 1) + (-9.8,), obstacle, drag=0.5, restitution=0.3, open_sides=["y+"])
                numbers += [p.spray_volume]
                b = p.reincorporate(v, deposit=deposit)  # type: ignore[arg-type]
                s = r.seeding or p.reseed()
                numbers += [r.advected, r.markers.left, r.markers.in_solid, r.markers.pushed]
                numbers += [c for k in r.corrections for c in (k.outside, k.inside)]
                numbers += [r.removal.spray.count, r.removal.spray.volume, r.removal.outside.count, r.removal.outside.volume]
                numbers += [f.hits, f.left.count, f.left.volume, b.spray.count, b.spray.volume, *b.momentum, s.added, s.surplus, s.failed]
            numbers += [p.accept_levelset(), p.spray_volume]
            result[f"{key} numbers"] = np.array(numbers, float)
            result[f"{key} phi"] = whole(grid, p.levelset.array, p.levelset.field.on_side)
            for d in range(grid.dimension):
                result[f"{key} velocity {d}"] = whole(grid, v.component(d), [int(a == d) for a in range(grid.dimension)])
            for kind in ("particles", "spray", "bubbles"):
                for column, values in by_id(grid, getattr(p, kind)).items():
                    result[f"{key} {kind} {column}"] = values
    return result


def marker_options(blocks: Blocks = None) -> Arrays:
    """Other schemes and rules of a particle level set; a fast solid, and drops that fly through many blocks."""
    result: Arrays = {}
    ways: tuple[dict[str, Any], ...] = (
        {"transport": MarkerTransport(method="maccormack", trace="rk3"), "escaped": "delete", "reseed_every": 1},
        {
            "transport": MarkerTransport(method="semi-lagrangian", trace="euler", interpolation="cubic"),
            "escaped": "keep",
            "reseed_every": None,
        },
        {"transport": MarkerTransport(method="bfecc"), "escaped": "bubbles", "reseed_every": 3},
    )
    for name, grid in grids(blocks, ("2-D", "2-D periodic", "3-D")):
        for way in ways:
            key = f"{name} {way['transport'].method}"
            escaped = EscapedMarkers(spray=True, escaped_outside=way["escaped"], removal_distance=0.2)
            p = ParticleLevelSet(grid, options=ParticleOptions(per_cell=8, **{**way, "escaped": escaped}))
            p.levelset.array = ball(grid, "cells", np.float64, 0.3 * min(grid.extent))
            solid = KinematicSolid(Sphere(tuple(0.7 * e for e in grid.extent), 0.2 * min(grid.extent)))
            p.seed()
            add_drops(grid, p.spray, 200, 3, 60.0)
            v = flow(grid, np.float64, 1.0)
            numbers: list[float] = []
            for i, (cfl, deposit) in enumerate(((0.5, "liquid"), (3.0, "mean"), (10.0, "momentum"), (1.0, "liquid"))):
                dt = cfl * grid.spacing / ms.grid.max_speed(v)
                obstacle = solid.sample(grid, time=0.1 * i)
                r = p.advance(v, dt, solid=obstacle)
                f = p.advance_spray(dt, (1.0,) * grid.dimension, obstacle, restitution=0.9)
                b = p.reincorporate(v, deposit=deposit, fraction=2.0)  # type: ignore[arg-type]
                numbers += [r.advected, r.markers.pushed, f.hits, b.spray.count, b.spray.volume, *b.momentum, p.spray_volume]
                numbers.append(p.remove_on_wrong_side(0.05))
            result[f"{key} numbers"] = np.array(numbers)
            result[f"{key} phi"] = whole(grid, p.levelset.array, p.levelset.field.on_side)
            for kind in ("particles", "spray", "bubbles"):
                for column, values in by_id(grid, getattr(p, kind)).items():
                    result[f"{key} {kind} {column}"] = values
    return result


def between_and_from_meshes(blocks: Blocks = None) -> Arrays:
    """Level sets between two others, by steps over many cells, of a shape that is a level set, and of a mesh."""
    result: Arrays = {}
    for name, grid in grids(blocks):
        for location in ("cells", "nodes"):
            first, second = (level_set(grid, location, np.float64) for _ in range(2))
            second.offset(0.1)
            u, v = (flow(grid, np.float64, speed) for speed in (1.0, 2.0))
            for dt in (0.1, 4.0):
                blend = interpolate_levelsets(first, second, u, v, dt, 0.3)
                result[f"{name} {location} {dt}"] = whole(grid, blend.array, blend.field.on_side)
            result[f"{name} {location} difference"] = np.array(symmetric_difference(first, second))
            shape = LevelSetShape(first).translated((0.2,) * grid.dimension)
            result[f"{name} {location} shape"] = whole(grid, LevelSet.from_shape(grid, shape, location).array, first.field.on_side)
            if grid.dimension == 3 and not any(grid.periodic):
                mesh = LevelSet.from_shape(grid, Sphere((0.8, 0.6, 1.0), 0.5)).to_mesh()
                for band in (None, 0.3):
                    sampled = LevelSet.from_mesh(grid, *mesh, location, band=band)
                    result[f"{name} {location} mesh {band}"] = whole(grid, sampled.array, sampled.field.on_side)
    return result


def volume_of_fluid(blocks: Blocks = None) -> Arrays:
    """Two steps of several cells beside a solid, through periods and open sides, and the distances to the planes."""
    result: Arrays = {}
    for name, grid in grids(blocks):
        velocity, dimension = ms.MacField(grid), grid.dimension
        for d in range(dimension):
            velocity.component(d)[...] = 0.5 * noise(grid, [int(a == d) for a in range(dimension)], 11 + d)
        extent = np.array(grid.shape) * grid.spacing
        liquid = VolumeOfFluid(grid, solid=Sphere(0.55 * extent, 0.2 * extent.min()))
        liquid.fill(Sphere(0.4 * extent, 0.3 * extent.min()))
        for _ in range(2):
            done = liquid.advect(velocity, 2.5 * grid.spacing)
        result[f"{name} fractions"] = whole(grid, liquid.fractions.array, (0,) * dimension)
        result[f"{name} distance"] = whole(grid, liquid.levelset(band=3 * grid.spacing).array, (0,) * dimension)
        result[f"{name} sums"] = np.array([liquid.volume(), *done])
    return result


def evolution(blocks: Blocks = None) -> Arrays:
    """Motion in a flow, along normals and by curvature, everywhere and in a band."""
    result: Arrays = {}
    for name, grid in grids(blocks):
        for dtype in scalar_types(grid.dimension):
            for location in ("cells", "nodes"):
                phi = level_set(grid, location, dtype)
                speeds = type(phi.field)(grid, dtype)
                speeds.array = noise(grid, speeds.on_side, 9, dtype)
                steps = [phi.evolve(0.05, velocity=flow(grid, dtype, 1.0), speed=speeds, curvature=0.02)]
                key = f"{name} {location} {np.dtype(dtype).name}"
                result[key] = whole(grid, phi.array, phi.field.on_side)
                phi.redistance(band=0.6)
                steps.append(phi.evolve(0.05, speed=-0.7, band=0.6))
                result[f"{key} band"] = whole(grid, phi.array, phi.field.on_side)
                result[f"{key} steps"] = np.array(steps)
    return result


PROGRAMS: dict[str, Callable[[], Arrays]] = {
    "extension": extension,
    "evolution": evolution,
    "measures": measures,
    "particle level set": particle_level_set,
    "marker options": marker_options,
    "between and from meshes": between_and_from_meshes,
    "volume of fluid": volume_of_fluid,
}
