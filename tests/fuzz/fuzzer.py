"""Random calls of everything public. `python fuzzer.py SEED CALLS LOG` makes calls in this process, each in a log before it is made.

What may come of a call: a result, or a TypeError, ValueError, KeyError, AttributeError, IndexError of a container, MemoryError, OSError or
an error of the package, with a sentence. What may not: a crash, another error, a call of more than 20 s, growth of memory, or a change of
an object whose call has failed.
"""

from __future__ import annotations

import copy
import faulthandler
import inspect
import os
import random
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from specimens import Values, objects

import meniscus as ms

SECONDS = float(os.environ.get("MENISCUS_FUZZ_SECONDS", "20"))  # sanitizers are slow
MEMORY = 12 << 30
ROOMS = ("collision", "core", "fluids", "grid", "io", "mesh", "numerics", "solids", "surface", "viz")
# They wait for a person, change this process, run for minutes with arguments that make sense, or are for constructors only.
LEFT_OUT = {
    "declare",
    "set_num_threads",
    "set_simd_level",
    "animate",
    "water",
    "smoke",
    "path_tracing",
    "View",
    "view3d",
    "animations",
    "compare_runs",
}
ALLOWED = (
    TypeError,
    ValueError,
    MemoryError,
    OSError,
    KeyError,
    AttributeError,
    IndexError,
    ImportError,
    ms.ConvergenceError,
    ms.core.BusyError,
)


def functions() -> list[tuple[str, Callable[..., Any]]]:
    """Return the public functions and classes of all rooms."""
    found = []
    for room in ROOMS:
        module = getattr(ms, room)
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and name not in LEFT_OUT and getattr(thing, "__module__", "").startswith("meniscus"):
                found.append((f"{room}.{name}", thing))
    return found


def methods(thing: Any) -> list[str]:
    """Return the names of public methods and properties of an object."""
    return [name for name in dir(type(thing)) if not name.startswith("_") and name not in LEFT_OUT]


def parameters(call: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a call; none if it does not tell."""
    try:
        return [p for p in inspect.signature(call).parameters.values() if p.name != "self"]
    except (TypeError, ValueError):
        return []


class Fuzzer:
    """A sequence of calls that follows from a seed."""

    def __init__(self, seed: int, log: Any) -> None:
        self.chance = random.Random(seed)
        self.log = log
        self.functions = functions()
        self.problems: list[str] = []
        self.renew()

    def renew(self) -> None:
        """Begin again with fresh objects."""
        self.things = objects()
        self.values = Values(self.chance, self.things)

    def arguments(self, call: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return random arguments for a call."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for p in parameters(call):
            required = p.default is p.empty
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or (not required and self.chance.random() < 0.7):
                continue
            if p.kind is p.KEYWORD_ONLY or not required:
                named[p.name] = self.values.any_of(p.name)
            else:
                positional.append(self.values.any_of(p.name))
        return positional, named

    def one(self, number: int) -> None:
        """Make one call and look at what comes of it."""
        if number % 50 == 49:
            self.renew()
        owner, before = None, None
        if self.chance.random() < 0.4:
            name, call = self.chance.choice(self.functions)
        else:
            key = self.chance.choice(list(self.things))
            owner = self.things[key]
            name = self.chance.choice(methods(owner))
            member = inspect.getattr_static(type(owner), name)
            if isinstance(member, property) or not callable(getattr(type(owner), name, None)):
                new = self.values.any_of(name)
                write = isinstance(member, property) and member.fset is not None and self.chance.random() < 0.5
                call = (lambda: setattr(owner, name, new)) if write else (lambda: getattr(owner, name))
            else:
                call = getattr(owner, name)
            name = f"{key}.{name}"
        positional, named = self.arguments(call)
        print(number, name, self.describe(positional, named), file=self.log, flush=True)
        if isinstance(owner, ms.core.State):
            before = copy.deepcopy(owner.snapshot())
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                call(*positional, **named)
        except ALLOWED as error:
            if not str(error).strip():
                self.problems.append(f"{number} {name}: {type(error).__name__} without a sentence")
            if before is not None and not same(before, owner.snapshot()):
                self.problems.append(f"{number} {name}: changed by a call that failed with {type(error).__name__}: {error}")
        except Exception as error:
            self.problems.append(f"{number} {name}: {type(error).__name__}: {error}")
        finally:
            faulthandler.cancel_dump_traceback_later()

    @staticmethod
    def describe(positional: list[Any], named: dict[str, Any]) -> str:
        """Return arguments in one line."""

        def short(value: Any) -> str:
            if isinstance(value, np.ndarray):
                return f"{value.dtype}{value.shape}"
            try:
                return repr(value)[:60].replace("\n", " ")
            except Exception as error:
                return f"<{type(value).__name__} whose repr fails: {error}>"

        return ", ".join([*map(short, positional), *(f"{k}={short(v)}" for k, v in named.items())])


def same(a: Any, b: Any) -> bool:
    """Return whether two snapshots are equal, bit by bit."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b) or (a != a and b != b)


def calls(seed: int, count: int, log: Any) -> Iterator[str]:
    """Make calls and yield the problems; the last may be growth of memory."""
    fuzzer = Fuzzer(seed, log)
    resting = None
    for number in range(count):
        fuzzer.one(number)
        yield from fuzzer.problems
        fuzzer.problems.clear()
        if number == count // 4:
            resting = ms.core.block_bytes()
    fuzzer.renew()
    if resting is not None and ms.core.block_bytes() > 4 * resting + (64 << 20):
        yield f"blocks grew from {resting} to {ms.core.block_bytes()} bytes"


def main() -> int:
    """Make the calls that the command line asks for; print problems, and return 1 if there are any."""
    seed, count, log = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]).resolve()
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # its shadow of all addresses takes more
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    ms.set_num_threads(1)
    bad = 0
    with tempfile.TemporaryDirectory() as folder, log.open("w") as file:
        os.chdir(folder)
        for problem in calls(seed, count, file):
            print(f"seed {seed}: {problem}", flush=True)
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
