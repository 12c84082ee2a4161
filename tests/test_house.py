"""Architecture rules that no compiler checks: sizes of folders, layers of Python's imports, no import circles, periodic axes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "meniscus"
SOURCES = {".cpp", ".hpp", ".py"}
MOST_SOURCES = 25

# A room imports rooms of earlier rows only; rooms of one row do not see each other.
LAYERS = [
    {"core"},
    {"numerics"},
    {"parallel"},
    {"grid", "mesh"},
    {"collision"},
    {"surface"},
    {"solids", "fluids"},
    {"coupling"},
    {"io"},
    {"viz"},
    {"scenes"},
    {""},  # the package itself
    {"cli"},
    {"__main__"},
]
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# What belongs to no room: the extension and its types, checks of arguments, imports of what is not required, words that all rooms share.
SHARED = {"_meniscus", "_checks", "_extras", "_options", "_types"}


def module_name(path: Path) -> str:
    parts = ("meniscus", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(name: str, path: Path) -> Iterator[str]:
    """Modules of the package that a module imports, anywhere in its text, with functions and type checks."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "meniscus")
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            if base.split(".")[0] == "meniscus":
                for alias in node.names:
                    whole = f"{base}.{alias.name}"
                    yield whole if whole in MODULES or whole in {f"meniscus.{s}" for s in SHARED} else base


IMPORTS = {name: sorted(set(imported(name, path)) - {name}) for name, path in MODULES.items()}


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("top", ["cpp", "bindings", "python", "tests"])
def test_folders_hold_few_sources(top: str) -> None:
    folders = [ROOT / top, *(path for path in (ROOT / top).rglob("*") if path.is_dir())]
    counts = {str(f.relative_to(ROOT)): sum(p.suffix in SOURCES for p in f.iterdir()) for f in folders}
    assert {f: n for f, n in counts.items() if n > MOST_SOURCES} == {}


def test_sources_begin_with_the_header_of_their_name() -> None:
    """This proves that the header compiles alone: the build makes a check of its own only for headers without a source."""
    wrong = [
        str(source.relative_to(ROOT))
        for header in (ROOT / "cpp").rglob("*.hpp")
        if (source := header.with_suffix(".cpp")).exists()
        and not source.read_text(encoding="utf-8").startswith(f'#include "{header.relative_to(ROOT / "cpp").as_posix()}"\n')
    ]
    assert wrong == []


def test_every_room_has_a_layer() -> None:
    assert {room_of(module) for module in MODULES} - SHARED <= set(LEVEL)


def test_imports_follow_the_layers() -> None:
    upward = [
        f"{module} imports {other}"
        for module, others in IMPORTS.items()
        for other in others
        if (room := room_of(module)) in LEVEL
        and (seen := room_of(other)) not in SHARED
        and seen != room
        and LEVEL.get(seen, len(LAYERS)) >= LEVEL[room]
    ]
    assert upward == []


def test_the_shared_modules_import_no_room() -> None:
    assert [f"{m} imports {o}" for m, others in IMPORTS.items() if room_of(m) in SHARED for o in others if room_of(o) not in SHARED] == []


def circles(graph: dict[str, list[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in graph.get(module, []):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            part = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(part) > 1:
                found.append(sorted(part))

    for module in graph:
        if module not in index:
            visit(module)
    return found


def test_modules_import_each_other_in_no_circle() -> None:
    assert circles(IMPORTS) == []


def test_circles_are_found() -> None:
    assert circles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}) == [["a", "b", "c"]]
    assert circles({"a": ["b", "c"], "b": ["c"], "c": []}) == []


# Periodic axes, images and wrapped indices belong to the grid room: ghosts, neighbours per side, images of points, cells and samples.
# Elsewhere a user may ask for a periodic grid, or whether a solid has `periodic_images`.
KNOWS_PERIODS = {"grid", "parallel"}
WRAPS = re.compile(r"\bperiodic_?\b|\bown_neighbour\b|\bwrap(s|ped|ping)?_?\b|%\s*(\w[\w.\[\]]*)\)?\s*\+\s*\2\)\s*%\s*\2")
COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
# Files of frames and checkpoints hold the description of a grid.
DESCRIBES_GRIDS = {"meniscus.io.checkpoint", "meniscus.io.vtk"}


def wraps_in_cpp(text: str) -> list[str]:
    """Lines of code that ask for periodicity or wrap an index."""
    return [line.strip() for line in COMMENTS_AND_TEXTS.sub("", text).splitlines() if WRAPS.search(line)]


def wraps_in_python(text: str) -> list[str]:
    """The same for Python: attributes `periodic`, rolled arrays and wrapped padding."""
    found = []
    for node in ast.walk(ast.parse(text)):
        asks = isinstance(node, ast.Attribute) and node.attr in {"periodic", "roll"}
        wraps = isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant) and node.value.value == "wrap"
        if asks or wraps:
            found.append(ast.unparse(node.value if wraps else node))
    return found


def test_only_the_grid_room_knows_periodic_axes() -> None:
    places = [(ROOT / top, path) for top in ("cpp/meniscus", "bindings") for path in sorted((ROOT / top).rglob("*.[ch]pp"))]
    found = {str(p.relative_to(ROOT)): wraps_in_cpp(p.read_text()) for top, p in places if p.relative_to(top).parts[0] not in KNOWS_PERIODS}
    modules = {m: p for m, p in MODULES.items() if room_of(m) not in KNOWS_PERIODS and m not in DESCRIBES_GRIDS}
    found |= {m: wraps_in_python(p.read_text(encoding="utf-8")) for m, p in modules.items()}
    assert {place: lines for place, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("line", "wraps"),
    [
        ("if (grid.periodic()[d]) return n - 1;", True),
        ("i = ((i % n) + n) % n;", True),
        ("x = wrapped(x, period);", True),
        ("const auto images = shape.periodic_images; // periodic", False),
        ('require(ok, "the axis must not be periodic");', False),
        ("const int next = (i + 1) % 3;", False),
    ],
)
def test_questions_for_periodicity_are_found(line: str, wraps: bool) -> None:
    assert bool(wraps_in_cpp(line)) == wraps


def test_questions_for_periodicity_in_python_are_found() -> None:
    assert wraps_in_python("a = grid.periodic[0]; b = np.roll(x, 1); c = np.pad(x, 1, mode='wrap'); g = Grid(s, h, periodic=True)") == [
        "grid.periodic",
        "np.roll",
        "'wrap'",
    ]
