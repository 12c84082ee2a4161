"""Names: of the distribution in every hint to install something, and of what is public."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import meniscus
import meniscus._extras

ROOT = Path(__file__).parents[1]
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
TOPS = (".ci", "bindings", "cpp", "docs", "notebooks", "python", "tests")
TEXTS = {".cpp", ".hpp", ".ipynb", ".md", ".py", ".pyi", ".toml", ".txt", ".cff", ""}


def texts() -> dict[str, str]:
    """Every text of the repository that people read or that machines run, by its path."""
    files = [path for path in ROOT.iterdir() if path.is_file()]
    for top in TOPS:
        files += [path for path in (ROOT / top).rglob("*") if path.is_file() and "_build" not in path.parts]
    chosen = [path for path in files if path.suffix in TEXTS and not path.name.startswith(".")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in chosen}


def test_no_hint_installs_the_other_project_of_the_package_index() -> None:
    extras = re.findall(r"^(\w+) = \[", PROJECT.partition("[project.optional-dependencies]")[2].partition("\n[")[0], re.MULTILINE)
    assert {"viz", "io", "mesh", "all"} <= set(extras)
    extra = rf"\bmeniscus\\?\[(?:{'|'.join(extras)})\b"
    old = re.compile(rf"{extra}|pip install[^\n`]*?[ '\"]meniscus(?![-\w/])|\bmeniscus-[*\d][^\n]*\.whl")
    found = [f"{path}: {match[0]}" for path, text in texts().items() for match in old.finditer(text)]
    assert found == []


def test_hints_name_the_extras_of_this_distribution() -> None:
    assert f'\nname = "{meniscus._extras.DISTRIBUTION}"\n' in PROJECT
    for module, (package, extra) in meniscus._extras._PACKAGES.items():
        if extra is None:
            assert meniscus._extras.install_command(module) == f"pip install {package}"
            continue
        (listed,) = re.findall(rf"^{extra} = \[(.*)\]$", PROJECT, re.MULTILINE)
        assert re.search(rf'"{package.split()[0]}\b', listed, re.IGNORECASE), module


def test_missing_packages_are_told_in_one_place() -> None:
    """A module that catches a failed import only to say how to install something uses `_extras` instead."""
    for path in (ROOT / "python").rglob("*.py"):
        if path.name == "_extras.py":
            continue
        words = [node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)]
        assert not [w for w in words if isinstance(w, str) and "pip install" in w], path


def test_a_public_name_means_one_thing() -> None:
    """Subpackages may export the same object, for example options that two of them take."""
    meanings: dict[str, dict[int, list[str]]] = {}
    for room in pkgutil.iter_modules(meniscus.__path__):
        if not room.ispkg:
            continue
        module = importlib.import_module(f"meniscus.{room.name}")
        for name in module.__all__:
            meanings.setdefault(name, {}).setdefault(id(getattr(module, name)), []).append(room.name)
    assert len(meanings) > 400
    assert {name: list(rooms.values()) for name, rooms in meanings.items() if len(rooms) > 1} == {}


MOST_PARAMETERS = 12
# Reports of steps and solves, which the library makes and people read.
REPORTS = {
    "collision.ResolveInfo",
    "coupling.ShellReport",
    "coupling.WaterLedger",
    "fluids.TetLedger",
    "solids.ContactInfo",
    "solids.RigidInfo",
}
# Calls above the limit, with the reason why they are not grouped yet.
ABOVE_THE_LIMIT = {
    "fluids.LiquidOptions": "notebooks and scenes name its fields one by one",
    "fluids.SmokeOptions": "goes with LiquidOptions",
    "fluids.TetVOFOptions": "goes with LiquidOptions",
    "fluids.project": "the solvers that call it become lists of stages of the core",
}


def test_public_calls_take_few_parameters() -> None:
    """Scenes are left out: their fields are the options of the command line, which are named one by one."""
    counts = {}
    for room in pkgutil.iter_modules(meniscus.__path__):
        if not room.ispkg:
            continue
        module = importlib.import_module(f"meniscus.{room.name}")
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, type) and issubclass(found, meniscus.scenes.Scene):
                continue
            calls = {name: found}
            if isinstance(found, type):
                # Classes that are attributes, as types of reports, count under their own names.
                members = {k: getattr(found, k, None) for k in dir(found) if not k.startswith("_")}
                calls |= {f"{name}.{k}": member for k, member in members.items() if not isinstance(member, type)}
            for path, call in calls.items():
                counts[f"{room.name}.{path}"] = parameters_of(call)
    assert {path: n for path, n in counts.items() if n > MOST_PARAMETERS and path not in REPORTS}.keys() == ABOVE_THE_LIMIT.keys()
    assert all(counts[path] > MOST_PARAMETERS for path in REPORTS)


def parameters_of(call: object) -> int:
    """Number of named parameters; 0 for what is not called or has no signature. Classes may choose in `__new__` what they make."""
    if not callable(call):
        return 0
    return max(count_of(call), count_of(call.__init__) if isinstance(call, type) else 0)


def count_of(call: Callable[..., object]) -> int:
    try:
        given = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return 0
    return sum(p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "self" for p in given)
