"""Meshes of level sets and surfaces: angles, topology, volume, distance to the surface, enclosing meshes, errors."""

import warnings

import numpy as np
import pytest
from support.meshes import box, real_mesh

import meniscus as ms

LEAST, LARGEST = 10.0, 165.0
BALL = ms.surface.Sphere((0.1, 0.0, -0.05), 1.0)


def require_sound(mesh: ms.mesh.TetMesh) -> None:
    """Positive volumes, at most two tetrahedra at a face, a boundary that is a closed manifold, all vertices used."""
    assert mesh.volumes.min() > 0
    assert len(mesh.flipped_faces) == 0
    assert len(mesh.used_vertices) == len(mesh.vertices)
    report = ms.mesh.check_watertight(mesh.vertices, np.ascontiguousarray(mesh.boundary.triangles))
    assert report.watertight
    assert len(mesh.boundary.pinched_vertices) == 0


def samples(vertices: np.ndarray, triangles: np.ndarray, spacing: float) -> np.ndarray:
    """Points of all triangles, no farther from each other than a spacing."""
    x = vertices[triangles]
    longest = max(np.linalg.norm(x[:, i] - x[:, i - 1], axis=1).max() for i in range(3))
    parts = []
    for low in range(0, 12):
        lengths = np.max([np.linalg.norm(x[:, i] - x[:, i - 1], axis=1) for i in range(3)], axis=0)
        n = 2**low
        chosen = (lengths <= n * spacing) & ((lengths > n * spacing / 2) | (low == 0))
        i, j = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        i, j = i[i + j <= n] / n, j[i + j <= n] / n
        y = x[chosen]
        parts.append((y[:, None, 0] * (1 - i - j)[:, None] + y[:, None, 1] * i[:, None] + y[:, None, 2] * j[:, None]).reshape(-1, 3))
        if n * spacing > longest:
            break
    return np.concatenate(parts)


def hausdorff(mesh: ms.mesh.TetMesh, surface: ms.surface.MeshDistance, spacing: float) -> float:
    """Distance of the boundary and the surface in both directions, m, by dense samples."""
    skin = mesh.boundary.compacted()[0]
    there = samples(skin.vertices, skin.triangles, spacing)
    back = samples(surface.vertices, surface.triangles, spacing)
    boundary = ms.surface.MeshDistance(np.array(skin.vertices), np.array(skin.triangles))
    one = np.abs(surface.signed_distance(there)).max()
    other = np.abs(boundary.signed_distance(back)).max()
    return float(max(one, other))


@pytest.mark.parametrize("refine", [0, 1, 2])
@pytest.mark.parametrize("keep", ["covering", "centred"])
def test_uncompressed_ball(refine: int, keep: str) -> None:
    """Angles of the lattice, a sound boundary, and the topology of a ball."""
    mesh = ms.surface.bcc_mesh(BALL, 0.4, refine=refine, keep=keep)
    require_sound(mesh)
    quality = mesh.quality()
    bounds = (60, 90) if refine == 0 else (30, 116.5650511770780)
    assert quality.smallest_angle.min() >= bounds[0] - 1e-9
    assert quality.largest_angle.max() <= bounds[1] + 1e-9
    assert mesh.euler_characteristic == 1
    assert mesh.components == 1


def test_a_shell_has_euler_characteristic_two() -> None:
    """A thick hollow sphere, fitted or not."""
    shell = ms.surface.Sphere((0, 0, 0), 1.0) - ms.surface.Sphere((0, 0, 0), 0.5)
    for compress in (False, True):
        mesh = ms.surface.bcc_mesh(shell, 0.2, compress=compress)
        require_sound(mesh)
        assert mesh.euler_characteristic == 2
        assert mesh.boundary.components == 2


def test_volumes_converge() -> None:
    """That of the covering mesh from above, that of the fitted one faster."""
    exact = 4 / 3 * np.pi
    covering, centred, fitted = [], [], []
    for cell in (0.4, 0.2, 0.1):
        covering.append(ms.surface.bcc_mesh(BALL, cell).volume() - exact)
        centred.append(abs(ms.surface.bcc_mesh(BALL, cell, keep="centred").volume() - exact))
        fitted.append(exact - ms.surface.bcc_mesh(BALL, cell, compress=True).volume())
    assert covering[0] > 1.6 * covering[1] > 2.5 * covering[2] > 0
    assert max(centred) < 0.1
    assert fitted[0] > 3 * fitted[1] > 9 * fitted[2] > 0


