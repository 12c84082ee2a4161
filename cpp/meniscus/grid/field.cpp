#include "meniscus/grid/field.hpp"

#include "meniscus/grid/ghost_fill.hpp"

#include <algorithm>

namespace meniscus::grid {
namespace {

template <int D>
parallel::HaloPlan<D> halo_plan(const Grid<D>& grid, const Stagger<D>& stagger) {
  parallel::HaloLayout<D> h;
  h.block = grid.block();
  h.on_side = stagger.on_side;
  h.ghost = ghost_width;
  Coord<D> padded = stagger.extents(grid.local_shape());
  for (Index& n : padded) n += 2 * ghost_width;
  h.strides = c_strides<D>(padded);
  for (const Index s : h.strides) h.origin += ghost_width * s;
  return parallel::HaloPlan<D>(h, grid.communicator());
}

template <int D>
std::array<GhostRule, 2 * D> scalar_rules(const Boundary<D>& boundary) {
  std::array<GhostRule, 2 * D> rules;
  std::transform(boundary.begin(), boundary.end(), rules.begin(), scalar_rule);
  return rules;
}

}  // namespace

template <int D>
FieldLayout<D>::FieldLayout(const Grid<D>& g, const Stagger<D>& s, std::array<GhostRule, 2 * D> r)
    : grid(g), stagger(s), rules(std::move(r)), halo(halo_plan(g, s)) {}

template <int D>
parallel::HaloPlan<D> FieldLayout<D>::copies() const {
  parallel::HaloLayout<D> h;
  h.block = grid.block();
  h.on_side = stagger.on_side;
  h.strides = c_strides<D>(extents());
  return parallel::HaloPlan<D>(h, grid.communicator());
}

template <int D>
Coord<D> FieldLayout<D>::padded() const {
  Coord<D> n = extents();
  for (Index& v : n) v += 2 * ghost_width;
  return n;
}

template <class T, int D>
Field<T, D>::Field(const Grid<D>& grid, const Stagger<D>& stagger, const std::array<GhostRule, 2 * D>& rules)
    : layout_(grid, stagger, rules), storage_(layout_.storage_size()) {
  std::fill(storage_.begin(), storage_.end(), T{});
}

template <class T, int D>
Field<T, D>::Field(const Grid<D>& grid, const Stagger<D>& stagger, const Boundary<D>& boundary)
    : Field(grid, stagger, scalar_rules<D>(boundary)) {}

template <class T, int D>
void Field<T, D>::fill_ghosts(double time) {
  grid::fill_ghosts(layout_, storage_.data(), time);
}

template <class T, int D>
MacField<T, D>::MacField(const Grid<D>& grid, const Boundary<D>& boundary) : boundary_(boundary) {
  components_.reserve(D);
  for (int component = 0; component < D; ++component) {
    std::array<GhostRule, 2 * D> rules;
    for (int axis = 0; axis < D; ++axis)
      for (int upper : {0, 1}) {
        const Index s = side_index(axis, upper);
        rules[s] = velocity_rule(boundary[s], component, axis, D);
      }
    components_.emplace_back(grid, Stagger<D>::face(component), rules);
  }
}

template <class T, int D>
void MacField<T, D>::fill_ghosts(double time) {
  std::array<PaddedBlock<T, D>, D> blocks;
  for (std::size_t d = 0; d < D; ++d) blocks[d] = {&components_[d].layout(), components_[d].storage().data()};
  grid::fill_ghosts<T, D>(blocks, time);
}

template <class T, int D>
void MacField<T, D>::enforce_boundary(double time) {
  for (int axis = 0; axis < D; ++axis) set_given_faces(axis, component(axis).storage().data(), time);
}

template <class T, int D>
void MacField<T, D>::set_given_faces(int axis, T* first, double time) const {
  for (int upper : {0, 1})
    if (!grid().shared(axis, upper) && fixes_normal_velocity(boundary_[side_index(axis, upper)]))
      set_side_values(component(axis).layout(), first, axis, upper, time);
}

template class Field<float, 3>;
template class Field<double, 2>;
template class Field<double, 3>;
template class Field<std::uint8_t, 2>;
template class Field<std::uint8_t, 3>;
template class Field<std::int32_t, 2>;
template class Field<std::int32_t, 3>;
template class MacField<float, 3>;
template class MacField<double, 2>;
template class MacField<double, 3>;
template struct FieldLayout<2>;
template struct FieldLayout<3>;

}  // namespace meniscus::grid
