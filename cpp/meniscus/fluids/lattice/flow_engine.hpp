/// Lattice Boltzmann flows of one set of velocities and one storage.
#pragma once

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/lattice/lattice_flow.hpp"
#include "meniscus/fluids/lattice/solid_walls.hpp"
#include "meniscus/fluids/lattice/sweep.hpp"

namespace meniscus::fluids::lattice {

template <class L, class T>
class FlowEngine final : public LatticeFlow {
 public:
  static constexpr int D = L::dimension;
  static constexpr int Q = L::directions;
  using C = typename Storage<T>::Compute;
  using Units = std::array<C, Q>;

  FlowEngine(const Coord<D>& cells, bool in_place, double unit)
      : f_(cells, in_place), walls_(f_.box(), Lanes<C>::count), shape_(cells.begin(), cells.end()) {
    for (int k = 0; k < Q; ++k) units_[k] = C(unit * L::weight(k));
  }

  int dimension() const override { return D; }
  int directions() const override { return Q; }
  const std::vector<Index>& cells() const override { return shape_; }
  std::vector<std::array<int, 3>> velocities() const override {
    std::vector<std::array<int, 3>> e;
    for (const auto& k : L::e) e.push_back({k[0], k[1], k[2]});
    return e;
  }
  std::vector<double> weights() const override {
    std::vector<double> w;
    for (int k = 0; k < Q; ++k) w.push_back(L::weight(k));
    return w;
  }
  Index bytes() const override {
    Index n = f_.bytes() + walls_.bytes();
    for (const auto& m : memory_) n += 8 * (m.density.size() + m.speed.size());
    return n;
  }

  Side& side(int number) override { return sides_[number]; }

  LatticeStepReport step(const CollisionRule& rule) override {
    core::check_interrupt();
    const core::NoInterrupts whole;
    const FluidBits fluid{walls_.cells().bits(), walls_.cells().packs_per_row()};
    const bool eddies = rule.smagorinsky > 0;
    SweepReport seen;
    if constexpr (Q == 27) {
      if (rule.kind == CollisionKind::cumulant)
        seen = eddies ? sweep<L, T, true, true>(f_, sides_, fluid, rule, units_)
                      : sweep<L, T, true, false>(f_, sides_, fluid, rule, units_);
    }
    if (rule.kind != CollisionKind::cumulant)
      seen = eddies ? sweep<L, T, false, true>(f_, sides_, fluid, rule, units_)
                    : sweep<L, T, false, false>(f_, sides_, fluid, rule, units_);
    for (int s = 0; s < 2 * D; ++s)
      if (sides_[s].kind == SideKind::pressure || sides_[s].kind == SideKind::outflow) {
        remember(s);
        set_density_side(f_, sides_, s, memory_[s], rule.force, units_);
      }
    const bool sealed = walls_.weight() > 0.0;
    const double back = sealed ? leak_returned * leak_ : 0.0;
    const double added = reflect(f_, walls_.links(), sealed ? back / walls_.weight() : 0.0, units_);
    leak_ = sealed ? leak_ + (added - walls_.half_way_flux()) - back : 0.0;
    f_.turn();
    return {std::sqrt(seen.largest_square), seen.refused};
  }

  void read(double* out) const override {
    each_cell([&](Index i, Index cell) {
      const bool solid = walls_.cells().solid(cell);
      for (int k = 0; k < Q; ++k) out[k * count() + i] = solid ? 0.0 : double(Storage<T>::value(f_.arriving(k)[cell], units_[k]));
    });
  }
  void write(const double* values) override {
    each_cell([&](Index i, Index cell) {
      for (int k = 0; k < Q; ++k) f_.arriving(k)[cell] = Storage<T>::stored(C(values[k * count() + i]), units_[k]);
    });
  }
  Index saved_bytes() const override { return count() * Q * Index{sizeof(T)}; }
  void save(std::byte* out) const override {
    each_cell([&](Index i, Index cell) {
      for (int k = 0; k < Q; ++k) std::memcpy(out + (k * count() + i) * Index{sizeof(T)}, f_.arriving(k) + cell, sizeof(T));
    });
  }
  void restore(const std::byte* saved) override {
    each_cell([&](Index i, Index cell) {
      for (int k = 0; k < Q; ++k) std::memcpy(f_.arriving(k) + cell, saved + (k * count() + i) * Index{sizeof(T)}, sizeof(T));
    });
  }

