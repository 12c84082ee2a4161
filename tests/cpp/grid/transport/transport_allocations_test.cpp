// Tests of allocations: a repeated transport step with a reused workspace allocates nothing.
#include "counting_new.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/flows/procedural_flow.hpp"
#include "meniscus/grid/nodes/node_advection.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace meniscus;
using meniscus::testing::new_calls;

namespace {

template <int D>
grid::Grid<D> grid() {
  Coord<D> shape;
  for (int d = 0; d < D; ++d) shape[d] = (D == 2 ? 40 : 16) + d;
  std::array<bool, D> periodic{};
  periodic[D - 1] = true;
  return grid::Grid<D>(shape, 1.0 / static_cast<double>(shape[0]), Vec<double, D>::Zero(), periodic);
}

/// One wall, one open side; the last axis is periodic.
template <int D>
grid::Boundary<D> boundary() {
  grid::Boundary<D> b;
  b[1] = grid::Open{};
  return b;
}

template <class T, int D>
grid::MacField<T, D> wind() {
  grid::MacField<T, D> v(grid<D>(), boundary<D>());
  Workspace scratch;
  Vec<double, D> mean;
  for (int d = 0; d < D; ++d) mean[d] = 0.5 + d;
  fluids::sample_flow<T, D>(*fluids::uniform_flow<D>(mean), v, 0.0, fluids::FaceSampling::pointwise, scratch);
  v.enforce_boundary(0.0);
  return v;
}

std::vector<grid::AdvectOptions> schemes() {
  std::vector<grid::AdvectOptions> all;
  for (const grid::AdvectionScheme* scheme : grid::advection_schemes())
    for (const auto block : {grid::TransportBlock::semi_lagrangian, grid::TransportBlock::upwind})
      for (const auto interpolation : {grid::Interpolation::linear, grid::Interpolation::cubic}) {
        grid::AdvectOptions o;
        o.scheme = scheme;
        o.pass.block = block;
        o.pass.interpolation = interpolation;
        o.first_order_near = grid::FirstOrderNear::walls;
        all.push_back(o);
      }
  return all;
}

/// Masks over `extents`: a hidden block in the middle, one inactive and one first-order corner.
template <int D>
struct MaskSet {
  std::vector<std::uint8_t> active, visible, first_order;
  explicit MaskSet(const Coord<D>& extents) {
    const auto n = static_cast<std::size_t>(product<D>(extents));
    active.assign(n, 1);
    visible.assign(n, 1);
    first_order.assign(n, 0);
    for (std::size_t i = 0; i < n / 8; ++i) {
      active[i] = 0;
      visible[n / 2 + i] = 0;
      first_order[n - 1 - i] = 1;
    }
  }
  grid::AdvectMasks masks() const { return {active.data(), visible.data(), first_order.data()}; }
};

/// Calls of operator new in the second and third of three equal calls.
template <class Step>
long long calls_when_repeated(Step&& step) {
  step();
  const long long before = new_calls();
  step();
  step();
  return new_calls() - before;
}

template <class T, int D>
void check_transport() {
  grid::MacField<T, D> velocity = wind<T, D>();
  grid::Field<T, D> field(velocity.grid(), grid::Stagger<D>::cell(), boundary<D>());
  for (Index i = 0; i < field.storage().size(); ++i) field.storage()[i] = static_cast<T>(i % 7);
  const MaskSet<D> cells(field.extents());
  std::vector<MaskSet<D>> faces;
  for (int d = 0; d < D; ++d) faces.emplace_back(velocity.component(d).extents());
  std::array<grid::AdvectMasks, D> face_masks;
  for (std::size_t d = 0; d < D; ++d) face_masks[d] = faces[d].masks();
  // A scope like the one that the bindings open around every call.
  const InterruptScope scope([] { return false; });

  for (const grid::AdvectOptions& options : schemes()) {
    CAPTURE(std::string(options.scheme->name));
    CAPTURE(static_cast<int>(options.pass.block));
    Workspace workspace;
    // Large enough for several substeps of the upwind block.
    const double dt = 1.5 * velocity.grid().spacing();
    CHECK(calls_when_repeated([&] { grid::advect<T, D>(field, velocity, dt, options, grid::AdvectMasks{}, workspace); }) == 0);
    CHECK(calls_when_repeated([&] { grid::advect<T, D>(field, velocity, dt, options, cells.masks(), workspace); }) == 0);
    grid::MacField<T, D> carried = wind<T, D>();
    CHECK(calls_when_repeated(
              [&] { grid::advect<T, D>(carried, velocity, dt, options, std::array<grid::AdvectMasks, D>{}, workspace); }) == 0);
    CHECK(calls_when_repeated([&] { grid::advect<T, D>(carried, velocity, dt, options, face_masks, workspace); }) == 0);
    // A velocity that carries itself, with masks.
    CHECK(calls_when_repeated([&] { grid::advect<T, D>(carried, carried, 0.1 * dt, options, face_masks, workspace); }) == 0);
    const bool first_order = options.scheme == &grid::schemes::semi_lagrangian;
    if (!first_order && options.scheme != &grid::schemes::maccormack) continue;
    if (!first_order && options.pass.block != grid::TransportBlock::semi_lagrangian) continue;
    std::array<grid::AdvectMasks, D> seen = face_masks;
    for (grid::AdvectMasks& masks : seen) masks.visible = nullptr;
    CHECK(calls_when_repeated([&] { grid::advect_at_nodes<T, D>(carried, 0.1 * dt, options, seen, workspace); }) == 0);
  }
}

}  // namespace

TEST_CASE("the counter counts") {
  const long long before = new_calls();
  const auto* p = new std::vector<double>(10);
  CHECK(new_calls() == before + 2);
  delete p;
  const Block<double> block(3);
  CHECK(new_calls() > before + 2);
}

TEST_CASE("repeated transport with a kept workspace never calls operator new") {
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    CAPTURE(threads);
    check_transport<double, 2>();
    check_transport<float, 3>();
    check_transport<double, 3>();
  }
  set_num_threads(before);
}
