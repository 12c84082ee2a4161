#include "meniscus/grid/nodes/node_samples.hpp"

#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/velocity_lanes.hpp"
#include "meniscus/grid/walls/one_sided.hpp"

#include <cmath>

namespace meniscus::grid {
namespace {

template <class T, int D, std::size_t... C>
std::array<FieldLayout<D>, D> node_layouts(const MacField<T, D>& faces, std::index_sequence<C...>) {
  return {FieldLayout<D>(faces.grid(), Stagger<D>::node(), faces.component(C).layout().rules)...};
}

/// Offsets in memory from the lowest of the samples around a sample to all of them, along all axes but one.
template <int D>
std::array<Index, 1 << (D - 1)> offsets_around(const Coord<D>& strides, int left_out) {
  std::array<Index, 1 << (D - 1)> offset{};
  std::size_t count = 1;
  for (int d = 0; d < D; ++d) {
    if (d == left_out) continue;
    for (std::size_t q = 0; q < count; ++q) offset[q + count] = offset[q] + strides[d];
    count *= 2;
  }
  return offset;
}

/// A face near walls: the mean of the increments of the nodes that it sees, or what replaces its value.
template <class T, int D>
T face_past_walls(const ThinWalls<D>& walls, int axis, const Coord<D>& face, T own, T plain, const T* lowest,
                  const std::array<Index, 1 << (D - 1)>& offset) {
  constexpr int count = 1 << (D - 1);
  const Grid<D>& grid = walls.grid();
  const Vec<double, D> x = sample_position<D>(grid, Stagger<D>::face(axis), face);
  std::array<Vec<double, D>, count> node, of_wall;
  for (int q = 0; q < count; ++q) {
    Coord<D> c = face;
    int bit = 0;
    for (int d = 0; d < D; ++d)
      if (d != axis) c[d] += (q >> bit++) & 1;
    node[q] = sample_position<D>(grid, Stagger<D>::node(), c);
  }
  const std::uint32_t hidden = walls.hidden(x, node.data(), count, of_wall.data());
  if (!hidden) return plain;
  double sum = 0.0, of_walls = 0.0;
  int visible = 0, known = 0;
  for (int q = 0; q < count; ++q) {
    const Index i = q;
    if ((hidden >> q) & 1) {
      // What a solid hides has no velocity of its own.
      if (std::isnan(of_wall[i][axis])) continue;
      of_walls += of_wall[i][axis];
      ++known;
    } else {
      sum += static_cast<double>(lowest[offset[i]]);
      ++visible;
    }
  }
  if (visible > 0) return own + static_cast<T>(sum / visible);
  return known > 0 ? static_cast<T>(of_walls / known) : own;
}

}  // namespace

template <class T, int D>
NodeVelocity<T, D>::NodeVelocity(const MacField<T, D>& faces, Workspace& workspace)
    : layouts_(node_layouts<T, D>(faces, std::make_index_sequence<static_cast<std::size_t>(D)>())) {
  for (int d = 0; d < D; ++d) storage_[d] = workspace.take<T>(layout(d).storage_size());
}

template <class T, int D>
void NodeVelocity<T, D>::fill_ghosts(double time) {
  std::array<PaddedBlock<T, D>, D> blocks;
  for (int d = 0; d < D; ++d) blocks[d] = {&layout(d), storage(d)};
  grid::fill_ghosts<T, D>(std::span<const PaddedBlock<T, D>>(blocks), time);
}

template <class T, int D>
void average_to_nodes(const VelocitySource<T, D>& faces, const ThinWalls<D>* walls, NodeVelocity<T, D>& nodes) {
  const Stagger<D> stagger = Stagger<D>::node();
  for_each_run<D>(nodes.layout(0).extents(), [&](const RowRun<D>& run) {
    LaneVectors<T, D> mean;
    simd_dispatch([&] { velocity_at_samples(faces, stagger, run, mean); });
    Coord<D> at = run.base;
    for (int l = 0; walls && l < run.count; ++l, ++at[D - 1]) {
      if (walls->clearance(stagger, at) > 0) continue;
      Vec<double, D> u;
      for (int d = 0; d < D; ++d) u[d] = static_cast<double>(mean[d][l]);
      mean_of_seen_faces<T, D>(faces, *walls, sample_position<D>(walls->grid(), stagger, at), u);
      for (int d = 0; d < D; ++d) mean[d][l] = static_cast<T>(u[d]);
    }
    for (int d = 0; d < D; ++d) std::copy_n(mean[d].begin(), run.count, nodes.view(d).at(run.base));
  });
}

template <class T, int D>
void add_increments(const MacField<T, D>& faces, int axis, const NodeVelocity<T, D>& increments, const std::uint8_t* active,
                    const ThinWalls<D>* walls, T* result) {
  const FieldLayout<D>& layout = faces.component(axis).layout();
  const FieldView<const T, D> own = faces.component(axis).view();
  const FieldView<T, D> out = layout.template view<T>(result);
  const FieldView<T, D> nodes = increments.view(axis);
  const auto offset = offsets_around<D>(nodes.strides, axis);
  const Coord<D> packed = c_strides<D>(own.extents);
  constexpr T part = T(1) / T(1 << (D - 1));
  for_each_run<D>(own.extents, [&](const RowRun<D>& run) {
    const T* const u = own.at(run.base);
    const T* const du = nodes.at(run.base);
    T* const to = out.at(run.base);
    simd_dispatch([&] {
      for (int l = 0; l < run.count; ++l) {
        T sum = du[l + offset[0]] + du[l + offset[1]];
        if constexpr (D == 3) sum += du[l + offset[2]] + du[l + offset[3]];
        to[l] = u[l] + part * sum;
      }
    });
    Coord<D> at = run.base;
    for (int l = 0; walls && l < run.count; ++l, ++at[D - 1])
      if (walls->clearance(layout.stagger, at) == 0) to[l] = face_past_walls<T, D>(*walls, axis, at, u[l], to[l], du + l, offset);
    if (!active) return;
    const std::uint8_t* const changes = active + dot<D>(run.base, packed);
    for (int l = 0; l < run.count; ++l)
      if (!changes[l]) to[l] = u[l];
  });
}

template <int D>
void nodes_beside(const Grid<D>& grid, int axis, const std::uint8_t* faces, std::uint8_t* nodes, Workspace& workspace) {
  std::array<GhostRule, 2 * D> nearest;
  for (GhostRule& rule : nearest) rule.kind = GhostRule::Kind::clamp;
  const FieldLayout<D> layout(grid, Stagger<D>::face(axis), nearest);
  const auto storage = workspace.take<std::uint8_t>(layout.storage_size());
  const FieldView<std::uint8_t, D> padded = layout.view(storage.data());
  const Coord<D> packed = c_strides<D>(padded.extents);
  for_each_run<D>(padded.extents,
                  [&](const RowRun<D>& run) { std::copy_n(faces + dot<D>(run.base, packed), run.count, padded.at(run.base)); });
  fill_ghosts(layout, storage.data(), 0.0);
  const Coord<D> extents = Stagger<D>::node().extents(grid.local_shape());
  const Coord<D> places = c_strides<D>(extents);
  const auto offset = offsets_around<D>(padded.strides, axis);
  for_each_run<D>(extents, [&](const RowRun<D>& run) {
    // The faces around a node begin below it along the other axes.
    const std::uint8_t* const lowest = padded.at(run.base) - offset.back();
    std::uint8_t* const to = nodes + dot<D>(run.base, places);
    for (int l = 0; l < run.count; ++l) {
      to[l] = 0;
      for (const Index o : offset) to[l] |= lowest[l + o];
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                               \
  template class NodeVelocity<T, D>;                                                                             \
  template void average_to_nodes<T, D>(const VelocitySource<T, D>&, const ThinWalls<D>*, NodeVelocity<T, D>&);   \
  template void add_increments<T, D>(const MacField<T, D>&, int, const NodeVelocity<T, D>&, const std::uint8_t*, \
                                     const ThinWalls<D>*, T*);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE
template void nodes_beside<2>(const Grid<2>&, int, const std::uint8_t*, std::uint8_t*, Workspace&);
template void nodes_beside<3>(const Grid<3>&, int, const std::uint8_t*, std::uint8_t*, Workspace&);

}  // namespace meniscus::grid