  void moments(const CollisionRule& rule, double* density, double* velocity) const override {
    each_cell([&](Index i, Index cell) {
      C f[Q], u[D] = {}, rho{};
      gather(cell, f, rho, u, rule);
      const bool out = walls_.cells().solid(cell);
      if (density) density[i] = out ? 0.0 : double(rho);
      for (int d = 0; velocity && d < D; ++d) velocity[d * count() + i] = out ? 0.0 : double(u[d]);
    });
  }

  void strain(const CollisionRule& rule, double* norm, double* viscosity) const override {
    const CollisionNumbers<double> n(rule);
    each_cell([&](Index i, Index cell) {
      C f[Q], u[D] = {}, rho{};
      gather(cell, f, rho, u, rule);
      double total = 0;
      for (int a = 0; a < D; ++a)
        for (int b = 0; b < D; ++b) {
          double moment = 0.5 * (double(u[a]) * rule.force[b] + double(u[b]) * rule.force[a]) - double(u[a]) * double(u[b]);
          for (int k = 1; k < Q; ++k) moment += L::e[k][a] * L::e[k][b] * double(f[k]);
          if (a == b) moment -= double(rho) / 3.0;
          total += moment * moment;
        }
      const double stress = std::sqrt(total), tau = n.tau + 0.5 * (std::sqrt(n.base * n.base + n.eddy * stress) - n.base);
      const bool out = walls_.cells().solid(cell);
      if (norm) norm[i] = out ? 0.0 : 1.5 * stress / tau;
      if (viscosity) viscosity[i] = out ? 0.0 : (tau - 0.5) / 3.0;
    });
  }

  void set_moments(const CollisionRule& rule, const double* density, const double* velocity, const double* gradients) override {
    const double tau = rule.tau();
    each_cell([&](Index i, Index cell) {
      C u[D];
      for (int d = 0; d < D; ++d) u[d] = C(velocity[d * count() + i]);
      for (int k = 0; k < Q; ++k) {
        double value = equilibrium<L, C>(k, C(density[i]), u);
        for (int a = 0; a < D; ++a) {
          value -= 1.5 * L::weight(k) * L::e[k][a] * rule.force[a];  // velocity is that in the middle of the push
          for (int b = 0; gradients && b < D; ++b)
            value -= 3.0 * tau * L::weight(k) * (L::e[k][a] * L::e[k][b] - (a == b ? 1.0 / 3.0 : 0.0)) *
                     gradients[(a * D + b) * count() + i];
        }
        f_.arriving(k)[cell] = Storage<T>::stored(walls_.cells().solid(cell) ? C(0) : C(value), units_[k]);
      }
    });
    for (auto& m : memory_) m.begun = false;
  }

  void rescale(const CollisionRule& before, const CollisionRule& after, double ratio) override {
    // What is left of equilibrium is as large as strain rate and relaxation time are.
    const C part = C(ratio * after.tau() / before.tau());
    each_cell([&](Index, Index cell) {
      if (walls_.cells().solid(cell)) return;
      C f[Q], u[D] = {}, rho{}, v[D];
      gather(cell, f, rho, u, before);
      for (int d = 0; d < D; ++d) v[d] = C(ratio) * u[d];
      for (int k = 0; k < Q; ++k) {
        C pushed{}, push{};
        for (int d = 0; d < D; ++d) {
          pushed += C(1.5 * L::weight(k) * L::e[k][d] * before.force[d]);
          push += C(1.5 * L::weight(k) * L::e[k][d] * after.force[d]);
        }
        const C rest = f[k] + pushed - equilibrium<L, C>(k, rho, u);
        const C value = equilibrium<L, C>(k, C(ratio * ratio) * rho, v) - push + part * rest;
        f_.arriving(k)[cell] = Storage<T>::stored(value, units_[k]);
      }
    });
    for (auto& m : memory_) m.begun = false;
  }

