"""Cases of position based dynamics: projections of distances and isometric bendings of a cloth, its steps, and pypbd beside them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms

# Squares along a side of the cloth; iterations in a call.
FULL, QUICK = 200, 6
ITERATIONS = 20
KINDS = ("distance", "isometric-bending")
CONTACT_SQUARES = 150


def cloth(squares: int, dtype: str, kinds: tuple[str, ...] = KINDS) -> Any:
    """A square of cloth, a little out of its plane, so that everything has something to do."""
    mesh = ms.mesh.cloth_mesh(squares, squares, (1.0, 1.0))
    body = ms.solids.PositionBody(mesh, density=0.2, gravity=(0, 0, -9.81), dtype=np.dtype(dtype))
    if "distance" in kinds:
        body.add(ms.solids.DistanceConstraints(mesh, compliance=1e-7))
    if "isometric-bending" in kinds:
        body.add(ms.solids.BendingConstraints(mesh, compliance=1e2))
    body.nodes[:, :3] += (1e-3 / squares) * np.random.default_rng(0).normal(size=(len(body), 3)).astype(body.dtype)
    body.pin([0, squares])
    return body


def projection_cases(squares: int, chosen: Callable[[str], bool]) -> Iterator[Case]:
    """Projections alone, from the same positions."""
    for kind in KINDS:
        for dtype in ("float32", "float64"):
            name = f"solids/projections/{kind}/{dtype}"
            if not chosen(name):
                continue
            body = cloth(squares, dtype, (kind,))
            start = body.nodes.copy()

            def prepare(body: Any = body, start: np.ndarray = start) -> None:
                body.nodes[...] = start
                body.predict(1e-3)

            def run(body: Any = body) -> None:
                body.project(1e-3, iterations=ITERATIONS)

            work = ITERATIONS * len(body.constraints[0])
            yield Case(name, "solids", work, "Mprojection/s", run, prepare, parameters={"dtype": dtype, "squares": squares})


def step_cases(squares: int, chosen: Callable[[str], bool]) -> Iterator[Case]:
    """Whole steps of ten substeps: a cloth that hangs, and one that lies in folds on itself and a ball."""
    for key in ("free", "contact"):
        name = f"solids/position-step/{key}"
        if not chosen(name):
            continue
        n = squares if key == "free" else max(QUICK, squares * CONTACT_SQUARES // FULL)
        body, contacts = cloth(n, "float32"), None
        if key == "contact":
            body.release([0, n])
            body.nodes[:, 2] += 0.31
            contacts = ms.solids.PositionContacts(body, thickness=0.5 / n, friction=0.3)
            contacts.add_obstacle(ms.surface.Sphere((0.5, 0.5, 0.15), 0.15), thickness=0.5 / n)
            contacts.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), thickness=0.5 / n)
            for _ in range(30 if squares == FULL else 2):
                body.step(1 / 60, contacts=contacts)

        def run(body: Any = body, contacts: Any = contacts) -> None:
            body.step(1 / 60, contacts=contacts)

        yield Case(name, "solids", 1, "evaluation/s", run, parameters={"dtype": "float32", "squares": n})


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    squares = QUICK if quick else FULL
    return [*projection_cases(squares, chosen), *step_cases(squares, chosen)]


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """The same projections by pypbd, in double precision, whose step also moves the nodes once for these iterations."""
    squares = QUICK if quick else FULL
    found = []
    for kind in KINDS:
        name = f"peers/pypbd/{kind}"
        if not chosen(name):
            continue
        remark = f"steps of {ITERATIONS} iterations, compliant constraints; one thread"
        peer = Peer(name, f"pypbd {version('pypbd')}", f"solids/projections/{kind}/float64", remark)
        found.append(peer)
        try:
            pbd = importlib.import_module("pypbd")
        except ImportError as error:
            peer.unavailable = f"not importable: {error}"
            continue
        model = pbd.SimulationModel()
        model.init()
        sheet = model.addRegularTriangleModel(squares + 1, squares + 1)
        if kind == "distance":
            model.addClothConstraints(sheet, 4, 1e6, 1, 1, 1, 0.3, 0.3, False, False)
        else:
            model.addBendingConstraints(sheet, 3, 100.0)
        stepping = pbd.TimeStepController()
        stepping.init()
        stepping.setValueUInt(pbd.TimeStepController.MAX_ITERATIONS, ITERATIONS)
        stepping.setValueUInt(pbd.TimeStepController.NUM_SUB_STEPS, 1)
        work = ITERATIONS * len(model.getConstraints())

        def run(stepping: Any = stepping, model: Any = model) -> None:
            stepping.step(model)

        peer.case = Case(name, "peers", work, "Mprojection/s", run, threads=(1,), rounds=3, parameters={"dtype": "float64"})
    return found
