#include "meniscus/fluids/liquid/air_pockets.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"
#include "meniscus/parallel/vector_reductions.hpp"
#include "meniscus/surface/extraction/level_set_components.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

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
std::vector<std::uint8_t> parts_outside(const grid::Grid<D>& grid, const std::int32_t* labels, Index parts,
                                        const std::array<bool, 2 * D>& open_sides) {
  struct Part {
    Index size = 0;
    bool is_out = false;
  };
  const Coord<D> cells = grid.local_shape();
  std::vector<Part> found(static_cast<std::size_t>(parts) + 1);
  const Coord<D> strides = c_strides<D>(cells);
  const auto is_open = [&](int axis, int upper) {
    return open_sides[grid::side_index(axis, upper)] && !grid.shared(axis, upper);
  };
  const Index n = product<D>(cells);
  for (Index i = 0; i < n; ++i) {
    if (labels[i] == 0) continue;
    Part& part = found[labels[i]];
    ++part.size;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      const Index at = i / strides[axis] % cells[axis];
      if ((at == 0 && is_open(d, 0)) || (at == cells[axis] - 1 && is_open(d, 1))) part.is_out = true;
    }
  }
  parallel::combine_values(*grid.communicator(), found,
                           [](const Part& a, const Part& b) { return Part{a.size + b.size, a.is_out || b.is_out}; });
  std::vector<std::uint8_t> is_out(found.size());
  std::transform(found.begin(), found.end(), is_out.begin(), [](const Part& p) { return p.is_out; });
  if (parts > 0 && std::find(is_out.begin(), is_out.end(), 1) == is_out.end()) {
    const auto largest =
        std::max_element(found.begin() + 1, found.end(), [](const Part& a, const Part& b) { return a.size < b.size; });
    is_out[largest - found.begin()] = 1;
  }
  return is_out;
}

/// The state of the cells of a block and of one layer around them.
template <int D>
class States {
 public:
  States(const grid::Grid<D>& grid, Workspace& workspace) : cells_(grid.local_shape()) {
    for (std::size_t d = 0; d < D; ++d) layout_.strides[d] = cells_[d] + 2;
    size_ = product<D>(layout_.strides);
    layout_.strides = c_strides<D>(layout_.strides);
    layout_.block = grid.block();
    layout_.ghost = 1;
    for (const Index s : layout_.strides) layout_.origin += s;
    layout_.corners = false;
    halo_ = parallel::HaloPlan<D>(layout_, grid.communicator());
    state_ = workspace.take<State>(size_);
    std::fill_n(state_.data(), size_, undecided);
  }

  State& at(const Coord<D>& c) { return state_.data()[layout_.origin + dot<D>(c, layout_.strides)]; }

  /// Collective: calls visit(cell, state) for the ghosts that are decided now and were not before.
  template <class Visit>
  void exchange(Visit&& visit) {
    for (const bool after : {false, true}) {
      if (after) halo_.exchange(state_.data());
      std::size_t next = 0;
      for (int d = 0; d < D; ++d)
        for (const int upper : {0, 1}) {
          const Index axis = d;
          Coord<D> n = cells_;
          n[axis] = 1;
          for (Index i = 0; i < product<D>(n); ++i) {
            Coord<D> c = surface::index_of<D>(i, c_strides<D>(n));
            c[axis] = upper ? cells_[axis] : -1;
            if (!after)
              ghosts_.push_back(at(c));
            else if (const State before = ghosts_[next++]; before != at(c))
              visit(c, at(c));
          }
        }
    }
    ghosts_.clear();
  }

 private:
  Coord<D> cells_;
  parallel::HaloLayout<D> layout_;
  parallel::HaloPlan<D> halo_;
  Index size_ = 0;
  Workspace::Lease<State> state_;
  std::vector<State> ghosts_;
};