  std::array<double, 4> totals() const override {
    const auto& box = f_.box();
    using Sum = std::array<double, 4>;
    return core::parallel_reduce(
        0, box.rows(), rows_per_chunk(), Sum{},
        [&](Index begin, Index end) {
          Sum s{};
          each_cell_of(begin, end, [&](Index, Index cell) {
            if (walls_.cells().solid(cell)) return;
            for (int k = 0; k < Q; ++k) {
              const double value = Storage<T>::value(f_.arriving(k)[cell], units_[k]);
              s[0] += value;
              for (int d = 0; d < D; ++d) s[d + 1] += L::e[k][d] * value;
            }
          });
          return s;
        },
        [](Sum a, const Sum& b) {
          for (int i = 0; i < 4; ++i) a[i] += b[i];
          return a;
        });
  }

  void begin_solids() override { walls_.cells().begin(); }
  void add_solid_cells(const Index* lower, const Index* upper, const double* distance) override {
    Coord<D> l{}, u{};
    std::copy_n(lower, D, l.begin());
    std::copy_n(upper, D, u.begin());
    walls_.cells().add(l, u, distance);
  }
  Index find_links() override {
    walls_.find_links(sides_);
    return link_count();
  }
  Index link_count() const override { return static_cast<Index>(walls_.links().size()); }
  void link_points(double fraction, double* out) const override { walls_.points(fraction, out); }
  void set_link_ends(const double* distance, bool solid) override { walls_.set_ends(distance, solid); }
  void narrow_links(const double* distance) override { walls_.narrow(distance); }
  void prepare_links(const double* velocities, const std::int32_t* owners, bool interpolated) override {
    walls_.prepare_links(velocities, owners, interpolated);
  }
  void link_forces(double* out) const override { walls_.forces(out); }

  Index changed_count(bool covered) const override { return static_cast<Index>(changed(covered).size()); }
  void changed_points(bool covered, double* out) const override {
    for (const Index cell : changed(covered))
      for (const Index i : walls_.cells().coordinate(cell)) *out++ = static_cast<double>(i) + 0.5;
  }
  void changed_contents(bool covered, double* out) const override {
    for (const Index cell : changed(covered)) {
      C f[Q], u[D] = {}, rho{};
      gather(cell, f, rho, u, CollisionRule{});
      *out++ = 1.0 + double(rho);
      for (int d = 0; d < D; ++d) *out++ = double(u[d]);
    }
  }
  void fill_uncovered(const double* velocities) override {
    // Cells that were uncovered together do not fill each other: all densities first.
    std::vector<C> densities;
    const auto& fresh = walls_.uncovered();
    for (const Index cell : fresh) {
      C sum{};
      int count = 0;
      const Coord<D> c = walls_.cells().coordinate(cell);
      for (int k = 1; k < Q; ++k) {
        Coord<D> n = c;
        bool there = true;
        for (int d = 0; d < D; ++d) {
          n[d] += L::e[k][d];
          there = there && n[d] >= 0 && n[d] < f_.box().cells[d];
        }
        const Index at = f_.box().index(n);
        if (!there || walls_.cells().solid(at) || std::binary_search(fresh.begin(), fresh.end(), at)) continue;
        C f[Q], u[D] = {}, rho{};
        gather(at, f, rho, u, CollisionRule{});
        sum += rho;
        ++count;
      }
      densities.push_back(count > 0 ? sum / C(count) : C(0));
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      C u[D];
      for (int d = 0; d < D; ++d) u[d] = C(velocities[static_cast<Index>(i) * D + d]);
      for (int k = 0; k < Q; ++k) f_.arriving(k)[fresh[i]] = Storage<T>::stored(equilibrium<L, C>(k, densities[i], u), units_[k]);
    }
  }

