#include "meniscus/fluids/control/control_force.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/fluids/control/low_pass.hpp"
#include "meniscus/parallel/joint_reductions.hpp"

#include <cmath>
#include <limits>

namespace meniscus::fluids {
namespace {

/// Collective: the smallest box of cells of the domain around those that are controlled in part; empty if there are none.
template <int D>
parallel::IndexBox<D> controlled_box(const ControlCells<D>& cells) {
  const grid::Grid<D>& grid = cells.grid();
  constexpr double none = std::numeric_limits<double>::lowest();
  std::array<double, 2 * D> ends;  // minus the first, and the last
  ends.fill(none);
  Coord<D> c{};
  const Index length = cells.extents()[D - 1];
  for (Index r = 0; r < product<D>(cells.extents()) / length; ++r) {
    c = grid::row_start<D>(cells.extents(), r);
    const double* row = cells.cover() + r * length;
    for (; c[D - 1] < length; ++c[D - 1]) {
      if (row[c[D - 1]] == 0.0) continue;
      for (int d = 0; d < D; ++d) {
        const Index a = d;
        const auto place = static_cast<double>(grid::lattice_cell(grid, d, grid.first_cell()[a] + c[a] - 1));
        ends[a] = std::max(ends[a], -place);
        ends[a + D] = std::max(ends[a + D], place);
      }
    }
  }
  parallel::global_maxima(*grid.communicator(), ends);
  parallel::IndexBox<D> box;
  for (std::size_t d = 0; d < D; ++d)
    if (ends[d] != none) box.begin[d] = -static_cast<Index>(ends[d]), box.end[d] = static_cast<Index>(ends[d + D]) + 1;
  return box;
}

/// The faces across the axis of a box of cells.
template <int D>
parallel::IndexBox<D> faces_of_box(const grid::Grid<D>& grid, parallel::IndexBox<D> box, int axis) {
  const Index a = axis;
  ++box.end[a];
  // The face on the side of a periodic axis has two places.
  const bool at_side = box.begin[a] <= 0 || box.end[a] > grid.shape()[a];
  if (at_side && grid::period_of(grid, axis) > 0) box.begin[a] = 0, box.end[a] = grid.shape()[a] + 1;
  return box;
}

/// Whether faces of the block across an axis, with these indices along it, can change.
template <class T, int D>
class FreeFaces {
 public:
  FreeFaces(const grid::MacField<T, D>& velocity, int axis) {
    const grid::Grid<D>& grid = velocity.grid();
    grid::ImagedRange all = grid::unknowns(grid, grid::Stagger<D>::face(axis), axis);
    const auto given = [&](int upper) { return grid::fixes_normal_velocity(velocity.boundary()[grid::side_index(axis, upper)]); };
    all.trim(given(0), given(1));
    const Index a = axis, first = grid.first_cell()[a];
    begin_ = grid.shared(axis, 0) ? 0 : all.begin - first;
    end_ = all.end - first;
  }
  bool operator()(Index i) const { return i >= begin_ && i < end_; }

 private:
  Index begin_, end_;
};

/// The velocity that a face gains in a step.
struct FaceGain {
  double rate, dt, largest;

