"""Command line: `meniscus --version`, `info`, `scenes`, `run`, `render`, `surface`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import logging
import os
import platform
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np

from meniscus import __version__, core, io, scenes
from meniscus.numerics import hypre
from meniscus.numerics.solve import ConvergenceError
from meniscus.parallel import RankError, launcher
from meniscus.parallel.communicator import resolve
from meniscus.parallel.mpi import built_modules
from meniscus.scenes.interrupts import Terminated
from meniscus.scenes.progress import ProgressBar
from meniscus.scenes.run_ranks import run_together, threads_of_rank
from meniscus.scenes.scene import choices_of

# Modules that optional parts need, and what they are for.
OPTIONAL = {
    "matplotlib": "pictures",
    "PIL": "pictures of smoke, animations",
    "rich": "progress bars",
    "h5py": "checkpoints",
    "vtkmodules": "VTK files of frames",
    "mitsuba": "path-traced pictures",
    "mpi4py": "MPI communicators",
}


_PATIENCE = 5.0
"""Seconds that processes which have failed wait for each other, until the first one has said why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    code: Any = 1
    with _silent() if launcher.launched_rank() > 0 else contextlib.nullcontext():
        try:
            code = _main(argv)
        except SystemExit as exit_of_parser:
            code = exit_of_parser.code
            raise
        finally:
            if code != 0 and launcher.launched() > 1:
                sys.stderr.flush()
                launcher.wait_for_all(_PATIENCE)
    return int(code)


def _main(argv: list[str]) -> int:
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
        elif options.command in ("render", "surface", "convert") and launcher.launched() > 1:
            raise ValueError(f"meniscus {options.command} runs in one process, not in {launcher.launched()}; start it without mpirun")
        elif options.command == "render":
            return _render(options)
        elif options.command == "surface":
            return _surface(options)
        elif options.command == "convert":
            return _convert(options)
        else:
            parser.print_help()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Who reads the output has seen enough, as `head` has; what is left would be written at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, ImportError, ConvergenceError, RankError) as error:
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
        ("mpi", _mpi_modules(built_modules())),
        ("hypre", _mpi_modules(hypre.built_modules())),
    ]
    for module, purpose in OPTIONAL.items():
        present = importlib.util.find_spec(module) is not None
        rows.append((module, f"{'present' if present else 'not installed'} ({purpose})"))
    return "\n".join(f"{name:12} {value}" for name, value in rows)


