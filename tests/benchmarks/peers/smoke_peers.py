"""Step of a gas solver in PhiFlow, on its NumPy backend, from the same state.

It does less than ours: no confinement, no emitter, one scalar instead of two (the density also drives the buoyancy), Euler traces. Both
have MacCormack transport of scalar and velocity, buoyancy, and a projection with conjugate gradients to the same tolerance.
"""

from __future__ import annotations

import importlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.libraries import version

if TYPE_CHECKING:
    from smoke import Scene

SAMPLES = 3
SECONDS = 10.0
# A step that is expected to take longer than this is not tried.
LONGEST_STEP = 120.0
REMARK = "MacCormack (Euler trace) for density and velocity, buoyancy, CG; without confinement, emitter and temperature"


@dataclass
class StepPeer:
    """Measurement of the other library at one size, or the reason why there is none."""

    n: int
    library: str
    seconds: list[float] = field(default_factory=list)
    iterations: int | None = None
    divergence: float | None = None  # norm after the projection over that before it
    unavailable: str = ""

    @property
    def name(self) -> str:
        return peer_name(self.n)


def peer_name(n: int) -> str:
    """Name that --only matches."""
    return f"smoke/phiflow/{n}"


def measure(scene: Scene, earlier: list[StepPeer], lift: float, tolerance: float) -> StepPeer:
    """Time some steps of the peer, all from the state of the scene; `earlier` are its results at smaller sizes.

    `lift` is the upward acceleration of smoke of density one, m/s^2.
    """
    n = scene.grid.shape[0]
    peer = StepPeer(n, f"PhiFlow {version('phiflow')}")
    try:
        flow = importlib.import_module("phi.flow")
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return peer
    # Cells, and iterations, which grow with the cells per axis.
    expected = max((min(e.seconds) * (n / e.n) ** 4 for e in earlier if e.seconds), default=0.0)
    if expected > LONGEST_STEP:
        peer.unavailable = f"not run: about {expected:.0f} s per step, to judge by the smaller size"
        return peer
    step = Step(flow, scene, lift, tolerance)
    try:
        if not earlier:
            step()  # what it does only once
        while len(peer.seconds) < SAMPLES and sum(peer.seconds) < SECONDS:
            start = time.perf_counter()
            peer.iterations = step()
            peer.seconds.append(time.perf_counter() - start)
        peer.divergence = step.reduction()
    except flow.math.ConvergenceException as error:
        peer.seconds.clear()
        peer.unavailable = f"its pressure solve did not converge: {str(error).splitlines()[0]}"
    except ValueError as error:
        # From 36^3 on, its assembly numbers pairs of cells beyond the range of 32-bit integers.
        peer.seconds.clear()
        peer.unavailable = f"it fails: {str(error).splitlines()[0]}"
    return peer


class Step:
    """One step of the peer, which can be repeated: its fields do not change in place."""

    def __init__(self, flow: Any, scene: Scene, lift: float, tolerance: float) -> None:
        self.flow = flow
        box = flow.Box(x=1, y=1, z=1)
        axes = flow.spatial("x,y,z")
        sides = {"x": 0, "y": 0, "z-": 0, "z+": flow.extrapolation.ZERO_GRADIENT}
        faces = {}
        for d, axis in enumerate("xyz"):
            # Faces on walls are not stored there, those of the open side are.
            kept = tuple(slice(None) if k != d else slice(1, None) if axis == "z" else slice(1, -1) for k in range(3))
            faces[axis] = flow.tensor(np.ascontiguousarray(scene.solver.velocity.component(d)[kept]), axes)
        self.velocity = flow.StaggeredGrid(flow.math.stack(faces, flow.dual("vector")), sides, bounds=box)
        density = flow.tensor(scene.solver.density.array.copy(), axes)
        self.density = flow.CenteredGrid(density, flow.extrapolation.ZERO_GRADIENT, bounds=box)
        self.dt, self.lift, self.tolerance = scene.dt, lift, tolerance
        self._last: tuple[Any, Any] | None = None

    def __call__(self) -> int:
        """Take the step; returns the iterations of the pressure solve."""
        flow = self.flow
        density = flow.advect.mac_cormack(self.density, self.velocity, self.dt)
        force = (density * (0, 0, self.lift)).at(self.velocity)
        velocity = flow.advect.mac_cormack(self.velocity, self.velocity, self.dt) + force * self.dt
        solve = flow.Solve("CG", self.tolerance, 0.0, max_iterations=10000)
        with flow.math.SolveTape() as solves:
            projected, _ = flow.fluid.make_incompressible(velocity, solve=solve)
        # The values are computed when they are asked for.
        for part in (*(projected.values[{"~vector": axis}] for axis in "xyz"), density.values):
            part.numpy("x,y,z")
        self._last = velocity, projected
        return int(solves[0].iterations)

    def reduction(self) -> float:
        """Return the norm of the divergence after the projection of the last step over that before it."""
        assert self._last is not None
        before, after = (np.linalg.norm(self.flow.field.divergence(v).values.numpy("x,y,z")) for v in self._last)
        return float(after / before)
