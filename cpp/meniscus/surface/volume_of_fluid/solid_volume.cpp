#include "meniscus/surface/volume_of_fluid/solid_volume.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/volume_of_fluid/cut_octant.hpp"

namespace meniscus::surface {

template <int D>
double solid_volume(const double* nodes, const Coord<D>& extents, double level) {
  const Coord<D> strides = c_strides<D>(extents);
  Coord<D> cells = extents;
  for (Index& n : cells) --n;
  const Index length = cells[D - 1];
  return parallel_reduce(
      0, product<D>(cells) / length, std::max<Index>(1, 512 / length), 0.0,
      [&](Index begin, Index end) {
        double sum = 0;
        for (Index row = begin; row < end; ++row) {
          Coord<D> c{};
          Index rest = row;
          for (std::size_t d = D - 1; d-- > 0; rest /= cells[d]) c[d] = rest % cells[d];
          const double* p = nodes + dot<D>(c, strides);
          for (Index k = 0; k < length; ++k) {
            auto corner = corner_values<D>(p + k, strides);
            bool any = false, all = true;
            for (double& v : corner) {
              v -= level;
              any |= v <= 0;
              all &= v <= 0;
            }
            if (all) sum += 1;
            if (!any || all) continue;
            for (std::uint32_t octant = 0; octant < corner.size(); ++octant)
              sum += solid_in_octant<D>(corner, octant).part() / static_cast<double>(corner.size());
          }
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
}

template double solid_volume<2>(const double*, const Coord<2>&, double);
template double solid_volume<3>(const double*, const Coord<3>&, double);

}  // namespace meniscus::surface
