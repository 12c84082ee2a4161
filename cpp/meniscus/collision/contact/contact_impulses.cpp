#include "meniscus/collision/contact/contact_impulses.hpp"

#include "meniscus/core/floating_point.hpp"

namespace meniscus::collision {
namespace {

/// The mean of what the two elements of a pair keep, each the mean of its vertices by the weights of the contact.
double pair_thickness(std::span<const double> thickness, const PathContact& c) {
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum += std::abs(c.weights[k]) * thickness[static_cast<std::size_t>(c.vertices[k])];
  return 0.5 * sum;
}

}  // namespace

Index ContactImpulses::apply(ContactPaths& paths, std::span<const PathContact> contacts, const ContactPush& push) {
  const StandardArithmetic arithmetic;
  const ContactNodes& nodes = paths.nodes();
  const std::span<mesh::Point> u = paths.displacements();
  moved_.clear();
  Index impulses = 0;
  for (const PathContact& c : contacts) {
    const ContactRow row(nodes, c.vertices, c.weights, c.normal);
    // Whatever happens to it, the pair has to be tested again.
    for (std::size_t k = 0; k < row.size(); ++k) moved_.push_back(row.node(k));
    const double inverse = row.inverse_mass(nodes);
    if (!(inverse > 0)) continue;
    const double approach = row.relative_normal(u);
    double change = std::max(0.0, -approach);
    if (!push.thickness.empty()) {
      const double thickness = pair_thickness(push.thickness, c);
      const double start_gap = row.relative_normal(paths.start());
      const double missing = thickness - (start_gap + approach + change);
      // A separation that is not there yet.
      if (missing > 0) change = std::max(change, push.part * missing * push.inner_steps - approach);
      change = std::max(change, push.least * thickness - start_gap - approach);
    }
    if (!(change > 0)) continue;
    row.apply(nodes, (change / inverse) * c.normal, u);
    ++impulses;
  }
  std::sort(moved_.begin(), moved_.end());
  moved_.erase(std::unique(moved_.begin(), moved_.end()), moved_.end());
  std::erase_if(moved_, [&](std::int32_t node) { return nodes.inverse_mass(node) == 0; });
  paths.move(moved_);
  return impulses;
}

}  // namespace meniscus::collision
