"""Structure of the Python layer: calls of a step into the core, arrays that it allocates, how much one class is, names without types.

Budgets: 40 calls a step, no arrays; five ancestors and sixty methods a class. What is over a budget stands here with its figure, which may
fall and must not grow.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.tet_vof.coupled import ball

import meniscus as ms
from meniscus.core.known_names import KnownNames
from meniscus.surface import Box

ROOT = Path(__file__).parents[1]
CASTS = 524
UNTYPED, OVERLOADED = 650, 4
PRIVATE_WRITES = 7
CALLS = 40
ANCESTORS, METHODS = 5, 60


def classes() -> dict[str, type]:
    """All classes of the package without its scenes, by module and name."""
    found: dict[str, type] = {}
    for module in pkgutil.walk_packages(ms.__path__, "meniscus."):
        if "._" in module.name or module.name.endswith("__main__") or module.name.startswith("meniscus.scenes"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and value.__module__ == module.name:
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def size_of(kind: type) -> tuple[int, int]:
    """How many classes of the package one derives from, and how many methods and properties it has with theirs.

    The guard of names does not count: it gives no class anything that one would have to know.
    """
    own = [base for base in kind.__mro__ if base.__module__.startswith("meniscus") and base is not KnownNames]
    members = (classmethod, staticmethod, property)
    methods = {name for base in own for name, value in vars(base).items() if inspect.isfunction(value) or isinstance(value, members)}
    return len(own) - 1, len(methods)


# Liquids, shells and water on tetrahedra follow the core.
CLASSES_OVER = {
    "meniscus.coupling.shells.shell_coupling.ShellCoupling": (6, 72),
    "meniscus.coupling.water.kdsm_water.KDSMWater": (4, 68),
    "meniscus.fluids.exchange.open_liquid.OpenLiquid": (5, 71),
    "meniscus.fluids.liquid.solver.LiquidSolver": (6, 85),
    "meniscus.fluids.voronoi.solver.VoronoiLiquid": (4, 72),
    "meniscus.fluids.particles.solver.ParticleLiquidSolver": (5, 71),
    "meniscus.fluids.tetrahedra.vof.TetVOF": (5, 94),
    "meniscus.fluids.tetrahedra.water.TetWater": (4, 71),
    "meniscus.solids.cloth.adaptive_cloth.AdaptiveCloth": (5, 71),
    "meniscus.solids.contact.impulse_solver.ImpulseSolver": (5, 62),
    "meniscus.solids.hair.hair_body.HairBody": (5, 61),
    "meniscus.solids.positions_world.positions_world.PositionsWorld": (6, 75),
    "meniscus.solids.rigid.rigid_system.RigidSystem": (5, 82),
}


def test_no_class_grows() -> None:
    sizes = {name: size_of(kind) for name, kind in classes().items()}
    over = {name: size for name, size in sizes.items() if size[0] > ANCESTORS or size[1] > METHODS}
    grown = {
        n: s
        for n, s in over.items()
        if n not in CLASSES_OVER or s[0] > max(CLASSES_OVER[n][0], ANCESTORS) or s[1] > max(CLASSES_OVER[n][1], METHODS)
    }
    assert grown == {}
    assert sorted(CLASSES_OVER.keys() - over.keys()) == [], "these are within the budget now: take them off the list"


def methods_of_core() -> list[tuple[type, str, Any]]:
    """All methods of the classes of the core, with class and name."""
    modules = [m for m in vars(ms._meniscus).values() if inspect.ismodule(m)]
    kinds = dict.fromkeys(c for m in modules for c in vars(m).values() if inspect.isclass(c))
    return [(c, n, f) for c in kinds for n, f in vars(c).items() if type(f).__name__ == "instancemethod" and not n.startswith("__")]


def calls_of(step: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often a call of Python calls functions and methods of the core."""
    counts: dict[str, int] = {}

    def count(name: str) -> None:
        counts[name] = counts.get(name, 0) + 1

    # Profilers do not see methods that are called with unpacked arguments.
    def counted(name: str, method: Any) -> Any:
        def in_wrapper(*args: Any, **named: Any) -> Any:
            count(name)
            return method(*args, **named)

        return in_wrapper

    def watch(frame: Any, event: str, function: Any) -> None:
        # Nor do they see constructors; functions that make an object for any dimension and scalar are left out like them.
        of_core = (getattr(function, "__module__", None) or "").startswith("meniscus._meniscus")
        if event == "c_call" and of_core and frame.f_code.co_name != "in_wrapper" and not function.__name__.startswith("new_"):
            count(function.__name__)

    with monkeypatch.context() as patch:
        for kind, name, method in methods_of_core():
            patch.setattr(kind, name, counted(f"{kind.__name__}.{name}", method))
        sys.setprofile(watch)
        try:
            step()
        finally:
            sys.setprofile(None)
    return counts


