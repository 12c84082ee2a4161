#include "meniscus/solids/position/position_constraints.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/threads/phases.hpp"
#include "meniscus/solids/position/constraint_lanes.hpp"
#include "meniscus/solids/position/neo_hookean_lanes.hpp"

#include <Eigen/Geometry>

namespace meniscus::solids {
namespace {

// Blocks that a task takes, and a colour must have for more than one.
constexpr Index blocks_of_a_task = 32;
constexpr Index nodes_of_a_task = 4096;

/// Rules that correct their corners themselves, without rows of linear constraints.
template <class Rule>
constexpr bool is_element = requires { Rule::stored; };
template <class Rule>
constexpr int stored_values() {
  if constexpr (is_element<Rule>)
    return Rule::stored;
  else
    return Rule::values;
}

/// Rows of values with room for what blocks hold besides.
template <class T>
std::vector<T> widened(std::span<const T> values, std::size_t from, std::size_t to) {
  std::vector<T> out(values.size() / from * to, T(0));
  for (std::size_t i = 0; i < values.size(); ++i) out[i / from * to + i % from] = values[i];
  return out;
}

template <class T, class Rule>
class RuleConstraints final : public PositionConstraints<T> {
  static constexpr int stored = stored_values<Rule>();
  using Corners = detail::CornerLanes<T, Rule::corners>;
  using Projection = detail::ProjectionLanes<T, Rule::corners>;
  using Block = ConstraintBlock<T, Rule::corners, stored>;

 public:
  RuleConstraints(std::span<const std::int32_t> nodes, std::span<const T> values, std::span<const std::uint8_t> fixed)
      : blocks_(nodes, widened(values, Rule::values, stored), fixed), counts_(fixed.size(), 0) {
    for (const std::int32_t n : nodes) ++counts_[n];
  }

  void project(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) override {
    const auto inverse_dt2 = static_cast<T>(1 / (rules.dt * rules.dt));
    const auto part = static_cast<T>(rules.part);
    PositionNode<T>* const x = nodes.data();
    each_block(rules.backward, [&](Block& block, int lanes) {
      Corners p;
      detail::load_corners(block, x, p);
      correct<false>(block, inverse_dt2, part, p);
      detail::store_corners(block, p, lanes, x);
    });
  }
  void project_averaged(std::span<PositionNode<T>> nodes, const ProjectionRules& rules) override {
    const auto inverse_dt2 = static_cast<T>(1 / (rules.dt * rules.dt));
    const auto part = static_cast<T>(rules.part);
    require(nodes.size() == counts_.size(), "there must be ", counts_.size(), " nodes, not ", nodes.size());
    sums_.resize(nodes.size(), Vec<T, 3>::Zero());
    PositionNode<T>* const x = nodes.data();
    // Blocks of a colour add to different nodes.
    each_block(rules.backward, [&](Block& block, int lanes) {
      Corners p;
      detail::load_corners(block, x, p);
      const Corners before = p;
      correct<true>(block, inverse_dt2, part, p);
      detail::add_moves(block, before, p, lanes, sums_.data());
    });
    parallel_for(0, static_cast<Index>(nodes.size()), nodes_of_a_task, [&](Index a, Index b) {
      for (Index i = a; i < b; ++i) {
        x[i].x += sums_[i][0];
        x[i].y += sums_[i][1];
        x[i].z += sums_[i][2];
        sums_[i].setZero();
      }
    });
  }

  Index rows() const override { return is_element<Rule> ? 0 : static_cast<Index>(blocks_.blocks().size()) * constraint_lanes; }
  void linearise(std::span<const PositionNode<T>> nodes, const ProjectionRules& rules,
                 std::span<LinearConstraint> out) const override {
    require(static_cast<Index>(out.size()) == rows(), "there must be room for ", rows(), " constraints, not ", out.size());
    if constexpr (!is_element<Rule>) {
      const auto inverse_dt2 = static_cast<T>(1 / (rules.dt * rules.dt));
      parallel_for(0, static_cast<Index>(blocks_.blocks().size()), blocks_of_a_task, [&](Index a, Index b) {
        for (Index i = a; i < b; ++i) {
          const Block& block = blocks_.blocks()[i];
          Corners p;
          Projection q;
          detail::load_corners(block, nodes.data(), p);
          Rule::evaluate(block, p, inverse_dt2, q);
          for (int l = 0; l < constraint_lanes; ++l) write_row(block, q, i, l, out[row_of(i, l)]);
        }
      });
    }
  }
  void add_multipliers(std::span<const double> changes) override {
    require(static_cast<Index>(changes.size()) == rows(), "there must be ", rows(), " changes of multipliers, not ",
            changes.size());
    for (Index i = 0; i < rows() / constraint_lanes; ++i)
      for (int l = 0; l < constraint_lanes; ++l) blocks_.blocks()[i].multiplier[l] += static_cast<T>(changes[row_of(i, l)]);
  }