def _mpi_modules(built: list[str]) -> str:
    """Return the MPIs that modules of this build can use."""
    names = {"mpich": "MPICH", "openmpi": "Open MPI"}
    return f"modules for {' and '.join(names[m] for m in built)}" if built else "not built in"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="meniscus", description="Hybrid simulation of solids and fluids.")
    parser.add_argument("--version", action="version", version=f"meniscus {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands.add_parser("info", help="print versions, threads, vector width and optional parts")
    commands.add_parser("scenes", help="list the scenes")
    run = commands.add_parser("run", help="run a scene: meniscus run NAME|FILE.py [options]; `run NAME --help` lists its options")
    run.add_argument("scene", help="name of a scene, or a Python file that defines one")
    render = commands.add_parser("render", help="make the pictures of a run again from its frames, without simulating")
    render.add_argument("folder", metavar="DIR", help="folder of the run")
    render.add_argument("--scene", default=None, metavar="NAME|FILE.py", help="scene that draws the frames; default: the one of the run")
    _add_frames(render)
    render.add_argument("--renderer", choices=get_args(scenes.Renderer), default="built-in", help="default: built-in")
    mitsuba = render.add_argument_group("options of the renderer mitsuba, whose pictures go to DIR/mitsuba")
    mitsuba.add_argument("--samples", type=int, default=None, metavar="N", help="paths per pixel; default: 64")
    mitsuba.add_argument(
        "--size", nargs=2, type=int, default=None, metavar=("WIDTH", "HEIGHT"), help="pixels; default: what suits the scene"
    )
    surface = commands.add_parser("surface", help="make one surface of the water of a run from its frames, without simulating")
    surface.add_argument("folder", metavar="DIR", help="folder of the run; the surface goes to DIR/surface")
    surface.add_argument("--refine", type=int, default=3, metavar="N", help="fine cells in a cell of the run's grid; default: 3")
    surface.add_argument("--method", choices=get_args(scenes.SurfaceMethod), default="advected", help="default: advected")
    surface.add_argument("--gain", type=float, default=None, metavar="SHARE", help="of what the water says, at an update; default: 0.25")
    surface.add_argument("--least-fill", type=float, default=None, metavar="SHARE", help="fuller tetrahedra are inside; default: 0.5")
    surface.add_argument("--cell-size", type=float, default=None, metavar="M", help="of a grid for a run that has none")
    _add_frames(surface)
    surface.add_argument("--no-pictures", action="store_true", help="draw no frames")
    convert = commands.add_parser("convert", help="write the frames of a run for programs for films: USD, OpenVDB, Alembic, PLY")
    convert.add_argument("folder", metavar="DIR", help="folder of the run")
    convert.add_argument("--to", choices=get_args(io.FilmFormat), required=True, help="format, as files of it end")
    convert.add_argument("--out", default=None, metavar="FOLDER", help="for the files; default: DIR/FORMAT")
    _add_frames(convert)
    return parser


def _run(name: str, argv: Sequence[str]) -> int:
    kind = scenes.find(name)
    options = vars(_run_parser(name, kind).parse_args(argv))
    out, threads = options.pop("out"), options.pop("threads")
    pictures, files, resume = not options.pop("no_pictures"), False if options.pop("no_files") else None, options.pop("resume")
    every = options.pop("checkpoint_every")
    if options.pop("no_checkpoints"):
        every = None
    if threads is not None:
        if threads < 1:
            raise ValueError(f"--threads must be at least 1, not {threads}")
        core.set_num_threads(threads)
    old = set() if out is None or resume else {(path, path.stat().st_mtime_ns) for path in Path(out).glob("frame-*")}

    def run() -> scenes.Frame:
        comm = resolve(None)
        if threads is None and comm.size > 1:
            core.set_num_threads(threads_of_rank(comm))
        with ProgressBar(name) if comm.rank == 0 else contextlib.nullcontext() as bar:
            step = None if bar is None else bar.step
            return scenes.run(kind(**options), out, pictures=pictures, files=files, resume=resume, checkpoint_every=every, on_step=step)

    try:
        last = run_together(launcher.world(), run) if launcher.launched() > 1 else run()
    except KeyboardInterrupt as interrupt:
        print(f"interrupted{_how_to_go_on(name, argv, out)}", file=sys.stderr)
        return 143 if isinstance(interrupt, Terminated) else 130
    except RankError as error:
        kept = _how_to_go_on(name, argv, out) if Path(out or "", scenes.CHECKPOINT_FOLDER).is_dir() else ""
        print(f"meniscus: {error}{kept}", file=sys.stderr)
        return 2
    except OSError as error:
        # A folder that could not even be made or written at the start is not worth more than the reason.
        kept = _how_to_go_on(name, argv, out) if Path(out or "", scenes.CHECKPOINT_FOLDER).is_dir() else ""
        print(f"meniscus: cannot write or read {error.filename or out}: {error.strerror or error}{kept}", file=sys.stderr)
        return 1
    for key, value in last.diagnostics.items():
        print(f"{key:12} {value:.6g}")
    if out is None:
        print("no frames were written; --out FOLDER writes them")
        return 0
    print(f"written to {os.path.join(out, '')}")
    left = sorted(path.name for path, when in old if path.exists() and path.stat().st_mtime_ns == when)
    if left:
        print(f"{len(left)} files of an earlier run are still among the frames, from {left[0]} to {left[-1]}", file=sys.stderr)
    return 0


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Let one of several processes speak for all."""
    logging.getLogger("meniscus").addHandler(logging.NullHandler())
    logging.getLogger("meniscus").propagate = False
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        yield


def _how_to_go_on(name: str, argv: Sequence[str], out: str | None) -> str:
    """The second half of the sentence that ends a run which was broken off."""
    if out is None:
        return "; nothing was written"
    if not any(Path(out, scenes.CHECKPOINT_FOLDER).glob("checkpoint-*.h5")):
        return "; finished frames are kept"
    together = ["mpirun", "-n", str(launcher.launched())] if launcher.launched() > 1 else []
    command = shlex.join([*together, "meniscus", "run", name, *(a for a in argv if a != "--resume"), "--resume"])
    return f"; finished frames are kept; go on with: {command}"


def _render(options: argparse.Namespace) -> int:
    drawer = None if options.scene is None else scenes.find(options.scene)()
    size = None if options.size is None else (options.size[0], options.size[1])
    with ProgressBar("render") as bar:
        written = scenes.render(
            options.folder,
            scene=drawer,
            frames=_frames(options),
            renderer=options.renderer,
            size=size,
            samples=options.samples,
            on_frame=bar.frame,
            on_pass=bar.samples,
        )
    if not written:
        raise ValueError(f"the scene of the run in {options.folder} draws no pictures")
    print("\n".join(str(path) for path in written))
    return 0


def _surface(options: argparse.Namespace) -> int:
    more = {name: value for name in ("gain", "least_fill") if (value := getattr(options, name)) is not None}
    with ProgressBar("surface") as bar:
        written = scenes.surface_frames(
            options.folder,
            refine=options.refine,
            method=options.method,
            cell_size=options.cell_size,
            frames=_frames(options),
            pictures=not options.no_pictures,
            on_frame=bar.frame,
            **more,
        )
    print("\n".join(str(path) for path in written))
    return 0


def _convert(options: argparse.Namespace) -> int:
    with ProgressBar("convert") as bar:
        written = io.convert(options.folder, options.to, options.out, frames=_frames(options), on_frame=bar.frame)
    print(f"{len(written)} files in {written[-1].parent}; open {written[-1].name}")
    return 0


def _add_frames(parser: argparse.ArgumentParser) -> None:
    """Add the option that chooses frames."""
    parser.add_argument("--frames", nargs="+", default=None, type=_frame_range, metavar="N|N-M", help="numbers of the frames; default: all")


def _frames(options: argparse.Namespace) -> list[int] | None:
    """Return the numbers that it chooses, None for all."""
    return None if options.frames is None else sorted({n for numbers in options.frames for n in numbers})


def _frame_range(text: str) -> range:
    """Return the frames that `N` or `N-M` names."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (not last or last.isdecimal())) or text.endswith("-"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither the number of a frame nor two with a hyphen between them")
    return range(int(first), int(last or first) + 1)