def smoke() -> Any:
    solver = ms.fluids.SmokeSolver(ms.Grid((16, 16, 16), 1 / 16), ms.fluids.SmokeOptions(density_weight=-1.0, temperature_weight=0.1))
    solver.density.array[4:8, 4:8, 2:6] = 1.0
    return solver


def water() -> Any:
    solver = ms.fluids.LiquidSolver(ms.Grid((16, 16, 16), 1 / 16))
    solver.fill(Box((0, 0, 0), (0.5, 1, 0.5)))
    return solver


def particles() -> Any:
    solver = ms.fluids.ParticleLiquidSolver(ms.Grid((16, 16, 16), 1 / 16))
    solver.fill(Box((0, 0, 0), (0.5, 1, 0.5)))
    return solver


def kdsm_water() -> Any:
    return ball(16, level=1.05)


def tetrahedra() -> Any:
    return ball(16, level=1.05).vof


def barriers() -> Any:
    mesh = ms.mesh.cloth_mesh(10, 10, (0.4, 0.4), origin=(-0.2, -0.2, 0.102))
    cloth = ms.solids.DeformableBody(mesh, density=0.2)
    cloth.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=cloth.masses)))
    world = ms.solids.World(gravity=(0, 0, -9.8), response="barrier")
    world.add(cloth, thickness=0.005, friction=0.3)
    world.add_obstacle(ms.surface.Sphere((0, 0, 0), 0.1), friction=0.3)
    return world


SOLVERS: dict[str, Callable[[], Any]] = {
    "smoke": smoke,
    "water": water,
    "particles": particles,
    "tetrahedra": tetrahedra,
    "KDSM water": kdsm_water,
    "barriers": barriers,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_a_step_makes_few_calls_into_the_core(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    solver = SOLVERS[name]()
    for _ in range(2):
        solver.step(0.004)
    counts = calls_of(lambda: solver.step(0.004), monkeypatch)
    assert sum(counts.values()) > 5, "calls were not seen"
    assert sum(counts.values()) <= CALLS, counts


def test_casts_of_subscripts_do_not_come_back() -> None:
    """Subscripts and sizes are signed; what is cast is compared with unsigned sizes, or given to the standard library."""
    sources = [path for path in (ROOT / "cpp").rglob("*") if path.suffix in (".cpp", ".hpp")]
    if not sources:
        pytest.skip("the sources are not here")
    assert sum(path.read_text(encoding="utf-8").count("static_cast<std::size_t>") for path in sources) <= CASTS


def test_calls_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    field = ms.CellField(ms.Grid((4, 4), 0.25))
    assert sum(calls_of(field.sum, monkeypatch).values()) == 1
    assert calls_of(lambda: None, monkeypatch) == {}


def test_few_names_are_untyped() -> None:
    # Operations have one name each in the core: their stubs say which dimensions and scalars they take, so no facade hides the type.
    lines = [line for path in sorted(Path(ms.__file__).parent.rglob("*.py")) for line in path.read_text(encoding="utf-8").splitlines()]
    assert sum(": Any" in line for line in lines) <= UNTYPED
    assert sum("overloaded over" in line for line in lines) <= OVERLOADED


def private_members(tree: ast.AST) -> dict[str, list[str]]:
    """Private members of others than `self` and `cls` in a module, by whether they are read or written; the compiled part is no secret."""
    written = {id(target) for target in map(written_member, ast.walk(tree)) if target is not None}
    found: dict[str, list[str]] = {"read": [], "written": []}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.endswith("_") or node.attr == "_core":
            continue
        base = node.value
        own = isinstance(base, ast.Name) and base.id in ("self", "cls")
        of_base = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super"
        if not own and not of_base:
            found["written" if id(node) in written else "read"].append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def written_member(node: ast.AST) -> ast.Attribute | None:
    """The member that an assignment to it, or to items of it, changes."""
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or isinstance(node.ctx, ast.Load):
        return None
    inner: ast.AST = node
    while isinstance(inner, ast.Subscript):
        inner = inner.value
    return inner if isinstance(inner, ast.Attribute) else None


def test_objects_do_not_write_private_members_of_others() -> None:
    # What is left makes another object of its own class: copies, and what is read from files.
    files = sorted(Path(ms.__file__).parent.rglob("*.py"))
    found = [f"{path.name}:{line}" for path in files for line in private_members(ast.parse(path.read_text("utf-8")))["written"]]
    assert len(found) <= PRIVATE_WRITES, found
    seen = private_members(ast.parse("a._b = 1; a._c[2] += 1; del a._d; self._e = a._f; a._core.x = a._g()"))
    assert {kind: len(members) for kind, members in seen.items()} == {"read": 2, "written": 3}
