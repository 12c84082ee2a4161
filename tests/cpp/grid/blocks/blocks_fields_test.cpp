// Ghosts, masks, labels and extrapolation on domains cut into blocks, bit-identical to a single block.
#include "cut_domains.hpp"

#include "meniscus/grid/continuation.hpp"
#include "meniscus/grid/extrapolate.hpp"
#include "meniscus/grid/masked_samples.hpp"

#include <cmath>

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

template <int D>
std::vector<Stagger<D>> all_places() {
  std::vector<Stagger<D>> places{Stagger<D>::cell(), Stagger<D>::node()};
  for (int d = 0; d < D; ++d) places.push_back(Stagger<D>::face(d));
  return places;
}

/// Every kind of side, with and without functions of the position.
template <int D>
std::array<GhostRule, 2 * D> rules(std::uint64_t combination) {
  static const auto function =
      std::make_shared<const BoundaryFunction>([](std::span<const double> x, double time, std::span<double> values) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = time;
          for (std::size_t d = 0; d < D; ++d) values[i] += 0.7 * static_cast<double>(d + 1) * x[i * D + d];
        }
      });
  std::array<GhostRule, 2 * D> all;
  for (GhostRule& r : all) {
    const auto kind = combination % 6;
    combination /= 6;
    r.kind = kind == 0 ? GhostRule::Kind::clamp : kind < 4 ? GhostRule::Kind::mirror : GhostRule::Kind::value;
    r.odd = kind == 2 || kind == 3;
    r.constant = 1.25;
    if (kind == 3 || kind == 5) r.function = function;
  }
  return all;
}

template <class T, int D>
void check_field_ghosts() {
  std::uint64_t combination = 12345;
  for (const auto& domain : cut_domains<D>())
    for (const auto& place : all_places<D>())
      for (int trial = 0; trial < 5; ++trial) {
        combination = combination * 7919 + 17;
        check_same_bits<T, D>(domain, {place}, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
          Field<T, D> field(grid, place, rules<D>(combination % 46656));
          fill_random(field, 1);
          poison_ghosts(field, true);
          field.fill_ghosts(2.0);
          result[0].put(field, true);
          // All copies agree with the samples that they are copies of.
          int wrong = 0;
          const auto view = std::as_const(field).view();
          for_each_sample<D>(view.extents, ghost_width, [&](const Coord<D>& c) {
            bool inside = true;
            for (int d = 0; d < D; ++d) {
              const auto a = static_cast<std::size_t>(d);
              inside = inside && (c[a] >= 0 || grid.shared(d, 0)) && (c[a] < view.extents[a] || grid.shared(d, 1));
            }
            if (inside) wrong += *view.at(c) != static_cast<T>(number_of<D>(field.layout(), c, 1));
          });
          if (wrong) throw std::runtime_error(std::to_string(wrong) + " wrong copies");
        });
      }
}

template <class T, int D>
void check_labels() {
  for (const auto& domain : cut_domains<D>())
    check_same_bits<T, D>(domain, {Stagger<D>::cell()}, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
      Field<T, D> field(grid, Stagger<D>::cell(), mirrors<D>());
      fill_random(field, 3, 50.0);
      field.fill_ghosts(0.0);
      result[0].put(field, true);
    });
}

/// Which samples are known before an extrapolation.
enum class Known {
  few,   ///< isolated, so that layers meet far away from them
  most,  ///< many of them without a known neighbour along some axis, beside others that have one along each
};

template <int D>
bool is_known(Known known, const FieldLayout<D>& layout, const Coord<D>& c) {
  if (known == Known::most) return number_of<D>(layout, c, 6) > -0.5;
  return number_of<D>(layout, c, 6) > 0.8 && number_of<D>(layout, c, 7) > 0;
}

