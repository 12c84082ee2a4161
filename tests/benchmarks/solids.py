"""Benchmark cases of deformable solids: linear and quadratic finite elements in a block of tetrahedra that is turned, strained and
shaken, and a peer that assembles the same matrix."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus._meniscus import solids as core
from meniscus.solids import DeformableBody, QuadraticTetElements, TetElements

# Small boxes along each side, of six tetrahedra each: 10^5 and 10^6 linear tetrahedra, and quadratic ones with (nearly) as many nodes.
FULL = {"1e5": 26, "1e6": 55, "quadratic-1e4": 13, "quadratic-1e5": 28}
QUICK = {"tiny": 5, "quadratic-tiny": 3}
# A cantilever ten times as long as high: boxes along it and over its height, and how much too little it
# deflects at a Poisson's ratio of 0.3 with a fixed end.
CANTILEVERS = {"linear": (80, 8, 0.07), "quadratic": (20, 2, 0.011)}
YOUNGS_MODULUS, POISSONS_RATIO = 1e6, 0.3
TANGENTS = {"frozen": core.Tangent.frozen, "definite": core.Tangent.definite, "exact": core.Tangent.exact}


@dataclass(frozen=True)
class Block:
    """A cube of tetrahedra, where its nodes are, and a displacement of them."""

    key: str
    mesh: Any
    positions: np.ndarray
    change: np.ndarray

    @property
    def work(self) -> int:
        return len(self.mesh.elements)

    def elements(self, material: str, stiffness: str) -> TetElements | QuadraticTetElements:
        kind: Any = QuadraticTetElements if isinstance(self.mesh, ms.mesh.QuadraticTetMesh) else TetElements
        return kind(  # type: ignore[no-any-return]
            self.mesh,
            youngs_modulus=YOUNGS_MODULUS,
            poissons_ratio=POISSONS_RATIO,
            material=material,
            stiffness=stiffness,
        )


def block(key: str, boxes: int) -> Block:
    """Turned by about 37 degrees, with strains of ten percent."""
    mesh: Any = ms.mesh.tet_block(boxes, boxes, boxes)
    if key.startswith("quadratic"):
        mesh, boxes = ms.mesh.quadratic_mesh(mesh), 2 * boxes
    rng = np.random.default_rng(6)
    turn = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
    x = mesh.vertices @ turn.T + rng.uniform(-0.1, 0.1, mesh.vertices.shape) / boxes
    return Block(key, mesh, np.ascontiguousarray(x), rng.normal(size=x.shape))


def both(elements: Any, x: np.ndarray, f: np.ndarray, tangent: Any) -> None:
    """The forces, and what conjugate gradients need of the stiffness."""
    elements.add_forces(x, f)
    elements.linearise(x, tangent)


def block_cases(b: Block) -> Iterator[Case]:
    """Forces, stiffness and products with it; the bytes held are those of the elements."""
    f = np.zeros_like(b.positions)

    def case(name: str, run: Callable[[], object], held: TetElements | QuadraticTetElements, **more: Any) -> Case:
        return Case(
            name=f"solids/{b.key}/{name}",
            group="solids",
            work=b.work,
            unit="Mtet/s",
            run=run,
            state_bytes=held.nbytes,
            other_bytes=3 * b.positions.nbytes,
            parameters={"tets": b.work, "nodes": len(b.positions), **more},
        )

    for material in ("corotational", "neo-hookean"):
        assembled, free = b.elements(material, "assembled"), b.elements(material, "matrix-free")
        yield case(f"{material}/force", partial(free.core.add_forces, b.positions, f), free)
        for name, tangent in TANGENTS.items():
            yield case(f"{material}/force-and-matrix/{name}", partial(both, assembled.core, b.positions, f, tangent), assembled)
            yield case(f"{material}/force-and-factors/{name}", partial(both, free.core, b.positions, f, tangent), free)
        assembled.core.linearise(b.positions, core.Tangent.definite)
        free.core.linearise(b.positions, core.Tangent.definite)
        yield case(f"{material}/product/assembled", partial(assembled.core.add_differentials, b.change, 1e-9, f), assembled)
        yield case(f"{material}/product/matrix-free", partial(free.core.add_differentials, b.change, 1e-9, f), free)


def step_case(b: Block) -> Case:
    """One step of implicit Euler with one linear solve, from the same strained state every time: iterations per second.

    The number of iterations is measured once, so that the unit is meant for the whole step with what is around the solve.
    """
    body = DeformableBody(b.mesh, density=1000.0)
    elements = body.add(b.elements("corotational", "assembled"))

    def prepare() -> None:
        body.positions[:] = b.positions
        body.velocities[:] = 0

    def run() -> Any:
        return body.step(1 / 60, integrator="implicit-euler", newton=False, raise_on_failure=False)

    prepare()
    info = run()
    iterations = sum(s.iterations for s in info.solves)
    return Case(
        name=f"solids/{b.key}/implicit-step",
        group="solids",
        work=max(iterations, 1),
        unit="iteration/s",
        run=run,
        prepare=prepare,
        state_bytes=elements.nbytes + body.nbytes,
        parameters={"tets": b.work, "unknowns": b.positions.size, "iterations": iterations},
    )


# Boxes along a beam and over its height, of five tetrahedra each.
REDUCED = {"1e5": (125, 13)}
REDUCED_QUICK = {"tiny": (10, 2)}


def reduced_cases(key: str, along: int, across: int) -> list[Case]:
    """A step of a beam that gravity bends, all nodes: of 20 coordinates, and of the full elements with implicit Euler."""
    mesh = ms.mesh.tet_block(along, across, across, (10.0, 1.0, 1.0), pattern="five")
    end = np.flatnonzero(mesh.vertices[:, 0] == 0)
    options: dict[str, Any] = {"youngs_modulus": YOUNGS_MODULUS, "poissons_ratio": POISSONS_RATIO}
    reduced = ms.solids.ReducedBody(mesh, modes=8, size=20, fixed=end, gravity=(0, 0, -9.81), **options)
    full = DeformableBody(mesh, masses=reduced.model.masses, gravity=(0, 0, -9.81))
    full.add(TetElements(mesh, material="st-venant-kirchhoff", **options))
    full.pin(end)
    parameters = {"tets": len(mesh.tets), "nodes": len(mesh.vertices), "coordinates": reduced.model.size}

    def started(body: Any) -> Callable[[], None]:
        body.step(0.01, "implicit-euler") if body is full else body.step(0.01, method="implicit-euler")
        return partial(body.restore, body.snapshot())

    steps: list[tuple[str, Any, Callable[[], Any]]] = [
        ("reduced", reduced, partial(reduced.step, 0.01, method="implicit-euler")),
        ("full", full, partial(full.step, 0.01, "implicit-euler")),
    ]
    return [
        Case(f"solids/{key}/beam/{name}", "solids", 1, "evaluation/s", run, started(body), parameters=parameters)
        for name, body, run in steps
    ]


def penalty_case(quick: bool) -> Case:
    """Penalty forces of two blocks that overlap."""
    n = 2 if quick else 8
    lower, upper = ms.mesh.tet_block(3 * n, 3 * n, 3 * n // 2, (2, 2, 1.0)), ms.mesh.tet_block(2 * n, 2 * n, 2 * n, (1, 1, 1.0))
    penalty = ms.solids.TetPenalty([lower, upper], stiffness=1e3, damping=20.0, friction=0.4)
    turned = upper.vertices @ np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1.0]]) + (0.5, 0.7, 0.8)
    x = [lower.vertices, np.ascontiguousarray(turned)]
    parameters = {"tets": len(lower.tets) + len(upper.tets)}
    return Case("solids/penalty/blocks", "solids", 1, "evaluation/s", lambda: penalty.forces(x), parameters=parameters)


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen; blocks of a million tetrahedra are not built unless one is."""
    found = []
    for key, boxes in (QUICK if quick else FULL).items():
        if not chosen(f"solids/{key}/") and not any(chosen(f"solids/{key}/{name}") for name in NAMES):
            continue
        b = block(key, boxes)
        found += [c for c in block_cases(b) if chosen(c.name)]
        if chosen(f"solids/{key}/implicit-step"):
            found.append(step_case(b))
    for key, parts in (REDUCED_QUICK if quick else REDUCED).items():
        if any(chosen(f"solids/{key}/beam/{name}") for name in ("reduced", "full")):
            found += [c for c in reduced_cases(key, *parts) if chosen(c.name)]
    if chosen("solids/penalty/blocks"):
        found.append(penalty_case(quick))
    found += [c for name, parts in CANTILEVERS.items() if chosen((c := cantilever_case(name, *parts)).name)]
    return found


