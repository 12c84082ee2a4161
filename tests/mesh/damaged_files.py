"""Mesh files with random damage. `python damaged_files.py SEED COUNT` reads so many of them in this process.

A file may be refused with one sentence, or give a mesh whose numbers are those of the file. It may not end the process, raise something
else, take more than 20 s or the memory of the machine.
"""

from __future__ import annotations

import faulthandler
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import meshio
import numpy as np

import meniscus as ms

SECONDS = 20
MEMORY = 3 << 30
NUMBERS = (
    b"-1",
    b"0",
    b"2147483647",
    b"2147483648",
    b"4294967295",
    b"4611686018427387904",
    b"1" + b"0" * 30,
    b"1e308",
    b"nan",
    b"-7",
    b"x",
)
INTEGERS = (-1, 0, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), 7, 10**9)

Read = Callable[[Path], object]


def originals(folder: Path) -> list[tuple[Path, Read]]:
    """Write a file of each format, text and binary, and return it with the function that reads it."""
    ball, block = ms.mesh.icosphere(1), ms.mesh.tet_block(2, 1, 1)
    quadratic = ms.mesh.quadratic_mesh(block)
    triangles = meshio.Mesh(ball.vertices, [("triangle", ball.triangles)])
    tets = meshio.Mesh(block.vertices, [("tetra", block.tets)])
    files: list[tuple[Path, Read]] = []

    def add(name: str, read: Read, write: Callable[[Path], object]) -> None:
        path = folder / name
        write(path)
        files.append((path, read))

    for ending in ("obj", "ply", "stl", "off", "vtk", "vtu", "msh", "mesh", "meshb"):
        add(f"surface.{ending}", ms.mesh.TriangleMesh.read, ball.write)
    for ending in ("vtk", "vtu", "msh", "mesh", "meshb"):
        add(f"block.{ending}", ms.mesh.TetMesh.read, block.write)
    for ending in ("vtk", "vtu", "msh"):
        add(f"quadratic.{ending}", ms.mesh.QuadraticTetMesh.read, quadratic.write)
    add("text.ply", ms.mesh.TriangleMesh.read, lambda p: meshio.ply.write(p, triangles, binary=False))
    add("text.stl", ms.mesh.TriangleMesh.read, lambda p: meshio.stl.write(p, triangles, binary=False))
    add("text.vtk", ms.mesh.TetMesh.read, lambda p: meshio.vtk.write(p, tets, binary=False))
    add("old.vtk", ms.mesh.TetMesh.read, lambda p: meshio.vtk.write(p, tets, fmt_version="4.2"))
    add("text.vtu", ms.mesh.TetMesh.read, lambda p: meshio.vtu.write(p, tets, binary=False))
    add("text.msh", ms.mesh.TetMesh.read, lambda p: meshio.gmsh.write(p, tets, fmt_version="4.1", binary=False))
    add("old.msh", ms.mesh.TetMesh.read, lambda p: meshio.gmsh.write(p, tets, fmt_version="2.2", binary=False))
    add("block.ele", ms.mesh.TetMesh.read, lambda p: meshio.tetgen.write(p, tets))
    add("surface.glb", ms.mesh.TriangleMesh.read, lambda p: ball.to_trimesh().export(p))
    return files


def damaged(chance: random.Random, content: bytes) -> bytes:
    """Return bytes with one to three damages."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if not data:
            break
        at = chance.randrange(len(data))
        kind = chance.randrange(6)
        if kind == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at : at + chance.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = data[at : at + chance.randrange(1, 40)]
        elif kind == 4:
            n, order = chance.choice((4, 8)), chance.choice("<>")
            data[at : at + n] = struct.pack(f"{order}{'i' if n == 4 else 'q'}", _wrapped(chance.choice(INTEGERS), n))
        else:
            words = bytes(data).split(b" ")
            words[chance.randrange(len(words))] = chance.choice(NUMBERS)
            data = bytearray(b" ".join(words))
    return bytes(data)


def _wrapped(value: int, n: int) -> int:
    half = 1 << (8 * n - 1)
    return (value + half) % (2 * half) - half


def _late(*_: object) -> None:
    raise RuntimeError(f"takes more than {SECONDS} s")


def main() -> int:
    """Read the files; print problems, and return 1 if there are any."""
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # its shadow of all addresses takes more
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _late)
    warnings.simplefilter("ignore")
    chance = random.Random(seed)
    bad = good = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = originals(folder)
        for number in range(count):
            path, read = files[number % len(files)]
            target = folder / f"damaged{path.suffix}"
            if path.suffix == ".ele":
                other = ".node" if chance.random() < 0.5 else ".ele"
                for suffix in (".ele", ".node"):
                    content = path.with_suffix(suffix).read_bytes()
                    target.with_suffix(suffix).write_bytes(damaged(chance, content) if suffix == other else content)
            else:
                target.write_bytes(damaged(chance, path.read_bytes()))
            faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
            signal.alarm(SECONDS)
            try:
                with np.errstate(all="ignore"):
                    read(target)
                good += 1
            except (ValueError, OSError) as error:
                if not str(error).strip() or "\n" in str(error).strip() or len(str(error)) > 600:
                    bad += 1
                    print(f"{number} {path.name}: {str(error)[:300]!r} is no sentence", flush=True)
            except BaseException as error:
                bad += 1
                print(f"{number} {path.name}: {type(error).__name__}: {error}", flush=True)
            signal.alarm(0)
            faulthandler.cancel_dump_traceback_later()
    print(f"{count} files, {good} read", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
