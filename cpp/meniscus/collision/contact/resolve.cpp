#include "meniscus/collision/contact/resolve.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"

namespace meniscus::collision {
namespace {

/// Of the certified time: so that a gap stays from which the rest of the step can begin.
constexpr double part_of_free_time = 0.8;
/// A step that would end before is not taken.
constexpr double least_fraction = 1e-9;
constexpr std::size_t most_listed = 1000;
/// Of the largest displacement as given. Where nodes that can move have next to no weight in contacts with given paths, each
/// impulse multiplies displacements; no more comes of it than nodes that are thrown away, and in the end numbers that are not
/// finite.
constexpr double most_growth = 100;
/// Passes of impulses that leave no fewer contacts than the best one before, after which others are of no use.
constexpr int patience = 32;

/// Contacts before this part of the step may be contacts at its start.
constexpr double soon = 1e-6;

double largest_displacement(const ContactPaths& paths, const ContactPush& push) {
  double largest = 0;
  for (const mesh::Point& u : paths.displacements()) largest = std::max(largest, u.cwiseAbs().maxCoeff());
  double thickness = 0;
  for (const double h : push.thickness) thickness = std::max(thickness, h);
  return most_growth * (largest + std::max(1.0, push.part * push.inner_steps) * thickness);
}

double earliest_of(std::span<const PathContact> contacts) {
  double earliest = 1;
  for (const PathContact& c : contacts) earliest = std::min(earliest, c.time);
  return earliest;
}

void list_pairs(std::span<const PathContact> contacts, ResolveReport& report) {
  for (const PathContact& c : contacts) {
    auto& pairs = c.kind == PairKind::vertex_face ? report.vertex_face : report.edge_edge;
    if (pairs.size() < most_listed) pairs.push_back(c.pair);
  }
}

}  // namespace

ResolveReport ContactResolver::resolve(std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                                       const DeactivatedPairs& deactivated, const ResolveOptions& options) {
  deactivated.require_pairs_of(paths_.mesh(), paths_.nodes().vertices());
  paths_.set(start, end);
  ResolveReport report;
  std::span<const PathContact> contacts = paths_.detect(deactivated);
  group(contacts);
  report.contacts = static_cast<Index>(contacts.size());
  const double first_contact = earliest_of(contacts);
  report.passes = 1;
  const auto detect = [&] {
    check_interrupt();
    contacts = paths_.detect(deactivated);
    group(contacts);
    ++report.passes;
  };
  if (contacts.empty()) return report;
  if (first_contact <= soon) {
    auto touching = paths_.touching(deactivated);
    if (!touching[0].empty() || !touching[1].empty()) {
      report.end = ResolveEnd::pinched;
      for (auto& pairs : touching) pairs.resize(std::min(pairs.size(), most_listed));
      report.vertex_face = std::move(touching[0]);
      report.edge_edge = std::move(touching[1]);
      return report;
    }
  }
  ZoneOptions zone_options = options.zones;
  zone_options.most_displacement = largest_displacement(paths_, options.push);
  impulses_.begin();
  std::size_t fewest = contacts.size();
  for (int pass = 0, since = 0; pass < options.impulse_passes && since < patience && !contacts.empty(); ++pass) {
    // A push that goes on forever would only hand contacts around: later on, pairs just keep the least distance.
    ContactPush push = options.push;
    if (pass > 0) push.part = 0;
    report.impulses += impulses_.apply(paths_, contacts, push);
    if (!paths_.within(impulses_.moved(), zone_options.most_displacement)) {
      paths_.set(start, end);
      detect();
      break;
    }
    detect();
    since = contacts.size() < fewest ? 0 : since + 1;
    fewest = std::min(fewest, contacts.size());
  }
  if (contacts.empty()) return report;

  zones_.begin(paths_);
  bool possible = true;
  for (int pass = 0; possible && pass < options.zone_passes && !contacts.empty(); ++pass) {
    possible = zones_.add(paths_, contacts, zone_options);
    if (possible) detect();
  }
  report.zones = zones_.counts();
  if (!possible || !contacts.empty()) {
    if (!possible) {
      // Of the paths as they are now.
      paths_.mark_all();
      detect();
    }
    if (!contacts.empty()) {
      if (options.cut) {
        // Responses that failed may have made everything faster: the paths as given may be free for longer.
        if (first_contact > earliest_of(contacts)) {
          paths_.set(start, end);
          detect();
        }
        cut(contacts, deactivated, report);
      } else {
        report.end = ResolveEnd::pinched;
        list_pairs(contacts, report);
      }
    }
  }
  return report;
}

void ContactResolver::group(std::span<const PathContact> contacts) {
  const ContactNodes& nodes = paths_.nodes();
  if (groups_.size() != nodes.nodes()) groups_.reset(nodes.nodes());
  for (const PathContact& c : contacts) {
    std::int32_t first = -1;
    for (const std::int32_t v : c.vertices)
      for (const NodeShare& s : nodes.shares(v)) {
        if (!(nodes.inverse_mass(s.node) > 0)) continue;
        first = first < 0 ? s.node : groups_.join(first, s.node);
      }
  }
}

void ContactResolver::take_groups(std::span<std::int32_t> out) {
  const Index n = paths_.nodes().nodes();
  require(static_cast<Index>(out.size()) == n, "groups must have one number for each of ", n, " nodes");
  if (groups_.size() != n) groups_.reset(n);
  for (Index i = 0; i < n; ++i) out[i] = groups_.root(static_cast<std::int32_t>(i));
  groups_.reset(n);
}

void ContactResolver::cut(std::span<const PathContact> contacts, const DeactivatedPairs& deactivated, ResolveReport& report) {
  const std::vector<PathContact> last(contacts.begin(), contacts.end());
  list_pairs(last, report);
  double fraction = part_of_free_time * earliest_of(last);
  while (fraction >= least_fraction) {
    paths_.cut(fraction / report.fraction);
    report.fraction = fraction;
    check_interrupt();
    ++report.passes;
    // Rounded ends make other paths than those that were tested.
    if (paths_.detect(deactivated).empty()) {
      report.end = ResolveEnd::cut;
      return;
    }
    fraction *= 0.5;
  }
  report.end = ResolveEnd::pinched;
}

}  // namespace meniscus::collision
