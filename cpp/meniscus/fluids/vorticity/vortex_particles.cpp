#include "meniscus/fluids/vorticity/vortex_particles.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/particles/push_out.hpp"
#include "meniscus/fluids/vorticity/cell_gradient.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

template <int D>
using Matrix = Eigen::Matrix<double, D, D>;

/// The cell at whose centre a linear interpolation between cell centres begins, and where between the centres the point lies.
template <int D>
struct BetweenCenters {
  Coord<D> cell;
  std::array<double, D> fraction;

  template <class T>
  BetweenCenters(const grid::Grid<D>& grid, const T* x) {
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const auto n = static_cast<double>(grid.shape()[axis]);
      double c = (static_cast<double>(x[d]) - grid.origin()[d]) / grid.spacing();
      // Beyond a side there is one layer of cells to interpolate in; farther out its edge answers.
      c = grid.periodic()[axis] ? c - n * std::floor(c / n) : std::clamp(c, -0.5, n + 0.5);
      const double low = std::clamp(std::floor(c - 0.5), -1.0, n - 1.0);
      cell[axis] = static_cast<Index>(low);
      fraction[axis] = std::clamp(c - 0.5 - low, 0.0, 1.0);
    }
  }

  /// Calls body(cell, weight) for the cells around the point.
  template <class Body>
  void for_each(Body&& body) const {
    for (int q = 0; q < 1 << D; ++q) {
      Coord<D> c = cell;
      double weight = 1.0;
      for (std::size_t d = 0; d < D; ++d) {
        const bool upper = (q >> d) & 1;
        c[d] += upper;
        weight *= upper ? fraction[d] : 1.0 - fraction[d];
      }
      if (weight != 0.0) body(c, weight);
    }
  }
};

template <class T, int D>
Matrix<D> gradient_at(const CellGradient<T, D>& gradient, const grid::Grid<D>& grid, const T* x) {
  Matrix<D> sum = Matrix<D>::Zero();
  BetweenCenters<D>(grid, x).for_each([&](const Coord<D>& c, double weight) {
    for (int a = 0; a < D; ++a) {
      const T* face = gradient.lower_face(a, c);
      for (int b = 0; b < D; ++b) sum(a, b) += weight * static_cast<double>(gradient(a, b, face));
    }
  });
  return sum;
}

/// The vorticity after dt in a flow of the given gradient. Sizes are in double, so that what is kept is kept to the last bits of
/// T.
template <class T>
void stretch(const T* w, const Matrix<3>& gradient, double dt, bool second_order, Stretching stretching, T* out) {
  const Vec<double, 3> before = Eigen::Map<const Vec<T, 3>>(w).template cast<double>();
  const Vec<double, 3> middle = second_order ? Vec<double, 3>(before + 0.5 * dt * (gradient * before)) : before;
  Vec<double, 3> after = before + dt * (gradient * middle);
  const double old_size = before.norm();
  const double new_size = after.norm();
  const bool rescale = stretching == Stretching::renormalize || (stretching == Stretching::clamp && new_size > old_size);
  // A vorticity that one large step has flattened to nothing has no direction left; it keeps the one that it had.
  if (rescale) after = new_size > 0.0 ? Vec<double, 3>(after * (old_size / new_size)) : before;
  for (int i = 0; i < 3; ++i) out[i] = static_cast<T>(after[i]);
}

enum class Fate : std::uint8_t { stays, projected, in_solid, left };

/// Decides what happens to a particle that has moved to x, and moves it accordingly.
template <class T, int D>
Fate settle(const grid::Grid<D>& grid, const grid::Field<double, D>* solid, const VortexAdvance& options, T* x) {
  for (int d = 0; d < D; ++d) {
    if (grid.periodic()[static_cast<std::size_t>(d)]) continue;
    const auto low = static_cast<T>(grid.origin()[d]);
    const auto high = static_cast<T>(grid.origin()[d] + grid.spacing() * static_cast<double>(grid.shape()[d]));
    if (x[d] >= low && x[d] <= high) continue;
    if (options.leaving == LeavingParticles::remove) return Fate::left;
    x[d] = std::clamp(x[d], low, high);
  }
  if (!solid) return Fate::stays;
  if (options.in_solid == InSolid::remove) return is_in_solid<T, D>(*solid, x) ? Fate::in_solid : Fate::stays;
  switch (push_out_of_solid<T, D>(*solid, x)) {
    case PushOutResult::outside:
      return Fate::stays;
    case PushOutResult::moved:
      return Fate::projected;
    case PushOutResult::stuck:
      break;
  }
  return Fate::in_solid;
}

