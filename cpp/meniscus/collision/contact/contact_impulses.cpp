#include "meniscus/collision/contact/contact_impulses.hpp"

#include "meniscus/core/floating_point.hpp"

namespace meniscus::collision {
namespace {

/// Most steps need fewer passes, and their contacts are worked on once.
constexpr int passes_of_new_contacts = 8;
/// Sweeps over the known contacts in one pass.
constexpr int sweeps_of_a_pass = 20;
/// Of the largest displacement: known contacts that approach by less are left to the exact test.
constexpr double least_approach = 1e-8;

/// The mean of what the two elements of a pair keep, each the mean of its vertices by the weights of the contact.
double pair_thickness(std::span<const double> thickness, const PathContact& c) {
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) sum += std::abs(c.weights[k]) * thickness[c.vertices[k]];
  return 0.5 * sum;
}

}  // namespace

void ContactImpulses::begin() {
  known_.clear();
  std::ranges::fill(changed_, 0);
  sweeps_ = 0;
  passes_ = 0;
}

void ContactImpulses::note(const ContactRow& row) {
  for (std::size_t k = 0; k < row.size(); ++k) {
    moved_.push_back(row.node(k));
    changed_[row.node(k)] = sweeps_;
  }
}

Index ContactImpulses::sweep(const ContactNodes& nodes, std::span<mesh::Point> u) {
  double size = 0;
  for (const ContactRow& row : known_)
    for (std::size_t k = 0; k < row.size(); ++k) size = std::max(size, u[row.node(k)].cwiseAbs().maxCoeff());
  Index impulses = 0;
  for (int sweep = 0; sweep < sweeps_of_a_pass; ++sweep) {
    ++sweeps_;
    const Index before = impulses;
    for (const ContactRow& row : known_) {
      bool changed = false;
      for (std::size_t k = 0; k < row.size(); ++k) changed |= changed_[row.node(k)] >= sweeps_ - 1;
      if (!changed) continue;
      const double approach = row.relative_normal(u);
      if (!(approach < -least_approach * size)) continue;
      const double inverse = row.inverse_mass(nodes);
      if (!(inverse > 0)) continue;
      row.apply(nodes, (-approach / inverse) * row.normal(), u);
      note(row);
      ++impulses;
    }
    if (impulses == before) break;
  }
  return impulses;
}

Index ContactImpulses::apply(ContactPaths& paths, std::span<const PathContact> contacts, const ContactPush& push) {
  const StandardArithmetic arithmetic;
  const ContactNodes& nodes = paths.nodes();
  const std::span<mesh::Point> u = paths.displacements();
  moved_.clear();
  changed_.resize(nodes.nodes(), 0);
  ++sweeps_;
  const bool again = ++passes_ > passes_of_new_contacts;
  Index impulses = 0;
  for (const PathContact& c : contacts) {
    const ContactRow row(nodes, c.vertices, c.weights, c.normal);
    // Whatever happens to it, the pair has to be tested again.
    note(row);
    if (again) known_.push_back(row);
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
  if (again) impulses += sweep(nodes, u);
  std::sort(moved_.begin(), moved_.end());
  moved_.erase(std::unique(moved_.begin(), moved_.end()), moved_.end());
  std::erase_if(moved_, [&](std::int32_t node) { return nodes.inverse_mass(node) == 0; });
  paths.move(moved_);
  return impulses;
}

}  // namespace meniscus::collision
