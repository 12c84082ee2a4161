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

Replacement = Literal["mean", "printed"]
"""What counts in place of smoke and heat behind a shell."""


def replacements_of(given: Replacement | Mapping[str, Replacement], names: tuple[str, ...]) -> dict[str, str]:
    """Return replacements by the names of what smoke carries; as `replacement` of `ShellCoupling`."""
    if isinstance(given, Mapping):
        for name in given:
            if not names:
                raise ValueError(f"replacement names what smoke carries, but the solver is one of water: there is no {name!r}")
            if name not in names:
                raise ValueError(f"replacement must be by the names {', '.join(names)}, not {name!r}")
        return {name: _checks.choice(f"replacement of {name}", given.get(name, "mean"), Replacement) for name in names}
    return dict.fromkeys(names, _checks.choice("replacement", given, Replacement))


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
        (o.transport.method == "upwind", "upwind transport"),
        (o.transport.method == "flow-map", "flow maps"),
    ):
        if there:
            raise ValueError(f"shells do not go with a solver that has {what}")
