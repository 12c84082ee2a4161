"""The five scenes of Selle 2008, table 6.2: runs of smaller cloth, and one frame of 1/24 s at the sizes of the table from a folded state.

    cd tests/benchmarks/contact
    python at_size.py run --out runs curtain triangles=10000         # a whole run: a row and a state for each frame
    python at_size.py frame --splits 4 --out runs/curtain-at-size.jsonl curtain runs/curtain/state-048.npz triangles=6640
    python at_size.py table runs/*-at-size.jsonl                     # beside tables 6.2 and 6.3

A frame at size goes on from a state of a run with the same parameters; each of its triangles is cut flat into four, `--splits` times.
Times are processor seconds of the user and of the system, of all threads, without the test for intersections at the end of each frame.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import recording

import meniscus as ms
from meniscus.scenes import SCENES
from meniscus.scenes.touching import Touching

# Selle 2008, table 6.2: triangles, minutes a frame, processors.
TABLE = {
    "twisting": (0.5e6, 30, 16),
    "leaves": (1.0e6, 5, 8),
    "spinning-ball": (1.8e6, 20, 16),
    "curtain": (1.7e6, 45, 16),
    "wardrobe": (2.0e6, 6, 16),
}
# Table 6.3: shares of a frame, percent. Per-step repulsions are a part of B.
SHARES = {"A": "3-7", "B": "45-60", "repulsion": "2-4", "C": "37-48"}
FLOOR, GOAL, OF_A_ROW, MEMORY = 15, 30, 2, (12, 6)


def scene_of(name: str, given: list[str]) -> Touching:
    """Return a scene with parameters given as name=value."""
    kind: Any = SCENES[name]
    types, parameters = get_type_hints(kind), {}
    for entry in given:
        key, _, value = entry.partition("=")
        parameters[key] = types[key](value) if types[key] in (int, float) else value
    scene = kind(**parameters)
    if not isinstance(scene, Touching):
        raise SystemExit(f"{name} is not a scene of contact")
    return scene


def show(row: dict[str, Any]) -> None:
    """Print the row of a frame."""
    times = ("cpu", *(f"cpu {part}" for part in recording.PARTS))
    names = ("frame", *times, "loops", "cuts", "pairs", "contacts", "impulses", "intersections", "peak GB")
    sys.stdout.write(", ".join(f"{name} {row[name]:.4g}" for name in names) + "\n")
    sys.stdout.flush()


def run(given: argparse.Namespace) -> None:
    """Run a scene whole, or its first frames."""
    scene = scene_of(given.scene, given.parameters)
    scene.setup()
    out = given.out / given.scene
    out.mkdir(parents=True, exist_ok=True)
    rows = out / "rows.jsonl"
    rows.unlink(missing_ok=True)
    count = given.frames or scene.frames
    for row in recording.frames(scene, 0.0, scene.end * count / scene.frames, count):
        recording.write_row(rows, row)
        np.savez(out / f"state-{row['frame']:03d}.npz", **recording.state_of(scene, row["time"]))
        show(row)


def frame(given: argparse.Namespace) -> None:
    """Take one frame of 1/24 s at size."""
    scene = scene_of(given.scene, [*given.parameters, f"splits={given.splits}"])
    scene.setup()
    with np.load(given.state) as state:
        scene.start_from(float(state["time"]), state["positions"], state["velocities"])
    begin = scene.world.time
    triangles = sum(len(mesh.triangles) for mesh in scene.meshes)
    for row in recording.frames(scene, begin, begin + 1.0 / 24.0, 1):
        row |= {"scene": given.scene, "triangles": triangles, "start": begin}
        recording.write_row(given.out, row)
        show(row)


def table(given: argparse.Namespace) -> None:
    """Print frames at size beside the tables, and the sum of their core-hours."""
    rows = {}
    for path in given.rows:
        for line in path.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            rows[found["scene"]] = found
    write = sys.stdout.write
    parts = " | ".join(f"{part}, %" for part in SHARES)
    write(f"| scene | triangles | core-hours a frame | table 6.2 | times less | {parts} | cuts | rigid | intersections | GB |\n")
    write("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
    total = theirs = 0.0
    for name, (_, minutes, processors) in TABLE.items():
        if name not in rows:
            continue
        r, printed = rows[name], minutes * processors / 60.0
        hours = r["cpu"] / 3600.0
        total, theirs = total + hours, theirs + printed
        shares = " | ".join(f"{100 * r['cpu ' + part] / r['cpu']:.1f}" for part in SHARES)
        tail = f"{r['cuts']:g} of {r['loops']:g} | {100 * r['rigid share']:.2f} % | {r['intersections']} | {r['peak GB']:.1f}"
        write(f"| {name} | {r['triangles']:,} | {hours:.3f} | {printed:.2f} | {printed / hours:.1f} | {shares} | {tail} |\n")
    write(f"| table 6.3 | | | | | {' | '.join(SHARES.values())} | | | | |\n")
    if total:
        write(f"\nSum: {total:.3f} of {theirs:.2f} core-hours, 1/{theirs / total:.1f}; floor 1/{FLOOR}, goal 1/{GOAL}, ")
        write(f"no scene above 1/{OF_A_ROW} of its row; memory: floor {MEMORY[0]} GB, goal {MEMORY[1]} GB.\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    commands = parser.add_subparsers(required=True)
    whole = commands.add_parser("run")
    whole.add_argument("scene", choices=sorted(TABLE))
    whole.add_argument("parameters", nargs="*", help="name=value")
    whole.add_argument("--frames", type=int, help="the first ones only")
    whole.add_argument("--out", type=Path, default=Path("runs"))
    whole.set_defaults(command=run)
    one = commands.add_parser("frame")
    one.add_argument("scene", choices=sorted(TABLE))
    one.add_argument("state", type=Path)
    one.add_argument("parameters", nargs="*", help="name=value, those of the run")
    one.add_argument("--splits", type=int, default=3)
    one.add_argument("--out", type=Path, default=None)
    one.set_defaults(command=frame)
    both = commands.add_parser("table")
    both.add_argument("rows", type=Path, nargs="+")
    both.set_defaults(command=table)
    given = parser.parse_args()
    ms.set_num_threads(given.threads)
    given.command(given)


if __name__ == "__main__":
    main()
