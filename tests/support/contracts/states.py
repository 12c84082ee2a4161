"""Every public type of state, with what makes a small one and a change of it, for the battery of `tests/contracts`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import meniscus as ms
from meniscus.core import Solver, State, Stateful
from meniscus.coupling import FluidBodies, FluidWorld, KDSMWater, KinematicShell, ShellCoupling, Shells
from meniscus.fluids import (
    LatticeBoltzmann,
    LiquidOptions,
    LiquidSolver,
    OpenLiquid,
    ParticleLiquidSolver,
    ShallowWater,
    SmokeSolver,
    TetVOF,
    VortexParticles,
    Whitewater,
)
from meniscus.mesh import icosphere
from meniscus.solids import (
    Attractor,
    DeformableBody,
    Groom,
    HairBody,
    PositionBody,
    PositionContacts,
    PositionsWorld,
    ReducedBody,
    RigidBody,
    RigidSystem,
    Wind,
    World,
)
from meniscus.surface import LevelSet, ParticleLevelSet, Pose, VolumeOfFluid, WaterSurface
from support.contact import bodies
from support.shells import ring

GRID, SPACE = ms.Grid((6, 5), 0.2), ms.Grid((6, 5, 4), 0.2)
FLOOR = ms.surface.HalfSpace((0, 0, 0), (0, 0, 1))
GRAVITY = (0.0, 0.0, -9.8)


@dataclass
class Specimen:
    """A type of state.

    Attributes:
        type: its class.
        make: a new object; states of different seeds differ.
        change: any change of the state, which depends on nothing but the state.
        none_until: parts of a snapshot that are None until a first step.
        infinite: numbers of a snapshot that may be infinite.
        boxes: arrays of a snapshot of which all axes may have other lengths.
        lists: arrays of a snapshot that may have other numbers of rows.
        free_names: parts of a snapshot that hold whatever names there are.
        members: parts of a snapshot whose types have specimens of their own.
    """

    type: type[Any]
    make: Callable[[int], Any]
    change: Callable[[Any], Any]
    none_until: tuple[str, ...] = ()
    infinite: tuple[str, ...] = ()
    boxes: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    free_names: tuple[str, ...] = ()
    members: tuple[str, ...] = ()


def cells(seed: int) -> ms.CellField:
    field = ms.CellField(SPACE, np.float32)
    field.array[...] = np.random.default_rng(seed).random(field.shape)
    field.fill_ghosts()
    return field


def nodes(seed: int) -> ms.NodeField:
    field = ms.NodeField(GRID)
    field.array[...] = np.random.default_rng(seed).random(field.shape)
    return field


def velocity(seed: int) -> ms.MacField:
    field = ms.MacField(GRID, boundary={"x+": ms.Open()})
    for d in range(2):
        field.component(d)[...] = np.random.default_rng(seed + d).random(field.component(d).shape)
    return field


def particles(seed: int) -> ms.Particles:
    rng = np.random.default_rng(seed)
    made = ms.Particles(rng.random((9 * seed, 2)), age=rng.random(9 * seed), kind=np.arange(9 * seed, dtype=np.int8))
    made.remove(made["age"] < 0.3)
    made.sort_by_cell(GRID)
    return made


def vortices(seed: int) -> VortexParticles:
    rng = np.random.default_rng(seed)
    return VortexParticles(rng.random((seed, 3)), rng.random((seed, 3)), 0.3)


def level_set(seed: int) -> LevelSet:
    made = LevelSet(SPACE, "nodes", np.float32)
    made.array[...] = np.random.default_rng(seed).normal(size=made.array.shape)
    return made


def particle_level_set(seed: int) -> ParticleLevelSet:
    made = ParticleLevelSet(GRID)
    made.levelset.unite(ms.surface.Sphere((0.5, 0.5), 0.1 + 0.1 * seed))
    made.seed()
    return made


def volume_of_fluid(seed: int) -> VolumeOfFluid:
    made = VolumeOfFluid(GRID, solid=ms.surface.Sphere((0.8, 0.3), 0.2))
    made.fill(ms.surface.Sphere((0.5, 0.5), 0.3 + 0.1 * seed))
    return made


def level(height: float) -> LevelSet:
    return LevelSet.from_shape(SPACE, ms.surface.HalfSpace((0.0, 0.0, height), (0.0, 0.0, 1.0)), "cells")


def water_surface(seed: int) -> WaterSurface:
    made = WaterSurface(SPACE, 2)
    made.update(0.1, levelset=level(0.1 + 0.1 * seed))
    return made


def smoke(seed: int) -> SmokeSolver:
    made = SmokeSolver(GRID)
    made.density.array[...] = np.random.default_rng(seed).random(GRID.shape)
    made.step(0.01 * seed)
    return made


def lattice(seed: int) -> LatticeBoltzmann:
    made = LatticeBoltzmann(GRID, 0.01, 1.0)
    made.set_flow(np.random.default_rng(seed).uniform(-0.1, 0.1, (2, *GRID.shape)))
    made.step()
    return made


def bodies_in_lattice(seed: int) -> FluidBodies:
    made_world = ms.solids.World(gravity=(0.0, 0.0, -1.0))
    made_world.add(ms.solids.RigidBody.sphere(0.3, 3.0, pose=ms.surface.Pose((0.5, 0.5, 0.4 + 0.1 * seed))))
    made = FluidBodies(LatticeBoltzmann(ms.Grid((10, 10, 12), 0.1), 0.01, 1.0), made_world)
    made.step()
    return made


def liquid(seed: int) -> LiquidSolver:
    made = LiquidSolver(GRID)
    made.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.2 + 0.1 * seed)))
    made.step(0.001 * seed)
    return made


def particle_liquid(seed: int) -> ParticleLiquidSolver:
    made = ParticleLiquidSolver(GRID)
    made.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.2 + 0.1 * seed)))
    made.step(0.001 * seed)
    return made


TETS = ms.mesh.bcc_lattice((0.0, 0.0, 0.0), 0.5, (2, 2, 2))


def still(time: float) -> np.ndarray:
    return np.asarray(TETS.vertices)


def water_in_tets(seed: int) -> TetVOF:
    made = TetVOF(ms.mesh.MovingTetMesh(TETS, still))
    made.fill(ms.surface.Box((0.0, 0.0, 0.0), (1.0, 1.0, 0.2 * seed)))
    made.step(0.01)
    return made


def body(seed: int) -> DeformableBody:
    rng = np.random.default_rng(seed)
    made = DeformableBody(rng.random((7, 3)), masses=1.0)
    made.velocities[...] = rng.random((7, 3))
    made.step(0.01 * seed, "verlet")
    return made


def position_body(seed: int) -> PositionBody:
    made = bodies.strands(0.1 * seed)
    made.gravity = np.array(GRAVITY)
    made.step(0.01)
    return made


def hair_body(seed: int) -> HairBody:
    groom = Groom.grow(icosphere(1, 0.1), 3, 0.1, curl_radius=0.01, segments=4, seed=1)
    made = HairBody(groom, EI=1e-6, GJ=1e-6, gravity=GRAVITY)
    made.velocities[...] = 0.01 * seed
    made.advance_strands(0.002)
    return made


def reduced_body(seed: int) -> ReducedBody:
    block = bodies.block((0.4, 0.4, 0.2), 0.0, (1, 1, 1))
    made = ReducedBody(block, modes=2, size=3, youngs_modulus=2e5, density=1000.0, pose=Pose((0.0, 0.0, 0.1 * seed)))
    made.rates[...] = 0.01 * seed
    made.step(0.01)
    return made


def rigid_body(seed: int) -> RigidBody:
    made = RigidBody.box((0.3, 0.7, 1.2), pose=Pose((0.0, 0.0, float(seed))), gravity=GRAVITY)
    made.step(0.01 * seed)
    return made


def rigid_system(seed: int) -> RigidSystem:
    made = RigidSystem(gravity=GRAVITY)
    made.add_obstacle(FLOOR, friction=0.5)
    made.add(RigidBody.box((0.2, 0.2, 0.2), pose=Pose((0.0, 0.0, 0.0998))))
    made.step(0.001 * seed)
    return made


def world(seed: int, kind: type[Any] = World) -> Any:
    """Strands on a box on the floor, which a person pulls at and blows on."""
    made = kind(gravity=GRAVITY)
    made.add_obstacle(FLOOR, friction=0.5)
    box = bodies.box(0.0499)
    made.add(box)
    made.add(bodies.strands(0.1045), thickness=0.005)
    if kind is World:
        made.interaction.aim(box, Pose((0.0, 0.0, 0.05)))
        made.interaction.add_field(Wind((1.0, 0.0, 0.0)))
    else:
        made.interaction.attach(box, None, (0.0, 0.0, 0.0), compliance=1e-3)
        made.interaction.pick((0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
        made.interaction.add_field(Attractor((0.0, 0.0, 0.5), strength=0.1))
    made.step(0.001 * seed)
    made.interaction.mark()
    return made


def real_time(seed: int) -> PositionsWorld:
    return world(seed, PositionsWorld)


def shells(seed: int) -> ShellCoupling:
    solver = SmokeSolver(ms.Grid((8, 8), 1 / 8))
    made = ShellCoupling(solver, Shells(solver.grid, [KinematicShell(ring((0.47, 0.52), 0.3))]))
    solver.density.array[...] = np.random.default_rng(seed).random(solver.grid.shape)
    made.step(0.01 * seed)
    return made


def floating(seed: int) -> FluidWorld:
    liquid = LiquidSolver(ms.Grid((8, 8), 1 / 8))
    liquid.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.5)))
    world = World(gravity=(0.0, -9.8, 0.0))
    world.add(RigidBody.box((0.4, 0.4, 1.0), 500.0, pose=Pose((0.5, 0.55, 0.0))))
    made = FluidWorld(liquid, world)
    made.step(0.005 * seed)
    return made


def shallow_water(seed: int) -> ShallowWater:
    made = ShallowWater(GRID, -0.3)
    made.fill(0.0)
    made.depth[...] += 0.05 * np.random.default_rng(seed).random(made.depth.shape)
    return made


def whitewater(seed: int) -> Whitewater:
    liquid = LiquidSolver(ms.Grid((8, 8), 1 / 8))
    liquid.fill(ms.surface.Box((-1.0, -1.0), (2.0, 0.5)))
    made = Whitewater(liquid)
    x = np.random.default_rng(seed).random((4, 2))
    made.particles.append(x, velocity=np.zeros((4, 2)), radius=np.full(4, 0.01), lifetime=np.ones(4))
    made.step(0.01 * seed)
    return made


def water_on_both(seed: int) -> KDSMWater:
    liquid = LiquidSolver(ms.Grid((4, 4, 4), 0.6, origin=(-0.7, -0.7, -0.7)), LiquidOptions(expansion=True, gather=True))
    liquid.fill(ms.surface.Box((-1.0, -1.0, -1.0), (2.0, 2.0, 0.2 + 0.1 * seed)))
    made = KDSMWater(ms.mesh.MovingTetMesh(TETS, still), liquid)
    made.step(0.002 * seed)
    return made


def shift(state: Any) -> None:
    """Samples or positions a little farther."""
    array = next(getattr(state, name) for name in ("array", "u", "positions") if hasattr(state, name))
    array[...] += array.dtype.type(0.01)


def grow(state: Any) -> None:
    """One particle more, whose number is the next."""
    state.append(np.zeros((1, state.dimension), state.positions.dtype), **{name: state[name][:1] for name in state.columns})


def step(state: Any) -> None:
    state.step(0.002)


# Numbers of pulls and fields.
OF_PULLS = (
    *("stiffness", "damping", "torsion", "torsion_damping", "compliance", "strength", "drag"),
    *("max_force", "max_torque", "max_speed", "max_spin", "max_acceleration", "reach", "core"),
)
RIGID = ("contact_groups", "contact_points")
LOOP = ("cut_vertices", "x_free", "v_free", "vertex_face", "edge_edge")
STATES = (
    Specimen(ms.CellField, cells, shift),
    Specimen(ms.NodeField, nodes, shift),
    Specimen(ms.MacField, velocity, shift),
    Specimen(ms.Particles, particles, grow),
    Specimen(VortexParticles, vortices, grow),
    Specimen(LevelSet, level_set, shift),
    Specimen(ParticleLevelSet, particle_level_set, lambda s: s.advance(velocity(1), 0.01)),
    Specimen(VolumeOfFluid, volume_of_fluid, lambda s: s.advect(velocity(1), 0.3)),
    Specimen(
        WaterSurface,
        water_surface,
        lambda s: s.update(0.1, levelset=level(0.35)),
        boxes=("_near_phi", "_flow", "_phi"),
        lists=("_triangles", "spray"),
    ),
    Specimen(SmokeSolver, smoke, step),
    Specimen(LatticeBoltzmann, lattice, lambda s: s.step()),
    Specimen(LiquidSolver, liquid, step),
    Specimen(ParticleLiquidSolver, particle_liquid, step),
    Specimen(TetVOF, water_in_tets, step),
    Specimen(DeformableBody, body, lambda s: s.step(0.002, "verlet"), none_until=("previous",)),
    Specimen(HairBody, hair_body, lambda s: s.advance(0.002)),
    Specimen(PositionBody, position_body, step),
    Specimen(ReducedBody, reduced_body, step),
    Specimen(RigidBody, rigid_body, step),
    Specimen(RigidSystem, rigid_system, step, lists=RIGID),
    Specimen(World, world, step, infinite=OF_PULLS, lists=(*RIGID, *LOOP), free_names=("mark",)),
    Specimen(PositionsWorld, real_time, step, infinite=OF_PULLS, lists=(*RIGID, "passed"), free_names=("mark",)),
    Specimen(ShellCoupling, shells, step, members=("solver",)),
    Specimen(
        FluidBodies,
        bodies_in_lattice,
        lambda s: s.step(),
        infinite=OF_PULLS,
        lists=(*RIGID, *LOOP),
        free_names=("mark",),
        members=("fluid", "world"),
    ),
    Specimen(
        FluidWorld,
        floating,
        step,
        infinite=OF_PULLS,
        lists=(*RIGID, *LOOP, "loads", "rates", "attached"),
        free_names=("mark",),
        members=("fluid", "world"),
    ),
    Specimen(ShallowWater, shallow_water, step),
    Specimen(Whitewater, whitewater, step),
    Specimen(KDSMWater, water_on_both, step, members=("liquid", "vof")),
)
# Public states without a specimen, and where they are tested.
OTHERS: dict[type[Any], str] = {
    State: "abstract",
    Stateful: "a base, see core/test_state.py",
    Solver: "a base, see core/test_solver.py",
    ms.solids.AdaptiveCloth: "its mesh is state, see solids/cloth/test_adaptive_cloth.py",
    ms.fluids.VoronoiLiquid: "its surface keeps its state, see fluids/voronoi/test_voronoi_liquid.py",
    ms.fluids.VortexSheet: "its surface keeps its state, see fluids/sheets/test_vortex_sheet.py",
    ms.grid.ScalarField: "a base of fields",
    OpenLiquid: "a part of LiquidSolver",
    PositionContacts: "remembers bodies that it does not own, see solids/position/test_position_contacts.py",
    ms.mesh.SimplexMesh: "a base of meshes",
    **{mesh: "does not change" for mesh in (ms.mesh.SegmentMesh, ms.mesh.TriangleMesh, ms.mesh.TetMesh, ms.mesh.QuadraticTetMesh)},
}
