"""Logs of what was done to a world, which replay bit by bit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import numpy as np

from meniscus.core.line_file import LineFile, from_plain, plain, read_lines
from meniscus.solids.interaction.applied_field import AppliedField, field_of
from meniscus.solids.interaction.pose_target import PoseTarget, pose_of

_VERSION = 1


class Recorder:
    """Writes down what is done to a world: picks, targets, releases, attachments, fields, poses, and each step with its iterations.

    What is changed past the world, such as `body.velocities[...] = ...`, is not seen.

    Args:
        world: the world.
        path: of a file that gets one line of JSON for each event (`io.LineFile`); None: events are kept in memory alone. Lines that cannot
            be written, as on a full disk, wait for the next event; `close` raises the error if they still cannot.
        sync: whether each line is flushed to the disk.

    Attributes:
        events: all events since the recorder was made.
    """

    def __init__(self, world: Any, path: str | os.PathLike[str] | None = None, *, sync: bool = False) -> None:
        self.world = world
        self.events: list[dict[str, Any]] = []
        self.file = None if path is None else LineFile(path, sync)
        self._recording = True
        self._write("start", {"version": _VERSION, "time": world.time, "digest": digest(world)})
        world.interaction.listeners.append(self._write)

    def _write(self, event: str, values: Mapping[str, Any]) -> None:
        line = plain({"step": self.world.interaction.steps, "event": event, **values})
        self.events.append(line)
        if self.file is not None:
            self.file.write(line)

    def close(self) -> None:
        """End the log, with a digest of the state. A second call does nothing.

        Raises:
            OSError: lines that cannot be written.
        """
        if self._recording:
            self._recording = False
            self.world.interaction.listeners.remove(self._write)
            self._write("end", {"digest": digest(self.world)})
        if self.file is not None:
            self.file.close()

    def __enter__(self) -> Recorder:
        """Return the recorder, which the end of the context closes."""
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """Close the log."""
        self.close()

    def __repr__(self) -> str:
        """One line: number of events, and the file."""
        place = "" if self.file is None else f" in {self.file.path.name}"
        return f"<Recorder of {len(self.events)} events{place}>"


def replay(
    world: Any,
    log: Recorder | str | os.PathLike[str] | Iterable[Mapping[str, Any]],
    *,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    verify: bool = True,
) -> int:
    """Do to a world what a log says; return the number of steps. The state is then that at the end of the log, bit by bit.

    Args:
        world: in the state in which the log began, as by `World.copy` or a pickle.
        log: a recorder, its file, or its events.
        functions: those of fields, by the names under which they were added.
        verify: whether the state must be that in which the log began, and at the end that in which it was closed.

    Raises:
        ValueError: another state; an event that does not fit the world.
    """
    events: Iterable[Mapping[str, Any]] = list(log.events) if isinstance(log, Recorder) else _events_of(log)
    world.interaction.functions.update(functions or {})
    steps = 0
    for raw in events:
        values = from_plain(dict(raw))
        event = values.pop("event")
        values.pop("step")
        if event in ("start", "end"):
            if event == "start" and values["version"] != _VERSION:
                raise ValueError(f"the log has version {values['version']}, but this is {_VERSION}")
            if verify and digest(world) != values["digest"]:
                raise ValueError(f"the state of the world is not that in which the log {'began' if event == 'start' else 'ended'}")
            continue
        _REPLAYS[event](world, values) if event in _REPLAYS else _unknown(event)
        steps += event == "step"
    return steps


def _events_of(log: Any) -> Any:
    return read_lines(log) if isinstance(log, (str, os.PathLike)) else log


def _unknown(event: str) -> None:
    raise ValueError(f"a log has no event {event!r}")


def _step(world: Any, values: dict[str, Any]) -> None:
    counts = values["counts"] or None
    world.step(values["dt"], counts=counts, **values["options"])


def _numbered(item: Any, number: int) -> None:
    if item is None or item.number != number:
        raise ValueError(f"number {number} of the log is not found in this world in the same way")


def _pick(world: Any, values: dict[str, Any]) -> None:
    number, body = values.pop("number"), values.pop("body")
    origin, direction = values.pop("origin"), values.pop("direction")
    _numbered(world.interaction.pick(origin, direction, body=None if body is None else world.interaction.body(body), **values), number)


def _attach(world: Any, values: dict[str, Any]) -> None:
    number, first, second = values.pop("number"), values.pop("first"), values.pop("second")
    other = None if second is None else world.interaction.body(second)
    _numbered(world.interaction.attach(world.interaction.body(first), other, values.pop("points"), **values), number)


def _aim(world: Any, values: dict[str, Any]) -> None:
    number, body, pose = values.pop("number"), values.pop("body"), values.pop("pose")
    _numbered(world.interaction.aim(world.interaction.body(body), pose_of(pose), **values), number)


def _field(world: Any, values: dict[str, Any]) -> None:
    number = values.pop("number")
    field = field_of(values, world.interaction.functions)
    known = world.interaction.fields.get(number)
    if known is not None:
        known.field = field
        return
    _numbered(world.interaction.add_field(field), number)


def _move(world: Any, values: dict[str, Any]) -> None:
    item = world.interaction.item(values["number"])
    item.target = pose_of(values["target"]) if isinstance(item, PoseTarget) else values["target"]


def _time(world: Any, values: dict[str, Any]) -> None:
    world.time = values["time"]


def _remove(world: Any, values: dict[str, Any]) -> None:
    world.remove(world.interaction.body(values["body"]))


def _release(world: Any, values: dict[str, Any]) -> None:
    item = world.interaction.item(values["number"])
    if isinstance(item, AppliedField):
        item.remove()
    else:
        item.release()


_REPLAYS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "step": _step,
    "pick": _pick,
    "attach": _attach,
    "aim": _aim,
    "field": _field,
    "move": _move,
    "release": _release,
    "remove": _remove,
    "time": _time,
}


def digest(world: Any) -> str:
    """Return a digest of all bits of the state of a world."""
    found = hashlib.sha256()
    _add(found, world.snapshot())
    return found.hexdigest()


def _add(found: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        found.update(f"{part.dtype} {part.shape}".encode())
        found.update(np.ascontiguousarray(part).tobytes())
    elif isinstance(part, Mapping):
        for name in sorted(part, key=str):
            found.update(f"{name}:".encode())
            _add(found, part[name])
    elif isinstance(part, (list, tuple)):
        found.update(f"[{len(part)}]".encode())
        for item in part:
            _add(found, item)
    else:
        value = float(part) if isinstance(part, (float, np.floating)) else part
        found.update(f"{value!r};".encode())
