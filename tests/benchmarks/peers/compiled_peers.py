"""Peers in C and C++: found in the system or among the peers that were built, compiled on demand, called through ctypes.

Each folder in `MENISCUS_BENCH_PEERS` (several are separated like in PATH; default build/peers) may hold installations of hypre
(see build_hypre.py) and of AMGCL, with `include` and `lib` inside. The drivers are in drivers.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).with_name("drivers")
ROOT = Path(__file__).parents[3]
COMPILED = ROOT / "build" / "benchmarks"
OPTIMISE = ("-O3", "-march=native")
SYSTEM = (Path("/usr"), Path("/usr/local"), Path("/opt/homebrew"))


class PeerError(Exception):
    """Says in one sentence why a peer cannot take part."""


class Outcome(ctypes.Structure):
    """Report of a driver of a setup or a solve."""

    _fields_ = (
        ("iterations", ctypes.c_int),
        ("error", ctypes.c_int),
        ("residual", ctypes.c_double),
        ("seconds", ctypes.c_double),
        ("bytes", ctypes.c_double),
    )


@dataclass(frozen=True)
class Installation:
    """A library at a place."""

    library: str
    version: str
    build: str  # how the library was compiled, as far as known
    include: Path
    prefix: Path
    mpi: bool = False
    openmp: bool = False

    @property
    def key(self) -> str:
        """A short name for rows and files."""
        return f"{self.library}-{self.version}-{self.build.split(':')[0].replace(' ', '-')}"


def folders() -> Iterator[Path]:
    """The installations of peers that were built for the benchmarks."""
    given = os.environ.get("MENISCUS_BENCH_PEERS")
    for folder in [Path(f) for f in given.split(os.pathsep)] if given else [ROOT / "build" / "peers"]:
        if folder.is_dir():
            yield from sorted(f.resolve() for f in folder.iterdir() if (f / "include").is_dir())


def _definition(text: str, name: str) -> str | None:
    found = re.search(rf"^#define\s+{name}\s+\"?([^\"\s]+)", text, re.MULTILINE)
    return found[1] if found else None


def hypre_installations() -> list[Installation]:
    """Every hypre that was built for us, else that of the system."""

    def at(prefix: Path, build: str) -> Iterator[Installation]:
        for include in (prefix / "include", prefix / "include" / "hypre"):
            config = include / "HYPRE_config.h"
            if not config.exists():
                continue
            text = config.read_text(encoding="utf-8", errors="replace")
            mpi = _definition(text, "HYPRE_HAVE_MPI") is not None and _definition(text, "HYPRE_SEQUENTIAL") is None
            openmp = _definition(text, "HYPRE_USING_OPENMP") is not None
            note = prefix / "build.txt"
            how = note.read_text(encoding="utf-8").strip() if note.exists() else build
            yield Installation("hypre", _definition(text, "HYPRE_RELEASE_VERSION") or "?", how, include, prefix, mpi, openmp)
            return

    own = [i for folder in folders() for i in at(folder, folder.name.rsplit("-", 1)[-1])]
    return own or [i for prefix in SYSTEM for i in at(prefix, "system package")][:1]


def amgcl_installations() -> list[Installation]:
    """The first AMGCL that is found; it has headers only."""
    for prefix in (*folders(), *SYSTEM):
        if (prefix / "include" / "amgcl" / "make_solver.hpp").exists():
            named = re.search(r"amgcl-(\d[\d.]*\d)", prefix.name)
            version = named[1] if named else _packaged_version("libamgcl-dev")
            return [Installation("AMGCL", version, f"native: {' '.join(OPTIMISE)}", prefix / "include", prefix, openmp=True)]
    return []


def _packaged_version(package: str) -> str:
    """Version of a package of the system, where it can be asked."""
    if shutil.which("dpkg-query") is None:
        return "?"
    asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=False)
    return asked.stdout.split("-")[0] or "?"


def _compiler(names: tuple[str | None, ...], what: str) -> str:
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        raise PeerError(f"no {what} found")
    return found


def _command(driver: Path, installation: Installation) -> list[str]:
    """The compiler call but for the output."""
    if driver.suffix == ".cpp":
        command = [_compiler((os.environ.get("CXX"), "c++", "g++"), "C++ compiler"), "-std=c++17", "-DAMGCL_NO_BOOST"]
    elif installation.mpi:
        command = [_compiler(("mpicc",), "mpicc, which this build of hypre needs,"), "-std=c11"]
    else:
        command = [_compiler((os.environ.get("CC"), "cc", "gcc"), "C compiler"), "-std=c11"]
    command += [*OPTIMISE, "-shared", "-fPIC", f"-I{installation.include}", str(driver)]
    if installation.openmp:
        command.append("-fopenmp")
    if installation.library == "hypre":
        library = installation.prefix / "lib"
        static = library / "libHYPRE.a"
        if static.exists() and not installation.mpi:
            # The symbols stay inside, so that several builds can be in one process.
            command += [str(static), "-Wl,--exclude-libs,ALL", "-lm"]
        else:
            command += [] if installation.prefix in SYSTEM else [f"-L{library}", f"-Wl,-rpath,{library}"]
            command += ["-lHYPRE", "-lm"]
    return command


def driver(source: str, installation: Installation) -> ctypes.CDLL:
    """The driver of a peer as a loaded library; compiled if that was not done before."""
    found = _driver(source, installation)
    if isinstance(found, str):
        raise PeerError(found)
    return found


@functools.cache
def _driver(source: str, installation: Installation) -> ctypes.CDLL | str:
    """The library, or why there is none: what does not compile is not tried again."""
    path = SOURCES / source
    command = _command(path, installation)
    stamp = "\n".join([*command, path.read_text(encoding="utf-8"), platform.node(), *_times(installation.prefix)])
    library = COMPILED / f"{installation.key}-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        COMPILED.mkdir(parents=True, exist_ok=True)
        unfinished = library.with_suffix(f".{os.getpid()}.so")
        done = subprocess.run([*command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return f"the driver does not compile: {done.stderr.strip().splitlines()[0] if done.stderr else 'no message'}"
        unfinished.replace(library)
    try:
        return ctypes.CDLL(str(library))
    except OSError as error:
        return f"cannot be loaded: {error}"


def _times(prefix: Path) -> list[str]:
    return [f"{f} {f.stat().st_mtime_ns}" for f in sorted((prefix / "lib").glob("libHYPRE*"))]
