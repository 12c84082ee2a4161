"""Steps of bodies of position based dynamics: the stages of all of them, with their contacts in between."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

from meniscus import _checks

PositionMethod = Literal["compliant", "printed", "averaged", "fast-projection"]
"""How constraints are projected."""


class StepPlan(NamedTuple):
    """Arguments of a step; see `PositionBody.step`."""

    dt: float
    substeps: int
    iterations: int
    method: PositionMethod
    damping: float
    rigid_damping: float

    @classmethod
    def checked(cls, dt: float, substeps: int, iterations: int, method: str, damping: float, rigid_damping: float) -> StepPlan:
        """Return a plan; TypeError or ValueError for other arguments."""
        count, rounds = _checks.integer("substeps", substeps, at_least=1), _checks.integer("iterations", iterations, at_least=1)
        drag, stiff = _checks.number("damping", damping), _checks.number("rigid_damping", rigid_damping)
        if drag < 0 or not 0 <= stiff <= 1:
            raise ValueError("damping must not be negative, and rigid_damping from 0 to 1")
        chosen: PositionMethod = _checks.choice("method", method, PositionMethod)  # type: ignore[assignment]
        return cls(_checks.positive("dt", dt), count, rounds, chosen, drag, stiff)


def step_bodies(bodies: Sequence[Any], plan: StepPlan, contacts: Any) -> None:
    """Advance bodies (`PositionBody`) together, with contacts (`PositionContacts` or None) between them; if it raises, nothing has changed.

    Bodies that share contacts sleep and wake together.
    """
    for body in bodies:
        body._require_numbers()
    starts = [body.time for body in bodies]
    if _sleeping(bodies, contacts):
        for body, start in zip(bodies, starts, strict=True):
            body.time = start + plan.dt
        return
    h = plan.dt / plan.substeps
    with ExitStack() as stack:
        for owner in (*bodies, *(() if contacts is None else (contacts,))):
            stack.enter_context(owner.transaction())
        for k in range(plan.substeps):
            times = [start + plan.dt * (k + 1) / plan.substeps for start in starts]
            if contacts is not None:
                contacts.note_start()
            for body, time in zip(bodies, times, strict=True):
                body.predict(h, rigid_damping=plan.rigid_damping, time=time)
            if contacts is None:
                for body in bodies:
                    body.project(h, iterations=plan.iterations, method=plan.method)
            else:
                contacts.find(h, times[0])
                for _ in range(plan.iterations):
                    # Around those of the bodies, so that all is symmetric and contacts have the last word.
                    contacts.project(backward=True)
                    for body in bodies:
                        body.project(h, method=plan.method, rounds=plan.iterations)
                    contacts.project()
            for body in bodies:
                body.finish(h, damping=plan.damping)
            if contacts is not None:
                contacts.rebound(h, plan.method)
        for body, start in zip(bodies, starts, strict=True):
            body._require_numbers("after the step", f"a step of {plan.dt:g} s is too long for this body")
            body.time = start + plan.dt
        _fall_asleep(bodies, plan.dt)


def _sleeping(bodies: Sequence[Any], contacts: Any) -> bool:
    """Return whether all bodies sleep on; wake all of them otherwise."""
    if not bodies or not all(body.asleep for body in bodies):
        return False
    if not any(body.is_disturbed() for body in bodies) and (contacts is None or not contacts.moved()):
        return True
    for body in bodies:
        body.wake()
    return False


def _fall_asleep(bodies: Sequence[Any], dt: float) -> None:
    for body in bodies:
        if body.sleep is not None:
            body.quiet = body.quiet + dt if body._fastest() <= body.sleep[0] else 0.0
    if all(body.asleep for body in bodies):
        for body in bodies:
            body.velocities[...] = 0
            body._note_sleep()
