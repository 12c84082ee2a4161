"""Adaptive cloth alone: rest state, stress, masses, momentum, data and outline through operations of all kinds."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.solids import AdaptiveCloth, ClothMaterial, RemeshOptions, TriangleMembrane


def sheet(n: int = 8, size: tuple[float, float] = (1.0, 0.7), **options: object) -> AdaptiveCloth:
    """A rectangle with a mesh of right triangles."""
    options = {"edges": (0.02, 0.2), **options}
    return AdaptiveCloth(ms.mesh.cloth_mesh(n, n, size), **options)  # type: ignore[arg-type]


def with_a_hole(n: int = 10) -> ms.mesh.TriangleMesh:
    """A square with a square hole in the middle."""
    whole = ms.mesh.cloth_mesh(n, n)
    centres = whole.vertices[whole.triangles].mean(axis=1)
    mesh, _ = ms.mesh.TriangleMesh(whole.vertices, whole.triangles[np.abs(centres[:, :2] - 0.5).max(axis=1) > 0.2]).compacted()
    return mesh


def random_operations(cloth: AdaptiveCloth, count: int, rng: np.random.Generator, most: int = 2000) -> int:
    """Splits, flips and collapses of random edges; returns how many were done."""
    done = 0
    while done < count:
        edges = np.asarray(cloth.mesh.edges)
        for kind in ("split", "flip", "collapse"):
            if kind == "split" and len(cloth.triangles) > most:
                continue
            chosen = rng.permutation(edges)[: 40 if kind == "split" else 200]
            done += cloth.apply(kind, chosen).operations
            edges = np.asarray(cloth.mesh.edges)
    return done


def least_angle(cloth: AdaptiveCloth) -> float:
    """Of the triangles at rest, degrees."""
    p = cloth.rest[cloth.triangles]
    angles = []
    for k in range(3):
        u, v = p[:, (k + 1) % 3] - p[:, k], p[:, (k + 2) % 3] - p[:, k]
        angles.append(np.arctan2(np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]), (u * v).sum(axis=1)))
    return float(np.degrees(np.min(angles)))


def areas(cloth: AdaptiveCloth) -> np.ndarray:
    p = cloth.rest[cloth.triangles]
    u, v = p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]
    return 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])


GRADIENT = np.array([[1.2, 0.3], [-0.1, 0.9], [0.4, 0.2]])
RATES = np.array([[0.3, -1.0], [2.0, 0.4], [-0.7, 1.1]])


def stretch(cloth: AdaptiveCloth) -> None:
    """Stretch and shear it uniformly, and let it move affinely."""
    cloth.positions = cloth.rest @ GRADIENT.T + [0.1, 0.2, 0.3]
    cloth.velocities = cloth.rest @ RATES.T + [3.0, -2.0, 1.0]


def check_patch(cloth: AdaptiveCloth, area: float) -> None:
    membrane = TriangleMembrane(cloth.rest_mesh, youngs_modulus=1.0, thickness=1.0, material="st-venant-kirchhoff")
    strain = 0.5 * (GRADIENT.T @ GRADIENT - np.eye(2))
    found = membrane.strains(cloth.positions)
    # Axes of the elements lie along their first edges: invariants of the strain, and so of the stress, do not depend on them.
    np.testing.assert_allclose(np.trace(found, axis1=1, axis2=2), np.trace(strain), atol=1e-10)
    np.testing.assert_allclose(np.linalg.det(found), np.linalg.det(strain), atol=1e-10)
    np.testing.assert_allclose(cloth.positions, cloth.rest @ GRADIENT.T + [0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(cloth.velocities, cloth.rest @ RATES.T + [3.0, -2.0, 1.0], atol=1e-12)
    assert areas(cloth).min() > 0
    assert areas(cloth).sum() == pytest.approx(area, rel=1e-13)
    assert cloth.masses.sum() == pytest.approx(area * cloth.material.density, rel=1e-13)
    assert least_angle(cloth) >= 10


@pytest.mark.parametrize("shape", ["rectangle", "hole", "pieces"])
def test_patch_test_through_random_operations(shape: str) -> None:
    rng = np.random.default_rng(3)
    if shape == "rectangle":
        cloth = sheet()
    elif shape == "hole":
        cloth = AdaptiveCloth(with_a_hole(), edges=(0.02, 0.2))
    else:
        one = ms.mesh.cloth_mesh(5, 5)
        both = np.concatenate([one.vertices, one.vertices + np.array([2.0, 0, 0])])
        cloth = AdaptiveCloth(
            ms.mesh.TriangleMesh(both, np.concatenate([one.triangles, one.triangles + len(one.vertices)])), edges=(0.02, 0.2)
        )
    area = float(areas(cloth).sum())
    stretch(cloth)
    random_operations(cloth, 2000, rng, most=1000)
    assert cloth.generation > 10
    check_patch(cloth, area)


@pytest.mark.slow
def test_patch_test_through_a_hundred_thousand_operations() -> None:
    cloth = sheet()
    area = float(areas(cloth).sum())
    stretch(cloth)
    random_operations(cloth, 100_000, np.random.default_rng(4))
    check_patch(cloth, area)


def test_momentum_is_kept_by_every_operation() -> None:
    """With random shapes and velocities, too; where a vertex is held, others take over what its mass changes by."""
    rng = np.random.default_rng(5)
    cloth = sheet()
    cloth.pin([0])
    cloth.positions += 0.02 * rng.normal(size=cloth.positions.shape)
    cloth.velocities = rng.normal(size=cloth.velocities.shape)
    start = cloth.momentum()
    for _ in range(30):
        before = cloth.momentum()
        for kind in ("split", "flip", "collapse"):
            report = cloth.apply(kind, rng.permutation(np.asarray(cloth.mesh.edges))[:20])
            assert np.abs(report.momentum).max() < 1e-14
        np.testing.assert_allclose(cloth.momentum(), before, atol=1e-13)
    np.testing.assert_allclose(cloth.momentum(), start, atol=1e-12)


def test_outline_holes_and_pins_stay() -> None:
    cloth = AdaptiveCloth(with_a_hole(), edges=(0.02, 0.2))
    corners = [i for i, x in enumerate(cloth.rest) if np.isin(x, (0.0, 1.0)).all() or np.isclose(np.abs(x - 0.5), 0.2).all()]
    held = [i for i in range(0, len(cloth), 7)]
    cloth.pin(held)
    at = cloth.positions[held].copy()
    there = cloth.rest[corners].copy()
    random_operations(cloth, 3000, np.random.default_rng(6), most=1000)
    np.testing.assert_array_equal(cloth.positions[cloth.constrained], at)
    for x in there:
        assert (np.abs(cloth.rest - x).max(axis=1) == 0).sum() == 1
    mesh = cloth.rest_mesh
    border = mesh.boundary_edges if hasattr(mesh, "boundary_edges") else None
    if border is not None:
        middles = cloth.rest[np.asarray(border)].mean(axis=1)
        outside = np.isclose(middles, 0.0) | np.isclose(middles, 1.0)
        inside = np.isclose(np.abs(middles - 0.5), 0.2)
        assert (outside.any(axis=1) | inside.any(axis=1)).all()
    assert len(cloth.mesh.vertices) - len(cloth.mesh.edges) + len(cloth.triangles) == 0


def test_data_that_are_carried_follow() -> None:
    """An affine function stays one; amounts keep their sum; a number per triangle is inherited."""
    rng = np.random.default_rng(7)
    cloth = sheet()
    affine = cloth.carry(cloth.rest @ [2.0, -1.0] + 0.5)
    amount = cloth.carry(rng.uniform(size=len(cloth)), rule="sum")
    label = cloth.carry((cloth.rest[cloth.triangles].mean(axis=1)[:, 0] > 0.5).astype(float), on="triangles", rule="inherit")
    whole = amount.array.sum()
    random_operations(cloth, 1000, rng, most=800)
    np.testing.assert_allclose(affine.array, cloth.rest @ [2.0, -1.0] + 0.5, atol=1e-12)
    assert amount.array.sum() == pytest.approx(whole, rel=1e-13)
    assert set(label.array) <= {0.0, 1.0}
    events = cloth.events
    assert events is not None
    assert len(events) > 0


def cylinder(cloth: AdaptiveCloth, radius: float, start: float = 0.5) -> None:
    """Roll what lies beyond `start` along the first axis onto a cylinder."""
    s = np.maximum(cloth.rest[:, 0] - start, 0)
    flat = np.minimum(cloth.rest[:, 0], start)
    cloth.positions = np.stack([flat + radius * np.sin(s / radius), cloth.rest[:, 1], radius * (1 - np.cos(s / radius))], axis=1)


@pytest.mark.parametrize("sizing", ["curvature", "tensor"])
def test_edges_are_short_where_cloth_is_curved(sizing: str) -> None:
    """Coarse on the flat half, fine on the rolled one: as lengths are wanted there, by direction with tensors."""
    cloth = sheet(10, (1.0, 0.5), edges=(0.01, 0.2), sizing=sizing)
    for _ in range(6):
        cylinder(cloth, 0.1)
        report = cloth.remesh()
    assert report.in_bounds > (0.98 if sizing == "curvature" else 0.96)
    edges, _ = cloth.edge_sizes()
    middles = cloth.rest[edges].mean(axis=1)[:, 0]
    lengths = np.linalg.norm(cloth.rest[edges[:, 1]] - cloth.rest[edges[:, 0]], axis=1)
    flat, rolled = lengths[middles < 0.35].mean(), lengths[middles > 0.65].mean()
    assert flat > 2.2 * rolled if sizing == "curvature" else flat > 1.3 * rolled
    assert least_angle(cloth) >= 15 - 1e-9
    if sizing == "tensor":
        d = np.abs(cloth.rest[edges[:, 1]] - cloth.rest[edges[:, 0]])[middles > 0.65]
        along, across = d[d[:, 0] > 2 * d[:, 1], 0].mean(), d[d[:, 1] > 2 * d[:, 0], 1].mean()
        assert across > 1.5 * along


def test_cloth_at_rest_is_left_alone() -> None:
    """Once remeshed, what does not move gets no operation any more."""
    cloth = sheet(10, (1.0, 0.5), edges=(0.01, 0.2))
    cylinder(cloth, 0.1)
    counts = [cloth.remesh().operations for _ in range(12)]
    assert counts[0] > 100
    assert counts[-4:] == [0, 0, 0, 0]


def test_nothing_passes_through_layers_that_are_remeshed() -> None:
    """Three layers, a fold apart of a thousandth of their edges, in random operations: a checker outside finds no intersection."""
    rng = np.random.default_rng(8)
    one = ms.mesh.cloth_mesh(6, 6)
    layers = [one.vertices + np.array([0, 0, 2e-4 * k]) for k in range(3)]
    for x in layers:
        x[:, 2] += 0.08 * np.sin(7 * one.vertices[:, 0]) * np.cos(5 * one.vertices[:, 1])
    n = len(one.vertices)
    mesh = ms.mesh.TriangleMesh(np.concatenate(layers), np.concatenate([one.triangles + k * n for k in range(3)]))
    cloth = AdaptiveCloth(mesh, np.concatenate([one.vertices[:, :2] + [2.0 * k, 0] for k in range(3)]), edges=(0.02, 0.3))
    refused = 0
    for _ in range(25):
        for kind in ("split", "flip", "collapse"):
            refused += cloth.apply(kind, rng.permutation(np.asarray(cloth.mesh.edges))[:60]).refused["contact"]
        assert crossings(cloth) == 0
    assert refused > 20
    # The order of the layers is what it was.
    at = rng.uniform(0.1, 0.9, size=(200, 2))
    part = np.floor(cloth.rest[cloth.triangles[:, 0], 0] / 1.5)
    heights = [height_at(at, cloth.positions, cloth.triangles[part == k]) for k in range(3)]
    assert (heights[0] < heights[1]).all()
    assert (heights[1] < heights[2]).all()


def height_at(at: np.ndarray, x: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The lowest height of triangles above points of the plane."""
    a, b, c = (x[triangles[:, k]][None] for k in range(3))
    p = at[:, None]

    def area(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        return (v[..., 0] - u[..., 0]) * (w[..., 1] - u[..., 1]) - (v[..., 1] - u[..., 1]) * (w[..., 0] - u[..., 0])

    weights = np.stack([area(p, b, c), area(p, c, a), area(p, a, b)]) / area(a, b, c)
    found = np.where((weights >= 0).all(axis=0), weights[0] * a[..., 2] + weights[1] * b[..., 2] + weights[2] * c[..., 2], np.inf)
    lowest: np.ndarray = found.min(axis=1)
    return lowest


def crossings(cloth: AdaptiveCloth) -> int:
    """Edges that cross triangles without a common vertex, by signs of volumes: NumPy, and rational numbers for what it finds."""
    x, t = cloth.positions, cloth.triangles
    e = np.asarray(cloth.mesh.edges)
    low, high = x[t].min(axis=1), x[t].max(axis=1)
    elow, ehigh = x[e].min(axis=1), x[e].max(axis=1)
    found = 0
    for k in range(0, len(e), 512):
        rows = slice(k, k + 512)
        near = (elow[rows, None] <= high[None]).all(axis=2) & (ehigh[rows, None] >= low[None]).all(axis=2)
        i, j = np.nonzero(near)
        i += k
        apart = (e[i][:, :, None] != t[j][:, None, :]).all(axis=(1, 2))
        i, j = i[apart], j[apart]
        p, q, a, b, c = x[e[i, 0]], x[e[i, 1]], x[t[j, 0]], x[t[j, 1]], x[t[j, 2]]

        def volume(o: np.ndarray, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", u - o, np.cross(v - o, w - o))

        sides = volume(p, a, b, c) * volume(q, a, b, c) <= 1e-30
        turns = np.stack([volume(p, q, a, b), volume(p, q, b, c), volume(p, q, c, a)])
        doubtful = sides & ((turns > -1e-15).all(axis=0) | (turns < 1e-15).all(axis=0))
        found += sum(crosses(x[e[m]], x[t[n]]) for m, n in zip(i[doubtful], j[doubtful], strict=True))
    return found


def crosses(edge: np.ndarray, triangle: np.ndarray) -> bool:
    """Whether an edge crosses a triangle, by signs of volumes in rational numbers."""
    p, q, a, b, c = ([Fraction(float(v)) for v in point] for point in (*edge, *triangle))

    def sign(o: list[Fraction], u: list[Fraction], v: list[Fraction], w: list[Fraction]) -> int:
        (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = ([m - n for m, n in zip(s, o, strict=True)] for s in (u, v, w))
        d = ux * (vy * wz - vz * wy) + uy * (vz * wx - vx * wz) + uz * (vx * wy - vy * wx)
        return (d > 0) - (d < 0)

    turns = {sign(p, q, a, b), sign(p, q, b, c), sign(p, q, c, a)}
    return sign(p, a, b, c) * sign(q, a, b, c) < 0 and len(turns) == 1 and 0 not in turns


def test_energy_of_the_material_does_not_depend_on_the_mesh() -> None:
    """A cylinder, remeshed: its bending energy is B / 2 per area and radius squared; measured 1.023 times that."""
    material = ClothMaterial(bending=1e-3, poissons_ratio=0.0)
    cloth = sheet(24, (1.0, 0.5), edges=(0.01, 0.06), material=material, options=RemeshOptions(turn=8))
    for _ in range(5):
        s = cloth.rest[:, 0] / 0.4
        cloth.positions = np.stack([0.4 * np.sin(s), cloth.rest[:, 1], 0.4 * (1 - np.cos(s))], axis=1)
        cloth.remesh()
    assert cloth.generation >= 1
    assert cloth.forces[1].energy(cloth.positions) == pytest.approx(0.5 * 1e-3 / 0.4**2 * 0.5, rel=0.04)


def test_copies_pickles_and_snapshots_of_other_meshes() -> None:
    cloth = sheet(8)
    cloth.pin([0, 3])
    cylinder(cloth, 0.1)
    start = cloth.snapshot()
    cloth.remesh()
    cloth.step(1e-4, "implicit-euler")
    later = cloth.snapshot()
    twins = [cloth.copy(), copy.deepcopy(cloth), pickle.loads(pickle.dumps(cloth))]
    for twin in twins:
        for other in (cloth, twin):
            other.restore(later)
            other.remesh()
            other.step(1e-4, "implicit-euler")
        np.testing.assert_array_equal(twin.positions, cloth.positions)
        np.testing.assert_array_equal(twin.triangles, cloth.triangles)
        np.testing.assert_array_equal(twin.constrained, cloth.constrained)
    size = len(cloth)
    cloth.restore(start)
    assert len(cloth) == 81 < size
    np.testing.assert_array_equal(cloth.constrained, [0, 3])
    cloth.step(1e-4, "implicit-euler")
    broken = dict(later)
    broken["time"] = "late"
    before = cloth.snapshot()
    with pytest.raises((TypeError, ValueError)):
        cloth.restore(broken)
    np.testing.assert_array_equal(cloth.positions, before["positions"])
    np.testing.assert_array_equal(cloth.triangles, before["sheet"]["triangles"])


def test_bits_do_not_depend_on_threads() -> None:
    def run() -> list[np.ndarray]:
        cloth = sheet(40, (1.0, 0.5), edges=(0.01, 0.2))
        for _ in range(2):
            cylinder(cloth, 0.07)
            cloth.remesh()
        return [cloth.positions.copy(), cloth.triangles.copy(), cloth.velocities.copy(), cloth.forces_at_nodes()]

    everywhere(run)


def test_bad_arguments_are_refused() -> None:
    mesh = ms.mesh.cloth_mesh(4, 4)
    triangles = mesh.triangles.copy()
    triangles[3] = triangles[3, ::-1]
    turned = ms.mesh.TriangleMesh(mesh.vertices, triangles)
    with pytest.raises(ValueError, match="positive at rest, but 1 are not, the first 3"):
        AdaptiveCloth(turned, mesh.vertices[:, :2].copy())
    with pytest.raises(ValueError, match="pass them in opposite directions"):
        AdaptiveCloth(ms.mesh.TriangleMesh(mesh.vertices, np.concatenate([mesh.triangles, mesh.triangles[:1]])))
    with pytest.raises(ValueError, match="the shortest and the longest"):
        AdaptiveCloth(mesh, edges=(0.1, 0.01))
    with pytest.raises(ValueError, match="rest must have a row for each"):
        AdaptiveCloth(mesh, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="finite"):
        AdaptiveCloth(mesh, np.full((25, 2), np.nan))
    with pytest.raises(ValueError, match="not flat"):
        AdaptiveCloth(ms.mesh.icosphere(1))
    with pytest.raises(ValueError, match="poissons_ratio"):
        ClothMaterial(poissons_ratio=1.0)
    with pytest.raises(ValueError, match="longest must be between"):
        RemeshOptions(bounds=(0.7, 0.9))
    cloth = AdaptiveCloth(mesh)
    with pytest.raises(ValueError, match="values must have shape"):
        cloth.carry(np.zeros(3))
    with pytest.raises(TypeError, match="function of the cloth"):
        cloth.add(ms.solids.Pressure(mesh, 1.0))
    with pytest.raises(ValueError, match="too short for a thickness"):
        ms.solids.World().add(cloth, thickness=0.01)
