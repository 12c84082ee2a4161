"""Cases of all forces of bodies, for the battery of checks in `support.forces.checks`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

import meniscus as ms
from support.forces.checks import Case
from support.forces.meshes import edges_of, herring_bone, hinges, sphere, tet_block


def _cases(large: bool = False) -> list[Case]:
    """All cases; large ones have more nodes and elements than any loop gives to one thread at a time."""
    rng = np.random.default_rng(20081)
    s = ms.solids
    v, t = herring_bone(110, 80, rng) if large else herring_bone(4, 3, rng)
    moved = v + 0.3 * rng.uniform(-1, 1, v.shape)
    flat, orthotropic = v * [1.0, 1.0, 0.0], np.array([[3.0, 0.2, 0.1], [0.2, 1.0, 0.0], [0.1, 0.0, 0.7]])
    e, pairs, mass = edges_of(t), hinges(t), rng.uniform(0.5, 2, len(v))
    k, b = rng.uniform(1, 5, len(e)), rng.uniform(0, 2, len(e))
    tv, tt = tet_block(14 if large else 2, rng)
    tmoved = tv + 0.25 * rng.uniform(-1, 1, tv.shape)
    tmass = rng.uniform(0.5, 2, len(tv))
    ball, bt = sphere(5 if large else 1)
    bmoved = ball + 0.1 * rng.uniform(-1, 1, ball.shape)
    parents = np.array([[0, 5, 9, -1], [2, 7, -1, -1], [11, 3, 4, 8], [1, -1, -1, -1], [0, 5, 9, 13]], np.int32)
    others = np.array([[12, 6, 3, 1], [17, -1, -1, -1], [13, 14, -1, -1], [18, 19, 2, -1], [5, 9, 16, 15]], np.int32)
    copies = len(v) // 20
    parents, others = (
        np.where(np.tile(p, (copies, 1)) >= 0, np.tile(p, (copies, 1)) + 20 * np.repeat(np.arange(copies), len(p))[:, None], -1).astype(
            np.int32
        )
        for p in (parents, others)
    )
    w = np.where(parents >= 0, rng.uniform(0.1, 1, parents.shape), 0)
    u = np.where(others >= 0, rng.uniform(0.1, 1, others.shape), 0)
    w, u = w / w.sum(axis=1, keepdims=True), u / u.sum(axis=1, keepdims=True)
    wind = rng.standard_normal((len(v), 3))
    targets = rng.standard_normal((len(parents), 3))

    def windy(quadratic: bool) -> Callable[[], ms.solids.Force]:
        def build() -> ms.solids.Force:
            f = s.WindDrag(t, coefficient=mass, wind=wind, quadratic=quadratic)
            f.prepare(v, 0.5 * wind[::-1].copy(), 0.0)
            return f

        return build

    def dragged(quadratic: bool) -> Callable[[], ms.solids.Force]:
        def build() -> ms.solids.Force:
            f = s.Drag(mass, wind=(1.0, 2.0, 3.0), quadratic=quadratic)
            f.prepare(v, wind, 0.0)
            return f

        return build

    def pulled() -> ms.solids.Force:
        f = s.SoftBindings(parents, s.SpringOptions(spring_constant=3.0, damping=0.7), first_weights=w, targets=targets)
        f.set_targets(targets + 1, -targets)
        return f

    quadratic = ms.mesh.quadratic_mesh(ms.mesh.TetMesh(*tet_block(5 if large else 1, rng)))
    bent = quadratic.vertices + 0.04 * rng.uniform(-1, 1, quadratic.vertices.shape)
    strained = quadratic.vertices + 0.1 * rng.uniform(-1, 1, quadratic.vertices.shape)

    def ten_nodes(material: str, stiffness: str) -> Callable[[], ms.solids.Force]:
        # Curved edges, and a node that no element has.
        return lambda: s.QuadraticTetElements(
            quadratic,
            np.concatenate([bent, [(7.0, 8.0, 9.0)]]),
            youngs_modulus=5.0,
            poissons_ratio=0.35,
            material=material,  # type: ignore[arg-type]
            stiffness=stiffness,  # type: ignore[arg-type]
            damping=0.3,
        )

    outside = {"internal": False, "free_of_drag": False}
    return [
        Case("edges", lambda: s.EdgeSprings(e, s.SpringOptions(stiffness=k, damping=b), v), moved, v),
        Case(
            "edges-absolute", lambda: s.EdgeSprings(e, s.SpringOptions(spring_constant=2.0, damping_fraction=0.4, masses=mass), v), moved, v
        ),
        Case(
            "edges-biphasic",
            lambda: s.EdgeSprings(e, s.SpringOptions(stiffness=k, damping=b, pieces=[(-1, 0.2), (0, 1), (0.1234, 9)]), v),
            moved,
            v,
        ),
        Case(
            "edges-softening",
            lambda: s.EdgeSprings(e, s.SpringOptions(stiffness=k, damping=b, pieces=[(-0.2, 3), (-0.05, 1), (0.05, 0.1)]), v),
            moved,
            v,
        ),
        Case("edges-last-direction", lambda: s.EdgeSprings(e, s.SpringOptions(stiffness=k, damping=b), v, zero_length="last"), moved, v),
        Case(
            "edges-zero-rest-length",
            lambda: s.EdgeSprings(e, s.SpringOptions(spring_constant=k, damping=b), rest_lengths=0.0),
            moved,
            np.ones_like(v),
        ),
        Case("bending-springs", lambda: s.BendingSprings(pairs, s.SpringOptions(stiffness=2.0, damping=0.3), v), moved, v),
        Case(
            "dihedral-shell",
            lambda: s.DihedralBending(pairs, s.SpringOptions(stiffness=2.0, damping_fraction=0.5, masses=mass), v),
            moved,
            v,
            definite="gauss-newton",
        ),
        Case(
            "dihedral-sine",
            lambda: s.DihedralBending(pairs, s.SpringOptions(stiffness=2.0, damping=0.5), v, law="sine"),
            moved,
            v,
            definite="gauss-newton",
        ),
        Case(
            "dihedral-bridson",
            lambda: s.DihedralBending(pairs, s.SpringOptions(stiffness=2.0, damping=0.5), v, law="bridson"),
            moved,
            v,
            conservative=False,
            symmetric=False,
        ),
        Case(
            "plate",
            lambda: s.PlateBending(t, v[:, :2].copy(), stiffness=2.0, poissons_ratio=0.3, damping=0.2),
            flat + 0.15 * (moved - v),
            flat,
            definite="gauss-newton",
            diagonal=False,
        ),
        Case(
            "plate-clamped",
            lambda: s.PlateBending(t, v[:, :2].copy(), stiffness=orthotropic, damping=0.2, rigid=np.arange(len(t)) % 11 == 0),
            flat + 0.15 * (moved - v),
            flat,
            definite="gauss-newton",
            diagonal=False,
        ),
        Case(
            "altitudes",
            lambda: s.AltitudeSprings(tt, s.SpringOptions(stiffness=3.0, damping_fraction=0.7, masses=tmass), tv),
            tmoved,
            tv,
            definite="gauss-newton",
        ),
        Case(
            "altitudes-absolute",
            lambda: s.AltitudeSprings(tt, s.SpringOptions(spring_constant=3.0, damping=0.7), tv),
            tmoved,
            tv,
            definite="gauss-newton",
        ),
        Case(
            "altitudes-biphasic",
            lambda: s.AltitudeSprings(tt, s.SpringOptions(stiffness=3.0, damping=0.7, pieces=[(-1, 1), (-0.1234, 0.01)]), tv),
            tmoved,
            tv,
            definite="gauss-newton",
        ),
        Case(
            "altitudes-compressed",
            lambda: s.AltitudeSprings(tt, s.SpringOptions(stiffness=3.0, damping=0.7), tv, only_beyond=0.1),
            tmoved,
            tv,
            definite="gauss-newton",
        ),
        Case(
            "shell-altitudes",
            lambda: s.ShellAltitudeSprings(hinges(bt), s.SpringOptions(stiffness=3.0, damping=0.2), ball),
            bmoved,
            ball,
            definite="gauss-newton",
        ),
        Case(
            "soft-bindings",
            lambda: s.SoftBindings(
                parents, s.SpringOptions(spring_constant=3.0, damping_fraction=0.5, masses=mass), others, first_weights=w, second_weights=u
            ),
            moved,
            np.zeros_like(v),
            free_of_drag=False,
            damping_torque=True,
        ),
        Case("soft-bindings-to-targets", pulled, moved, conservative=False, **outside),
        Case("wind", windy(False), moved, conservative=False, symmetric=False, bound=False, **outside),
        Case("wind-quadratic", windy(True), moved, conservative=False, symmetric=False, bound=False, **outside),
        Case("drag", dragged(False), moved, conservative=False, **outside),
        Case("drag-quadratic", dragged(True), moved, conservative=False, **outside),
        Case("loads", lambda: s.PointLoads(np.array([3, 1, 3], np.int32), targets[:3].copy()), moved, **outside),
        Case("quadratic-linear", ten_nodes("linear", "assembled"), strained, bent, internal=False, free_of_drag=False),
        Case("quadratic-corotational", ten_nodes("corotational", "assembled"), strained, bent, damping_torque=True, free_of_drag=False),
        Case("quadratic-green", ten_nodes("st-venant-kirchhoff", "matrix-free"), strained, bent),
        Case("quadratic-green-assembled", ten_nodes("st-venant-kirchhoff", "assembled"), strained, bent),
        Case("quadratic-neo-hookean", ten_nodes("neo-hookean", "matrix-free"), strained),
        Case("pressure", lambda: s.Pressure(bt, 2.5), bmoved, definite="none"),
        Case("pressure-open", lambda: s.Pressure(t, 2.5), moved, conservative=False, symmetric=False, internal=False),
    ]


@functools.cache
def _large() -> dict[str, Case]:
    return {case.name: case for case in _cases(large=True)}


CASES = [dataclasses.replace(case, large=functools.partial(lambda name: _large()[name], case.name)) for case in _cases()]
