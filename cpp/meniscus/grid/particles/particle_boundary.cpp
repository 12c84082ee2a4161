#include "meniscus/grid/particles/particle_boundary.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/blocks/owner_exchange.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <limits>
#include <optional>

namespace meniscus::grid {
namespace {

/// Most steps out of a solid.
constexpr int max_steps = 10;

/// Another block has the solid around the particle.
constexpr auto elsewhere = static_cast<ParticleFate>(255);

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
      const Index axis = d;
      low_[axis] = inward<T>(sides_.at(d, 0), false);
      high_[axis] = inward<T>(sides_.at(d, 1), true);
    }
    if (boundary.solid) solid_.emplace(*boundary.solid);
  }

  /// Whether all of n particles are between the sides, and there is no solid to meet.
  bool all_stay(const T* x, Index n) const {
    if (solid_) return false;
    int inside = 1;
    simd_dispatch([&] {
      for (std::size_t d = 0; d < D; ++d) {
        const T low = low_[d], high = high_[d];
        for (Index i = 0; i < n; ++i)
          inside &= !((x[i * D + static_cast<Index>(d)] < low) | (x[i * D + static_cast<Index>(d)] > high));
      }
    });
    return inside != 0;
  }

  /// The fate of a particle, or nothing if another block has to find out.
  std::optional<ParticleFate> operator()(T* x) const {
    for (int d = 0; d < D; ++d)
      if ((below(d, x) && sides_.leads_out(d, 0)) || (above(d, x) && sides_.leads_out(d, 1))) return ParticleFate::left;
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      if (below(d, x) && sides_.stops(d, 0)) x[d] = low_[axis];
      if (above(d, x) && sides_.stops(d, 1)) x[d] = high_[axis];
    }
    if (!solid_) return ParticleFate::stays;
    PushedPoint<T, D> point;
    std::copy_n(x, D, point.x);
    bool begun = false;
    if (!meet_solid(point, begun)) return std::nullopt;
    std::copy_n(point.x, D, x);
    return point.fate;
  }

  /// Finds out how a point fares with the solid; false where another block has to go on. `begun`: whether it is in the solid.
  bool meet_solid(PushedPoint<T, D>& point, bool& begun) const {
    if (!begun) {
      const Vec<double, D> at = point.position();
      if (!solid_->holds(at)) return false;
      if (solid_->value(at) > 0.0) return true;
      if (in_solid_ == InSolid::remove) {
        point.fate = ParticleFate::in_solid;
        return true;
      }
      begun = true;
    }
    return push_on(*solid_, point);
  }

 private:
  bool below(int d, const T* x) const { return x[d] < low_[d]; }
  bool above(int d, const T* x) const { return x[d] > high_[d]; }

  DomainSides<D> sides_;
  InSolid in_solid_;
  std::array<T, D> low_;
  std::array<T, D> high_;
  std::optional<FieldProbe<double, D>> solid_;
};

/// A particle that other blocks have to go on with.
template <class T, int D>
struct Unfinished {
  PushedPoint<T, D> point;
  bool begun = false, done = false;
};

/// Collective: the blocks that have the solid around a particle go on with it, one after the other.
template <class T, int D>
void finish_elsewhere(const Grid<D>& grid, const Rule<T, D>& rule, T* positions, Index n, ParticleFate* fates,
                      FateCounts& counts) {
  std::vector<Index> left;
  std::vector<Unfinished<T, D>> states;
  for (Index i = 0; i < n; ++i) {
    if (fates[i] != elsewhere) continue;
    left.push_back(i);
    std::copy_n(positions + i * D, D, states.emplace_back().point.x);
  }
  while (parallel::global_any(*grid.communicator(), !left.empty())) {
    std::vector<Unfinished<T, D>> after(states.size());
    ask_owners<D>(
        grid, states.data(), static_cast<Index>(states.size()), after.data(),
        [&](const Unfinished<T, D>& s) { return locate_in_domain(grid, s.point.position().data()).cell; },
        [&](const Unfinished<T, D>* asked, Index count, Unfinished<T, D>* answers) {
          for (Index i = 0; i < count; ++i) {
            answers[i] = asked[i];
            answers[i].done = rule.meet_solid(answers[i].point, answers[i].begun);
          }
        });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < left.size(); ++k) {
      if (after[k].done) {
        std::copy_n(after[k].point.x, D, positions + left[k] * D);
        fates[left[k]] = after[k].point.fate;
        counts.count(after[k].point.fate);
      } else {
        left[kept] = left[k];
        states[kept++] = after[k];
      }
    }
    left.resize(kept);
    states.resize(kept);
  }
}

}  // namespace