def cantilever_case(order: str, along: int, across: int, error: float) -> Case:
    """Forces and matrix of a beam, with the error of its deflection: what an evaluation costs for what it is worth."""
    mesh: Any = ms.mesh.tet_block(along, across, across, (1, 0.1, 0.1))
    if order == "quadratic":
        mesh = ms.mesh.quadratic_mesh(mesh)
    x = np.ascontiguousarray(mesh.vertices)
    elements = Block(order, mesh, x, x).elements("corotational", "assembled")
    return Case(
        name=f"solids/cantilever/{order}/force-and-matrix",
        group="solids",
        work=1,
        unit="evaluation/s",
        run=partial(both, elements.core, x, np.zeros_like(x), core.Tangent.definite),
        state_bytes=elements.nbytes,
        parameters={"tets": len(mesh.elements), "nodes": len(x), "error": error},
    )


NAMES = (
    *(f"{m}/force" for m in ("corotational", "neo-hookean")),
    *(f"{m}/{k}/{t}" for m in ("corotational", "neo-hookean") for k in ("force-and-matrix", "force-and-factors") for t in TANGENTS),
    *(f"{m}/product/{s}" for m in ("corotational", "neo-hookean") for s in ("assembled", "matrix-free")),
    "implicit-step",
)


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """scikit-fem's assembly of linear elasticity on the same tetrahedra: the stiffness alone, of a material that cannot turn."""
    key, boxes = next(iter((QUICK if quick else FULL).items()))
    name = f"peers/scikit-fem/solids/{key}/stiffness"
    counterpart = f"solids/{key}/corotational/force-and-matrix/frozen"
    if not chosen(name) and not chosen(counterpart):
        return []
    remark = "linear elasticity, assembled with NumPy to CSR (ours: corotational, force and matrix)"
    peer = Peer(name, f"scikit-fem {version('scikit-fem')}", counterpart, remark)
    try:
        fem, elasticity = importlib.import_module("skfem"), importlib.import_module("skfem.models.elasticity")
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return [peer]
    b = block(key, boxes)
    mesh = fem.MeshTet(np.ascontiguousarray(b.mesh.vertices.T), np.ascontiguousarray(b.mesh.tets.T))
    basis = fem.Basis(mesh, fem.ElementVector(fem.ElementTetP1()), intorder=1)
    form = elasticity.linear_elasticity(*elasticity.lame_parameters(YOUNGS_MODULUS, POISSONS_RATIO))
    run = partial(form.assemble, basis)
    parameters = {"tets": b.work, "nodes": len(b.positions)}
    peer.case = Case(name, "peers", b.work, "Mtet/s", run, threads=(1,), rounds=3, parameters=parameters)
    # Both matrices, times the same displacement.
    ours = b.elements("linear", "assembled").differentials(np.ascontiguousarray(b.mesh.vertices), b.change)
    order = basis.nodal_dofs.T
    theirs = np.zeros(b.change.size)
    theirs[order] = b.change
    peer.compare(-(run() @ theirs)[order], ours)
    return [peer]
