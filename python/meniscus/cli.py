"""The command line: `meniscus --version`, `info`, `scenes`, `run`."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from meniscus import __version__, core, scenes

# Modules that optional parts need, and what they are for.
OPTIONAL = {
    "matplotlib": "pictures",
    "rich": "progress bars",
    "mpi4py": "MPI communicators",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    try:
        if argv[:1] == ["run"] and len(argv) > 1 and not argv[1].startswith("-"):
            return _run(argv[1], argv[2:])
        options = parser.parse_args(argv)
        if options.command == "info":
            print(info())
        elif options.command == "scenes":
            for name, scene in scenes.SCENES.items():
                print(f"{name:12} {scene.summary}")
        else:
            parser.print_help()
    except KeyboardInterrupt:
        print("interrupted; finished frames are kept", file=sys.stderr)
        return 130
    except (ValueError, TypeError, ImportError) as error:
        print(f"meniscus: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        print(f"meniscus: cannot write or read{where}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def info() -> str:
    """Return versions, threads, vector width and which optional parts are present, one per line."""
    build = core.build_info()
    rows = [
        ("meniscus", __version__),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("eigen", build.get("eigen")),
        ("tbb", build.get("tbb")),
        ("compiler", f"{build.get('compiler')}, {build.get('flags')}"),
        ("build", "native (this machine only)" if build.get("native") else "portable"),
        ("threads", f"{core.num_threads()} of {os.cpu_count()} cores"),
        ("simd", f"{core.simd_level()}, {core.simd_width()} bits (supported: up to {core.simd_supported()})"),
        ("mpi", "not built in"),
    ]
    for module, purpose in OPTIONAL.items():
        present = importlib.util.find_spec(module) is not None
        rows.append((module, f"{'present' if present else 'not installed'} ({purpose})"))
    return "\n".join(f"{name:12} {value}" for name, value in rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="meniscus", description="Hybrid simulation of solids and fluids.")
    parser.add_argument("--version", action="version", version=f"meniscus {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="print versions, threads, vector width and optional parts")
    commands.add_parser("scenes", help="list the scenes")
    run = commands.add_parser("run", help="run a scene: meniscus run NAME|FILE.py [options]; `run NAME --help` lists its options")
    run.add_argument("scene", help="name of a scene, or a Python file that defines one")
    return parser


def _run(name: str, argv: Sequence[str]) -> int:
    kind = scenes.find(name)
    parser = argparse.ArgumentParser(
        prog=f"meniscus run {name}", description=kind.summary, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    for f in dataclasses.fields(kind):
        _add_option(parser, f)
    parser.add_argument("--out", default=None, metavar="DIR", help="folder for pictures, run.json and diagnostics.csv")
    parser.add_argument("--threads", type=int, default=None, help="threads to use")
    parser.add_argument("--no-pictures", action="store_true", help="do not draw frames")
    options = vars(parser.parse_args(argv))
    out, threads, no_pictures = options.pop("out"), options.pop("threads"), options.pop("no_pictures")
    if threads is not None:
        core.set_num_threads(threads)
    with _Progress(name) as progress:
        last = scenes.run(kind(**options), out, pictures=not no_pictures, on_frame=progress.update)
    for key, value in last.diagnostics.items():
        print(f"{key:12} {value:.6g}")
    if out is not None:
        print(f"written to {os.path.join(out, '')}")
    return 0


def _add_option(parser: argparse.ArgumentParser, field: dataclasses.Field[Any]) -> None:
    """Turn a parameter of a scene into an option."""
    meta = field.metadata
    kwargs: dict[str, Any] = {"default": field.default, "help": meta.get("help", ""), "choices": meta.get("choices")}
    flag = "--" + field.name.replace("_", "-")
    if isinstance(field.default, bool):
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=field.default, help=meta.get("help", ""))
    else:
        parser.add_argument(flag, dest=field.name, type=type(field.default), **kwargs)


class _Progress:
    """A progress bar over frames on a terminal, through rich where it is installed; silent otherwise."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> _Progress:
        if sys.stderr.isatty() and importlib.util.find_spec("rich") is not None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), "frames", TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task(self._title, total=None)
        return self

    def update(self, frame: scenes.Frame, total: int) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=frame.number, total=total)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()


if __name__ == "__main__":
    sys.exit(main())
