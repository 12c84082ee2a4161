"""Print requirements of pyproject.toml, one per line: `build`, `run` or the name of an extra, with extras of extras followed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def requirements(pyproject: dict[str, Any], group: str) -> Iterator[str]:
    """Yield the requirements of one group."""
    if group == "build":
        # Outside of an isolated build, the tools that the build backend would ask for have to be there already.
        yield from (*pyproject["build-system"]["requires"], "cmake>=3.24", "ninja>=1.11")
        return
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    if group != "run" and group not in extras:
        raise SystemExit(f"unknown group {group!r}; choose from build, run, {', '.join(extras)}")
    for requirement in project["dependencies"] if group == "run" else extras[group]:
        own = re.fullmatch(rf"{project['name']}\[([\w,-]+)\]", requirement)
        if own is None:
            yield requirement
            continue
        for extra in own[1].split(","):
            yield from requirements(pyproject, extra)


if __name__ == "__main__":
    content = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    print("\n".join(dict.fromkeys(line for group in sys.argv[1:] for line in requirements(content, group))))
