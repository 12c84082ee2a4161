// Transport on domains cut into blocks: every scheme, trace and interpolation, with and without masks, is bit-identical to that
// of a single block.
#include "cut_domains.hpp"
#include "test_size.hpp"

#include "meniscus/grid/continuation.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/grid/transport/point_transport.hpp"

#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

struct Choice {
  const AdvectionScheme* scheme;
  TransportBlock block;
  Trace trace;
  Interpolation interpolation;
  Limiter limiter;
  bool masks;
};

std::vector<Choice> choices() {
  std::vector<Choice> all;
  for (const AdvectionScheme* scheme : advection_schemes())
    for (const bool masks : {false, true}) {
      if (scheme->block != TransportBlock::semi_lagrangian)
        all.push_back({scheme, TransportBlock::upwind, Trace::euler, Interpolation::linear, Limiter::clamp, masks});
      if (scheme->block == TransportBlock::upwind) continue;
      for (const auto trace : {Trace::euler, Trace::midpoint, Trace::rk3})
        for (const auto interpolation : {Interpolation::linear, Interpolation::cubic})
          all.push_back({scheme, TransportBlock::semi_lagrangian, trace, interpolation,
                         trace == Trace::rk3 ? Limiter::clamp : Limiter::reversion, masks});
    }
  return all;
}

template <int D>
Boundary<D> sides() {
  Boundary<D> b;
  b[0] = Wall{{{0.1, 0.2, 0.3}, nullptr}, true};
  b[1] = Open{};
  b[2] = Wall{};
  b[3] = Prescribed{{{0.2, -0.1, 0.4}, nullptr}};
  return b;
}

/// The samples where a mask is set.
template <int D>
std::vector<std::uint8_t> mask_of(const FieldLayout<D>& layout, std::uint64_t seed, double share) {
  std::vector<std::uint8_t> mask;
  for_each_sample<D>(layout.extents(), 0,
                     [&](const Coord<D>& c) { mask.push_back(number_of<D>(layout, c, seed) < 2.0 * share - 1.0); });
  return mask;
}

template <class T, int D>
void check_transport() {
  std::vector<Stagger<D>> places{Stagger<D>::cell()};
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  for (const auto& domain : cut_domains<D>())
    for (const Choice& choice : choices())
      check_same_bits<T, D>(domain, places, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
        MacField<T, D> velocity(grid, sides<D>());
        fill_random(velocity, 11, 0.9);
        Field<T, D> field(grid, Stagger<D>::cell(), sides<D>());
        fill_random(field, 12);
        AdvectOptions options;
        options.scheme = choice.scheme;
        options.pass = {choice.block, choice.trace, choice.interpolation};
        options.limiter = choice.limiter;
        options.first_order_near = choice.trace == Trace::midpoint ? FirstOrderNear::walls : FirstOrderNear::objects;
        AdvectMasks masks;
        std::vector<std::uint8_t> visible, active;
        if (choice.masks) {
          visible = mask_of<D>(field.layout(), 13, 0.9);
          active = mask_of<D>(field.layout(), 14, 0.8);
          masks.visible = visible.data();
          masks.active = active.data();
        }
        Workspace workspace;
        poison_workspace(workspace, 8 * velocity.component(0).layout().storage_size());
        // At most one cell per step.
        const double dt = grid.spacing();
        advect(field, velocity, dt, options, masks, workspace);
        poison_ghosts(velocity);
        advect<T, D>(velocity, velocity, dt, options, {}, workspace);
        result[0].put(field);
        for (int d = 0; d < D; ++d) result[static_cast<std::size_t>(d) + 1].put(velocity.component(d));
      });
}

