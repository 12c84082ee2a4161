#include "meniscus/solids/position/position_constraints.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/position/constraint_lanes.hpp"
#include "meniscus/solids/position/hinge_lanes.hpp"

namespace meniscus::solids {
namespace {

// Blocks that a task takes, and a colour must have for more than one.
constexpr Index blocks_of_a_task = 32;

template <class T, class Rule>
class RuleConstraints final : public PositionConstraints<T> {
 public:
  RuleConstraints(std::span<const std::int32_t> nodes, std::span<const T> values, std::span<const std::uint8_t> fixed)
      : blocks_(nodes, values, fixed) {}

  void project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) override {
    const auto inverse_dt2 = static_cast<T>(1 / (rules.dt * rules.dt));
    const auto part = static_cast<T>(rules.part);
    PositionNode<T>* const x = nodes.data();
    for (Index c = 0; c < blocks_.size(); ++c) {
      const auto [first, end] = blocks_.colour(c);
      parallel_for(first, end, blocks_of_a_task, [&](Index a, Index b) {
        // All blocks of a colour but the last are full.
        const int last = b == end ? blocks_.lanes(end - 1) : constraint_lanes;
        simd_dispatch([&] {
          for (Index i = a; i < b; ++i) {
            auto& block = blocks_.blocks()[static_cast<std::size_t>(i)];
            detail::CornerLanes<T, Rule::corners> p;
            detail::ProjectionLanes<T, Rule::corners> q;
            detail::load_corners(block, x, p);
            Rule::evaluate(block, p, inverse_dt2, q);
            detail::correct(block, q, part, i + 1 == end ? last : constraint_lanes, p, x);
          }
        });
      });
    }
  }
  void clear_multipliers() override { blocks_.clear_multipliers(); }
  Index colours() const override { return blocks_.size(); }
  Index nbytes() const override { return blocks_.nbytes(); }

 private:
  ConstraintBlocks<T, Rule::corners, Rule::values> blocks_;
};

template <class F>
auto with_rule(PositionConstraintKind kind, F&& f) {
  switch (kind) {
    case PositionConstraintKind::distance:
      return f(detail::DistanceRule{});
    case PositionConstraintKind::isometric_bending:
      return f(detail::IsometricBendingRule{});
    case PositionConstraintKind::dihedral_angle:
      return f(detail::DihedralAngleRule{});
    case PositionConstraintKind::printed_angle:
      return f(detail::PrintedAngleRule{});
    case PositionConstraintKind::tet_volume:
      break;
  }
  return f(detail::TetVolumeRule{});
}

}  // namespace

int corners_of(PositionConstraintKind kind) {
  return with_rule(kind, [](auto rule) { return decltype(rule)::corners; });
}

int values_of(PositionConstraintKind kind) {
  return with_rule(kind, [](auto rule) { return decltype(rule)::values; });
}

template <class T>
std::unique_ptr<PositionConstraints<T>> make_position_constraints(PositionConstraintKind kind,
                                                                  std::span<const std::int32_t> nodes, std::span<const T> values,
                                                                  std::span<const std::uint8_t> fixed) {
  const auto k = static_cast<std::size_t>(corners_of(kind)), m = static_cast<std::size_t>(values_of(kind));
  require(nodes.size() % k == 0 && values.size() % m == 0 && nodes.size() / k == values.size() / m, "constraints must have ", k,
          " nodes and ", m, " values each");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    require(nodes[i] >= 0 && static_cast<std::size_t>(nodes[i]) < fixed.size(), "constraint ", i / k, " has node ", nodes[i],
            ", but there are ", fixed.size());
    for (std::size_t j = i / k * k; j < i; ++j)
      require(nodes[i] != nodes[j], "constraint ", i / k, " has node ", nodes[i], " twice");
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    require(!std::isnan(values[i]), "values of constraints must be numbers, but one of constraint ", i / m, " is NaN");
  return with_rule(kind, [&](auto rule) -> std::unique_ptr<PositionConstraints<T>> {
    return std::make_unique<RuleConstraints<T, decltype(rule)>>(nodes, values, fixed);
  });
}

template <class T>
void project_closed_volume(const ClosedVolume& surface, double& multiplier, std::span<PositionNode<T>> nodes,
                           std::span<Vec<double, 3>> gradient, const ProjectionRules& rules) {
  using Vector3 = Vec<double, 3>;
  require(gradient.size() == nodes.size(), "there must be a gradient for each of ", nodes.size(), " nodes, not ",
          gradient.size());
  const auto position = [&](std::int32_t n) {
    const PositionNode<T>& p = nodes[static_cast<std::size_t>(n)];
    return Vector3(p.x, p.y, p.z);
  };
  // Serial: one constraint, and the order of its sums decides the bits.
  for (const std::int32_t n : surface.nodes) gradient[static_cast<std::size_t>(n)].setZero();
  double found = 0;
  // Around a point of the surface, which keeps digits where it is far from the origin.
  const Vector3 origin = surface.nodes.empty() ? Vector3::Zero() : position(surface.nodes[0]);
  for (const auto& t : surface.triangles) {
    const Vector3 a = position(t[0]) - origin, b = position(t[1]) - origin, c = position(t[2]) - origin;
    const Vector3 bc = b.cross(c);
    found += a.dot(bc) / 6;
    gradient[static_cast<std::size_t>(t[0])] += bc / 6;
    gradient[static_cast<std::size_t>(t[1])] += c.cross(a) / 6;
    gradient[static_cast<std::size_t>(t[2])] += a.cross(b) / 6;
  }
  double sum = 0;
  for (const std::int32_t n : surface.nodes) {
    const auto i = static_cast<std::size_t>(n);
    sum += static_cast<double>(nodes[i].w) * gradient[i].squaredNorm();
  }
  if (!(sum > 0)) return;
  const double soft = surface.compliance / (rules.dt * rules.dt);
  const double change = (surface.volume - found - soft * multiplier) / (sum + soft);
  multiplier += change;
  for (const std::int32_t n : surface.nodes) {
    PositionNode<T>& p = nodes[static_cast<std::size_t>(n)];
    const Vector3 move = (rules.part * change * static_cast<double>(p.w)) * gradient[static_cast<std::size_t>(n)];
    p.x += static_cast<T>(move[0]);
    p.y += static_cast<T>(move[1]);
    p.z += static_cast<T>(move[2]);
  }
}

#define MENISCUS_INSTANTIATE(T)                                                                                               \
  template std::unique_ptr<PositionConstraints<T>> make_position_constraints<T>(                                              \
      PositionConstraintKind, std::span<const std::int32_t>, std::span<const T>, std::span<const std::uint8_t>);              \
  template void project_closed_volume<T>(const ClosedVolume&, double&, std::span<PositionNode<T>>, std::span<Vec<double, 3>>, \
                                         const ProjectionRules&);
MENISCUS_INSTANTIATE(float)
MENISCUS_INSTANTIATE(double)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::solids
