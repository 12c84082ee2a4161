#include "meniscus/surface/shapes/solid_sampling.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

/// Samples along the edge of a block: long enough that a far block is cheap, short enough that few samples share a near one.
template <int D>
constexpr Index sampled_block_edge = D == 2 ? 16 : 8;

/// Signed distance of the union of some images of a posed shape.
template <int D>
class PosedImages {
 public:
  PosedImages(const ImplicitShape<D>& shape, const RigidPose<D>& pose, const std::vector<Vec<double, D>>& shifts)
      : shape_(shape), pose_(pose), shifts_(shifts) {}

  std::size_t count() const { return shifts_.size(); }

  /// The images' values at x one by one.
  void at(const Vec<double, D>& x, double* out) const {
    std::array<double, std::size_t{shape_batch} * D> body;
    for (std::size_t first = 0; first < count(); first += shape_batch) {
      const auto n = static_cast<int>(std::min(count() - first, std::size_t{shape_batch}));
      for (int i = 0; i < n; ++i) place(x, first + static_cast<std::size_t>(i), body.data() + i * D);
      shape_.evaluate(body.data(), n, out + first);
    }
  }

  /// The smallest value of the images in `active` at each of n <= shape_batch points.
  void smallest(const Vec<double, D>* x, int n, const std::vector<std::size_t>& active, double* out) const {
    std::array<double, std::size_t{shape_batch} * D> body;
    std::array<double, shape_batch> value;
    std::fill_n(out, n, std::numeric_limits<double>::infinity());
    for (const std::size_t image : active) {
      for (int i = 0; i < n; ++i) place(x[i], image, body.data() + i * D);
      shape_.evaluate(body.data(), n, value.data());
      for (int i = 0; i < n; ++i) out[i] = std::min(out[i], value[i]);
    }
  }

 private:
  void place(const Vec<double, D>& x, std::size_t image, double* body) const {
    Eigen::Map<Vec<double, D>> y(body);
    y = pose_.to_body(x - shifts_[image]);
  }
  const ImplicitShape<D>& shape_;
  const RigidPose<D>& pose_;
  const std::vector<Vec<double, D>>& shifts_;
};

/// Calls f(index) for all samples of the box [low, high).
template <int D, class F>
void for_each_index(const Coord<D>& low, const Coord<D>& high, F&& f) {
  Coord<D> c = low;
  while (true) {
    f(c);
    int d = D - 1;
    while (d >= 0 && ++c[d] == high[d]) {
      c[d] = low[d];
      --d;
    }
    if (d < 0) return;
  }
}

}  // namespace

template <class T, int D>
void sample_signed_distance(const ImplicitShape<D>& shape, const RigidPose<D>& pose, double band, bool periodic_images,
                            grid::Field<T, D>& phi, Workspace& workspace) {
  require(band >= 0, "band must not be negative, got ", band);
  const grid::Grid<D>& grid = phi.grid();
  std::vector<Vec<double, D>> shifts{Vec<double, D>::Zero()};
  if (periodic_images) {
    const Bounds<D> bounds = transformed<D>(shape.bounds(), pose, 1.0);
    shifts = grid::image_shifts<D>(grid, bounds.lower, bounds.upper);
  }
  const PosedImages<D> images(shape, pose, shifts);

  const grid::FieldLayout<D>& layout = phi.layout();
  const auto result = workspace.take<T>(layout.storage_size());
  const grid::FieldView<T, D> target = layout.view(result.data());
  // Blocks of samples belong to the domain, so that bounds do not depend on where it is cut.
  const Coord<D> samples = layout.stagger.extents(grid.shape());
  Coord<D> blocks, before;
  for (std::size_t d = 0; d < D; ++d) {
    before[d] = grid.first_cell()[d] % sampled_block_edge<D>;
    blocks[d] = (before[d] + target.extents[d] + sampled_block_edge<D> - 1) / sampled_block_edge<D>;
  }
  parallel_for(0, product<D>(blocks), 8, [&](Index begin, Index end) {
    std::vector<double> at_center(images.count());
    std::vector<std::size_t> active;
    std::array<Vec<double, D>, shape_batch> x;
    std::array<T*, shape_batch> sample;
    std::array<double, shape_batch> value;
    for (Index b = begin; b < end; ++b) {
      Coord<D> low, high;
      Index rest = b;
      for (std::size_t d = D; d-- > 0;) {
        low[d] = rest % blocks[d] * sampled_block_edge<D> - before[d];
        high[d] = std::min(low[d] + sampled_block_edge<D>, samples[d] - grid.first_cell()[d]);
        rest /= blocks[d];
      }
      Coord<D> top;
      for (std::size_t d = 0; d < D; ++d) top[d] = high[d] - 1;
      const Vec<double, D> lowest = grid::sample_position<D>(grid, layout.stagger, low);
      const Vec<double, D> highest = grid::sample_position<D>(grid, layout.stagger, top);
      // A little more than half of the diagonal, so that rounding does not decide.
      const double radius = 0.5 * (highest - lowest).norm() + 1e-6 * grid.spacing();
      images.at(0.5 * (lowest + highest), at_center.data());
      for (std::size_t d = 0; d < D; ++d) {
        low[d] = std::max<Index>(low[d], 0);
        high[d] = std::min(high[d], target.extents[d]);
      }
      const double nearest = *std::min_element(at_center.begin(), at_center.end());
      if (std::abs(nearest) - radius > band) {
        const auto bound = static_cast<T>(std::copysign(std::abs(nearest) - radius, nearest));
        for_each_index<D>(low, high, [&](const Coord<D>& c) { *target.at(c) = bound; });
        continue;
      }
      // Values change by at most the radius within the block: an image that is larger by twice that is never the smallest.
      active.clear();
      for (std::size_t i = 0; i < images.count(); ++i)
        if (at_center[i] <= nearest + 2.0 * radius) active.push_back(i);
      std::size_t n = 0;
      const auto flush = [&] {
        images.smallest(x.data(), static_cast<int>(n), active, value.data());
        for (std::size_t i = 0; i < n; ++i) *sample[i] = static_cast<T>(value[i]);
        n = 0;
      };
      for_each_index<D>(low, high, [&](const Coord<D>& c) {
        x[n] = grid::sample_position<D>(grid, layout.stagger, c);
        sample[n] = target.at(c);
        if (++n == shape_batch) flush();
      });
      flush();
    }
  });
  const NoInterrupts commit;
  grid::copy_owned(layout, result.data(), phi.storage().data());
  // Around the domain, the first and the last node are one unknown.
  phi.fill_ghosts(0.0);
}