/// `operation`: extrapolates a field from a mask of known samples into so many layers, and returns the number of samples reached.
template <class T, int D, class Operation>
void check_extrapolation(std::initializer_list<Index> numbers_of_layers, Operation&& operation) {
  for (const auto& domain : cut_domains<D>())
    for (const auto& place : all_places<D>())
      for (const Known pattern : {Known::few, Known::most})
        for (const Index layers : numbers_of_layers)
          check_same_bits<T, D>(domain, {place, place}, [&](const Grid<D>& grid, WholeFields<T, D>& result) {
            Field<T, D> field(grid, place, mirrors<D>());
            fill_random(field, 5);
            poison_ghosts(field, true);
            Field<T, D> mask(grid, place, mirrors<D>());
            const Coord<D> extents = field.extents();
            std::vector<std::uint8_t> known;
            for_each_sample<D>(extents, 0, [&](const Coord<D>& c) { known.push_back(is_known<D>(pattern, field.layout(), c)); });
            Workspace workspace;
            poison_workspace(workspace, 8 * field.layout().storage_size());
            const Index reached = operation(field, known.data(), layers, workspace);
            std::size_t i = 0;
            for_each_sample<D>(extents, 0, [&](const Coord<D>& c) { *mask.view().at(c) = static_cast<T>(known[i++] * reached); });
            result[0].put(field);
            result[1].put(mask);
          });
}

template <class T, int D>
void check_linear_extrapolation(double max_slope) {
  CAPTURE(max_slope);
  check_extrapolation<T, D>({4}, [max_slope](Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace) {
    return extrapolate_linearly(field, known, layers, max_slope, workspace);
  });
}

template <class T, int D>
void check_constant_extrapolation() {
  check_extrapolation<T, D>({1, 4, 40}, [](Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace) {
    return extrapolate(field, known, layers, workspace);
  });
}

template <class T, int D>
double masked_speed(const Grid<D>& grid) {
  MacField<T, D> velocity(grid, Boundary<D>{});
  fill_random(velocity, 8);
  std::array<std::vector<std::uint8_t>, D> masks;
  std::array<const std::uint8_t*, D> flags{};
  for (std::size_t d = 0; d < D; ++d) {
    const Field<T, D>& component = velocity.component(static_cast<int>(d));
    for_each_sample<D>(component.extents(), 0,
                       [&](const Coord<D>& c) { masks[d].push_back(number_of<D>(component.layout(), c, 9 + d) > 0.5); });
    flags[d] = masks[d].data();
  }
  return max_component_speed<T, D>(velocity, flags);
}

template <class T, int D>
void check_masked_speeds() {
  for (const auto& domain : cut_domains<D>()) {
    const double expected = masked_speed<T, D>(whole_grid(domain));
    CHECK(expected > 0.5);
    on_blocks(domain, [&](const Grid<D>& grid) {
      if (masked_speed<T, D>(grid) != expected)
        throw std::runtime_error("another speed in block " + std::to_string(grid.block().number));
    });
  }
}

}  // namespace

TEST_CASE("ghosts of domains cut into blocks are those of one block") {
  check_field_ghosts<double, 2>();
  check_field_ghosts<float, 3>();
}

TEST_CASE("masks and labels of domains cut into blocks have the ghosts of one block") {
  check_labels<std::uint8_t, 2>();
  check_labels<std::int32_t, 3>();
}

TEST_CASE("what an exchange does not fill is poisoned in domains cut into blocks") {
  const CutDomain<2> domain{"2 x 1 blocks", {{{5, 8}, {21}}}, {true, true}};
  on_blocks(domain, [](const Grid<2>& grid) {
    Field<double, 2> field(grid, Stagger<2>::cell(), mirrors<2>());
    const auto poisoned = [&](const Coord<2>& c) { return std::isnan(*field.view().at(c)); };
    field.layout().halo.exchange(0, field.storage().data());
    if (poisoned({-1, 2}) || !poisoned({-1, -1}) || poisoned({2, -1})) throw std::runtime_error("after one axis");
    field.layout().halo.exchange(field.storage().data());
    if (poisoned({-1, -1}) || poisoned({2, -1})) throw std::runtime_error("after all axes");
  });
}

