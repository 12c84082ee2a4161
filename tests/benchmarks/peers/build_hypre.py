"""Build script of hypre for the benchmarks: `python tests/benchmarks/peers/build_hypre.py FOLDER`, the folder of an unpacked release of
hypre.

Twice, into build/peers, where the benchmarks look: for this machine (`-O3 -march=native`) and with the options of our portable build
(`-O3`). Without MPI, with OpenMP, as a static library, so that both fit into one process. Needs CMake and a C compiler.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

BUILDS = {"native": "-O3 -march=native -DNDEBUG", "portable": "-O3 -DNDEBUG"}
OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DCMAKE_INSTALL_LIBDIR=lib",
    "-DHYPRE_ENABLE_SHARED=OFF",
    # Up to 2.x and from 3.0 on.
    "-DHYPRE_WITH_MPI=OFF",
    "-DHYPRE_WITH_OPENMP=ON",
    "-DHYPRE_ENABLE_MPI=OFF",
    "-DHYPRE_ENABLE_OPENMP=ON",
)
DEFAULT = Path(__file__).parents[3] / "build" / "peers"


def release(source: Path) -> str:
    """The version that the sources say they have."""
    for name in ("CMakeLists.txt", "configure"):
        text = (source / name).read_text(encoding="utf-8", errors="replace") if (source / name).exists() else ""
        found = re.search(r"HYPRE_(?:RELEASE_)?VERSION[ =]\"?v?(\d+\.\d+\.\d+)", text)
        if found:
            return found[1]
    raise SystemExit(f"{source} does not look like the src folder of a release of hypre")


def build(source: Path, name: str, flags: str, prefix: Path, jobs: int) -> None:
    """Configure, compile and install one build."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["cmake", "-S", source, "-B", folder, *OPTIONS, f"-DCMAKE_C_FLAGS_RELEASE={flags}", f"-DCMAKE_INSTALL_PREFIX={prefix}"]
        subprocess.run([str(c) for c in command], check=True)
        subprocess.run(["cmake", "--build", folder, "--target", "install", "--parallel", str(jobs)], check=True)
    (prefix / "build.txt").write_text(f"{name}: {flags}\n", encoding="utf-8")


def main() -> None:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(description="Build hypre for the benchmarks, for this machine and portable.")
    parser.add_argument("source", type=Path, help="unpacked release of hypre")
    parser.add_argument("--peers", type=Path, default=DEFAULT, metavar="FOLDER", help="where to install (default build/peers)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="compilers at once (default 2)")
    options = parser.parse_args()
    source = options.source / "src" if (options.source / "src").is_dir() else options.source
    version = release(source)
    for name, flags in BUILDS.items():
        build(source.resolve(), name, flags, options.peers.resolve() / f"hypre-{version}-{name}", options.jobs)


if __name__ == "__main__":
    main()
