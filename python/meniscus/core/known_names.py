"""Attributes with other names than an object has: refused when they are set from outside, with the name that was meant."""

from __future__ import annotations

import difflib
import inspect
import sys
from typing import TYPE_CHECKING, ClassVar

_PACKAGE = __name__.partition(".")[0]

_MEANT = {
    "colour": ("color",),
    "data": ("array", "arrays", "values"),
    "edge_lengths": ("edge_length",),
    "elements": ("triangles", "tetrahedra", "segments"),
    "faces": ("triangles",),
    "numpy": ("array",),
    "orientation": ("pose", "rotation"),
    "points": ("vertices", "positions", "array"),
    "position": ("center", "positions", "pose", "vertices"),
    "positions": ("vertices", "center", "array"),
    "resolution": ("shape",),
    "rotation": ("pose", "matrix"),
    "run": ("advance", "step"),
    "simulate": ("advance", "step"),
    "size": ("shape", "nbytes"),
    "t": ("time",),
    "tets": ("tetrahedra", "tets"),
    "update": ("step", "advance"),
    "values": ("array",),
    "vel": ("velocity", "velocities"),
    "velocities": ("velocity",),
    "velocity": ("velocities", "twist"),
    "verts": ("vertices",),
    "vtx": ("vertices",),
    "x": ("positions", "vertices", "center"),
}
"""Names that are guessed first, and those of them that the library uses, the likeliest first."""


def meant(kind: type, name: str, there: set[str]) -> str:
    """Return a sentence that tells which attribute or argument was meant by a name that a class does not have; empty without an idea.

    Args:
        kind: the class.
        name: that it does not have.
        there: its public attributes.
    """
    for other in _MEANT.get(name, ()):
        if other in there:
            return f"; it is called {other!r} here"
    try:
        arguments = set(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        arguments = set()
    if name in arguments:
        return f"; give it when the object is made: {kind.__name__}(..., {name}=...)"
    close = difflib.get_close_matches(name, sorted(there | arguments), n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


class KnownNames:
    """Base of objects whose attributes are those of their class: what is misspelt is not taken in silence.

    Classes that users derive take all attributes.
    """

    given_once: ClassVar[tuple[str, ...]] = ()
    """Arguments that are attributes too, but have no effect when they are set later: that is refused."""

    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            """Set an attribute.

            Raises:
                AttributeError: from outside of the library: a public name that the object does not have, or one of `given_once`.
                TypeError: an array in the place of a field, likewise.
            """
            if name[0] != "_" and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] != _PACKAGE:
                _require_known(self, name, value)
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> object:
            """Say what was meant by a name that is not there."""
            kind = type(self)
            if _on_class(kind, name):
                # A property that failed for want of another attribute: its own error tells.
                return object.__getattribute__(self, name)
            hint = "" if name[0] == "_" else meant(kind, name, _public(self))
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)


def _on_class(kind: type, name: str) -> bool:
    # Without asking descriptors, some of which have no value for the class.
    return any(name in vars(base) for base in kind.__mro__)


def _public(thing: object) -> set[str]:
    return {name for name in (*dir(type(thing)), *vars(thing)) if name[0] != "_"}


def _require_known(thing: KnownNames, name: str, value: object) -> None:
    kind = type(thing)
    if kind.__module__.partition(".")[0] != _PACKAGE:
        return
    own = vars(thing)
    if name in kind.given_once and name in own:
        raise AttributeError(f"{name!r} is given when a {kind.__name__} is made: {kind.__name__}(..., {name}=...)")
    if name in own:
        # A field belongs to the state of its owner: its values may be set, but it stays the same field.
        if hasattr(own[name], "snapshot") and not hasattr(value, "snapshot") and value is not None:
            where = next((part for part in ("array", "u") if hasattr(own[name], part)), None)
            how = f"set its values: .{name}.{where}[...] = ..." if where else "set its parts"
            raise TypeError(f"{name!r} of a {kind.__name__} is a {type(own[name]).__name__}; {how}")
        return
    if not _on_class(kind, name):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{meant(kind, name, _public(thing))}")