TEST_CASE("arrays without ghosts on domains cut into blocks have the copies of one block") {
  for (const auto& domain : cut_domains<3>())
    for (const auto& place : all_places<3>())
      check_same_bits<float, 3>(domain, {place}, [&](const Grid<3>& grid, WholeFields<float, 3>& result) {
        Field<float, 3> field(grid, place, mirrors<3>());
        const Coord<3> extents = field.extents();
        std::vector<std::int32_t> labels;
        for_each_sample<3>(extents, 0, [&](const Coord<3>& c) {
          bool own = true;
          for (int d = 0; d < 3; ++d) own = own && c[d] >= field.layout().halo.first_owned(d);
          labels.push_back(own ? static_cast<std::int32_t>(1e6 * number_of<3>(field.layout(), c, 4)) : -7);
        });
        field.layout().copies().exchange(labels.data());
        int wrong = 0;
        for_each_sample<3>(extents, 0, [&](const Coord<3>& c) {
          const std::int32_t label = labels[dot<3>(c, c_strides<3>(extents))];
          wrong += label != static_cast<std::int32_t>(1e6 * number_of<3>(field.layout(), c, 4));
          *field.view().at(c) = static_cast<float>(label);
        });
        if (wrong) throw std::runtime_error(std::to_string(wrong) + " wrong copies");
        result[0].put(field);
      });
}

TEST_CASE("extrapolation on domains cut into blocks is bit-identical to a single block") {
  check_constant_extrapolation<double, 2>();
  check_constant_extrapolation<double, 3>();
}

TEST_CASE("linear extrapolation on domains cut into blocks is bit-identical to a single block") {
  for (const double max_slope : {1.0, 1e6}) {
    check_linear_extrapolation<double, 2>(max_slope);
    check_linear_extrapolation<double, 3>(max_slope);
  }
}

TEST_CASE("all blocks have the speed of one block where masks are set") {
  check_masked_speeds<double, 2>();
  check_masked_speeds<double, 3>();
}

TEST_CASE("far samples of a domain cut into blocks are answered from the ghosts or refused") {
  const CutDomain<2> domain{"2 x 1 blocks", {{{5, 8}, {21}}}, {}};
  on_blocks(domain, [&](const Grid<2>& grid) {
    Field<double, 2> field(grid, Stagger<2>::cell(), mirrors<2>());
    fill_random(field, 1);
    field.fill_ghosts(0.0);
    const auto view = std::as_const(field).view();
    const Index inner = grid.block().number == 0 ? view.extents[0] - 1 : 0;
    const Index step = grid.block().number == 0 ? 1 : -1;
    // Beyond the wall of another axis, and within the ghosts of this one.
    const double answer = continued_value<double, 2>(field.layout(), view, {inner + 3 * step, -6}, 0.0);
    if (answer != *view.at({inner + 3 * step, 5})) throw std::runtime_error("wrong answer");
    try {
      continued_value<double, 2>(field.layout(), view, {inner + 4 * step, -6}, 0.0);
    } catch (const OutsideGhosts&) {
      return;
    }
    throw std::runtime_error("not refused");
  });
}

TEST_CASE("a failing block stops the others, and blocks that are too thin are refused") {
  const CutDomain<2> domain{"2 x 1 blocks", {{{5, 8}, {21}}}, {}};
  CHECK_THROWS_AS(on_blocks(domain,
                            [&](const Grid<2>& grid) {
                              Field<double, 2> field(grid, Stagger<2>::cell(), mirrors<2>());
                              if (grid.block().number == 1) throw WrongType("no more");
                              field.fill_ghosts(0.0);
                            }),
                  WrongType);
  const CutDomain<2> thin{"thin", {{{2, 8}, {21}}}, {}};
  CHECK_THROWS_AS(on_blocks(thin, [&](const Grid<2>& grid) { Field<double, 2>(grid, Stagger<2>::cell(), mirrors<2>()); }),
                  InvalidArgument);
}
