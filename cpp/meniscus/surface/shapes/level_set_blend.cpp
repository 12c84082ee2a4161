#include "meniscus/surface/shapes/level_set_blend.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/blocks/within_reach.hpp"
#include "meniscus/grid/rows.hpp"

#include <atomic>

namespace meniscus::surface {
namespace {

/// The velocity at a sample: the mean of the nearest faces across each axis.
template <class T, int D>
Vec<double, D> velocity_at(const std::array<grid::FieldView<const T, D>, D>& faces, bool on_nodes, const Coord<D>& at) {
  Vec<double, D> v;
  for (unsigned d = 0; d < D; ++d) {
    double sum = 0;
    int count = 0;
    for (unsigned i = 0; i < 1U << D; ++i) {
      Coord<D> c = at;
      bool once = true;
      for (unsigned a = 0; a < D; ++a) {
        const bool other = i >> a & 1;
        // A cell lies between two faces across d; a node between the faces of the cells around it.
        if (on_nodes ? a == d : a != d)
          once = once && !other;
        else
          c[a] += on_nodes ? (other ? -1 : 0) : (other ? 1 : 0);
      }
      if (!once) continue;
      sum += static_cast<double>(*faces[d].at(c));
      ++count;
    }
    v[d] = sum / count;
  }
  return v;
}

}  // namespace

template <class T, int D>
void blend_level_sets(const grid::Field<T, D>& phi0, const grid::Field<T, D>& phi1, const grid::MacField<T, D>* velocity0,
                      const grid::MacField<T, D>* velocity1, double dt, double a, BlendMethod blend,
                      grid::Interpolation interpolation, grid::Field<T, D>& out) {
  require(phi0.layout().same_place(phi1.layout()) && phi0.layout().same_place(out.layout()),
          "phi0, phi1 and out must have the same samples");
  require(a >= 0.0 && a <= 1.0, "alpha must be between 0 and 1, not ", a);
  require(&out != &phi0 && &out != &phi1, "out must be another field than phi0 and phi1");
  const bool moves = blend != BlendMethod::linear;
  const double h = phi0.grid().spacing();
  const bool on_nodes = phi0.stagger() == grid::Stagger<D>::node();
  std::array<grid::FieldView<const T, D>, D> faces0;
  std::array<grid::FieldView<const T, D>, D> faces1;
  for (int d = 0; moves && d < D; ++d) {
    require(velocity0->grid() == phi0.grid() && velocity1->grid() == phi0.grid(), "velocities must be on the grid of phi0");
    faces0[d] = velocity0->component(d).view();
    faces1[d] = velocity1->component(d).view();
  }
  std::array<grid::FarValues<D>, 2> far;
  const grid::SampleSource<T, D> from0{&phi0.layout(), phi0.view(), 0.0, &far[0]};
  const grid::SampleSource<T, D> from1{&phi1.layout(), phi1.view(), 0.0, &far[1]};
  const grid::FieldView<T, D> to = out.view();
  std::atomic<bool> finite{true};
  const auto displaced = [&](const grid::SampleSource<T, D>& source, const Coord<D>& c, const Vec<double, D>& cells) {
    std::array<T, D> displacement;
    for (std::size_t d = 0; d < D; ++d) displacement[d] = static_cast<T>(cells[static_cast<int>(d)]);
    return static_cast<double>(grid::sample_point<T, D>(source, c, displacement, interpolation, grid::AllVisible{}).value);
  };
  const auto blend_row = [&](Index r) {
    Coord<D> c = grid::row_start<D>(to.extents, r);
    for (c[D - 1] = 0; c[D - 1] < to.extents[D - 1]; ++c[D - 1]) {
      double value;
      if (blend == BlendMethod::linear) {
        value = (1.0 - a) * static_cast<double>(*from0.view.at(c)) + a * static_cast<double>(*from1.view.at(c));
      } else {
        Vec<double, D> step = velocity_at<T, D>(faces0, on_nodes, c) * (dt / h);
        if (blend == BlendMethod::two_sided) step = 0.5 * (step + velocity_at<T, D>(faces1, on_nodes, c) * (dt / h));
        if (!step.allFinite()) {
          finite.store(false, std::memory_order_relaxed);
          step.setZero();
        }
        value = displaced(from0, c, -a * step);
        if (blend == BlendMethod::two_sided) value = (1.0 - a) * value + a * displaced(from1, c, (1.0 - a) * step);
      }
      *to.at(c) = static_cast<T>(value);
    }
  };
  Workspace workspace;
  const Index length = to.extents[D - 1];
  grid::within_reach<D>(phi0.grid(), product<D>(to.extents) / length, std::max<Index>(1, 4096 / length), workspace, blend_row,
                        [&](Index width) {
                          far[0].fetch(phi0.layout(), phi0.storage().data(), width);
                          far[1].fetch(phi1.layout(), phi1.storage().data(), width);
                        });
  finite = !parallel::global_any(*phi0.grid().communicator(), !finite);
  require(finite, "velocities must be finite");
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                      \
  template void blend_level_sets<T, D>(const grid::Field<T, D>&, const grid::Field<T, D>&, const grid::MacField<T, D>*, \
                                       const grid::MacField<T, D>*, double, double, BlendMethod, grid::Interpolation,   \
                                       grid::Field<T, D>&);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