def _run_parser(name: str, kind: type[scenes.Scene]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"meniscus run {name}", description=kind.summary, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    scene = parser.add_argument_group("parameters of the scene")
    choices = choices_of(kind)
    for f in dataclasses.fields(kind):
        _add_option(scene, f, choices.get(f.name))
    run = parser.add_argument_group("the run")
    run.add_argument("--out", default=None, metavar="DIR", help="folder for frames, pictures, checkpoints, run.json and diagnostics.csv")
    run.add_argument("--resume", action="store_true", help="go on from the newest checkpoint in the folder")
    run.add_argument("--threads", type=int, default=None, metavar="N", help="threads to use; results do not depend on it")
    run.add_argument("--checkpoint-every", type=float, default=30.0, metavar="SECONDS", help="wall time between checkpoints within a frame")
    run.add_argument("--no-checkpoints", action="store_true", help="write no checkpoints")
    run.add_argument("--no-pictures", action="store_true", help="draw no frames")
    run.add_argument("--no-files", action="store_true", help="write no VTK files")
    return parser


def _add_option(parser: argparse._ArgumentGroup, field: dataclasses.Field[Any], choices: tuple[Any, ...] | None) -> None:
    """Turn a parameter of a scene into an option: flags for truth values, N numbers for tuples, text for what has no default."""
    default, text = field.default, field.metadata.get("help", "")
    flag = "--" + field.name.replace("_", "-")
    if isinstance(default, bool):
        parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=default, help=text)
    elif isinstance(default, tuple):
        parser.add_argument(flag, nargs=len(default), type=type(default[0]), action=_Tuple, default=default, help=text)
    else:
        kind = str if default is None else type(default)
        parser.add_argument(flag, dest=field.name, type=kind, default=default, help=text, choices=choices)


class _Tuple(argparse.Action):
    """Keeps the numbers of an option as a tuple, like the default."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        """Set the attribute."""
        setattr(namespace, self.dest, tuple(values))


if __name__ == "__main__":
    sys.exit(main())
