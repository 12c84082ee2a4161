"""Benchmark of whole steps of the gas solver: total time, time of each stage, cost of vortex particles, and another library.

A case starts from a swirl that fills the box, takes some steps until the flow has developed, and stores that state; every timed step starts
from it. So all samples do the same work, on a developed flow. Cases take turns in every round.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from harness import THREADS, Timing, show_progress, time_waited
from peers import smoke_peers
from peers.smoke_peers import StepPeer
from tables import smoke_report

import meniscus as ms
from meniscus.fluids import Emitter, SmokeOptions, SmokeSolver, VortexParticles, VorticityOptions
from meniscus.surface import Sphere

FULL_SIZES = (32, 64, 128)
QUICK_SIZES = (12, 16)
CFL = 2.0
TOLERANCE = 1e-5
WARM_UP = 4
QUICK_WARM_UP = 1
CONFINEMENT = 0.3
BUOYANCY = 4.0
WEIGHT = 0.3
# As many particles as the explosion of Selle 2008, section 3.5, but in 128^3 cells: four times its density (180 x 260 x 180 cells there).
PARTICLES = 6000
PARTICLES_AT = 128
RADIUS = 4
# Acceleration where the force of one particle is largest, m/s^2, if its vorticity is 1/s.
VORTEX_FORCE = 1.0
SAMPLES_PER_VISIT = 3
SECONDS_PER_VISIT = 3.0
REST = "rest"
# What is compared comes one after the other.
VARIANTS = ("plain", "particles", "sphere")

Report = dict[str, Any]


def case_name(variant: str, n: int) -> str:
    """Name that --only matches."""
    return f"smoke/{variant}/{n}"


class Scene:
    """A closed box with an open top, in which an emitter at the floor smokes into a swirl; all in single precision.

    Args:
        n: cells per axis.
        variant: 'plain', 'sphere' (a ball at rest in the middle) or 'particles' (vortex particles in the whole box).
        warm_up: steps before the state that timed steps start from.
    """

    def __init__(self, n: int, variant: str, warm_up: int) -> None:
        self.grid = ms.Grid((n, n, n), 1.0 / n)
        reach = RADIUS / n
        options = SmokeOptions(
            density_weight=WEIGHT,
            temperature_weight=BUOYANCY,
            vorticity=VorticityOptions(confinement=CONFINEMENT, vortex_strength=VORTEX_FORCE * reach**3 * (2 * math.pi) ** 1.5),
            tolerance=TOLERANCE,
            cfl=CFL,
        )
        nozzle = Emitter(region=Sphere((0.5, 0.5, 0.17), 0.11), density=1.0, temperature=1.0, velocity=(0.0, 0.0, 1.0))
        ball = Sphere((0.5, 0.5, 0.6), 0.2) if variant == "sphere" else None
        self.solver = SmokeSolver(self.grid, options, boundary={"z+": ms.grid.Open()}, solid=ball, emitters=[nozzle])
        ms.fluids.deformation().sample(self.solver.velocity)
        self.dt = CFL / n / ms.grid.max_speed(self.solver.velocity)
        for _ in range(warm_up):
            self.solver.step(self.dt)
        self._state = [a.copy() for a in self._arrays()]
        self._time = self.solver.time
        self._particles = make_particles(n) if variant == "particles" else None
        self.iterations = 0
        self.cfl = 0.0

    def _arrays(self) -> list[np.ndarray]:
        s = self.solver
        return [*(s.velocity.component(d) for d in range(3)), s.density.array, s.temperature.array, s.pressure.array]

    def reset(self) -> None:
        """Return to the state after the warm-up; vortex particles are there from now on."""
        for array, kept in zip(self._arrays(), self._state, strict=True):
            array[...] = kept
        self.solver.time = self._time
        self.solver.vortices = None if self._particles is None else self._particles.copy()

    def step(self) -> dict[str, float]:
        """Take one step; returns the seconds of its stages, and of what comes after them."""
        seconds = {}
        last = time.perf_counter()

        def note(stage: str, _: SmokeSolver) -> None:
            nonlocal last
            now = time.perf_counter()
            seconds[stage] = now - last
            last = now

        report = self.solver.step(self.dt, note)
        seconds[REST] = time.perf_counter() - last
        self.iterations = report.projection.iterations
        self.cfl = report.max_speed * self.dt / self.grid.spacing
        return seconds


def particle_count(n: int) -> int:
    """Vortex particles in n^3 cells at the density of the benchmark."""
    return round(PARTICLES * (n / PARTICLES_AT) ** 3)


def make_particles(n: int) -> VortexParticles:
    """Spread vortex particles of random direction evenly over the box."""
    rng = np.random.default_rng(13)
    count = particle_count(n)
    positions = rng.random((count, 3)).astype(np.float32)
    return VortexParticles(positions, rng.normal(size=(count, 3)).astype(np.float32), RADIUS / n)


@dataclass
class Run:
    """Measurement of one case on one number of threads."""

    variant: str
    n: int
    threads: int
    timing: Timing
    stages: list[dict[str, float]] = field(default_factory=list)
    iterations: int = 0
    cfl: float = 0.0
    bytes: int = 0
    particles: int = 0

    @property
    def name(self) -> str:
        return case_name(self.variant, self.n)

    @property
    def best_stages(self) -> dict[str, float]:
        """Seconds per stage of the best sample."""
        return self.stages[self.timing.seconds.index(self.timing.best)]


@dataclass
class Cases:
    """Measurements to make at one size."""

    n: int
    variants: list[str]
    peer: bool


def chosen_cases(quick: bool, chosen: Callable[[str], bool]) -> list[Cases]:
    """Sizes and variants, as far as they are chosen; particles only at the largest size."""
    sizes = QUICK_SIZES if quick else FULL_SIZES
    found = []
    for n in sizes:
        variants = [v for v in VARIANTS if (v != "particles" or n == sizes[-1]) and chosen(case_name(v, n))]
        if "particles" in variants and "plain" not in variants:
            variants.insert(0, "plain")  # what they are compared with
        found.append(Cases(n, variants, chosen(smoke_peers.peer_name(n))))
    return [c for c in found if c.variants or c.peer]


def measure(cases: list[Cases], rounds: int, *, quick: bool) -> tuple[list[Run], list[StepPeer]]:
    """Run all cases."""
    threads_before = ms.core.num_threads()
    runs: list[Run] = []
    peers: list[StepPeer] = []
    try:
        for c in cases:
            show_progress(f"smoke, {c.n}^3: preparing")
            scenes = {v: Scene(c.n, v, QUICK_WARM_UP if quick else WARM_UP) for v in c.variants}
            here = [Run(v, c.n, t, Timing(t, ms.core.simd_level())) for t in THREADS for v in c.variants]
            for r in range(rounds):
                for run in here:
                    show_progress(f"round {r + 1}/{rounds}, {run.threads} thread(s): {run.name}")
                    _visit(run, scenes[run.variant])
            runs += here
            scenes.clear()
            gc.collect()
            if c.peer:
                show_progress(smoke_peers.peer_name(c.n))
                # It starts from the state that our plain case starts from.
                peers.append(
                    smoke_peers.measure(Scene(c.n, "plain", QUICK_WARM_UP if quick else WARM_UP), peers, BUOYANCY - WEIGHT, TOLERANCE)
                )
    finally:
        ms.core.set_num_threads(threads_before)
        show_progress("")
    return runs, peers


def _visit(run: Run, scene: Scene) -> None:
    """Take one step that does not count, then some that do."""
    ms.core.set_num_threads(run.threads)
    scene.reset()
    scene.step()
    spent = 0.0
    for _ in range(SAMPLES_PER_VISIT):
        scene.reset()
        waited, cpu, start = time_waited(), time.process_time(), time.perf_counter()
        stages = scene.step()
        elapsed = time.perf_counter() - start
        run.timing.cpu_seconds.append(time.process_time() - cpu)
        waited_after = time_waited()
        run.timing.waited_seconds.append(None if waited is None or waited_after is None else waited_after - waited)
        run.timing.seconds.append(elapsed)
        run.stages.append(stages)
        spent += elapsed
        if spent > SECONDS_PER_VISIT:
            break
    run.iterations, run.cfl = scene.iterations, scene.cfl
    run.bytes = scene.solver.nbytes
    run.particles = particle_count(run.n) if run.variant == "particles" else 0


def report(runs: list[Run], peers: list[StepPeer]) -> Report:
    """Rows, peers and goals."""
    return smoke_report.report(runs, peers, size=FULL_SIZES[-1], tolerance=TOLERANCE)