template <class T, int D>
bool push_on(const FieldProbe<double, D>& solid, PushedPoint<T, D>& point, Vec<double, D>* normal) {
  const DomainSides<D> sides(solid.grid());
  const double gap = solid_gap * solid.grid().spacing();
  Eigen::Map<Vec<T, D>> position(point.x);
  for (;; ++point.steps) {
    const Vec<double, D> at = point.position();
    if (!solid.holds(at)) return false;
    const ProbedValue<D> s = solid(at);
    const double slope = s.gradient.norm();
    if (normal && slope > 0.0) *normal = s.gradient / slope;
    if (s.value > 0.0) return true;
    if (slope == 0.0 || point.steps == max_steps) break;
    // The level set is flatter than a distance in the middle of a solid only, between several nearest points.
    const Vec<double, D> moved = at + (gap - s.value) / std::max(1.0, slope) / slope * s.gradient;
    position = sides.nearest(moved).template cast<T>();
    point.fate = ParticleFate::pushed;
  }
  point.fate = ParticleFate::in_solid;
  return true;
}

template <class T, int D>
ParticleFate push_out(const FieldProbe<double, D>& solid, T* x, Vec<double, D>* normal) {
  PushedPoint<T, D> point;
  std::copy_n(x, D, point.x);
  push_on(solid, point, normal);
  std::copy_n(point.x, D, x);
  return point.fate;
}

template <class T, int D>
FateCounts apply_particle_boundary(const Grid<D>& grid, const ParticleBoundary<D>& boundary, T* positions, Index n,
                                   ParticleFate* fates) {
  require(!boundary.solid || (boundary.solid->grid() == grid && boundary.solid->stagger() == Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  const Rule<T, D> rule(grid, boundary);
  FateCounts counts = parallel_reduce(
      Index{0}, n, Index{1024}, FateCounts{},
      [&](Index begin, Index end) {
        FateCounts sum;
        if (rule.all_stay(positions + begin * D, end - begin)) {
          std::fill(fates + begin, fates + end, ParticleFate::stays);
          return sum;
        }
        for (Index i = begin; i < end; ++i) {
          const std::optional<ParticleFate> fate = rule(positions + i * D);
          fates[i] = fate.value_or(elsewhere);
          sum.count(fates[i]);
        }
        return sum;
      },
      [](const FateCounts& a, const FateCounts& b) {
        return FateCounts{a.pushed + b.pushed, a.in_solid + b.in_solid, a.left + b.left};
      });
  if (boundary.solid && grid.block().cut()) finish_elsewhere(grid, rule, positions, n, fates, counts);
  return counts;
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
  template bool push_on<T, D>(const FieldProbe<double, D>&, PushedPoint<T, D>&, Vec<double, D>*);                            \
  template ParticleFate push_out<T, D>(const FieldProbe<double, D>&, T*, Vec<double, D>*);                                   \
  template FateCounts apply_particle_boundary<T, D>(const Grid<D>&, const ParticleBoundary<D>&, T*, Index, ParticleFate*);   \
  template FateCounts apply_particle_boundary<T, D>(const Grid<D>&, const ParticleBoundary<D>&, ParticleSet&, std::uint8_t*, \
                                                    Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
