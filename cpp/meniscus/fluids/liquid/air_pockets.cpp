#include "meniscus/fluids/liquid/air_pockets.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/particles/cell_images.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/extraction/level_set_components.hpp"

#include <algorithm>
#include <vector>

namespace meniscus::fluids {
namespace {

/// What a cell of air belongs to. `undecided`: also all other cells.
enum State : std::uint8_t { undecided, out, enclosed };

/// Labels the connected parts of the air farther than `depth` from the surface, from 1; zero elsewhere. Returns their number.
template <class T, int D>
Index label_air(const grid::Field<T, D>& levelset, const std::uint8_t* outside, double depth, grid::Field<T, D>& scratch,
                std::int32_t* labels, Workspace& workspace) {
  const grid::FieldView<const T, D> phi = levelset.view();
  const grid::FieldView<T, D> to = scratch.view();
  const Index length = phi.extents[D - 1];
  grid::parallel_rows<D>(phi.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = grid::row_start<D>(phi.extents, r);
      const T* from = phi.at(c);
      T* row = to.at(c);
      const std::uint8_t* seen = outside ? outside + r * length : nullptr;
      for (Index k = 0; k < length; ++k) row[k] = from[k] > static_cast<T>(depth) && (!seen || seen[k]) ? T(-1) : T(1);
    }
  });
  return surface::label_components(scratch, false, labels, workspace).inside;
}

/// The parts that are outside: those at open sides, or the largest if none is there.
template <int D>
std::vector<std::uint8_t> parts_outside(const Coord<D>& cells, const std::int32_t* labels, Index parts,
                                        const std::array<bool, 2 * D>& open_sides) {
  std::vector<Index> size(static_cast<std::size_t>(parts) + 1, 0);
  std::vector<std::uint8_t> is_out(size.size(), 0);
  const Coord<D> strides = c_strides<D>(cells);
  const Index n = product<D>(cells);
  for (Index i = 0; i < n; ++i) {
    if (labels[i] == 0) continue;
    const auto part = static_cast<std::size_t>(labels[i]);
    ++size[part];
    for (std::size_t d = 0; d < D; ++d) {
      const Index at = i / strides[d] % cells[d];
      if ((at == 0 && open_sides[2 * d]) || (at == cells[d] - 1 && open_sides[2 * d + 1])) is_out[part] = 1;
    }
  }
  if (parts > 0 && std::find(is_out.begin(), is_out.end(), 1) == is_out.end())
    is_out[static_cast<std::size_t>(std::max_element(size.begin() + 1, size.end()) - size.begin())] = 1;
  return is_out;
}

/// Encloses again what only a neck connects with the outside. A pocket of before has opened if a wide neck leads out of it. Else
/// cells belong to what they are nearer to: the outside as far as it can be reached without necks (`wide`: labels of the parts
/// of the air away from the surface, `is_out`: of those), or what was a pocket.
template <int D>
void close_necks(const grid::Grid<D>& grid, const std::int32_t* labels, const std::int32_t* wide,
                 const std::vector<std::uint8_t>& is_out, const std::uint8_t* before, State* state, Workspace& workspace) {
  const Coord<D> cells = grid.local_shape();
  const Index n = product<D>(cells);
  const auto queue = workspace.take<Index>(n);
  Index last = 0;
  bool any_closes = false;
  for (Index i = 0; i < n; ++i) {
    if (state[i] != out) continue;
    const auto part = static_cast<std::size_t>(wide[i]);
    const bool closes = part != 0 && !is_out[part] && before[i];
    any_closes |= closes;
    state[i] = is_out[part] ? out : closes ? enclosed : undecided;
    if (state[i] != undecided) queue.data()[last++] = i;
  }
  if (!any_closes) return;
  const Coord<D> strides = c_strides<D>(cells);
  for (Index first = 0; first < last; ++first) {
    const Index i = queue.data()[first];
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const Index at = i / strides[axis] % cells[axis];
      for (const Index step : {Index{-1}, Index{1}}) {
        const Index to = grid::image_of_cell(grid, d, at + step);
        if (to < 0) continue;
        const Index j = i + (to - at) * strides[axis];
        if (state[j] != undecided || labels[j] == 0) continue;
        state[j] = state[i];
        queue.data()[last++] = j;
      }
    }
  }
}

}  // namespace

template <class T, int D>
Index find_air_pockets(const grid::Field<T, D>& levelset, const std::uint8_t* outside, const std::array<bool, 2 * D>& open_sides,
                       grid::Field<T, D>& scratch, std::uint8_t* pockets, Workspace& workspace) {
  const grid::Grid<D>& grid = levelset.grid();
  grid::require_one_block(grid, "the search for pockets of air");
  require(scratch.grid() == grid && scratch.layout().same_place(levelset.layout()), "scratch must be like the level set");
  const Coord<D> cells = grid.local_shape();
  const Index n = product<D>(cells);
  const auto labels = workspace.take<std::int32_t>(n);
  const Index parts = label_air(levelset, outside, 0.0, scratch, labels.data(), workspace);
  const bool had_pockets = std::any_of(pockets, pockets + n, [](std::uint8_t p) { return p != 0; });
  if (parts == 0 || (parts == 1 && !had_pockets)) {
    std::fill_n(pockets, n, std::uint8_t{0});
    return 0;
  }
  const std::vector<std::uint8_t> is_out = parts_outside<D>(cells, labels.data(), parts, open_sides);
  const auto state = workspace.take<State>(n);
  for (Index i = 0; i < n; ++i) {
    const std::int32_t part = labels.data()[i];
    state.data()[i] = part == 0 ? undecided : is_out[static_cast<std::size_t>(part)] ? out : enclosed;
  }
  if (had_pockets) {
    const auto wide = workspace.take<std::int32_t>(n);
    const Index wide_parts = label_air(levelset, outside, open_neck * grid.spacing(), scratch, wide.data(), workspace);
    close_necks(grid, labels.data(), wide.data(), parts_outside<D>(cells, wide.data(), wide_parts, open_sides), pockets,
                state.data(), workspace);
  }

  // Pockets too small to be resolved are none.
  for (Index i = 0; i < n; ++i) pockets[i] = state.data()[i] == enclosed;
  std::vector<Index> size(static_cast<std::size_t>(parts) + 1, 0);
  for (Index i = 0; i < n; ++i) size[static_cast<std::size_t>(labels.data()[i])] += pockets[i];
  Index least = 1;
  for (int d = 0; d < D; ++d) least *= least_pocket_width;
  Index count = 0;
  for (Index i = 0; i < n; ++i) {
    if (pockets[i] && size[static_cast<std::size_t>(labels.data()[i])] < least) pockets[i] = 0;
    count += pockets[i];
  }
  return count;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template Index find_air_pockets<T, D>(const grid::Field<T, D>&, const std::uint8_t*, const std::array<bool, 2 * D>&, \
                                        grid::Field<T, D>&, std::uint8_t*, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
