"""Options that name members of enums of the compiled core: both have the same names, or the import fails."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import meniscus as ms
from meniscus import _meniscus
from meniscus._options import CORE_OPTIONS, CoreOption, require_same_names
from meniscus.grid.transport import advection

NOT_OPTIONS = {
    "ColumnType",
    "EmissionRule",
    "LatticeSide",
    "PairKind",
    "RadiusOf",
    "SetOperation",
    "ShallowArray",
    "ShallowSideKind",
    "StepTime",
    "WayOut",
}
"""Enums that no user names."""

PACKAGE = Path(ms.__file__).parent
for _module in pkgutil.walk_packages(ms.__path__, "meniscus."):
    if not _module.name.startswith("meniscus._") and "viz" not in _module.name:
        importlib.import_module(_module.name)


def enums() -> dict[str, Any]:
    """The enums of the compiled core."""
    rooms = [m for m in vars(_meniscus).values() if type(m).__name__ == "module"]
    things = [thing for room in rooms for thing in vars(room).items()]
    return {name: thing for name, thing in things if isinstance(thing, type) and hasattr(thing, "__members__")}


@pytest.mark.parametrize("option", CORE_OPTIONS, ids=lambda o: o.enum.__name__)
def test_names_and_members_are_the_same(option: CoreOption[Any]) -> None:
    names = get_args(option.literal)
    assert {n.replace("-", "_").replace(" ", "_") for n in names} == set(option.enum.__members__)
    members = [option("argument", name) for name in names]
    assert len(set(members)) == len(names)
    for name, member in zip(names, members, strict=True):
        assert member.name == name.replace("-", "_").replace(" ", "_")
    with pytest.raises(ValueError, match=r"argument must be one of '.*', not 'voodoo'"):
        option("argument", "voodoo")


def test_an_option_has_one_name_from_cpp_to_python() -> None:
    """The `Literal` type has the name of the enum, and so has, in capitals, the constant that connects the two."""
    modules = [m for name, m in sys.modules.items() if name.startswith("meniscus.")]
    for option in CORE_OPTIONS:
        kind = option.enum.__name__
        constants = {name for m in modules for name, value in vars(m).items() if value is option}
        assert constants == {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).upper()}
        assert any(getattr(m, kind, None) is option.literal for m in modules), kind


def test_every_enum_is_an_option_or_known_to_be_none() -> None:
    found = enums()
    assert len(found) > 30
    assert found.keys() == {o.enum.__name__ for o in CORE_OPTIONS} | NOT_OPTIONS


def test_a_name_without_a_member_and_a_member_without_a_name_are_refused() -> None:
    limiter = _meniscus.grid.Limiter
    for literal in (Literal["none", "clamp"], Literal["none", "clamp", "reversion", "superbee"], Literal["none", "clamp", "reverse"]):
        with pytest.raises(TypeError, match="and the members of Limiter differ in"):
            CoreOption(literal, limiter)
    assert all(o.literal is not Literal["none", "clamp"] for o in CORE_OPTIONS)


def test_an_unknown_scheme_of_transport_is_refused() -> None:
    """It used to run first order in silence if only Python knew it."""
    grid, names = ms.Grid((8, 8), 0.1), _meniscus.grid.advection_schemes()
    require_same_names(advection.Method, names, "the schemes of advection")
    with pytest.raises(ValueError, match="method must be one of 'upwind', 'semi-lagrangian', 'bfecc', 'maccormack', not 'weno'"):
        ms.fluids.advect(ms.CellField(grid), ms.MacField(grid), 0.1, method="weno")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="and the schemes of advection differ in weno"):
        require_same_names(Literal["upwind", "semi-lagrangian", "bfecc", "maccormack", "weno"], names, "the schemes of advection")


def test_choices_are_listed_once() -> None:
    """No tuple, list or set of names in the package repeats those of a `Literal` type."""
    trees = {path: ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    literals: set[frozenset[str]] = set()
    lists: list[tuple[Path, int, frozenset[str]]] = []
    for path, tree in trees.items():
        inside = set()  # of literals, which come before what is in them
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal":
                inside.add(node.slice)
                literals.add(frozenset(names_in(node.slice)))
            elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node not in inside:
                lists.append((path, node.lineno, frozenset(names_in(node))))
    copies = [f"{path.name}:{line}" for path, line, names in lists if len(names) > 1 and names in literals]
    assert not copies


def names_in(node: ast.AST) -> list[str]:
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    return [n.value for n in items if isinstance(n, ast.Constant) and isinstance(n.value, str)]
