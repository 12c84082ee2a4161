// Sampling of a `MeshDistance` on a grid, block by block, everywhere or in a band.
#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/surface/shapes/mesh_distance.hpp"

#include <cmath>

namespace meniscus::surface {
namespace {
/// Edge length, in samples, of the blocks that a thread takes at a time and that are skipped as a whole outside of a band.
constexpr Index block_edge = 8;
}  // namespace

template <class T>
void MeshDistance::sample_block(const grid::FieldView<T, 3>& out, const grid::FieldLayout<3>& layout, const Coord<3>& low,
                                const Coord<3>& high, double band) const {
  const mesh::Point first = grid::sample_position<3>(layout.grid, layout.stagger, low);
  const mesh::Point last = grid::sample_position<3>(layout.grid, layout.stagger, {high[0] - 1, high[1] - 1, high[2] - 1});
  const mesh::Point center = 0.5 * (first + last);
  const double reach = 0.5 * (last - first).norm();
  const collision::MeshPoint middle = closest(center);
  const double error = round_off(first) + round_off(last);
  const double distance = std::sqrt(middle.squared_distance) - error;
  const bool outside_band = distance - reach >= band;
  // No path within the ball around the centre that touches the surface crosses it, so all of its samples have one sign, unless
  // the sign changes in a hole.
  const bool one_sign = distance > reach && report().watertight();
  const double sign = one_sign && inside(center, middle) ? -1 : 1;
  std::int32_t hint = middle.slot;
  const auto own = [&](const Coord<3>& c) {
    return c[0] >= 0 && c[1] >= 0 && c[2] >= 0 && c[0] < out.extents[0] && c[1] < out.extents[1] && c[2] < out.extents[2];
  };
  // To and fro, so that a sample is beside the one before.
  for (Index i = low[0]; i < high[0]; ++i)
    for (Index jj = low[1]; jj < high[1]; ++jj) {
      const Index j = (i - low[0]) % 2 == 0 ? jj : low[1] + high[1] - 1 - jj;
      for (Index kk = low[2]; kk < high[2]; ++kk) {
        const Index k = (i - low[0] + jj - low[1]) % 2 == 0 ? kk : low[2] + high[2] - 1 - kk;
        const Coord<3> c{i, j, k};
        const mesh::Point p = grid::sample_position<3>(layout.grid, layout.stagger, c);
        double magnitude;
        double side = sign;
        if (outside_band) {
          // Distances change by no more than the way between two points.
          magnitude = distance - (p - center).norm();
          if (!one_sign) side = inside_by_winding_number(p) ? -1 : 1;
        } else {
          const collision::MeshPoint m = closest(p, hint);
          hint = m.slot;
          magnitude = std::sqrt(m.squared_distance);
          if (!one_sign) side = inside(p, m) ? -1 : 1;
        }
        if (own(c)) *out.at(c) = static_cast<T>(side * magnitude);
      }
    }
}

template <class T>
void MeshDistance::sample(grid::Field<T, 3>& phi, double band) const {
  require(band > 0, "band must be positive, not ", band);
  grid::require_sides(phi.grid(), "a mesh is not repeated beyond the domain");
  const grid::FieldLayout<3>& layout = phi.layout();
  Block<T> result(layout.storage_size());
  const grid::FieldView<T, 3> out = layout.view(result.data());
  const Coord<3> extents = layout.extents();
  // Pieces of the domain, whole ones also where another block has a part: a sample depends on its piece and on those before it.
  const Coord<3> domain = layout.stagger.extents(layout.grid.shape());
  const Coord<3>& first = layout.grid.first_cell();
  Coord<3> begin_piece, pieces;
  for (std::size_t d = 0; d < 3; ++d) {
    begin_piece[d] = first[d] / block_edge;
    pieces[d] = (first[d] + extents[d] + block_edge - 1) / block_edge - begin_piece[d];
  }
  parallel_for(0, product<3>(pieces), 1, [&](Index begin, Index) {
    Coord<3> low;
    Coord<3> high;
    Index rest = begin;
    for (std::size_t d = 3; d-- > 0;) {
      const Index start = (begin_piece[d] + rest % pieces[d]) * block_edge;
      low[d] = start - first[d];
      high[d] = std::min(start + block_edge, domain[d]) - first[d];
      rest /= pieces[d];
    }
    sample_block(out, layout, low, high, band);
  });
  const NoInterrupts commit;
  grid::copy_owned<T, 3>(layout, result.data(), phi.storage().data());
}

template void MeshDistance::sample(grid::Field<float, 3>&, double) const;
template void MeshDistance::sample(grid::Field<double, 3>&, double) const;

}  // namespace meniscus::surface