def test_covering_mesh_holds_the_solid(rng: np.random.Generator) -> None:
    """Every point of the ball lies in a tetrahedron."""
    mesh = ms.surface.bcc_mesh(BALL, 0.3)
    x = rng.normal(size=(4000, 3))
    x *= (rng.uniform(size=4000) ** (1 / 3) / np.linalg.norm(x, axis=1))[:, None]
    x += np.array(BALL.center)
    inside = np.zeros(len(x), bool)
    for t in mesh.tets:
        corners = mesh.vertices[t]
        b = np.linalg.solve((corners[1:] - corners[0]).T, (x - corners[0]).T)
        inside |= (b >= -1e-9).all(axis=0) & (b.sum(axis=0) <= 1 + 1e-9)
    assert inside.all()


@pytest.mark.parametrize("seed", range(8))
def test_fitted_angles_hold_for_any_level_set(seed: int) -> None:
    """The bound holds for every surface: noise at the scale of the lattice, turned planes."""
    rng = np.random.default_rng(seed)
    k, shift = rng.normal(size=(40, 3)) * 8, rng.uniform(0, 2 * np.pi, 40)

    def noise(x: np.ndarray) -> np.ndarray:
        return 0.05 * np.sin(x @ k.T + shift).sum(axis=1)

    mesh = ms.surface.bcc_mesh(noise, 0.25, compress=True, bounds=((-1, -1, -1), (1, 1, 1)), refine=seed % 2)
    require_sound(mesh)
    assert len(mesh.tets) > 1000
    quality = mesh.quality()
    assert quality.smallest_angle.min() >= LEAST
    assert quality.largest_angle.max() <= LARGEST


def test_fitted_vertices_lie_on_the_surface() -> None:
    """All vertices of the boundary, up to the tolerance of the roots; graded inside."""
    mesh = ms.surface.bcc_mesh(BALL, 0.4, compress=True, refine=2)
    require_sound(mesh)
    skin = np.unique(mesh.boundary.triangles)
    assert np.abs(BALL.signed_distance(mesh.vertices[skin])).max() < 1e-8
    assert mesh.volumes.max() > 7.9 * np.median(mesh.volumes)
    quality = mesh.quality()
    assert quality.smallest_angle.min() >= LEAST
    assert quality.largest_angle.max() <= LARGEST


def test_sources_agree() -> None:
    """A shape, a function and a fine sphere mesh give the same lattice mesh; a level set on a grid a similar one."""
    shape = ms.surface.bcc_mesh(BALL, 0.3)
    function = ms.surface.bcc_mesh(BALL.signed_distance, 0.3, bounds=((-0.9, -1, -1.05), (1.1, 1, 0.95)))
    assert shape == function
    grid = ms.grid.Grid((48, 48, 48), 0.05, origin=(-1.2, -1.2, -1.2))
    c = BALL.center
    level_set = ms.surface.LevelSet.from_function(grid, lambda x, y, z: np.sqrt((x - c[0]) ** 2 + (y - c[1]) ** 2 + (z - c[2]) ** 2) - 1)
    sampled = ms.surface.bcc_mesh(level_set, 0.3, compress=True)
    assert sampled.volume() == pytest.approx(ms.surface.bcc_mesh(BALL, 0.3, compress=True).volume(), rel=0.01)
    sphere = ms.mesh.icosphere(4)
    assert ms.surface.bcc_mesh(sphere, 0.3, compress=True).volume() == pytest.approx(sphere.volume(), rel=0.04)


def test_options() -> None:
    """The largest part, and what is deeper than a bound."""
    two = BALL | ms.surface.Sphere((3.0, 0.0, 0.0), 0.5)
    assert ms.surface.bcc_mesh(two, 0.2).components == 2
    alone = ms.surface.bcc_mesh(two, 0.2, largest_part_only=True)
    assert alone == ms.surface.bcc_mesh(BALL, 0.2)
    whole, hollow = ms.surface.bcc_mesh(BALL, 0.1), ms.surface.bcc_mesh(BALL, 0.1, depth=0.4)
    require_sound(hollow)
    assert hollow.euler_characteristic == 2
    kept = {tuple(x) for x in hollow.vertices[hollow.tets].mean(axis=1).tolist()}
    centres = whole.vertices[whole.tets].mean(axis=1)
    deep = (BALL.signed_distance(whole.vertices)[whole.tets] < -0.4).all(axis=1)
    assert [tuple(c) in kept for c in centres.tolist()] == (~deep).tolist()
    with pytest.warns(ms.surface.DeviationWarning, match="the mesh is empty: no cell of 0.5 m fits into the solid"):
        empty = ms.surface.bcc_mesh(lambda x: np.ones(len(x)), 0.5, bounds=((0, 0, 0), (1, 1, 1)))
    assert empty.tets.shape == (0, 4)