template <class T, int D>
void sample_affine_velocity(const AffineVelocity<D>& v, const grid::NearestImage<D>& image, grid::MacField<T, D>& velocity,
                            Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  std::array<Workspace::Lease<T>, D> result;
  for (int axis = 0; axis < D; ++axis) {
    const grid::FieldLayout<D>& layout = velocity.component(axis).layout();
    auto& storage = result[axis];
    storage = workspace.take<T>(layout.storage_size());
    const grid::FieldView<T, D> view = layout.view(storage.data());
    const Vec<double, D> slope = v.gradient.row(axis).transpose();
    grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(view.extents, r);
        for (c[D - 1] = 0; c[D - 1] < view.extents[D - 1]; ++c[D - 1]) {
          const Vec<double, D> x = image(grid::sample_position<D>(grid, layout.stagger, c));
          *view.at(c) = static_cast<T>(v.linear[axis] + slope.dot(x - v.reference));
        }
      }
    });
  }
  const NoInterrupts commit;
  for (int axis = 0; axis < D; ++axis) {
    grid::Field<T, D>& component = velocity.component(axis);
    grid::copy_owned(component.layout(), result[axis].data(), component.storage().data());
  }
  velocity.fill_ghosts(0.0);
}

template <class T, int D>
void merge_solid(const grid::Field<double, D>& solid_phi, const grid::MacField<T, D>& solid_velocity, grid::Field<double, D>& phi,
                 grid::MacField<T, D>& velocity) {
  require(
      solid_phi.layout().same_place(phi.layout()) && solid_velocity.grid() == velocity.grid() && phi.grid() == velocity.grid(),
      "solids of a group must be sampled on the same grid");
  const grid::FieldView<const double, D> theirs = solid_phi.view();
  const grid::FieldView<double, D> mine = phi.view();
  const NoInterrupts whole;
  for (int axis = 0; axis < D; ++axis) {
    const grid::FieldView<const T, D> from = solid_velocity.component(axis).view();
    const grid::FieldView<T, D> to = velocity.component(axis).view();
    grid::parallel_rows<D>(to.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) {
        Coord<D> c = grid::row_start<D>(to.extents, r);
        for (c[D - 1] = 0; c[D - 1] < to.extents[D - 1]; ++c[D - 1]) {
          double difference = 0.0;
          for (int corner = 0; corner < 1 << D; ++corner) {
            if (corner >> axis & 1) continue;
            Coord<D> node = c;
            for (int d = 0; d < D; ++d) node[d] += corner >> d & 1;
            difference += *theirs.at(node) - *mine.at(node);
          }
          if (difference < 0.0) *to.at(c) = *from.at(c);
        }
      }
    });
  }
  grid::parallel_rows<D>(mine.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = grid::row_start<D>(mine.extents, r);
      for (c[D - 1] = 0; c[D - 1] < mine.extents[D - 1]; ++c[D - 1]) *mine.at(c) = std::min(*mine.at(c), *theirs.at(c));
    }
  });
  phi.fill_ghosts(0.0);
  velocity.fill_ghosts(0.0);
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template void sample_signed_distance<T, D>(const ImplicitShape<D>&, const RigidPose<D>&, double, bool, grid::Field<T, D>&, \
                                             Workspace&);                                                                    \
  template void sample_affine_velocity<T, D>(const AffineVelocity<D>&, const grid::NearestImage<D>&, grid::MacField<T, D>&,  \
                                             Workspace&);                                                                    \
  template void merge_solid<T, D>(const grid::Field<double, D>&, const grid::MacField<T, D>&, grid::Field<double, D>&,       \
                                  grid::MacField<T, D>&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
