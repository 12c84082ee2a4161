"""Actions on the bodies of a world: pulls and fields, their state, and what they do in a step."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from meniscus.core.state import restored_parts
from meniscus.solids.interaction.applied_field import AppliedField
from meniscus.solids.interaction.fields import ForceField, FunctionField
from meniscus.solids.interaction.grip import BodyTriangles, Floats
from meniscus.solids.interaction.picking import surface_of_body
from meniscus.solids.interaction.pose_target import KinematicPath, PoseTarget, pose_of
from meniscus.solids.interaction.pull import PULLS, Pull, Pulling, PullReport
from meniscus.solids.interaction.rigid_group import RigidGroup
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.rigid_body import RigidBody

Listener = Callable[[str, dict[str, Any]], None]
"""Called with the name of an event and its values."""

_P = TypeVar("_P", bound=Pull)
_Item = TypeVar("_Item", Pull, AppliedField)


class Acting:
    """Base of `Interaction`: pulls and fields of a world, and an account of what they have given to its bodies.

    The snapshot holds all of it, also what was made or released since. Functions of fields are known by name and are not part of it.

    Args:
        world: whose bodies they act on, by its `named_bodies`.

    Attributes:
        pulls: handles, attachments and pose targets by their numbers, in the order in which they were made.
        fields: fields that act, by their numbers.
        impulse: (3,), all that these have given to bodies and that no other body has got, kg m/s.
        steps: number of steps of the world.
        iterations: largest number of iterations of a step over all pulls.
        functions: of fields, by name.
        listeners: called with each event, such as logs.
        report: what the last step has pulled.
        counts: of a last step with a budget or given counts, the iterations of each solve by what iterates.
    """

    def __init__(self, world: Any) -> None:
        self._world = world
        self.pulls: dict[int, Pull] = {}
        self.fields: dict[int, AppliedField] = {}
        self.impulse: Floats = np.zeros(3)
        self.steps = 0
        self.iterations = 100
        self.functions: dict[str, Any] = {}
        self.listeners: list[Listener] = []
        self.report = PullReport()
        self.counts: dict[str, tuple[int, ...]] = {}
        self._next = 0
        # Also what was released, as long as somebody has it: snapshots bring it back.
        self._known: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._mark: dict[str, Floats] = {}
        self._pulling = Pulling()
        self._group: RigidGroup | None = None

    # --- bodies --------------------------------------------------------------------------------------------------------------

    @property
    def bodies(self) -> dict[str, Any]:
        """All bodies of the world by name."""
        return {name: body for name, body, _ in self._world.named_bodies()}

    def body(self, name: str) -> Any:
        """Return a body by its name."""
        found = self.bodies.get(name)
        if found is None:
            raise ValueError(f"the world has no body {name!r}")
        return found

    def name_of(self, body: Any) -> str:
        """Return the name of a body of the world. Raises ValueError for any other."""
        for name, own in self.bodies.items():
            if own is body:
                return name
        raise ValueError("the body is none of this world: call add")

    def surface(self, name: str) -> BodyTriangles | None:
        """Return the surface of a body by its name, or None where it has none."""
        for own, body, given in self._world.named_bodies():
            if own == name:
                return surface_of_body(body, given)
        return None

    def body_left(self, name: str, before: Mapping[str, int]) -> None:
        """Let go of a body that has left the world, and give others their new names.

        Args:
            name: of the body.
            before: the names of all bodies, with their identities, before it left.
        """
        now = {id(body): own for own, body in self.bodies.items()}
        names = {old: now[identity] for old, identity in before.items() if identity in now}
        for pull in list(self.pulls.values()):
            held = [getattr(pull, attribute) for attribute in pull.names]
            if name in held:
                self.remove(pull)
                continue
            for attribute, old in zip(pull.names, held, strict=True):
                setattr(pull, attribute, names.get(old, old))
        self._group = None
        self.record("remove", body=name)

    # --- events --------------------------------------------------------------------------------------------------------------

    def record(self, event: str, **values: Any) -> None:
        """Tell all listeners of an event."""
        for listener in list(self.listeners):
            listener(event, values)

    def know(self, field: ForceField) -> None:
        """Keep the function of a field under its name. Raises ValueError where the name is that of another function."""
        if isinstance(field, FunctionField) and self.functions.setdefault(field.name, field.function) is not field.function:
            raise ValueError(f"another function is known as {field.name!r}: give this one another name")

    def add(self, pull: _P) -> _P:
        """Let a pull act; return it."""
        pull.number = self._next
        self._next += 1
        self.pulls[pull.number] = self._known[pull.number] = pull
        return pull

    def apply(self, field: ForceField, time: float) -> AppliedField:
        """Let a field act from a time (s) on; return it as it acts."""
        self.know(field)
        applied = AppliedField(self, self._next, field, time)
        self._next += 1
        self.fields[applied.number] = self._known[applied.number] = applied
        return applied

    def remove(self, item: Pull | AppliedField) -> None:
        """End a pull or a field."""
        item.active = False
        self.pulls.pop(item.number, None)
        self.fields.pop(item.number, None)

    def item(self, number: int) -> Any:
        """Return a pull or a field by its number. Raises ValueError for one that does not act."""
        found = self.pulls.get(number) or self.fields.get(number)
        if found is None:
            raise ValueError(f"number {number} neither pulls nor is a field")
        return found

    # --- steps ---------------------------------------------------------------------------------------------------------------

    def act(self, time: float, dt: float, wake: Callable[[Any], None]) -> None:
        """Change velocities of bodies by what a step of dt seconds gives them, and lead bodies that are moved.

        `wake` is called with each rigid body that is acted on.
        """
        targets = {p.name: p for p in self.pulls.values() if isinstance(p, PoseTarget)}
        bodies = self._world.named_bodies()
        for name, body, _ in bodies:
            path = getattr(body, "_path", None)
            if isinstance(path, KinematicPath):
                path.lead(body, pose_of(targets[name]._target) if name in targets else None, dt)
        if self.fields:
            self._blow(bodies, time, dt, wake)
        pulls = [(pull, list(pull.parts(dt))) for pull in self.pulls.values()]
        self.report = self._pulling.solve([part for _, parts in pulls for part in parts], dt, self.iterations)
        for pull, parts in pulls:
            pull.take(parts, dt)
            for part in parts:
                if part.external and part.linear:
                    self.impulse = self.impulse + part.impulses.sum(axis=0)
                if part.impulses.any():
                    for end in part.ends:
                        wake(end.grip.body)

    def _blow(self, bodies: Sequence[tuple[str, Any, Any]], time: float, dt: float, wake: Callable[[Any], None]) -> None:
        """Let all fields act, one after the other."""
        rigid = [body for _, body, _ in bodies if isinstance(body, RigidBody) and body.is_dynamic]
        if self._group is None or list(map(id, self._group.bodies)) != list(map(id, rigid)):
            self._group = RigidGroup(rigid)
        others = [(body, surface_of_body(body, given)) for _, body, given in bodies if not isinstance(body, RigidBody)]
        for applied in self.fields.values():
            field, start = applied.field, applied.start
            impulses = field.act_on_rigid(self._group, start, time, dt)
            for k in np.flatnonzero(impulses.any(axis=1)).tolist():
                wake(rigid[k])
            given = [impulses.sum(axis=0), *(field.act(body, surface, start, time, dt) for body, surface in others)]
            total = np.sum(given, axis=0)
            applied.impulse = applied.impulse + total
            self.impulse = self.impulse + total

    @contextmanager
    def undone(self, quiet: Floats) -> Iterator[None]:
        """Bring velocities and accounts, and how long rigid bodies have been quiet, back if the step that follows fails."""
        if not (self.pulls or self.fields):
            yield
            return
        saved = [(body, _velocities(body)) for body in self.bodies.values()]
        before, was_quiet = self.snapshot(), quiet.copy()
        try:
            yield
        except BaseException:
            for body, arrays in saved:
                for array, value in zip(_velocity_arrays(body), arrays, strict=True):
                    array[...] = value
                if isinstance(body, ReducedBody):
                    body.refresh()
            quiet[...] = was_quiet
            self.restore(before)
            raise

    def mark(self) -> None:
        """Note the accounts: `take_back` goes back to these."""
        self._mark = {str(item.number): item.impulse.copy() for item in _items(self.pulls, self.fields)} | {_ALL: self.impulse.copy()}

    def take_back(self, part: float) -> None:
        """Keep a part of what was given since the mark: the world has done the same with its velocities."""
        for number, before in self._mark.items():
            item: Any = self if number == _ALL else self.pulls.get(int(number)) or self.fields.get(int(number))
            if item is not None:
                item.impulse = before + part * (item.impulse - before)

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(part.nbytes for pull in self.pulls.values() for part in pull.snapshot().values() if isinstance(part, np.ndarray))

    def snapshot(self) -> dict[str, Any]:
        """Return copies of all pulls, fields and accounts."""
        return {
            "pulls": [pull.snapshot() for pull in self.pulls.values()],
            "fields": [field.snapshot() for field in self.fields.values()],
            "impulse": self.impulse.copy(),
            "steps": self.steps,
            "next": self._next,
            "mark": copy.deepcopy(self._mark),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore all pulls, fields and accounts; those that are known by their numbers stay the same objects.

        Raises TypeError or ValueError for a snapshot of other bodies, or of something else; then nothing is changed.
        """
        given = snapshot if isinstance(snapshot, Mapping) else {}
        pulls, fields, mark = given.get("pulls"), given.get("fields"), given.get("mark")
        parts = {
            "pulls": [self._new_pull(data) for data in pulls] if isinstance(pulls, (list, tuple)) else [],
            "fields": [AppliedField(self, 0, _NO_FIELD, 0.0) for _ in fields] if isinstance(fields, (list, tuple)) else [],
            "impulse": np.zeros(3),
            "steps": 0,
            "next": 0,
            "mark": {str(name): np.zeros(3) for name in mark} if isinstance(mark, Mapping) else {},
        }
        saved = restored_parts("Interaction", parts, snapshot)
        numbers = [item.number for item in (*saved["pulls"], *saved["fields"])]
        if len(set(numbers)) < len(numbers) or not all(name == _ALL or name.isdecimal() for name in saved["mark"]):
            raise ValueError("pulls and fields in the snapshot must have different numbers, and the mark their names")
        for item in _items(self.pulls, self.fields):
            item.active = False
        self.pulls = {new.number: self._same(new) for new in saved["pulls"]}
        self.fields = {new.number: self._same(new) for new in saved["fields"]}
        self.impulse, self.steps, self._next, self._mark = saved["impulse"], saved["steps"], saved["next"], saved["mark"]

    def _new_pull(self, data: object) -> Pull:
        """Return a pull of the kind that a snapshot of one names, which is to be restored from it."""
        kind = data.get("kind") if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in PULLS:
            raise ValueError(f"a pull in the snapshot must be a dict whose kind is one of {', '.join(sorted(PULLS))}, not {kind!r}")
        pull = PULLS[kind]()
        pull.owner = self
        return pull

    def _same(self, new: _Item) -> _Item:
        """Return what is known by the number of a restored pull or field, in its state, or itself."""
        known = self._known.get(new.number)
        if type(known) is type(new):
            known.restore(new.snapshot())
        else:
            self._known[new.number] = known = new
        known.active = True
        return known

    def __repr__(self) -> str:
        """One line: what acts."""
        return f"<Interaction of {len(self.pulls)} pulls and {len(self.fields)} fields after {self.steps} steps>"


_NO_FIELD = FunctionField()
# Name of the account of everything among those of pulls and fields by their numbers.
_ALL = "all"


def _items(pulls: Mapping[int, Any], fields: Mapping[int, Any]) -> list[Any]:
    return [*pulls.values(), *fields.values()]


def _velocity_arrays(body: Any) -> list[Any]:
    """Return the arrays that impulses change."""
    if isinstance(body, RigidBody):
        return [body.momentum, body.angular_momentum]
    return [body.rates, body.frame] if isinstance(body, ReducedBody) else [body.velocities]


def _velocities(body: Any) -> list[Any]:
    return [np.array(array) for array in _velocity_arrays(body)]
