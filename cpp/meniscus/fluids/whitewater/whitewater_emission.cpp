#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/fluids/whitewater/whitewater_columns.hpp"
#include "meniscus/grid/particles/field_probe.hpp"
#include "meniscus/surface/extraction/curvature_stencil.hpp"
#include "meniscus/surface/markers/particle_list.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace meniscus::fluids {
namespace {

/// Cosine of the largest angle between velocity and normal at a crest (Ihmsen et al. 2012, eq. 7).
constexpr double along_normal = 0.6;
/// Cells from the surface within which liquid sends out particles.
constexpr double emitting_cells = 1.5;

/// What one cell sends out in a second, and how.
struct Source {
  double rate = 0.0;      ///< 1/s
  double relative = 0.0;  ///< mean speed of the liquid around towards the cell, m/s
};

/// The sources of single cells; ghosts of both fields are filled.
template <class T, int D>
class CellSources {
 public:
  CellSources(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& phi, const WhitewaterSources& sources)
      : grid_(phi.grid()), phi_(phi.view()), sources_(sources) {
    for (int d = 0; d < D; ++d) faces_[d] = velocity.component(d).view();
    double sum = 0.0;
    for (int k = 0; k < neighbours; ++k) {
      Coord<D> o;
      double square = 0.0;
      for (int d = 0, rest = k; d < D; ++d, rest /= 3) {
        o[d] = rest % 3 - 1;
        square += static_cast<double>(o[d] * o[d]);
      }
      offset_[k] = o;
      distance_[k] = std::sqrt(square);
      // A weight that falls linearly, to nothing at two cells (eq. 3), so that the sum is a mean.
      weight_[k] = square > 0.0 ? 1.0 - 0.5 * distance_[k] : 0.0;
      sum += weight_[k];
    }
    for (double& w : weight_) w /= sum;
  }

  Vec<double, D> velocity_at(const Coord<D>& c) const {
    Vec<double, D> u;
    for (int d = 0; d < D; ++d) {
      const T* const p = faces_[d].at(c);
      u[d] = 0.5 * (static_cast<double>(*p) + static_cast<double>(p[faces_[d].strides[d]]));
    }
    return u;
  }

  Source operator()(const Coord<D>& c) const {
    const T* const p = phi_.at(c);
    const Vec<double, D> u = velocity_at(c);
    const double speed = u.norm();
    const double lively = sources_.energy(0.5 * speed * speed);
    if (lively == 0.0) return {};
    Source s;
    for (int k = 0; k < neighbours; ++k) {
      if (weight_[k] == 0.0 || *phi_.at(neighbour(c, k)) > T(0)) continue;
      const Vec<double, D> difference = u - velocity_at(neighbour(c, k));
      const double size = difference.norm();
      if (size == 0.0) continue;
      double along = 0.0;  // of the difference and the way from the neighbour, which is less the offset
      for (int d = 0; d < D; ++d) along -= difference[d] * static_cast<double>(offset_[k][d]);
      s.relative += weight_[k] * (size - along / distance_[k]);
    }
    s.rate = sources_.air_rate * sources_.air(s.relative);
    if (sources_.crest_rate > 0.0) s.rate += sources_.crest_rate * crest(p, u, speed);
    s.rate *= lively;
    return s;
  }

 private:
  static constexpr int neighbours = D == 2 ? 9 : 27;

  Coord<D> neighbour(Coord<D> c, int k) const {
    for (int d = 0; d < D; ++d) c[d] += offset_[k][d];
    return c;
  }

  double crest(const T* p, const Vec<double, D>& u, double speed) const {
    if (std::abs(static_cast<double>(*p)) > grid_.spacing()) return 0.0;
    Index strides[D];
    for (int d = 0; d < D; ++d) strides[d] = phi_.strides[d];
    const surface::Differences<T, D> differences(p, strides);
    double along = 0.0, square = 0.0;
    for (int d = 0; d < D; ++d) {
      along += u[d] * differences.g[d];
      square += differences.g[d] * differences.g[d];
    }
    if (!(along >= along_normal * speed * std::sqrt(square))) return 0.0;
    return sources_.crest(surface::curvatures(differences).mean);
  }

  const grid::Grid<D>& grid_;
  grid::FieldView<const T, D> phi_;
  std::array<grid::FieldView<const T, D>, D> faces_;
  const WhitewaterSources& sources_;
  std::array<Coord<D>, neighbours> offset_;
  std::array<double, neighbours> distance_, weight_;
};

/// Number of a cell in the whole domain, which keys its random numbers.
template <int D>
std::uint64_t number_in_domain(const grid::Grid<D>& grid, const Coord<D>& c) {
  Index number = 0;
  for (int d = 0; d < D; ++d) number = number * grid.shape()[d] + grid.first_cell()[d] + c[d];
  return static_cast<std::uint64_t>(number);
}

template <int D>
Vec<double, D> direction(double first, double second) {
  const double angle = 2.0 * std::numbers::pi * first;
  if constexpr (D == 2) {
    return {std::cos(angle), std::sin(angle)};
  } else {
    const double z = 1.0 - 2.0 * second, r = std::sqrt(std::max(0.0, 1.0 - z * z));
    return {r * std::cos(angle), r * std::sin(angle), z};
  }
}

double between(const std::array<double, 2>& ends, double part) { return ends[0] + part * (ends[1] - ends[0]); }

}  // namespace