  double operator()(double acceleration, double cover, double wanted, double slow) const {
    double gain = dt * acceleration;
    if (cover > 0.0) gain -= std::expm1(-rate * cover * dt) * (wanted - slow);
    return std::clamp(gain, -largest, largest);
  }
};

}  // namespace

template <class T, int D>
VectorSum apply_control(const ControlCells<D>& cells, const ControlMedium<T, D>& medium, const ControlForce& force, double dt,
                        const std::array<const std::uint8_t*, D>& faces, grid::MacField<T, D>& velocity, Workspace& workspace) {
  const grid::Grid<D>& grid = velocity.grid();
  const double h = grid.spacing();
  require(std::isfinite(dt) && dt >= 0.0, "dt must be finite and not negative, got ", dt);
  require(force.rate >= 0.0 && force.max_acceleration >= 0.0, "rates and largest accelerations must not be negative");
  require(force.detail == 0.0 || force.detail >= h, "detail must be at least the spacing, ", h, " m, but is ", force.detail,
          " m");
  const bool filtered = force.detail > 0.0 && force.rate > 0.0;
  const Index width = filtered ? std::llround(force.detail / h) : 1;
  require(width <= *std::min_element(grid.shape().begin(), grid.shape().end()),
          "detail must be at most the shortest side of the domain");
  std::optional<FaceLiquid<T, D>> liquid;
  if (medium.levelset()) {
    grid::fill_ghosts_on_lines(*medium.levelset(), 0.0);
    liquid.emplace(*medium.levelset(), medium.solid());
  } else {
    medium.fluid().fill_ghosts(0.0);
  }
  const auto box = filtered ? controlled_box(cells) : parallel::IndexBox<D>{};
  const FaceGain gain_of{force.rate, dt, force.max_acceleration * dt};

  VectorSum gained{};
  std::array<Workspace::Lease<double>, D> slow;
  for (int d = 0; d < D && filtered && !box.empty(); ++d) {
    const Index n = product<D>(velocity.component(d).extents());
    const auto counts = workspace.take<std::uint8_t>(n);
    const FreeFaces<T, D> is_free(velocity, d);
    grid::for_each_row<D>(velocity.component(d).extents(), [&](Coord<D> face, Index i) {
      for (; face[D - 1] < velocity.component(d).extents()[D - 1]; ++face[D - 1], ++i)
        counts.data()[i] = (!faces[d] || faces[d][i]) && is_free(face[d]) ? 1 : 0;
    });
    slow[d] = workspace.take<double>(n);
    find_slow_velocity<T, D>(velocity, d, counts.data(), width, faces_of_box(grid, box, d), slow[d].data(), workspace);
  }
  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    grid::Field<T, D>& component = velocity.component(d);
    const grid::FieldView<T, D> u = component.view();
    const FreeFaces<T, D> is_free(velocity, d);
    const double *potential = cells.potential(), *cover = cells.cover(), *momentum = cells.momentum(d);
    const double* means = slow[axis] ? slow[axis].data() : nullptr;
    const auto weight = [&](const Coord<D>& face) {
      if (liquid) return liquid->around(d, face);
      return (grid.block().image(d, face[axis] - 1) ? 0.5 : 0.0) + (grid.block().image(d, face[axis]) ? 0.5 : 0.0);
    };
    const double sum = sum_owned_faces<D>(grid, d, [&](const Coord<D>& face, Index i) {
      if ((faces[axis] && !faces[axis][i]) || !is_free(face[axis])) return 0.0;
      Coord<D> below = face;
      --below[axis];
      const Index a = cells.index(below), b = cells.index(face);
      double acceleration = (potential[a] - potential[b]) / h;
      if (!liquid && acceleration != 0.0) acceleration *= 0.5 * (medium.filled(below) + medium.filled(face));
      const double covered = cover[a] + cover[b];
      if (acceleration == 0.0 && (covered == 0.0 || force.rate == 0.0)) return 0.0;
      T& to = *u.at(face);
      const auto before = static_cast<double>(to);
      const double wanted = covered > 0.0 ? (momentum[a] + momentum[b]) / covered : 0.0;
      to = static_cast<T>(before + gain_of(acceleration, 0.5 * covered, wanted, means ? means[i] : before));
      return weight(face) * (static_cast<double>(to) - before);
    });
    gained[axis] = std::pow(h, D) * sum;
    component.layout().halo.exchange(d, component.storage().data());
  }
  return gained;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                        \
  template VectorSum apply_control<T, D>(const ControlCells<D>&, const ControlMedium<T, D>&, const ControlForce&, double, \
                                         const std::array<const std::uint8_t*, D>&, grid::MacField<T, D>&, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
