"""Fields: memory shared with NumPy, assignment, copies, pickles and restoring."""

import copy
import gc
import pickle

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits

import meniscus as ms

KINDS = ["cell", "node"]


def address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_array_and_ghosts_are_views_of_one_block(kind: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    f = random_scalar(kind, grid_of(dimension), dtype, rng)
    g, a, w = ms.grid.GHOST_WIDTH, f.array, f.with_ghosts
    assert g == 3
    assert a.dtype == w.dtype == f.dtype == dtype
    assert a.shape == f.shape == tuple(n + (kind == "node") for n in f.grid.shape)
    assert w.shape == tuple(n + 2 * g for n in a.shape)
    assert w.flags.c_contiguous
    assert a.flags.writeable
    assert w.flags.writeable
    inside = w[(slice(g, -g),) * dimension]
    assert (address(inside), inside.strides) == (address(a), a.strides)
    assert address(f.array) == address(a)
    assert address(f.with_ghosts) == address(w)
    a[(0,) * dimension] = 7.5
    assert w[(g,) * dimension] == f.array[(0,) * dimension] == 7.5
    w[(-g - 1,) * dimension] = -2.5
    assert f.array[(-1,) * dimension] == -2.5


def test_mac_components_are_views_of_their_blocks(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng)
    g = ms.grid.GHOST_WIDTH
    for d, name in enumerate("uvw"[:dimension]):
        c = getattr(v, name)
        assert c.shape == tuple(n + (a == d) for a, n in enumerate(v.grid.shape))
        assert address(c) == address(getattr(v, name)) == address(v.component(d))
        inside = v.component_with_ghosts(d)[(slice(g, -g),) * dimension]
        assert (address(inside), inside.strides, inside.shape) == (address(c), c.strides, c.shape)
    assert len({address(v.component(d)) for d in range(dimension)}) == dimension


def test_2d_velocity_has_no_w() -> None:
    v = ms.MacField(grid_of(2))
    with pytest.raises(AttributeError, match="u and v only"):
        _ = v.w
    with pytest.raises(AttributeError, match="u and v only"):
        v.w = np.zeros(3)
    with pytest.raises(ValueError, match="axis must be below 2"):
        v.component(2)
    with pytest.raises(ValueError, match="axis must be below 2"):
        v.component_with_ghosts(2)
    with pytest.raises(ValueError, match="axis must be at least 0"):
        v.component(-1)


@pytest.mark.parametrize("method", ["upwind", "semi-lagrangian", "bfecc", "maccormack"])
def test_views_survive_many_steps(method: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    f, v = random_scalar("cell", g, dtype, rng), random_velocity(g, dtype, rng)
    view, faces = f.array, [v.component(d) for d in range(dimension)]
    before = [address(view), *map(address, faces)]
    for step in range(20):
        ms.grid.advect(f, v, 0.3 * g.spacing, method=method)
        if step % 4 == 0:
            ms.grid.advect(v, v, 0.3 * g.spacing, method=method)
    assert [address(f.array), *(address(v.component(d)) for d in range(dimension))] == before
    assert same_bits(view, f.array)
    assert same_bits(faces, components(v))
    view[...] = 3.0
    assert (f.copy().array == 3.0).all()


@pytest.mark.parametrize("make", [ms.CellField, ms.NodeField, ms.MacField])
def test_a_view_keeps_memory_alive(make: type, dtype: type) -> None:
    gc.collect()
    start = ms.core.block_bytes()
    f = make(grid_of(3), dtype)
    assert ms.core.block_bytes() > start
    view = f.u if make is ms.MacField else f.array
    view[...] = 4.25
    total, count = float(view.sum()), view.size
    del f
    gc.collect()
    held = ms.core.block_bytes() - start
    assert held >= view.nbytes
    noise = [ms.CellField(grid_of(3), dtype) for _ in range(20)]
    for n in noise:
        n.array[...] = -1.0
    assert float(view.sum()) == total == 4.25 * count
    row = view[1]
    del view, noise, n
    gc.collect()
    assert ms.core.block_bytes() - start == held
    assert (row == 4.25).all()
    del row
    gc.collect()
    assert ms.core.block_bytes() == start


def test_nothing_leaks(rng: np.random.Generator) -> None:
    g = grid_of(3)
    space = ms.Workspace()

    def work() -> None:
        v = random_velocity(g, np.float64, rng, {"x-": ms.Prescribed(lambda x, t: 0.1 * x), "y+": ms.Wall(lambda x, t: 0.0 * x)})
        f = random_scalar("node", g, np.float64, rng, ms.Prescribed(lambda x, t: x[:, 0] + t))
        ms.grid.advect(f, v, 0.1)
        ms.grid.advect(v, v, 0.1, method="bfecc", workspace=space)
        ms.grid.extrapolate(f, rng.random(f.shape) < 0.1)
        pickle.loads(pickle.dumps(random_scalar("cell", g, np.float32, rng)))
        copy.deepcopy(v)
        f.array = np.full(f.shape, 1.0)
        with pytest.raises(ValueError, match="finite"):
            f.array = np.full(f.shape, np.nan)

    gc.collect()
    start = ms.core.block_bytes()
    for _ in range(5):
        work()
    space.clear()
    gc.collect()
    assert space.nbytes == 0
    assert ms.core.block_bytes() == start


def test_assignment_copies_into_the_view(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    f = ms.CellField(grid_of(dimension), dtype)
    view = f.array
    values = rng.random(f.shape).astype(dtype)
    f.array = values
    assert address(f.array) == address(view)
    assert same_bits(view, values)
    values[...] = 0
    assert not same_bits(view, values)
    f.array = 2
    assert (view == 2).all()
    f.array = np.float32(0.5)
    assert (view == 0.5).all()
    strided = np.asfortranarray(rng.random(f.shape).astype(dtype))[::-1]
    f.array = strided
    assert (view == strided).all()
    f.array = f.array[::-1]
    assert (view == strided[::-1]).all()
    f.array = f.with_ghosts[(slice(3, -3),) * dimension]
    assert (view == strided[::-1]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_assignment_refuses_what_is_not_finite(bad: float, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    f = random_scalar("node", grid_of(dimension), dtype, rng)
    before = f.array.copy()
    values = np.ones(f.shape, dtype)
    index = (2, 3, 1)[:dimension]
    values[index] = bad
    values[-1] = bad
    with pytest.raises(ValueError, match=rf"array must be finite, but \[{', '.join(map(str, index))}\] is"):
        f.array = values
    with pytest.raises(ValueError, match="array must be finite"):
        f.array = bad
    assert same_bits(f.array, before)
    v = random_velocity(f.grid, dtype, rng)
    faces, u = components(v), np.zeros(v.u.shape, dtype)
    u[index] = bad
    with pytest.raises(ValueError, match="u must be finite, but"):
        v.u = u
    assert same_bits(components(v), faces)


def test_assignment_refuses_other_types_and_shapes(dimension: int) -> None:
    g = grid_of(dimension)
    own, other = ("float32", "float64") if dimension == 3 else ("float64", "float32")
    f, v = ms.CellField(g, own), ms.MacField(g, np.float64)
    with pytest.raises(TypeError, match=rf"array must be of dtype {own}, not {other}.*astype"):
        f.array = np.zeros(f.shape, other)
    with pytest.raises(TypeError, match=f"{own}, not int64"):
        f.array = np.zeros(f.shape, np.int64)
    with pytest.raises(ValueError, match=r"array must have shape"):
        f.array = np.zeros((*f.shape[:-1], f.shape[-1] + 1), own)
    with pytest.raises(ValueError, match=r"array must have shape"):
        f.array = np.zeros(f.shape[-1:], own)
    with pytest.raises(TypeError, match="number"):
        f.array = True
    with pytest.raises(TypeError, match="u must be of dtype float64"):
        v.u = v.u.astype(np.float32)
    with pytest.raises(ValueError, match="v must have shape"):
        v.v = v.u


def test_constructors_refuse(dimension: int) -> None:
    g = grid_of(dimension)
    for make in (ms.CellField, ms.NodeField, ms.MacField):
        with pytest.raises(TypeError, match="grid must be a Grid"):
            make((4, 4))
        with pytest.raises(TypeError, match="float32 or float64"):
            make(g, np.int32)
        with pytest.raises(TypeError, match="float32 or float64"):
            make(g, np.float16)
        with pytest.raises(TypeError, match="boundary must be"):
            make(g, boundary=1.0)
        with pytest.raises(ValueError, match="no side 'q-'"):
            make(g, boundary={"q-": ms.Open()})
        with pytest.raises(TypeError, match=r"boundary\['x-'\] must be"):
            make(g, boundary={"x-": "open"})
    if dimension == 2:
        with pytest.raises(ValueError, match="no side 'z-'"):
            ms.CellField(g, boundary={"z-": ms.Open()})


def test_bad_conditions(dimension: int) -> None:
    g = grid_of(dimension)
    with pytest.raises(ValueError, match="slip must be one of 'free', 'no-slip'"):
        ms.Wall(slip="sticky")
    with pytest.raises(ValueError, match="velocity of a Wall"):
        ms.MacField(g, boundary=ms.Wall((1.0,)))
    with pytest.raises(ValueError, match="finite"):
        ms.MacField(g, boundary=ms.Wall((np.nan,) * dimension))
    with pytest.raises(TypeError, match="value of a Prescribed side"):
        ms.MacField(g, boundary=ms.Prescribed(1.0))
    with pytest.raises(TypeError, match="value of a Prescribed side"):
        ms.CellField(g, boundary=ms.Prescribed((1.0,) * dimension))
    with pytest.raises(ValueError, match="value of a Prescribed side"):
        ms.CellField(g, boundary=ms.Prescribed(np.inf))
    with pytest.raises(ValueError, match="pressure of an Open side"):
        ms.CellField(g, boundary=ms.Open(np.nan))


def inflow(x: np.ndarray, t: float) -> np.ndarray:
    return x * (1.0 + t)


@pytest.mark.parametrize("way", ["copy", "copy.copy", "copy.deepcopy", "pickle"])
@pytest.mark.parametrize("kind", ["cell", "node", "mac"])
def test_copies_are_independent(way: str, kind: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=(True, False, False)[:dimension])
    boundary = {"y-": ms.Open(3.0), "y+": ms.Prescribed(inflow) if kind == "mac" else ms.ZeroGradient()}
    f = random_velocity(g, dtype, rng, boundary) if kind == "mac" else random_scalar(kind, g, dtype, rng, boundary)
    make = {
        "copy": lambda a: a.copy(),
        "copy.copy": copy.copy,
        "copy.deepcopy": copy.deepcopy,
        "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    }[way]
    other = make(f)
    assert type(other) is type(f)
    assert (other.grid, other.dtype, other.boundary) == (f.grid, f.dtype, f.boundary)
    before = f.snapshot()
    assert same_bits(other.snapshot(), before)
    f.fill_ghosts(0.5)
    other.fill_ghosts(0.5)
    if kind == "mac":
        assert same_bits(f.component_with_ghosts(1), other.component_with_ghosts(1))
        other.u[...] = 9
    else:
        assert same_bits(f.with_ghosts, other.with_ghosts)
        other.array[...] = 9
    assert same_bits(f.snapshot(), before)
    assert not same_bits(other.snapshot(), before)


def test_a_failing_restore_changes_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng)
    before = v.snapshot()
    other = tuple(np.zeros_like(a) for a in before)
    nan = other[-1].copy()
    nan.flat[3] = np.nan
    wrong_type = other[-1].astype(np.float32 if dtype is np.float64 else np.float64)
    for bad, error in [
        (other[:-1], ValueError),
        (list(other), ValueError),
        (other + other[:1], ValueError),
        ((*other[:-1], nan), ValueError),
        ((*other[:-1], other[-1][..., :-1]), ValueError),
        ((*other[:-1], wrong_type), TypeError),
        (None, ValueError),
    ]:
        with pytest.raises(error, match="snapshot"):
            v.restore(bad)
        assert same_bits(v.snapshot(), before)


def test_repr_says_what_it_is(dimension: int, dtype: type) -> None:
    f = ms.CellField(grid_of(dimension), dtype)
    f.array = 1.5
    cells = "x".join(map(str, f.grid.shape))
    assert repr(f) == f"<CellField {cells} cells, {np.dtype(dtype).name}, values in [1.5, 1.5]>"
    assert "u in [0, 0], v in [0, 0]" in repr(ms.MacField(f.grid, dtype))


def test_new_fields_are_zero_and_name_their_sides(dimension: int, dtype: type) -> None:
    f = ms.NodeField(grid_of(dimension), dtype, {"x+": ms.Open()})
    assert not f.with_ghosts.any()
    sides = [a + s for a in "xyz"[:dimension] for s in "-+"]
    assert list(f.boundary) == sides
    assert f.boundary == {s: ms.Open() if s == "x+" else ms.Wall() for s in sides}
    assert f.on_side == (1,) * dimension
    f.array[...] = sum(f.coordinates())
    assert f.array[(0,) * dimension] == sum(f.grid.origin)
