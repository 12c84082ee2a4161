// Tests of ghost layers: they hold the continuation, for all combinations of rules and for axes narrower than the ghosts.
//
// All values and given values are multiples of 1/4 of modest size, so that every order of additions gives the same bits.
#include "meniscus/grid/ghost_fill.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/grid/continuation.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace meniscus;

namespace {

constexpr double now = 2.0;

double given_function(std::span<const double> x, double time) {
  double v = 3.0 * time;
  for (std::size_t d = 0; d < x.size(); ++d) v += (static_cast<double>(d) + 1.0) * x[d];
  return v;
}

/// Two components; the first is a decoy.
const auto function =
    std::make_shared<const grid::BoundaryFunction>([](std::span<const double> x, double time, std::span<double> values) {
      const std::size_t n = values.size() / 2;
      const std::size_t dimension = x.size() / n;
      for (std::size_t i = 0; i < n; ++i) {
        values[2 * i] = 1e6;
        values[2 * i + 1] = given_function(x.subspan(i * dimension, dimension), time);
      }
    });

grid::GhostRule rule(grid::GhostRule::Kind kind, bool odd = false, double constant = 0.0, bool asks = false) {
  grid::GhostRule r;
  r.kind = kind;
  r.odd = odd;
  r.constant = constant;
  if (asks) {
    r.function = function;
    r.component = 1;
    r.components = 2;
  }
  return r;
}

const std::array<grid::GhostRule, 6>& all_rules() {
  using Kind = grid::GhostRule::Kind;
  static const std::array<grid::GhostRule, 6> rules{rule(Kind::clamp),
                                                    rule(Kind::mirror),
                                                    rule(Kind::mirror, true, 1.25),
                                                    rule(Kind::mirror, true, 0.0, true),
                                                    rule(Kind::value, false, -0.75),
                                                    rule(Kind::value, false, 0.0, true)};
  return rules;
}

/// The continuation, from its definition: the last axis that is outside is brought one step inside, and the question is asked
/// again.
template <class T, int D>
double reference(const grid::FieldLayout<D>& layout, const std::vector<T>& owned, Coord<D> c) {
  const Coord<D> extents = layout.extents();
  for (int d = D - 1; d >= 0; --d) {
    const Index n = extents[d];
    const bool on_side = layout.stagger.on_side[d] != 0;
    if (layout.grid.periodic()[d]) {
      const Index period = on_side ? n - 1 : n;
      while (c[d] < (on_side ? 1 : 0)) c[d] += period;
      while (c[d] >= n) c[d] -= period;
      continue;
    }
    if (c[d] >= 0 && c[d] < n) continue;
    const bool upper = c[d] >= n;
    const grid::GhostRule& r = layout.rules[2 * d + (upper ? 1 : 0)];
    // In units of cells, samples sit at c + offset and the sides at 0 and the number of cells.
    const double offset = on_side ? 0.0 : 0.5;
    const double side = upper ? static_cast<double>(layout.grid.shape()[d]) : 0.0;
    std::array<double, D> x;
    for (std::size_t k = 0; k < D; ++k)
      x[k] = layout.grid.origin()[static_cast<Eigen::Index>(k)] +
             layout.grid.spacing() * (static_cast<double>(c[k]) + (layout.stagger.on_side[k] ? 0.0 : 0.5));
    Coord<D> inside = c;
    switch (r.kind) {
      case grid::GhostRule::Kind::clamp:
        inside[d] = upper ? n - 1 : 0;
        return reference<T, D>(layout, owned, inside);
      case grid::GhostRule::Kind::value:
        return r.function ? given_function(x, now) : r.constant;
      case grid::GhostRule::Kind::mirror:
        inside[d] = static_cast<Index>(std::lround(2.0 * side - (static_cast<double>(c[d]) + offset) - offset));
        if (!r.odd) return reference<T, D>(layout, owned, inside);
        x[d] = layout.grid.origin()[d] + layout.grid.spacing() * side;
        return 2.0 * (r.function ? given_function(x, now) : r.constant) - reference<T, D>(layout, owned, inside);
    }
  }
  return static_cast<double>(owned[dot<D>(c, c_strides<D>(extents))]);
}

/// Fills the ghosts of random samples; returns how many of the padded block differ from the two other answers.
template <class T, int D>
int wrong_samples(const grid::FieldLayout<D>& layout, std::uint64_t seed) {
  const Coord<D> extents = layout.extents();
  std::vector<T> owned(static_cast<std::size_t>(product<D>(extents)));
  for (std::size_t i = 0; i < owned.size(); ++i)
    owned[i] = static_cast<T>(0.25 * static_cast<double>(CounterRandom(seed, i, 0).words(0)[0] % 64) - 8.0);

  std::vector<T> block(static_cast<std::size_t>(layout.storage_size()), T(-12345));
  const grid::FieldView<T, D> view = layout.view(block.data());
  const auto at = [](Index i, const Coord<D>& size) {
    Coord<D> c;
    for (int d = D - 1; d >= 0; --d) {
      c[d] = i % size[d];
      i /= size[d];
    }
    return c;
  };
  for (std::size_t i = 0; i < owned.size(); ++i) *view.at(at(static_cast<Index>(i), extents)) = owned[i];
  // The other answer is asked before the ghosts are filled: it uses owned samples only.
  const grid::FieldView<const T, D> before{view.origin, view.extents, view.strides};
  const Coord<D> padded = layout.padded();
  std::vector<T> continued(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    Coord<D> c = at(static_cast<Index>(i), padded);
    for (Index& v : c) v -= grid::ghost_width;
    continued[i] = grid::continued_value<T, D>(layout, before, c, now);
  }
  grid::fill_ghosts(layout, block.data(), now);
  int wrong = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    Coord<D> c = at(static_cast<Index>(i), padded);
    for (Index& v : c) v -= grid::ghost_width;
    const T expected = static_cast<T>(reference<T, D>(layout, owned, c));
    wrong += block[i] != expected || continued[i] != expected;
  }
  return wrong;
}

