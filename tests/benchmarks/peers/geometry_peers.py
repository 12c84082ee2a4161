"""Peers of the geometry benchmark: SciPy's search tree, sparse products and Qhull, VTK's locators, Embree through trimesh."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms

ROUNDS = 3
# VTK is asked ray by ray and point by point from Python, which is most of its time.
FEW = 20_000


def _peer(library: str, distribution: str, name: str, remark: str) -> Peer:
    return Peer(f"peers/{library}/{name}", f"{library} {version(distribution)}", name, remark)


def _module(peer: Peer, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        peer.unavailable = f"not importable: {error}"
        return None


def _case(peer: Peer, work: int, unit: str, run: Any) -> Case:
    return Case(peer.name, "peers", work, unit, run, threads=(1,), rounds=ROUNDS, parameters={"items": work})


def box_pairs(centers: np.ndarray, side: float) -> Peer:
    """Boxes of one size overlap where their centres are that close in the maximum norm."""
    peer = _peer("scipy", "scipy", "geometry/hash/boxes", "cKDTree and query_pairs in the maximum norm, for boxes of one size; not sorted")
    spatial = _module(peer, "scipy.spatial")
    if spatial is None:
        return peer

    def run() -> np.ndarray:
        return np.asarray(spatial.cKDTree(centers).query_pairs(side, p=np.inf, output_type="ndarray"))

    boxes = np.ascontiguousarray(np.stack([centers - side / 2, centers + side / 2], axis=1))
    theirs, ours = run(), ms.collision.overlapping_boxes(boxes)
    peer.compare(np.array([len(theirs)]), np.array([len(ours)]))
    peer.case = _case(peer, len(centers), "Mbox/s", run)
    return peer


def sparse_positions(embedding: ms.mesh.Embedding, mesh: ms.mesh.TetMesh, points: np.ndarray) -> Peer:
    """The weights as a matrix."""
    peer = _peer("scipy", "scipy", "geometry/embedding/positions", "product with a sparse matrix of the weights (CSR)")
    sparse = _module(peer, "scipy.sparse")
    if sparse is None:
        return peer
    rows = np.repeat(np.arange(len(points)), embedding.parents.shape[1])
    shape = (len(points), len(mesh.vertices))
    matrix = sparse.csr_matrix((np.asarray(embedding.weights, float).ravel(), (rows, embedding.parents.ravel())), shape=shape)
    x = mesh.vertices * 1.1
    peer.compare(matrix @ x, embedding.positions(x))
    peer.case = _case(peer, len(points), "Mpoint/s", lambda: matrix @ x)
    return peer


def delaunay_tets(name: str, points: np.ndarray) -> Peer:
    """The same tetrahedra where no more than four points lie on a sphere; of a lattice, flat ones too."""
    peer = _peer("scipy", "scipy", name, "Qhull by scipy.spatial.Delaunay, which joggles nothing and lists flat tetrahedra of lattices too")
    spatial = _module(peer, "scipy.spatial")
    if spatial is None:
        return peer

    def run() -> np.ndarray:
        return np.asarray(spatial.Delaunay(points).simplices)

    def volume(tets: np.ndarray) -> np.ndarray:
        a, b, c, d = (points[tets[:, k]] for k in range(4))
        return np.abs(np.einsum("nd,nd->n", b - a, np.cross(c - a, d - a))).sum(keepdims=True) / 6

    peer.compare(volume(run()), volume(ms.mesh.delaunay(points).tets))
    peer.case = _case(peer, len(points), "Mpoint/s", run)
    return peer


def vtk_rays(vertices: np.ndarray, triangles: np.ndarray, a: np.ndarray, b: np.ndarray) -> Peer:
    """First hits of the segments, one by one."""
    peer = _peer("vtk", "vtk", "geometry/rays/cast", f"vtkStaticCellLocator, {FEW} segments one by one from Python")
    core = _module(peer, "vtkmodules.vtkCommonDataModel")
    if core is None:
        return peer
    common = importlib.import_module("vtkmodules.vtkCommonCore")
    locator = core.vtkStaticCellLocator()
    surface = _grid(core.vtkPolyData(), vertices, triangles, "SetPolys")
    locator.SetDataSet(surface)
    locator.BuildLocator()
    t, x, p, sub, cell = common.reference(0.0), [0.0] * 3, [0.0] * 3, common.reference(0), common.reference(0)
    few = list(zip(a[:FEW].tolist(), b[:FEW].tolist(), strict=True))

    def run() -> list[bool]:
        return [locator.IntersectWithLine(p0, p1, 0.0, t, x, p, sub, cell) != 0 for p0, p1 in few]

    ours = ms.collision.ThickSurface(vertices, triangles, 1e-6).classify(a[:FEW], b[:FEW]) != ms.collision.VISIBLE
    peer.compare(np.array([np.mean(run())]), np.array([ours.mean()]))
    peer.case = _case(peer, len(few), "Mray/s", run)
    return peer


def embree_rays(vertices: np.ndarray, triangles: np.ndarray, a: np.ndarray, b: np.ndarray) -> Peer:
    """First hits of rays (without an end), all at once."""
    peer = _peer("embree", "embreex", "geometry/rays/cast", "through trimesh, single precision, rays without an end")
    trimesh = _module(peer, "trimesh")
    if trimesh is None:
        return peer
    if not trimesh.ray.has_embree:
        peer.unavailable = "not importable: trimesh finds no embreex"
        return peer
    mesh = trimesh.Trimesh(vertices, triangles, process=False)
    ways = b - a
    peer.case = _case(peer, len(a), "Mray/s", lambda: mesh.ray.intersects_first(a, ways))
    return peer


def vtk_location(name: str, mesh: ms.mesh.TetMesh, points: np.ndarray) -> Peer:
    """The cell of each point, one by one."""
    peer = _peer("vtk", "vtk", name, f"vtkStaticCellLocator.FindCell, {FEW} points one by one from Python")
    core = _module(peer, "vtkmodules.vtkCommonDataModel")
    if core is None:
        return peer
    locator = core.vtkStaticCellLocator()
    grid = _grid(core.vtkUnstructuredGrid(), mesh.vertices, mesh.tets, core.VTK_TETRA)
    locator.SetDataSet(grid)
    locator.BuildLocator()
    few = points[:: max(1, len(points) // FEW)][:FEW]
    listed = few.tolist()

    def run() -> list[int]:
        return [locator.FindCell(p) for p in listed]

    ours = ms.collision.TetLocator(mesh.vertices, mesh.tets, overlapping=False).locate(np.ascontiguousarray(few)).tets
    # The share of points whose tetrahedron is another one: VTK's has a tolerance.
    peer.compare(np.array([np.mean(np.asarray(run()) != ours)]), np.zeros(1))
    peer.case = _case(peer, len(few), "Mpoint/s", run)
    return peer


def _grid(data: Any, vertices: np.ndarray, elements: np.ndarray, kind: Any) -> Any:
    core = importlib.import_module("vtkmodules.vtkCommonDataModel")
    common = importlib.import_module("vtkmodules.vtkCommonCore")
    support = importlib.import_module("vtkmodules.util.numpy_support")
    points = common.vtkPoints()
    points.SetData(support.numpy_to_vtk(vertices, deep=True))
    data.SetPoints(points)
    n, k = elements.shape
    cells = core.vtkCellArray()
    offsets, corners = np.arange(0, k * n + 1, k, dtype=np.int64), elements.astype(np.int64).ravel()
    cells.SetData(*(support.numpy_to_vtkIdTypeArray(x, deep=True) for x in (offsets, corners)))
    if kind == "SetPolys":
        data.SetPolys(cells)
    else:
        data.SetCells(kind, cells)
    return data
