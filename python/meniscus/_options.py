"""Options by name: `Literal` types, and the enums of the compiled core whose members they name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, TypeVar, get_args

from meniscus import _checks

E = TypeVar("E")

CORE_OPTIONS: list[CoreOption[Any]] = []
"""All instances, in the order of their creation."""


def require_same_names(literal: Any, names: Iterable[str], what: str) -> None:
    """Raise TypeError unless the names of a `Literal` type are those of the compiled core; '-' and ' ' count as '_'."""
    plain = [{name.replace("-", "_").replace(" ", "_") for name in given} for given in (get_args(literal), names)]
    if plain[0] != plain[1] or not plain[0]:
        raise TypeError(f"the names {', '.join(get_args(literal))} and {what} differ in {', '.join(sorted(plain[0] ^ plain[1]))}")


class CoreOption(Generic[E]):
    """The members of an enum of the compiled core, by the names of a `Literal` type.

    The name 'semi-lagrangian' stands for the member semi_lagrangian.

    Args:
        literal: the `Literal` type.
        enum: the enum.

    Raises:
        TypeError: the two do not have the same names, so that an option would have no effect.
    """

    def __init__(self, literal: Any, enum: type[E]) -> None:
        members: dict[str, E] = enum.__members__  # type: ignore[attr-defined]
        names = {name: name.replace("-", "_").replace(" ", "_") for name in get_args(literal)}
        require_same_names(literal, members, f"the members of {enum.__name__}")
        self.literal = literal
        self.enum = enum
        self._members = {name: members[member] for name, member in names.items()}
        CORE_OPTIONS.append(self)

    def __call__(self, argument: str, value: object) -> E:
        """Return the member that the value of an argument names. Raises ValueError with the choices for any other value."""
        return self._members[_checks.choice(argument, value, self.literal)]
