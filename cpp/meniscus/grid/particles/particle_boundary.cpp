#include "meniscus/grid/particles/particle_boundary.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <limits>
#include <optional>

namespace meniscus::grid {
namespace {

/// Most steps out of a solid.
constexpr int max_steps = 10;

/// The number of type T next to a side that is not outside of it, so that what is put onto the side is in the domain.
template <class T>
T inward(double side, bool upper) {
  const auto t = static_cast<T>(side);
  if (upper && static_cast<double>(t) > side) return std::nextafter(t, std::numeric_limits<T>::lowest());
  if (!upper && static_cast<double>(t) < side) return std::nextafter(t, std::numeric_limits<T>::max());
  return t;
}

/// The rule for one particle after the other.
template <class T, int D>
class Rule {
 public:
  Rule(const Grid<D>& grid, const ParticleBoundary<D>& boundary) : sides_(grid, boundary.open), in_solid_(boundary.in_solid) {
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      low_[axis] = inward<T>(sides_.at(d, 0), false);
      high_[axis] = inward<T>(sides_.at(d, 1), true);
    }
    if (boundary.solid) solid_.emplace(*boundary.solid);
  }

  ParticleFate operator()(T* x) const {
    for (int d = 0; d < D; ++d)
      if ((below(d, x) && sides_.leads_out(d, 0)) || (above(d, x) && sides_.leads_out(d, 1))) return ParticleFate::left;
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      if (below(d, x) && sides_.stops(d, 0)) x[d] = low_[axis];
      if (above(d, x) && sides_.stops(d, 1)) x[d] = high_[axis];
    }
    if (!solid_) return ParticleFate::stays;
    const Vec<double, D> at = Eigen::Map<const Vec<T, D>>(x).template cast<double>();
    if (solid_->value(at) > 0.0) return ParticleFate::stays;
    return in_solid_ == InSolid::push_out ? push_out<T, D>(*solid_, x) : ParticleFate::in_solid;
  }

 private:
  bool below(int d, const T* x) const { return x[d] < low_[static_cast<std::size_t>(d)]; }
  bool above(int d, const T* x) const { return x[d] > high_[static_cast<std::size_t>(d)]; }

  DomainSides<D> sides_;
  InSolid in_solid_;
  std::array<T, D> low_;
  std::array<T, D> high_;
  std::optional<FieldProbe<double, D>> solid_;
};

}  // namespace

template <class T, int D>
ParticleFate push_out(const FieldProbe<double, D>& solid, T* x, Vec<double, D>* normal) {
  const DomainSides<D> sides(solid.grid());
  const double gap = solid_gap * solid.grid().spacing();
  Eigen::Map<Vec<T, D>> position(x);
  ParticleFate fate = ParticleFate::stays;
  for (int i = 0; i <= max_steps; ++i) {
    const Vec<double, D> at = position.template cast<double>();
    const ProbedValue<D> s = solid(at);
    const double slope = s.gradient.norm();
    if (normal && slope > 0.0) *normal = s.gradient / slope;
    if (s.value > 0.0) return fate;
    if (slope == 0.0 || i == max_steps) break;
    // The level set is flatter than a distance in the middle of a solid only, between several nearest points.
    const Vec<double, D> moved = at + (gap - s.value) / std::max(1.0, slope) / slope * s.gradient;
    position = sides.nearest(moved).template cast<T>();
    fate = ParticleFate::pushed;
  }
  return ParticleFate::in_solid;
}

template <class T, int D>
FateCounts apply_particle_boundary(const Grid<D>& grid, const ParticleBoundary<D>& boundary, T* positions, Index n,
                                   ParticleFate* fates) {
  require(!boundary.solid || (boundary.solid->grid() == grid && boundary.solid->stagger() == Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  const Rule<T, D> rule(grid, boundary);
  return parallel_reduce(
      Index{0}, n, Index{1024}, FateCounts{},
      [&](Index begin, Index end) {
        FateCounts counts;
        for (Index i = begin; i < end; ++i) {
          const ParticleFate fate = rule(positions + i * D);
          fates[i] = fate;
          counts.pushed += fate == ParticleFate::pushed;
          counts.in_solid += fate == ParticleFate::in_solid;
          counts.left += fate == ParticleFate::left;
        }
        return counts;
      },
      [](const FateCounts& a, const FateCounts& b) {
        return FateCounts{a.pushed + b.pushed, a.in_solid + b.in_solid, a.left + b.left};
      });
}

template <class T, int D>
FateCounts apply_particle_boundary(const Grid<D>& grid, const ParticleBoundary<D>& boundary, ParticleSet& particles,
                                   std::uint8_t* left, Workspace& workspace) {
  const Index n = particles.size();
  const auto fates = workspace.take<ParticleFate>(n);
  const NoInterrupts whole;
  const FateCounts counts = apply_particle_boundary(grid, boundary, particle_positions<T, D>(particles), n, fates.data());
  flag_lost(fates.data(), n, false, left);
  return counts;
}

void flag_lost(const ParticleFate* fates, Index n, bool in_solid, std::uint8_t* flags) {
  parallel_for(0, n, 1 << 15, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      flags[i] = fates[i] == ParticleFate::left || (in_solid && fates[i] == ParticleFate::in_solid);
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template ParticleFate push_out<T, D>(const FieldProbe<double, D>&, T*, Vec<double, D>*);                                   \
  template FateCounts apply_particle_boundary<T, D>(const Grid<D>&, const ParticleBoundary<D>&, T*, Index, ParticleFate*);   \
  template FateCounts apply_particle_boundary<T, D>(const Grid<D>&, const ParticleBoundary<D>&, ParticleSet&, std::uint8_t*, \
                                                    Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
