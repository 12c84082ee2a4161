#include "meniscus/fluids/liquid/drop_absorption.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/liquid/drop_momentum.hpp"
#include "meniscus/fluids/liquid/near_surface.hpp"
#include "meniscus/grid/particles/cell_location.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/point_transport.hpp"
#include "meniscus/surface/extraction/level_set_volume.hpp"
#include "meniscus/surface/markers/particle_columns.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace meniscus::fluids {
namespace {

enum Fate : std::uint8_t { flies = 0, joins = 1, gathers = 2 };

constexpr double least_reach = 2.0;     // cells beyond the radius of a drop
constexpr double largest_rise = 0.5;    // cells
constexpr double gathered_scale = 0.8;  // of the ball that a cube with gathered drops becomes: its corners are well inside
constexpr int widenings = 3;
constexpr int searches = 8;        // for the factor that makes volumes exact
constexpr double accuracy = 1e-7;  // relative to the volume of the drops

template <class T, int D>
class Absorption {
 public:
  Absorption(const AbsorbingLiquid<T, D>& liquid, grid::ParticleSet& drops, double time, Workspace& workspace)
      : liquid_(liquid),
        grid_(liquid.levelset.grid()),
        phi_(liquid.levelset.view()),
        drops_(drops),
        n_(drops.size()),
        cells_(product<D>(phi_.extents)),
        strides_(c_strides<D>(phi_.extents)),
        h_(grid_.spacing()),
        cell_(std::pow(h_, D)),
        time_(time),
        workspace_(workspace),
        fate_(surface::flag_returned(liquid.levelset, drops, -1, 1.0, time, workspace)) {}

  std::uint8_t* fates() { return fate_.data(); }

  /// Finds out which drops become liquid; returns whether any do.
  bool find(DropAbsorption& result) {
    const surface::SprayColumns<T, D> s(drops_);
    held_ = workspace_.take<double>(cells_);
    std::fill_n(held_.data(), cells_, 0.0);
    for (Index i = 0; i < n_; ++i) {
      if (fate_.data()[i] == joins)
        count(result.joined, i, s);
      else
        held_.data()[cell_of(s.position + i * D)] += volume(s, i);
    }
    for (Index i = 0; i < n_; ++i)
      if (fate_.data()[i] == flies && becomes_liquid(cell_of(s.position + i * D))) {
        fate_.data()[i] = gathers;
        count(result.gathered, i, s);
      }
    return result.joined.count + result.gathered.count > 0;
  }

  void raise(const DropAbsorption& result) {
    before_ = workspace_.take<T>(cells_);
    base_ = workspace_.take<T>(cells_);
    rise_ = workspace_.take<double>(cells_);
    copy_out(before_.data());
    double total = measure();
    const NoInterrupts commit;
    if (result.joined.count > 0) total = raise_joined(total, result.joined.volume);
    if (result.gathered.count > 0) raise_gathered(total, result.gathered.volume);
  }

  void give_momentum() {
    surface::volume_fractions(outside_of_solid(), liquid_.fractions, workspace_);
    DropMomentum<T, D> momentum(liquid_.levelset, liquid_.fractions, liquid_.velocity, liquid_.solid);
    const surface::SprayColumns<T, D> s(drops_);
    const auto shares = workspace_.take<typename DropMomentum<T, D>::Share>(n_);
    for (int d = 0; d < D; ++d) {
      parallel_for(0, n_, 16, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
          if (fate_.data()[i] != flies)
            shares.data()[i] = momentum.share(d, s.position + i * D, static_cast<double>(s.radius[i]), volume(s, i));
      });
      const Index faces = product<D>(grid::Stagger<D>::face(d).extents(phi_.extents));
      const auto speeds = workspace_.take<double>(faces);
      const auto parts = workspace_.take<double>(faces);
      std::fill_n(speeds.data(), faces, 0.0);
      std::fill_n(parts.data(), faces, 0.0);
      // In the order of the drops, for the sake of the same bits.
      for (Index i = 0; i < n_; ++i)
        if (fate_.data()[i] != flies)
          momentum.add(d, s.position + i * D, s.velocity[i * D + d], shares.data()[i], parts.data(), speeds.data());
      momentum.apply(d, parts.data(), speeds.data());
    }
  }