/// Encloses again what only a neck connects with the outside. A pocket of before has opened if a wide neck leads out of it. Else
/// cells belong to what they are nearer to: the outside as far as it can be reached without necks (`wide`: labels of the parts
/// of the air away from the surface, `is_out`: of those), or what was a pocket, also where both are equally far.
template <int D>
void close_necks(const grid::Grid<D>& grid, const std::int32_t* labels, const std::int32_t* wide,
                 const std::vector<std::uint8_t>& is_out, const std::uint8_t* before, State* state, Workspace& workspace) {
  const Coord<D> cells = grid.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const Index n = product<D>(cells);
  parallel::Communicator& communicator = *grid.communicator();
  const auto starts_as = [&](Index i) {
    const Index part = wide[i];
    return is_out[part] ? out : part != 0 && before[i] ? enclosed : undecided;
  };
  bool any_closes = false;
  for (Index i = 0; i < n; ++i) any_closes |= state[i] == out && starts_as(i) == enclosed;
  any_closes = parallel::global_any(communicator, any_closes);
  States<D> reached(grid, workspace);
  // Cells that were reached last, those of pockets first.
  std::array<std::vector<Coord<D>>, 2> front, next;
  const auto reach = [&](const Coord<D>& c, State s, auto& list) {
    reached.at(c) = s;
    list[s == enclosed ? 0 : 1].push_back(c);
  };
  for (Index i = 0; i < n; ++i) {
    if (state[i] != out) continue;
    state[i] = starts_as(i);
    if (any_closes && state[i] != undecided) reach(surface::index_of<D>(i, strides), state[i], front);
  }
  if (!any_closes) return;
  const auto owns = [&](const Coord<D>& c) {
    for (std::size_t d = 0; d < D; ++d)
      if (c[d] < 0 || c[d] >= cells[d]) return false;
    return true;
  };
  for (;;) {
    reached.exchange([&](const Coord<D>& c, State s) { front[s == enclosed ? 0 : 1].push_back(c); });
    for (const auto& list : front)
      for (const Coord<D>& c : list)
        for (std::size_t d = 0; d < D; ++d)
          for (const Index step : {Index{-1}, Index{1}}) {
            Coord<D> beside = c;
            beside[d] += step;
            if (!owns(beside) || reached.at(beside) != undecided) continue;
            const Index j = dot<D>(beside, strides);
            if (state[j] != undecided || labels[j] == 0) continue;
            state[j] = reached.at(c);
            reach(beside, state[j], next);
          }
    front.swap(next);
    for (auto& list : next) list.clear();
    if (!parallel::global_any(communicator, !front[0].empty() || !front[1].empty())) return;
  }
}

}  // namespace

template <class T, int D>
Index find_air_pockets(const grid::Field<T, D>& levelset, const std::uint8_t* outside, const std::array<bool, 2 * D>& open_sides,
                       grid::Field<T, D>& scratch, std::uint8_t* pockets, Workspace& workspace) {
  const grid::Grid<D>& grid = levelset.grid();
  require(scratch.grid() == grid && scratch.layout().same_place(levelset.layout()), "scratch must be like the level set");
  parallel::Communicator& communicator = *grid.communicator();
  const Coord<D> cells = grid.local_shape();
  const Index n = product<D>(cells);
  const auto labels = workspace.take<std::int32_t>(n);
  const Index parts = label_air(levelset, outside, 0.0, scratch, labels.data(), workspace);
  const bool had_pockets =
      parallel::global_any(communicator, std::any_of(pockets, pockets + n, [](std::uint8_t p) { return p != 0; }));
  if (parts == 0 || (parts == 1 && !had_pockets)) {
    std::fill_n(pockets, n, std::uint8_t{0});
    return 0;
  }
  const std::vector<std::uint8_t> is_out = parts_outside<D>(grid, labels.data(), parts, open_sides);
  const auto state = workspace.take<State>(n);
  for (Index i = 0; i < n; ++i) {
    const std::int32_t part = labels.data()[i];
    state.data()[i] = part == 0 ? undecided : is_out[part] ? out : enclosed;
  }
  if (had_pockets) {
    const auto wide = workspace.take<std::int32_t>(n);
    const Index wide_parts = label_air(levelset, outside, open_neck * grid.spacing(), scratch, wide.data(), workspace);
    close_necks(grid, labels.data(), wide.data(), parts_outside<D>(grid, wide.data(), wide_parts, open_sides), pockets,
                state.data(), workspace);
  }

  // Pockets too small to be resolved are none.
  for (Index i = 0; i < n; ++i) pockets[i] = state.data()[i] == enclosed;
  std::vector<Index> size(static_cast<std::size_t>(parts) + 1, 0);
  for (Index i = 0; i < n; ++i) size[labels.data()[i]] += pockets[i];
  parallel::combine_values(communicator, size, [](Index a, Index b) { return a + b; });
  Index least = 1;
  for (int d = 0; d < D; ++d) least *= least_pocket_width;
  Index count = 0;
  for (Index i = 0; i < n; ++i)
    if (pockets[i] && size[labels.data()[i]] < least) pockets[i] = 0;
  for (const Index cells_of_part : size) count += cells_of_part < least ? 0 : cells_of_part;
  return count;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                     \
  template Index find_air_pockets<T, D>(const grid::Field<T, D>&, const std::uint8_t*, const std::array<bool, 2 * D>&, \
                                        grid::Field<T, D>&, std::uint8_t*, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