template <int D>
Vec<double, D> origin() {
  return D == 2 ? Vec<double, D>(Vec<double, D>::Constant(0.5)) : Vec<double, D>(Vec<double, D>::Constant(-1.0));
}

template <int D>
std::string describe(const grid::FieldLayout<D>& layout) {
  std::string text;
  for (int d = 0; d < D; ++d) {
    const auto i = static_cast<std::size_t>(d);
    text += std::to_string(layout.grid.shape()[d]) + (layout.stagger.on_side[i] ? " cells, on sides" : " cells, centred");
    text += layout.grid.periodic()[i] ? ", periodic; " : "; ";
    for (std::size_t s = 2 * i; s < 2 * i + 2; ++s) {
      const grid::GhostRule& r = layout.rules[s];
      text += std::array{"clamp", "mirror", "value"}[static_cast<std::size_t>(r.kind)];
      text += std::string(r.odd ? " odd" : "") + (r.function ? " function; " : "; ");
    }
  }
  return text;
}

}  // namespace

TEST_CASE("ghosts in two dimensions: all rules on all sides") {
  const std::array<grid::Stagger<2>, 4> staggers{grid::Stagger<2>::cell(), grid::Stagger<2>::face(0), grid::Stagger<2>::face(1),
                                                 grid::Stagger<2>::node()};
  std::uint64_t seed = 0;
  for (const Coord<2>& shape : {Coord<2>{1, 2}, Coord<2>{5, 4}})
    for (const grid::Stagger<2>& stagger : staggers)
      for (std::size_t combination = 0; combination < 6 * 6 * 6 * 6; ++combination) {
        std::array<grid::GhostRule, 4> rules;
        std::size_t rest = combination;
        for (grid::GhostRule& r : rules) {
          r = all_rules()[rest % 6];
          rest /= 6;
        }
        const grid::FieldLayout<2> layout(grid::Grid<2>(shape, 0.5, origin<2>(), {false, false}), stagger, rules);
        const int wrong = wrong_samples<double, 2>(layout, ++seed);
        if (wrong) FAIL_CHECK(describe(layout) << wrong << " wrong samples");
      }
  CHECK(seed == 2 * 4 * 1296);
}

TEST_CASE("ghosts with a periodic axis beside every pair of rules") {
  std::uint64_t seed = 0;
  for (Index periodic_cells = 1; periodic_cells <= 4; ++periodic_cells)
    for (Index cells = 1; cells <= 4; ++cells)
      for (int axis = 0; axis < 2; ++axis)
        for (int on_sides = 0; on_sides < 4; ++on_sides)
          for (std::size_t pair = 0; pair < 36; ++pair) {
            Coord<2> shape{cells, cells};
            shape[axis] = periodic_cells;
            std::array<bool, 2> periodic{};
            periodic[axis] = true;
            const std::size_t other = axis == 0 ? 2 : 0;
            std::array<grid::GhostRule, 4> rules;
            rules[other] = all_rules()[pair % 6];
            rules[other + 1] = all_rules()[pair / 6];
            grid::Stagger<2> stagger;
            stagger.on_side = {on_sides & 1, on_sides >> 1};
            const grid::FieldLayout<2> layout(grid::Grid<2>(shape, 0.5, origin<2>(), periodic), stagger, rules);
            const int wrong = wrong_samples<double, 2>(layout, ++seed);
            if (wrong) FAIL_CHECK(describe(layout) << wrong << " wrong samples");
          }
  CHECK(seed == 4 * 4 * 2 * 4 * 36);
}

TEST_CASE("ghosts in three dimensions: random shapes, places and rules") {
  const int before = num_threads();
  for (std::uint64_t trial = 0; trial < 600; ++trial) {
    set_num_threads(trial % 2 ? 3 : 1);
    const auto draw = [&](std::uint32_t what, std::uint32_t below) {
      return CounterRandom(2024, trial, 0).words(what)[0] % below;
    };
    Coord<3> shape;
    std::array<bool, 3> periodic;
    grid::Stagger<3> stagger;
    for (std::uint32_t d = 0; d < 3; ++d) {
      shape[d] = 1 + draw(d, 6);
      periodic[d] = draw(3 + d, 4) == 0;
      stagger.on_side[d] = static_cast<int>(draw(6 + d, 2));
    }
    std::array<grid::GhostRule, 6> rules;
    for (std::uint32_t s = 0; s < 6; ++s) rules[s] = all_rules()[draw(9 + s, 6)];
    const grid::FieldLayout<3> layout(grid::Grid<3>(shape, 0.25, origin<3>(), periodic), stagger, rules);
    const int wrong = wrong_samples<double, 3>(layout, trial);
    if (wrong) FAIL_CHECK(describe(layout) << wrong << " wrong samples");
  }
  set_num_threads(before);
}

TEST_CASE("a boundary function that returns a number that is not finite is refused") {
  std::array<grid::GhostRule, 4> rules;
  rules[0].kind = grid::GhostRule::Kind::value;
  rules[0].function = std::make_shared<const grid::BoundaryFunction>(
      [](std::span<const double>, double, std::span<double> values) { std::fill(values.begin(), values.end(), std::nan("")); });
  grid::Field<double, 2> field(grid::Grid<2>({3, 3}, 1.0, origin<2>(), {false, false}), grid::Stagger<2>::cell(), rules);
  CHECK_THROWS_AS(field.fill_ghosts(0.0), std::invalid_argument);
}
