"""Solvers and options that go with shells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from meniscus import _checks
from meniscus.coupling.shell_water.particle_stages import require_one_way
from meniscus.coupling.shells.shells import Shells
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.options import LiquidOptions
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver

StandIn = Literal["mean", "printed"]
"""What counts in place of smoke and heat behind a shell."""


def stand_ins_of(given: StandIn | Mapping[str, StandIn], names: tuple[str, ...]) -> dict[str, str]:
    """Return stand-ins by the names of what smoke carries; as `stand_in` of `ShellCoupling`."""
    if isinstance(given, Mapping):
        for name in given:
            if not names:
                raise ValueError(f"stand_in names what smoke carries, but the solver is one of water: there is no {name!r}")
            if name not in names:
                raise ValueError(f"stand_in must be by the names {', '.join(names)}, not {name!r}")
        return {name: _checks.choice(f"stand_in of {name}", given.get(name, "mean"), StandIn) for name in names}
    return dict.fromkeys(names, _checks.choice("stand_in", given, StandIn))


def require_fitting(solver: SmokeSolver | LiquidSolver | ParticleLiquidSolver, shells: Shells, mode: str) -> None:
    """Raise ValueError for a solver with what shells do not go with."""
    if isinstance(solver, ParticleLiquidSolver):
        require_one_way(solver, shells, mode)
        return
    o = solver.options
    for there, what in (
        (isinstance(o, LiquidOptions) and o.air != "open", "air that is not open"),
        (isinstance(o, LiquidOptions) and o.surface_tension > 0, "surface tension"),
        (isinstance(o, LiquidOptions) and o.gather, "gather=True"),
        (o.viscosity > 0, "viscosity"),
        (o.method == "upwind", "upwind transport"),
    ):
        if there:
            raise ValueError(f"shells do not go with a solver that has {what}")