  /// Fits markers to the surface where it has moved.
  void fit_markers(const surface::RadiusBounds& bounds) {
    const surface::MarkerColumns<T, D> m(liquid_.markers);
    const Index n = liquid_.markers.size();
    const auto now = workspace_.take<T>(n);
    const auto moved = workspace_.take<T>(n);
    const auto gone = workspace_.take<std::uint8_t>(n);
    sample(m.position, n, now.data());
    swap_surface();
    sample(m.position, n, moved.data());
    swap_surface();
    const T low = static_cast<T>(bounds.smallest * h_), high = static_cast<T>(bounds.largest * h_);
    parallel_for(0, n, 8192, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const T sign = static_cast<T>(m.sign[i]), a = sign * moved.data()[i], b = sign * now.data()[i];
        gone.data()[i] = 0;
        if (a == b || a < 0) continue;
        // A marker closer to the surface than the least radius would push the surface back.
        if (b >= low)
          m.radius[i] = std::clamp(b, low, high);
        else
          gone.data()[i] = m.sign[i] > 0;
      }
    });
    liquid_.markers.remove(gone.data(), workspace_);
    add_markers(low, high);
  }

  /// Marks what has become liquid, so that it is drops again if the grid loses it. Drops that gather move into their ball.
  void add_markers(T low, T high) {
    const surface::SprayColumns<T, D> s(drops_);
    const auto points = workspace_.take<T>(n_ * D);
    const auto values = workspace_.take<T>(n_);
    std::copy_n(s.position, n_ * D, points.data());
    for (Index i = 0; i < n_; ++i) {
      if (fate_.data()[i] != gathers) continue;
      const auto at = grid::locate_in_domain(grid_, s.position + i * D);
      for (int d = 0; d < D; ++d) {
        const double from_centre = (at.offset[static_cast<std::size_t>(d)] - 0.5) * h_;
        const double centre = grid_.origin()[d] + (static_cast<double>(at.cell[static_cast<std::size_t>(d)]) + 0.5) * h_;
        points.data()[i * D + d] = static_cast<T>(centre + gathered_scale / std::sqrt(D) * from_centre);
      }
    }
    sample(points.data(), n_, values.data());
    const auto marks = [&](Index i) {
      return fate_.data()[i] == gathers || (fate_.data()[i] == joins && values.data()[i] <= -low);
    };
    Index added = 0;
    for (Index i = 0; i < n_; ++i) added += marks(i);
    Index to = liquid_.markers.append(added);
    const surface::MarkerColumns<T, D> m(liquid_.markers);
    for (Index i = 0; i < n_; ++i) {
      if (!marks(i)) continue;
      std::copy_n(points.data() + i * D, D, m.position + to * D);
      m.sign[to] = -1;
      m.radius[to++] = std::clamp(-values.data()[i], low, high);
    }
  }

 private:
  static double volume(const surface::SprayColumns<T, D>& s, Index i) {
    return surface::ball_volume<D>(static_cast<double>(s.radius[i]));
  }
  static void count(surface::Transfer& transfer, Index i, const surface::SprayColumns<T, D>& s) {
    ++transfer.count;
    transfer.volume += volume(s, i);
  }
  Index cell_of(const T* x) const { return dot<D>(grid::locate_in_domain(grid_, x).cell, strides_); }
  bool outside(Index cell) const { return !liquid_.solid || liquid_.solid->masks().outside_cells.data()[cell] != 0; }
  bool becomes_liquid(Index cell) const { return held_.data()[cell] >= gathered_fraction * cell_ && outside(cell); }

  const grid::Field<T, D>& outside_of_solid() {
    if (!liquid_.solid) return liquid_.levelset;
    subtract_solid(liquid_.levelset, liquid_.solid->levelset(), liquid_.scratch);
    return liquid_.scratch;
  }
  double measure() { return surface::measure_level_set(outside_of_solid(), workspace_).volume; }
  void sample(const T* x, Index n, T* values) {
    grid::sample_points(liquid_.levelset, x, n, grid::Interpolation::linear, time_, values);
  }

  template <class Body>
  void for_each_row(Body&& body) const {
    const Index length = phi_.extents[D - 1];
    grid::parallel_rows<D>(phi_.extents, [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) body(phi_.at(grid::row_start<D>(phi_.extents, r)), r * length, length);
    });
  }
  void copy_out(T* to) const {
    for_each_row([&](const T* row, Index first, Index length) { std::copy_n(row, length, to + first); });
  }
  void swap_surface() const {
    for_each_row([&](T* row, Index first, Index length) { std::swap_ranges(row, row + length, before_.data() + first); });
  }

  /// Moves the surface out by a common factor times `rise_`, so that `added` comes to `total`, the volume now; returns the volume
  /// then.
  double fit(double total, double wanted, double first_order, double limit) {
    copy_out(base_.data());
    DistanceSearch search(limit);
    for (int pass = 0; pass < searches && std::abs(total - wanted) > accuracy * first_order; ++pass) {
      search.advance(total, wanted, first_order);
      for_each_row([&](T* row, Index first, Index length) {
        for (Index k = 0; k < length; ++k)
          if (rise_.data()[first + k] != 0.0)
            row[k] = static_cast<T>(static_cast<double>(base_.data()[first + k]) - search.distance * rise_.data()[first + k]);
      });
      total = measure();
    }
    return total;
  }

  double delta(double distance) const {
    const double width = 1.5 * h_;
    return std::abs(distance) < width ? (1.0 + std::cos(std::numbers::pi / width * distance)) / (3.0 * h_) : 0.0;
  }

  double raise_joined(double total, double added) {
    const surface::SprayColumns<T, D> s(drops_);
    std::fill_n(rise_.data(), cells_, 0.0);
    for (Index i = 0; i < n_; ++i) {
      if (fate_.data()[i] != joins) continue;
      // A drop that meets little surface, or is deep in the liquid, raises what is farther away.
      double reach = static_cast<double>(s.radius[i]) + least_reach * h_;
      for (int widening = 0; widening <= widenings; ++widening, reach *= 2.0)
        if (raise_around(s.position + i * D, volume(s, i), reach, widening == widenings)) break;
    }
    return fit(total, total + added, added, 2.0);
  }

  bool raise_around(const T* x, double added, double reach, bool any) {
    const grid::SamplesAround<D> box(grid_, grid::Stagger<D>{}, x, reach);
    double area = 0.0;
    const auto at_surface = [&](const Coord<D>& c, auto&& body) {
      const double k = drop_kernel(box.square_distance(c) / (reach * reach));
      if (k == 0.0) return;
      const Coord<D> image = box.image(c);
      const Index cell = dot<D>(image, strides_);
      if (outside(cell)) body(cell, k, delta(static_cast<double>(*phi_.at(image))));
    };
    box.for_each([&](const Coord<D>& c) { at_surface(c, [&](Index, double k, double d) { area += k * d * cell_; }); });
    if (!(area > 0.0)) return false;
    const double height = added / area;
    bool small = height <= largest_rise * h_;
    box.for_each([&](const Coord<D>& c) {
      at_surface(
          c, [&](Index cell, double k, double d) { small &= d == 0.0 || rise_.data()[cell] + k * height <= largest_rise * h_; });
    });
    if (!small && !any) return false;
    box.for_each(
        [&](const Coord<D>& c) { at_surface(c, [&](Index cell, double k, double) { rise_.data()[cell] += k * height; }); });
    return true;
  }

  void raise_gathered(double total, double added) {
    std::fill_n(rise_.data(), cells_, 0.0);
    double area = 0.0;
    Coord<D> at{};
    for (Index cell = 0; cell < cells_; ++cell) {
      Index rest = cell;
      for (std::size_t d = 0; d < D; ++d) {
        at[d] = rest / strides_[d];
        rest %= strides_[d];
      }
      if (!becomes_liquid(cell)) continue;
      const double radius = std::pow(held_.data()[cell] / surface::ball_volume<D>(1.0), 1.0 / D);
      std::array<double, D> centre;
      for (std::size_t d = 0; d < D; ++d)
        centre[d] = grid_.origin()[static_cast<Index>(d)] + (static_cast<double>(at[d]) + 0.5) * h_;
      const grid::SamplesAround<D> box(grid_, grid::Stagger<D>{}, centre.data(), radius + h_);
      box.for_each([&](const Coord<D>& c) {
        const Coord<D> image = box.image(c);
        T& value = *phi_.at(image);
        value = std::min(value, static_cast<T>(std::sqrt(box.square_distance(c)) - radius));
        rise_.data()[dot<D>(image, strides_)] = h_;
      });
    }
    for_each_gathered([&](double value) { area += delta(value) * cell_ * h_; });
    fit(measure(), total + added, std::max(area, added), 0.45);
  }

  template <class Body>
  void for_each_gathered(Body&& body) const {
    const Index length = phi_.extents[D - 1];
    for (Index first = 0; first < cells_; first += length) {
      const T* row = phi_.at(grid::row_start<D>(phi_.extents, first / length));
      for (Index k = 0; k < length; ++k)
        if (rise_.data()[first + k] != 0.0) body(static_cast<double>(row[k]));
    }
  }

  const AbsorbingLiquid<T, D>& liquid_;
  const grid::Grid<D>& grid_;
  grid::FieldView<T, D> phi_;
  grid::ParticleSet& drops_;
  Index n_, cells_;
  Coord<D> strides_;
  double h_, cell_, time_;
  Workspace& workspace_;
  Workspace::Lease<std::uint8_t> fate_;
  Workspace::Lease<double> held_;  ///< volume of flying drops by cell
  Workspace::Lease<double> rise_;
  Workspace::Lease<T> before_, base_;
};

}  // namespace

template <class T, int D>
DropAbsorption absorb_drops(const AbsorbingLiquid<T, D>& liquid, grid::ParticleSet& drops, const surface::RadiusBounds& bounds,
                            VolumeBudget<D>& budget, double time, Workspace& workspace) {
  require(liquid.levelset.grid() == liquid.velocity.grid(), "the level set and the velocity must have the same grid");
  DropAbsorption result;
  Absorption<T, D> absorption(liquid, drops, time, workspace);
  if (!absorption.find(result)) return result;
  absorption.raise(result);
  const NoInterrupts commit;
  absorption.give_momentum();
  absorption.fit_markers(bounds);
  budget.template add_drops<T>(drops, absorption.fates(), workspace);
  drops.remove(absorption.fates(), workspace);
  return result;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                           \
  template DropAbsorption absorb_drops<T, D>(const AbsorbingLiquid<T, D>&, grid::ParticleSet&, const surface::RadiusBounds&, \
                                             VolumeBudget<D>&, double, Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