template <class T, int D>
WhitewaterEmission emit_whitewater(grid::ParticleSet& particles, grid::MacField<T, D>& velocity, grid::Field<T, D>& phi,
                                   grid::Field<double, D>* solid, const WhitewaterSources& sources, double layer, double dt,
                                   double time, std::uint32_t step, Workspace& workspace) {
  require(phi.grid() == velocity.grid(), "the level set must have the grid of the velocity");
  static_cast<void>(WhitewaterColumns<T, D>(particles));
  const grid::Grid<D>& grid = phi.grid();
  const double h = grid.spacing();
  phi.fill_ghosts(time);
  velocity.fill_ghosts(time);
  std::optional<grid::FieldProbe<double, D>> wall;
  if (solid) wall.emplace(*solid);
  const CellSources<T, D> cells(velocity, phi, sources);
  const auto view = std::as_const(phi).view();
  const Coord<D> strides = c_strides<D>(view.extents);
  const auto centre_of = [&](const Coord<D>& c) {
    Vec<double, D> x;
    for (int d = 0; d < D; ++d) x[d] = grid.origin()[d] + h * (static_cast<double>(grid.first_cell()[d] + c[d]) + 0.5);
    return x;
  };
  const auto near = surface::list_near_samples<T, D>(view, 0, static_cast<T>(emitting_cells * h), workspace);
  const auto found = workspace.take<Source>(near.size);
  parallel_for(0, near.size, 256, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Coord<D> c = surface::index_of<D>(near.index[i], strides);
      const bool liquid = *view.at(c) <= T(0) && (!wall || wall->value(centre_of(c)) > 0.0);
      found.data()[i] = liquid ? cells(c) : Source{};
    }
  });
  WhitewaterEmission result;
  for (Index i = 0; i < near.size; ++i) result.wanted += found.data()[i].rate * dt;
  const double room = static_cast<double>(std::max<Index>(0, sources.most - particles.size()));
  const double part = result.wanted > room ? room / result.wanted : 1.0;
  const auto starts = workspace.take<Index>(near.size + 1);
  starts.data()[0] = 0;
  for (Index i = 0; i < near.size; ++i) {
    const double rate = found.data()[i].rate;
    Index count = 0;
    if (rate > 0.0) {
      const Coord<D> c = surface::index_of<D>(near.index[i], strides);
      const CounterRandom random(sources.seed, number_in_domain<D>(grid, c), step);
      count = static_cast<Index>(std::floor(part * rate * dt + random.uniform2(0)[0]));
    }
    starts.data()[i + 1] = std::min(starts.data()[i] + count, static_cast<Index>(room));
  }
  result.emitted = starts.data()[near.size];
  if (result.emitted == 0) return result;
  check_interrupt();
  const NoInterrupts commit;
  const Index first = particles.append(result.emitted);
  const WhitewaterColumns<T, D> to(particles);
  parallel_for(0, near.size, 1024, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index count = starts.data()[i + 1] - starts.data()[i];
      if (count == 0) continue;
      const Coord<D> c = surface::index_of<D>(near.index[i], strides);
      const CounterRandom random(sources.seed, number_in_domain<D>(grid, c), step);
      const Vec<double, D> centre = centre_of(c), u = cells.velocity_at(c);
      const double relative = found.data()[i].relative;
      for (Index k = 0; k < count; ++k) {
        const auto draw = static_cast<std::uint32_t>(1 + 4 * k);
        const auto a = random.uniform2(draw), b = random.uniform2(draw + 1), turn = random.uniform2(draw + 2),
                   size = random.uniform2(draw + 3);
        const std::array<double, 3> place{a[0], a[1], b[0]};
        Vec<double, D> x = centre;
        for (int d = 0; d < D; ++d) x[d] += h * (place[d] - 0.5);
        if (wall && !(wall->value(x) > 0.0)) x = centre;
        const Vec<double, D> v = u + sources.spread * relative * b[1] * direction<D>(turn[0], turn[1]);
        const Index j = first + starts.data()[i] + k;
        for (int d = 0; d < D; ++d) {
          to.position[j * D + d] = static_cast<T>(x[d]);
          to.velocity[j * D + d] = static_cast<T>(v[d]);
        }
        to.radius[j] = static_cast<T>(between(sources.radius, size[0]));
        to.lifetime[j] = static_cast<T>(between(sources.lifetime, size[1]));
        to.kind[j] = kind_at(static_cast<double>(*view.at(c)), layer);
      }
    }
  });
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                             \
  template WhitewaterEmission emit_whitewater<T, D>(grid::ParticleSet&, grid::MacField<T, D>&, grid::Field<T, D>&,             \
                                                    grid::Field<double, D>*, const WhitewaterSources&, double, double, double, \
                                                    std::uint32_t, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