def test_same_bits_on_any_number_of_threads() -> None:
    """Meshes are equal, numbers and positions."""
    before, made = ms.num_threads(), []
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.set_num_threads(threads)
            made.append(ms.surface.bcc_mesh(ms.mesh.icosphere(3), 0.3, compress=True, refine=1))
    finally:
        ms.set_num_threads(before)
    assert all(m == made[0] for m in made[1:])


def test_enclosing_mesh_holds_all_points(rng: np.random.Generator) -> None:
    """The offset is the smallest that encloses with the margin; hairs that are too long go into a capsule of their own."""
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    hairs = np.concatenate([np.array(BALL.center) + s * directions for s in (1.0, 1.1, 1.2)])
    offset = ms.surface.enclosing_offset(BALL, hairs, 0.1)
    assert offset == pytest.approx(0.3, abs=1e-12)
    cell = 0.2
    mesh = ms.surface.enclosing_mesh(BALL, hairs, cell)
    locator = ms.collision.TetLocator(np.array(mesh.vertices), np.array(mesh.tets))
    assert (locator.locate(hairs).tets >= 0).all()
    trimmed = ms.surface.enclosing_mesh(BALL, hairs, cell, depth=2 * cell)
    locator = ms.collision.TetLocator(np.array(trimmed.vertices), np.array(trimmed.tets))
    assert (locator.locate(hairs).tets >= 0).all()
    assert trimmed.components == 1
    assert trimmed.euler_characteristic == 2
    outer = {tuple(sorted(map(tuple, f))) for f in mesh.vertices[mesh.boundary.triangles].tolist()}
    assert outer <= {tuple(sorted(map(tuple, f))) for f in trimmed.vertices[trimmed.boundary.triangles].tolist()}
    long = np.concatenate([hairs, np.stack([np.linspace(1.1, 2.5, 30), np.zeros(30), np.full(30, -0.05)], axis=1)])
    custom = ms.surface.Capsule((1.0, 0.0, -0.05), (2.6, 0.0, -0.05), 0.3)
    with_custom = ms.surface.enclosing_mesh(BALL, long, cell, custom=custom)
    assert with_custom.volume() < ms.surface.enclosing_mesh(BALL, long, cell).volume() / 3
    locator = ms.collision.TetLocator(np.array(with_custom.vertices), np.array(with_custom.tets))
    assert (locator.locate(long).tets >= 0).all()
    with pytest.raises(ValueError, match="offset must enclose all points"):
        ms.surface.enclosing_mesh(BALL, long, cell, offset=0.2)


# Cell sizes that resolve the surfaces: parts of the longest side of the box, and how often they are halved at the surface.
REAL = {"spot": (1 / 12, 3), "rocker-arm": (1 / 8, 4), "fandisk": (1 / 8, 4)}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_surfaces_are_fitted(name: str) -> None:
    """No dihedral angle below 10 degrees, and within 0.05 cells of the surface in both directions."""
    vertices, triangles = real_mesh(name)
    surface = ms.surface.MeshDistance(vertices, triangles)
    part, refine = REAL[name]
    cell = part * float((vertices.max(axis=0) - vertices.min(axis=0)).max())
    mesh = ms.surface.bcc_mesh(surface, cell, refine=refine, compress=True)
    require_sound(mesh)
    quality = mesh.quality()
    assert quality.smallest_angle.min() >= LEAST
    assert quality.largest_angle.max() <= LARGEST
    distance = hausdorff(mesh, surface, 0.02 * cell)
    assert distance <= 0.05 * cell
    assert ms.surface.hausdorff_distance(mesh.boundary, surface, 0.02 * cell).distance == pytest.approx(distance, abs=0.005 * cell)


def test_hausdorff_distance_of_known_surfaces() -> None:
    """Concentric cubes, and a square beside half of it: both directions differ."""
    inner, outer = (ms.mesh.TriangleMesh(*box((-r,) * 3, (r,) * 3)) for r in (1.0, 1.25))
    found = ms.surface.hausdorff_distance(inner, outer, 0.1)
    assert found.forward == pytest.approx(0.25, rel=1e-12)
    assert found.backward == pytest.approx(0.25 * np.sqrt(3), rel=1e-12)
    assert found.distance == found.backward
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    whole = ms.mesh.TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]], np.int32))
    half = ms.mesh.TriangleMesh(corners, np.array([[0, 1, 2]], np.int32))
    assert ms.surface.hausdorff_distance(half, whole, 0.1).forward == 0
    assert ms.surface.hausdorff_distance(whole, half, 0.1).forward == pytest.approx(np.sqrt(0.5), rel=1e-12)


