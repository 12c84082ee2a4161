"""The build of a KDSM: mesh of air, morph of the inside, and the skinning run, frame by frame into a store."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus.core import num_threads
from meniscus.coupling.animation import Animation
from meniscus.coupling.follower import MEASURES, FollowedFrame, Follower
from meniscus.coupling.frame_store import FrameStore
from meniscus.coupling.kdsm_parts import Parts, Plan
from meniscus.coupling.skinning import Skinning
from meniscus.mesh import TriangleMesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Existing = Literal["continue", "replace", "refuse"]

SCHEMA = "meniscus kdsm 1"


class Builder:
    """The run over the frames of an animation, into a store."""

    def __init__(self, store: FrameStore, follower: Follower, animation: Animation) -> None:
        self._store, self._follower, self._animation = store, follower, animation

    def run(self) -> Iterator[int]:
        """Compute the frames that are missing; yield the number of each when it is stored."""
        if self._follower.skinning.mode == "quasi-static":
            yield from self._at_rest()
        else:
            yield from self._in_time()

    def _in_time(self) -> Iterator[int]:
        first, follower, animation = self._store.count(), self._follower, self._animation
        if first > 0:
            self._require_same(min(first, len(animation)) - 1)
        if first >= len(animation):
            return
        if first > 0:
            last = {name: np.array(self._store.read(first - 1, name)) for name in ("positions", "velocities", "memory")}
            skins = [np.array(self._store.read(k, "skin")) for k in range(0 if follower.keeps_history else first - 1, first)]
            follower.go_on(first - 1, skins, **last)
        for k in range(first, len(animation)):
            skin = animation.frame(k)
            before = float(animation.times[max(k - 1, 0)])
            frame = follower.first(skin) if k == 0 else follower.next(k, (before, float(animation.times[k])), skin)
            self._store.write(k, frame.arrays())
            yield k

    def _at_rest(self) -> Iterator[int]:
        missing = [k for k in range(len(self._animation)) if not self._store.has(k)]
        local, lock = threading.local(), threading.Lock()

        def solve(k: int) -> FollowedFrame:
            if not hasattr(local, "follower"):
                local.follower = self._follower.copy()
            with lock:  # files are read, and a user's function is called, one at a time
                skin = self._animation.frame(k)
            return local.follower.alone(k, skin)  # type: ignore[no-any-return]

        stored = next((k for k in range(len(self._animation)) if self._store.has(k)), None)
        if stored is not None:
            self._require_same(stored)
        workers = max(1, min(num_threads(), len(missing)))
        failed: dict[int, BaseException] = {}
        with ThreadPoolExecutor(workers) as pool:
            running: dict[Future[FollowedFrame], int] = {}
            try:
                # No more than are needed to keep all threads busy, since each holds a frame.
                while running or (missing and not failed):
                    while missing and not failed and len(running) < 2 * workers:
                        k = missing.pop(0)
                        running[pool.submit(solve, k)] = k
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        k = running.pop(future)
                        error = future.exception()
                        if error is not None:
                            failed[k] = error  # those that run are stored all the same
                            continue
                        self._store.write(k, future.result().arrays())
                        yield k
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
        if failed:
            raise failed[min(failed)]

    def _require_same(self, k: int) -> None:
        """Refuse a store with frames of another animation. Raises ValueError."""
        if not np.array_equal(self._animation.frame(k), self._store.read(k, "skin")):
            raise ValueError(f"{str(self._store.path)!r} holds another animation: its frame {k} differs; existing='replace' replaces it")


def open_store(out: Any, existing: Existing, header: dict[str, Any], parts: Parts, times: Floats, memory: int) -> FrameStore:
    """Return the store of a build: that of a file that holds the same one, with its frames, or a new one.

    Raises:
        ValueError: the file holds something else, or `existing` refuses it.
        OSError: it cannot be written.
    """
    fixed = parts.arrays(times)
    n, m, k = len(parts.mesh.vertices), len(parts.mesh.tets), len(parts.skin.vertices)
    shapes = {
        "positions": ((n, 3), np.float64),
        "velocities": ((n, 3), np.float64),
        "memory": ((memory,), np.float64),
        "skin": ((k, 3), np.float64),
        "flags": ((m,), np.uint8),
        "measures": ((len(MEASURES),), np.float64),
    }
    if out is not None and Path(out).exists() and existing != "replace":
        if existing == "refuse":
            raise ValueError(f"{str(out)!r} is there already")
        old = FrameStore.open(out)
        require_schema(old)
        if old.header["signature"] != header["signature"]:
            raise ValueError(f"{str(out)!r} holds another KDSM: its surface or options differ; existing='replace' replaces it")
        common = min(len(times), len(old))
        if not np.array_equal(old.fixed["times"][:common], times[:common]):
            raise ValueError(f"{str(out)!r} holds a KDSM with other times; existing='replace' replaces it")
        return old if len(old) >= len(times) else old.resized(header, fixed, len(times))
    return FrameStore.create(out, header, fixed, shapes, len(times))


def require_schema(store: FrameStore) -> None:
    """Refuse a file of another kind or version. Raises ValueError."""
    schema = store.header.get("schema")
    if schema != SCHEMA:
        raise ValueError(f"{str(store.path)!r} has the schema {schema!r}, but this meniscus reads {SCHEMA!r}")


def stored_options(options: Any) -> dict[str, Any]:
    """Return the options that a build depends on by their names, without the groups that they are in; arrays and functions left out."""
    result: dict[str, Any] = {}
    for field in fields(options):
        value = getattr(options, field.name)
        if is_dataclass(value):
            result |= stored_options(value)
        elif field.compare:
            result[field.name] = value
    return result


def header_of(rest: TriangleMesh, plan: Plan, skinning: Skinning, parts: Parts) -> dict[str, Any]:
    """Return the JSON values of a store: the options, and a checksum of all that a build depends on but the animation."""
    options = {"plan": stored_options(plan), "skinning": stored_options(skinning)}
    text = json.dumps(options, sort_keys=True, default=lambda number: number.item())  # of NumPy
    digest, options = hashlib.blake2b(text.encode(), digest_size=16), json.loads(text)
    for array in (rest.vertices, rest.triangles, parts.mesh.vertices, parts.mesh.tets, parts.bindings.vertices):
        digest.update(np.ascontiguousarray(array).data)
    return {"schema": SCHEMA, "signature": digest.hexdigest(), **options}