  std::vector<double> memory() const override {
    std::vector<double> values{leak_};
    for (int s = 0; s < 2 * D; ++s) {
      if (sides_[s].kind != SideKind::outflow) continue;
      const Index n = cells_of_side<D>(f_.box(), s / 2);
      const auto& m = memory_[s];
      values.push_back(m.begun ? 1.0 : 0.0);
      for (Index i = 0; i < n; ++i) values.push_back(m.begun ? m.density[i] : 0.0);
      for (Index i = 0; i < n; ++i) values.push_back(m.begun ? m.speed[i] : 0.0);
    }
    return values;
  }
  void set_memory(std::span<const double> values) override {
    auto next = values.begin();
    leak_ = *next++;
    for (int s = 0; s < 2 * D; ++s) {
      if (sides_[s].kind != SideKind::outflow) continue;
      remember(s);
      auto& m = memory_[s];
      m.begun = *next++ != 0.0;
      for (double& x : m.density) x = *next++;
      for (double& x : m.speed) x = *next++;
    }
  }

 private:
  Index count() const { return core::product<D>(f_.box().cells); }
  Index rows_per_chunk() const { return std::max<Index>(1, 4096 / f_.box().cells[D - 1]); }

  template <class F>
  void each_cell_of(Index first_row, Index last_row, F&& visit) const {
    const Index n = f_.box().cells[D - 1];
    for (Index r = first_row; r < last_row; ++r) {
      const Index start = f_.box().index(f_.box().row(r));
      for (Index z = 0; z < n; ++z) visit(r * n + z, start + z);
    }
  }
  template <class F>
  void each_cell(F&& visit) const {
    core::parallel_for(0, f_.box().rows(), rows_per_chunk(), [&](Index begin, Index end) { each_cell_of(begin, end, visit); });
  }

  /// Populations, density less 1 and velocity of a cell.
  void gather(Index cell, C* f, C& rho, C* u, const CollisionRule& rule) const {
    for (int k = 0; k < Q; ++k) {
      f[k] = Storage<T>::value(f_.arriving(k)[cell], units_[k]);
      rho += f[k];
      for (int d = 0; d < D; ++d) u[d] += C(L::e[k][d]) * f[k];
    }
    for (int d = 0; d < D; ++d) u[d] += C(0.5 * rule.force[d]);
  }

  const std::vector<Index>& changed(bool covered) const { return covered ? walls_.covered() : walls_.uncovered(); }

  void remember(int s) {
    const Index n = cells_of_side<D>(f_.box(), s / 2);
    if (sides_[s].kind != SideKind::outflow || memory_[s].density.size() == n) return;
    memory_[s].density = core::Block<double>(n);
    memory_[s].speed = core::Block<double>(n);
  }

  /// Share of the leak that is taken back in a step: much more would answer to sound.
  static constexpr double leak_returned = 0.02;

  Populations<L, T> f_;
  SolidWalls<L, C> walls_;
  double leak_ = 0.0;  ///< mass that walls have added and not taken back yet
  std::vector<Index> shape_;
  Units units_{};
  Sides<D> sides_{};
  std::array<OutflowMemory, 2 * D> memory_{};
};

template <class L>
std::unique_ptr<LatticeFlow> make_engine(LatticeStorage storage, Streaming streaming, std::span<const Index> cells, double unit) {
  Coord<L::dimension> n{};
  require(cells.size() == n.size(), "the grid must have ", L::dimension, " dimensions for this set of velocities, not ",
          cells.size());
  std::copy(cells.begin(), cells.end(), n.begin());
  const bool in_place = streaming == Streaming::in_place;
  switch (storage) {
    case LatticeStorage::float64:
      return std::make_unique<FlowEngine<L, double>>(n, in_place, 1.0);
    case LatticeStorage::float32:
      return std::make_unique<FlowEngine<L, float>>(n, in_place, 1.0);
    case LatticeStorage::int16:
      break;
  }
  return std::make_unique<FlowEngine<L, std::int16_t>>(n, in_place, unit);
}

}  // namespace meniscus::fluids::lattice