def test_skin_morph_follows_the_skin(rng: np.random.Generator) -> None:
    """Exact for affine motions of a polyhedral skin, up to how well boundary vertices lie on it."""
    skin = ms.mesh.icosphere(2)
    mesh = ms.surface.bcc_mesh(skin, 0.25, compress=True)
    matrix = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
    moved = ms.surface.skin_morph(mesh, skin, np.ascontiguousarray(skin.vertices @ (matrix - np.eye(3)).T + [1, 2, 3]))
    np.testing.assert_allclose(mesh.vertices + moved, mesh.vertices @ matrix.T + [1, 2, 3], atol=1e-7)
    with pytest.raises(ValueError, match="one row per vertex of the skin"):
        ms.surface.skin_morph(mesh, skin, np.zeros((3, 3)))


@pytest.mark.slow
def test_bunny_is_reported_and_meshed_by_the_winding_number() -> None:
    """A scan with holes: a warning names them, the mesh is sound."""
    vertices, triangles = real_mesh("stanford-bunny")
    with pytest.warns(ms.surface.NotWatertightWarning, match="hole"):
        surface = ms.surface.MeshDistance(vertices, triangles)
    cell = float((vertices.max(axis=0) - vertices.min(axis=0)).max()) / 24
    scan = ms.mesh.TriangleMesh(vertices, triangles)
    with pytest.raises(ValueError, match="surface must be watertight, but has 5 holes"):
        ms.surface.bcc_mesh(scan, cell)
    with pytest.warns(ms.surface.NotWatertightWarning, match="winding number"):
        asked = ms.surface.bcc_mesh(scan, cell, holes="winding-number")
    assert asked == ms.surface.bcc_mesh(surface, cell)
    for compress in (False, True):
        mesh = ms.surface.bcc_mesh(surface, cell, compress=compress)
        require_sound(mesh)
        assert mesh.components == 1
        assert mesh.euler_characteristic == 1
        assert mesh.quality().smallest_angle.min() >= LEAST


def test_refuses_what_makes_no_sense() -> None:
    """Errors name the argument."""
    with pytest.raises(ValueError, match="needs bounds"):
        ms.surface.bcc_mesh(lambda x: x[:, 0], 0.1)
    with pytest.raises(ValueError, match="not bounded"):
        ms.surface.bcc_mesh(~BALL, 0.1)
    with pytest.raises(ValueError, match="3-D"):
        ms.surface.bcc_mesh(ms.surface.Sphere((0, 0), 1.0), 0.1)
    with pytest.raises(ValueError, match="cell_size"):
        ms.surface.bcc_mesh(BALL, -1.0)
    with pytest.raises(ValueError, match="refine must be below 32, not 40"):
        ms.surface.bcc_mesh(BALL, 0.5, refine=40)
    with pytest.raises(ValueError, match="keep"):
        ms.surface.bcc_mesh(BALL, 0.5, keep="some")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="surface must be"):
        ms.surface.bcc_mesh(3.0, 0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="finite"):
        ms.surface.bcc_mesh(lambda x: np.full(len(x), np.nan), 0.5, bounds=((0, 0, 0), (1, 1, 1)))
    with pytest.raises(ValueError, match="larger cell size"):
        ms.surface.bcc_mesh(BALL, 1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ms.surface.bcc_mesh(BALL, 5.0).tets) > 0


def test_a_box_on_lattice_planes_is_exact() -> None:
    """Nodes on the surface are on neither side: nothing beyond them is taken, and the fitted mesh is the box itself, far away too."""
    cube = ms.surface.Box((1000.0, 0.0, 0.0), (1001.0, 1.0, 1.0))
    fitted = ms.surface.bcc_mesh(cube, 0.25, compress=True)
    require_sound(fitted)
    assert fitted.volume() == pytest.approx(1, rel=1e-12)
    np.testing.assert_array_equal(fitted.vertices.min(axis=0), (1000, 0, 0))
    np.testing.assert_array_equal(fitted.vertices.max(axis=0), (1001, 1, 1))
    # Around a cube of n^3 cells each boundary face has the four tetrahedra that both of its cubes share.
    covering = ms.surface.bcc_mesh(cube, 0.25)
    assert len(covering.tets) == 4 * 3 * 4 * 4 * 5
    everything = ms.surface.bcc_mesh(lambda x: -np.ones(len(x)), 0.3, bounds=((0, 0, 0), (1, 1, 1)), compress=True)
    require_sound(everything)
    assert everything.volume() == pytest.approx(1, rel=0.01)
