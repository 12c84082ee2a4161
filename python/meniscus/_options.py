"""Options by name: `Literal` types, and the enums of the compiled core whose members they name."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, get_args

from meniscus import _checks

E = TypeVar("E")

CORE_OPTIONS: list[CoreOption[Any]] = []
"""All that were made, in order."""


class CoreOption(Generic[E]):
    """The members of an enum of the compiled core, by the names of a `Literal` type.

    The name 'semi-lagrangian' stands for the member semi_lagrangian.

    Args:
        literal: the `Literal` type.
        enum: the enum.

    Raises:
        TypeError: the two do not have the same names, so that an option would be without effect.
    """

    def __init__(self, literal: Any, enum: type[E]) -> None:
        members: dict[str, E] = enum.__members__  # type: ignore[attr-defined]
        names = {name: name.replace("-", "_").replace(" ", "_") for name in get_args(literal)}
        odd = sorted(set(names.values()) ^ set(members))
        if odd or not names:
            raise TypeError(f"the names {', '.join(names)} and the members of {enum.__name__} differ in {', '.join(odd)}")
        self.literal = literal
        self.enum = enum
        self._members = {name: members[member] for name, member in names.items()}
        CORE_OPTIONS.append(self)

    def __call__(self, argument: str, value: object) -> E:
        """Return the member that the value of an argument names. Raises ValueError with the choices for any other value."""
        return self._members[_checks.choice(argument, value, self.literal)]
