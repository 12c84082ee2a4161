"""Processor time of a build, by room and by file.

As the compiler launcher of CMake (`record LOG COMMAND...`) this runs one compiler and appends what it used to LOG, a line of JSON per
object. `table LOG` prints the sums. Processor seconds (user and system) of the compiler itself are counted, because wall times of a
build depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SLOWEST = 25


def record(log: Path, command: list[str]) -> int:
    """Run a compiler and append its processor seconds and its peak memory to the log."""
    status = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    target = command[command.index("-o") + 1] if "-o" in command else command[-1]
    line = {"object": target, "seconds": round(used.ru_utime + used.ru_stime, 3), "megabytes": used.ru_maxrss // 1024}
    with log.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(line) + "\n")
    return status


def source_of(target: str) -> str:
    """The source file of an object, relative to the checkout: CMakeFiles/<target>.dir/<source>.o; a precompiled header keeps its target."""
    parts = Path(target).parts
    folder = next((i for i, part in enumerate(parts) if part.endswith(".dir")), None)
    if folder is None:
        return target
    if "cmake_pch" in parts[-1]:
        return f"{parts[folder].removesuffix('.dir')}: precompiled header"
    return "/".join(parts[folder + 1 :]).removesuffix(".o")


def group_of(source: str) -> str:
    """The room of a source file, or what else it belongs to."""
    if "precompiled header" in source:
        return "precompiled headers"
    parts = source.split("/")
    if parts[0] == "cpp" and len(parts) > 3:
        return parts[2]
    if parts[:2] == ["tests", "cpp"]:
        return "C++ tests"
    return parts[0] if parts[0] == "bindings" else "header checks"


def table(log: Path) -> None:
    """Print the cost per room and the most expensive files."""
    seconds: dict[str, float] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        seconds[source_of(entry["object"])] = entry["seconds"]
    files: dict[str, list[float]] = defaultdict(list)
    for source, s in seconds.items():
        files[group_of(source)].append(s)
    print("| part | files | processor seconds | slowest file, s |")
    print("|---|---|---|---|")
    for group, costs in sorted(files.items(), key=lambda item: -sum(item[1])):
        print(f"| {group} | {len(costs)} | {sum(costs):.0f} | {max(costs):.1f} |")
    print(f"| all | {len(seconds)} | {sum(seconds.values()):.0f} | {max(seconds.values()):.1f} |")
    print(f"\nThe slowest {SLOWEST} files:\n")
    for source, s in sorted(seconds.items(), key=lambda item: -item[1])[:SLOWEST]:
        print(f"{s:7.1f} s  {source}")


def main() -> int:
    """Read the command line."""
    if len(sys.argv) > 3 and sys.argv[1] == "record":
        return record(Path(sys.argv[2]), sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=["table"])
    parser.add_argument("log", type=Path)
    table(parser.parse_args().log)
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main())