  void clear_multipliers() override {
    blocks_.clear_multipliers();
    for (Block& b : blocks_.blocks())
      for (int k = Rule::values; k < stored; ++k) std::fill_n(b.value[k], constraint_lanes, T(0));
  }
  Index colours() const override { return blocks_.size(); }
  Index nbytes() const override {
    return blocks_.nbytes() +
           static_cast<Index>(counts_.capacity() * sizeof(std::int32_t) + sums_.capacity() * sizeof(Vec<T, 3>));
  }

 private:
  static std::size_t row_of(Index block, int lane) { return static_cast<std::size_t>(block * constraint_lanes + lane); }
  void write_row(const Block& block, const Projection& q, Index b, int lane, LinearConstraint& row) const {
    row = {};
    if (blocks_.item(b, lane) < 0) {
      for (auto& g : row.gradient) g.setZero();
      return;
    }
    const bool active = q.active.at[lane] != 0;
    if (active) {
      row.c = static_cast<double>(q.c.at[lane]);
      row.soft = static_cast<double>(q.compliance.at[lane]);
      row.multiplier = static_cast<double>(block.multiplier[lane]);
    }
    for (std::size_t n = 0; n < 4; ++n) {
      row.gradient[n].setZero();
      if (n >= Rule::corners) continue;
      row.node[n] = block.node[n][lane];
      for (int d = 0; d < 3 && active; ++d) row.gradient[n][d] = static_cast<double>(q.gradient[n][d].at[lane]);
    }
  }

  template <bool averaged>
  MENISCUS_INLINE void correct(Block& block, T inverse_dt2, T part, Corners& p) const {
    detail::Lane<T> share;
    if constexpr (averaged)
      for (int l = 0; l < constraint_lanes; ++l) {
        std::int32_t most = 1;
        for (int k = 0; k < Rule::corners; ++k) most = std::max(most, counts_[block.node[k][l]]);
        share.at[l] = T(1) / static_cast<T>(most);
      }
    if constexpr (is_element<Rule>) {
      Rule::template correct<averaged>(block, inverse_dt2, part, share, p);
    } else {
      Projection q;
      Rule::evaluate(block, p, inverse_dt2, q);
      detail::correct<averaged, Rule::bounded>(block, q, part, share, p);
    }
  }

  /// Calls f(block, lanes) colour by colour, in parallel within a colour.
  template <class F>
  MENISCUS_INLINE void each_block(bool backward, F&& f) {
    const auto colour = [&](Index turn) { return blocks_.colour(backward ? blocks_.size() - 1 - turn : turn); };
    parallel_phases(blocks_.size(), blocks_of_a_task, colour, [&](Index turn, Index a, Index b) {
      // All blocks of a colour but the last are full.
      const int last = b == colour(turn).second ? blocks_.lanes(b - 1) : constraint_lanes;
      simd_dispatch([&] {
        for (Index i = a; i < b; ++i) f(blocks_.blocks()[i], i + 1 == b ? last : constraint_lanes);
      });
    });
  }

  ConstraintBlocks<T, Rule::corners, stored> blocks_;
  /// Constraints at each node.
  std::vector<std::int32_t> counts_;
  /// What projections from the same positions move the nodes; zero in between.
  std::vector<Vec<T, 3>> sums_;
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
      return f(detail::TetVolumeRule{});
    case PositionConstraintKind::neo_hookean:
      break;
  }
  return f(detail::NeoHookeanRule{});
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
    const PositionNode<T>& p = nodes[n];
    return Vector3(p.x, p.y, p.z);
  };
  // Serial: one constraint, and the order of its sums decides the bits.
  for (const std::int32_t n : surface.nodes) gradient[n].setZero();
  double found = 0;
  // Around a point of the surface, which keeps digits where it is far from the origin.
  const Vector3 origin = surface.nodes.empty() ? Vector3::Zero() : position(surface.nodes[0]);
  for (const auto& t : surface.triangles) {
    const Vector3 a = position(t[0]) - origin, b = position(t[1]) - origin, c = position(t[2]) - origin;
    const Vector3 bc = b.cross(c);
    found += a.dot(bc) / 6;
    gradient[t[0]] += bc / 6;
    gradient[t[1]] += c.cross(a) / 6;
    gradient[t[2]] += a.cross(b) / 6;
  }
  double sum = 0, lightest = 0;
  for (const std::int32_t n : surface.nodes) {
    const Index i = n;
    sum += static_cast<double>(nodes[i].w) * gradient[i].squaredNorm();
    lightest = std::max(lightest, static_cast<double>(nodes[i].w));
  }
  if (!(sum > 0)) return;
  const double soft = surface.compliance / (rules.dt * rules.dt);
  // Nodes of a surface that has collapsed move by its size at most.
  const double bound = detail::bound_of(surface.volume - found, std::cbrt(surface.volume), lightest);
  const double change = (surface.volume - found - soft * multiplier) / (sum + soft + bound);
  multiplier += change;
  for (const std::int32_t n : surface.nodes) {
    PositionNode<T>& p = nodes[n];
    const Vector3 move = (rules.part * change * static_cast<double>(p.w)) * gradient[n];
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