/// Steps of several cells up to several blocks, through walls, given values and periods.
template <class T, int D>
void check_long_traces() {
  std::vector<Stagger<D>> places{Stagger<D>::cell()};
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  for (const auto& domain : cut_domains<D>())
    for (const Choice& choice : choices()) {
      if (choice.masks) continue;
      for (const double cells : {10.0, 3.4, 47.0}) {
        if (cells != 10.0 && !tests::full_size()) continue;
        check_same_bits<T, D>(domain, places, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
          MacField<T, D> velocity(grid, sides<D>());
          fill_random(velocity, 21, 1.0);
          Field<T, D> field(grid, Stagger<D>::cell(), sides<D>());
          fill_random(field, 22);
          AdvectOptions options;
          options.scheme = choice.scheme;
          options.pass = {choice.block, choice.trace, choice.interpolation};
          options.limiter = choice.limiter;
          options.first_order_near = FirstOrderNear::walls;
          Workspace workspace;
          const double dt = cells * grid.spacing();
          advect(field, velocity, dt, options, AdvectMasks{}, workspace);
          poison_ghosts(velocity);
          advect<T, D>(velocity, velocity, dt, options, {}, workspace);
          result[0].put(field);
          for (int d = 0; d < D; ++d) result[static_cast<std::size_t>(d) + 1].put(velocity.component(d));
        });
      }
    }
}

}  // namespace

TEST_CASE("transport on 2-D domains cut into blocks is bit-identical to a single block") { check_transport<double, 2>(); }

TEST_CASE("transport on 3-D domains cut into blocks is bit-identical to a single block") { check_transport<float, 3>(); }

TEST_CASE("traces that leave the ghosts, and whole blocks, have the bits of a single block") {
  check_long_traces<double, 2>();
  check_long_traces<float, 3>();
}

TEST_CASE("points in a domain cut into blocks take the values of one block") {
  for (const auto& domain : cut_domains<3>()) {
    CAPTURE(domain.name);
    constexpr Index n = 400;
    std::vector<double> points(3 * n), expected(3 * n), moved_expected(3 * n), found(3 * n, -1e9), moved(3 * n);
    const Grid<3> whole = whole_grid(domain);
    for (Index i = 0; i < 3 * n; ++i) {
      const double u = CounterRandom(5, static_cast<std::uint64_t>(i), 0).uniform2(0)[0];
      points[i] = whole.origin()[i % 3] + u * whole.spacing() * static_cast<double>(whole.shape()[i % 3]);
    }
    const auto run = [&](const Grid<3>& grid, std::vector<double>& values, std::vector<double>& after) {
      std::vector<double> own;
      std::vector<std::size_t> number;
      for (std::size_t i = 0; i < n; ++i) {
        bool inside = true;
        for (int d = 0; d < 3; ++d) {
          const auto a = static_cast<std::size_t>(d);
          const auto cell = static_cast<Index>(std::floor((points[3 * i + a] - grid.origin()[d]) / grid.spacing()));
          inside = inside && cell >= grid.first_cell()[a] && cell < grid.first_cell()[a] + grid.local_shape()[a];
        }
        if (!inside) continue;
        number.push_back(i);
        own.insert(own.end(), points.begin() + static_cast<std::ptrdiff_t>(3 * i),
                   points.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
      }
      MacField<double, 3> velocity(grid, sides<3>());
      fill_random(velocity, 21, 0.9);
      std::vector<double> v(own.size());
      sample_points(velocity, own.data(), static_cast<Index>(number.size()), 0.0, v.data());
      poison_ghosts(velocity);
      Workspace workspace;
      advance_points(velocity, own.data(), static_cast<Index>(number.size()), grid.spacing(), Trace::rk3, OutsidePoints::clamp,
                     0.0, workspace);
      for (std::size_t k = 0; k < number.size(); ++k)
        for (std::size_t d = 0; d < 3; ++d) {
          values[3 * number[k] + d] = v[3 * k + d];
          after[3 * number[k] + d] = own[3 * k + d];
        }
    };
    run(whole, expected, moved_expected);
    on_blocks(domain, [&](const Grid<3>& grid) { run(grid, found, moved); });
    CHECK(found == expected);
    CHECK(moved == moved_expected);
  }
}
