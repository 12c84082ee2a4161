#include "meniscus/grid/boundary.hpp"

#include "meniscus/core/error.hpp"

#include <cmath>
#include <vector>

namespace meniscus::grid {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};

GhostRule given(GhostRule::Kind kind, bool odd, const GivenValue& v, int component, int components) {
  GhostRule rule;
  rule.kind = kind;
  rule.odd = odd;
  rule.constant = v.constant[component];
  rule.function = v.function;
  rule.component = component;
  rule.components = components;
  return rule;
}

GhostRule plain(GhostRule::Kind kind) {
  GhostRule rule;
  rule.kind = kind;
  return rule;
}

}  // namespace

void GhostRule::evaluate(std::span<const double> positions, int dimension, double time, std::span<double> values) const {
  if (!function) {
    for (double& v : values) v = constant;
    return;
  }
  const auto check = [&](double v, std::size_t i) {
    require(std::isfinite(v), "a boundary function returned ", v, " at position ", i, " of its batch (time ", time, ")");
    return v;
  };
  if (components == 1) {
    (*function)(positions, time, values);
    for (std::size_t i = 0; i < values.size(); ++i) check(values[i], i);
    return;
  }
  const auto n = positions.size() / static_cast<std::size_t>(dimension);
  std::vector<double> all(n * static_cast<std::size_t>(components));
  (*function)(positions, time, all);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = check(all[i * static_cast<std::size_t>(components) + static_cast<std::size_t>(component)], i);
}

GhostRule scalar_rule(const SideCondition& condition) {
  return std::visit(Overload{[](const Wall&) { return plain(GhostRule::Kind::mirror); },
                             [](const Open&) { return plain(GhostRule::Kind::clamp); },
                             [](const ZeroGradient&) { return plain(GhostRule::Kind::clamp); },
                             [](const Prescribed& p) { return given(GhostRule::Kind::value, false, p.value, 0, 1); }},
                    condition);
}

GhostRule velocity_rule(const SideCondition& condition, int component, int axis, int dimension) {
  return std::visit(
      Overload{[&](const Wall& w) {
                 const bool odd = component == axis || w.no_slip;
                 return given(GhostRule::Kind::mirror, odd, w.velocity, component, dimension);
               },
               [](const Open&) { return plain(GhostRule::Kind::clamp); },
               [](const ZeroGradient&) { return plain(GhostRule::Kind::clamp); },
               [&](const Prescribed& p) { return given(GhostRule::Kind::value, false, p.value, component, dimension); }},
      condition);
}

bool fixes_normal_velocity(const SideCondition& condition) {
  return std::holds_alternative<Wall>(condition) || std::holds_alternative<Prescribed>(condition);
}

}  // namespace meniscus::grid