template <class T>
constexpr grid::ColumnType type_of = std::is_same_v<T, float> ? grid::ColumnType::float32 : grid::ColumnType::float64;

}  // namespace

template <class T, int D>
VortexColumns<T, D>::VortexColumns(grid::ParticleSet& particles) {
  if (particles.dimension() != D || particles.positions().type != type_of<T>)
    throw WrongType("the particles must have the dimension and the scalar type of the velocity");
  const auto data = [&](grid::ParticleColumn& c, Index width) {
    if (c.type != type_of<T> || c.width != width)
      throw WrongType("column '" + c.name + "' of vortex particles must have " + std::to_string(width) +
                      " values per particle, of the type of the positions");
    return reinterpret_cast<T*>(c.data.data());
  };
  position = data(particles.positions(), D);
  vorticity = data(particles.column("vorticity"), vorticity_components<D>);
  radius = data(particles.column("radius"), 1);
}

template <class T, int D>
VortexAdvanceInfo advance_vortex_particles(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, double dt,
                                           const VortexAdvance& options, grid::Field<double, D>* solid, double time,
                                           Workspace& workspace) {
  const VortexColumns<T, D> columns(particles);
  const grid::Grid<D>& grid = velocity.grid();
  require(!solid || (solid->grid() == grid && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid of the velocity");
  const Index n = particles.size();
  constexpr Index width = vorticity_components<D>;

  const auto positions = workspace.take<T>(n * D);
  std::copy_n(columns.position, n * D, positions.data());
  advance_points(velocity, positions.data(), n, dt, options.trace, grid::OutsidePoints::keep, time, workspace);

  const auto vorticities = workspace.take<T>(n * width);
  if constexpr (D == 3) {
    const bool second_order = options.trace != grid::Trace::euler;
    const auto middle = workspace.take<T>(n * D);
    std::copy_n(columns.position, n * D, middle.data());
    if (second_order) {
      const auto u = workspace.take<T>(n * D);
      grid::sample_points(velocity, columns.position, n, time, u.data());
      for (Index i = 0; i < n * D; ++i) middle.data()[i] += static_cast<T>(0.5 * dt) * u.data()[i];
    }
    const CellGradient<T, D> gradient(velocity);
    parallel_for(0, n, 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        stretch(columns.vorticity + i * width, gradient_at(gradient, grid, middle.data() + i * D), dt, second_order,
                options.stretching, vorticities.data() + i * width);
    });
  } else {
    std::copy_n(columns.vorticity, n * width, vorticities.data());
  }

  const auto fates = workspace.take<Fate>(n);
  parallel_for(0, n, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) fates.data()[i] = settle(grid, solid, options, positions.data() + i * D);
  });
  VortexAdvanceInfo info;
  const auto removed = workspace.take<std::uint8_t>(n);
  for (Index i = 0; i < n; ++i) {
    const Fate fate = fates.data()[i];
    info.left += fate == Fate::left;
    info.in_solid += fate == Fate::in_solid;
    info.projected += fate == Fate::projected;
    removed.data()[i] = fate == Fate::left || fate == Fate::in_solid;
  }

  const NoInterrupts commit;
  std::copy_n(positions.data(), n * D, columns.position);
  std::copy_n(vorticities.data(), n * width, columns.vorticity);
  particles.remove(removed.data(), workspace);
  return info;
}

template <class T, int D>
void sample_vorticity(const grid::MacField<T, D>& velocity, const T* points, Index n, T* values) {
  const CellGradient<T, D> gradient(velocity);
  constexpr int width = vorticity_components<D>;
  parallel_for(0, n, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Matrix<D> g = gradient_at(gradient, velocity.grid(), points + i * D);
      for (int k = 0; k < width; ++k) {
        const auto [a, b] = curl_axes<D>(k);
        values[i * width + k] = static_cast<T>(g(b, a) - g(a, b));
      }
    }
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                              \
  template struct VortexColumns<T, D>;                                                                                          \
  template VortexAdvanceInfo advance_vortex_particles<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, double,                  \
                                                            const VortexAdvance&, grid::Field<double, D>*, double, Workspace&); \
  template void sample_vorticity<T, D>(const grid::MacField<T, D>&, const T*, Index, T*);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
