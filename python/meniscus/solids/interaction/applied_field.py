"""Fields of force that act in a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core.state import Declaration, restored_parts
from meniscus.solids.interaction.fields import FIELDS, ForceField, FunctionField
from meniscus.solids.interaction.grip import Floats


class AppliedField:
    """A field of force that acts in a world: made by `World.add_field`.

    Attributes:
        field: the field; assignable.
        impulse: (3,), all that it has given to bodies, kg m/s.
        number: by which logs name it.
        start: when it was added, s.
        active: whether it still acts.
    """

    def __init__(self, owner: Any, number: int, field: ForceField, start: float) -> None:
        self.owner, self.number, self.start = owner, number, start
        self._field = field
        self.impulse: Floats = np.zeros(3)
        self.active = True

    @property
    def field(self) -> ForceField:
        """The field; assignable."""
        return self._field

    @field.setter
    def field(self, value: ForceField) -> None:
        _checks.one_of_type("field", value, ForceField)
        self.owner.know(value)
        self.owner.record("field", number=self.number, **value.data())
        self._field = value

    def remove(self) -> None:
        """End the field. A second call does nothing."""
        if self.active:
            self.owner.record("release", number=self.number)
            self.owner.remove(self)

    def snapshot(self) -> dict[str, Any]:
        """Return all that it is, as plain values, lists and arrays."""
        return {"number": self.number, "start": self.start, "impulse": self.impulse.copy(), "field": self._field.data()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot. Raises TypeError or ValueError; then nothing is changed."""
        field = field_of(snapshot["field"], self.owner.functions)
        defaults = {f.name: f.default for f in fields(field) if isinstance(f.default, (float, str))}
        parts = {"number": 0, "start": 0.0, "impulse": np.zeros(3), "field": field.data() | defaults}
        saved = restored_parts("AppliedField", parts, snapshot, {"field": Declaration(infinite=True)})
        self.number, self.start, self.active = saved["number"], saved["start"], True
        self.impulse, self._field = saved["impulse"], field

    def __repr__(self) -> str:
        """One line: the field."""
        return f"<AppliedField: {self._field!r}>" if self.active else "<AppliedField, removed>"


def field_of(data: Mapping[str, Any], functions: Mapping[str, Any]) -> ForceField:
    """Return the field that `ForceField.data` has described. Raises ValueError for an unknown kind or function."""
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items() if name != "kind"}
    kind = FIELDS.get(str(data["kind"]))
    if kind is None:
        raise ValueError(f"there is no field of kind {data['kind']!r}, only {_checks.join(sorted(FIELDS))}")
    if kind is FunctionField:
        name = str(data["name"])
        if name not in functions:
            raise ValueError(f"the function {name!r} of a field is not known: give it by that name")
        values["function"] = functions[name]
    return kind(**values)
