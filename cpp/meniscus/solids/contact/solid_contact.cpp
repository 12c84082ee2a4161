#include "meniscus/solids/contact/solid_contact.hpp"

#include "meniscus/core/error.hpp"

#include <algorithm>

namespace meniscus::solids {
namespace {

/// Turns that the contacts of one node take; between two planes the violation falls by the cosine of their angle each time.
constexpr int most_turns = 16;

/// f(first, last) for the contacts of each node, in parallel.
template <class F>
void each_node(std::span<const SolidContact> contacts, F&& f) {
  nodes::each(static_cast<Index>(contacts.size()), [&](std::size_t k) {
    if (k > 0 && contacts[k - 1].node == contacts[k].node) return;
    std::size_t end = k + 1;
    while (end < contacts.size() && contacts[end].node == contacts[k].node) ++end;
    f(k, end);
  });
}

void check(std::span<const SolidContact> contacts, Index count) {
  for (std::size_t k = 0; k < contacts.size(); ++k) {
    require(contacts[k].node >= 0 && contacts[k].node < count, "contact ", k, " is of node ", contacts[k].node,
            ", but there are ", count);
    require(k == 0 || contacts[k - 1].node <= contacts[k].node, "the nodes of contacts must ascend, but contact ", k,
            " does not");
  }
}

}  // namespace

void apply_contacts(std::span<const SolidContact> contacts, Points v) {
  check(contacts, static_cast<Index>(v.size()));
  each_node(contacts, [&](std::size_t first, std::size_t last) {
    mesh::Point& own = v[contacts[first].node];
    const int turns = last - first > 1 ? most_turns : 1;
    for (int turn = 0; turn < turns; ++turn) {
      const mesh::Point before = own;
      for (std::size_t k = first; k < last; ++k) own = after_contact(contacts[k], own);
      if (own == before) break;
    }
  });
}

void press_only(std::span<const SolidContact> contacts, ConstPoints solved, Points loose) {
  require(solved.size() == loose.size(), "there must be as many solved velocities as others");
  check(contacts, static_cast<Index>(loose.size()));
  each_node(contacts, [&](std::size_t first, std::size_t last) {
    const Index i = contacts[first].node;
    for (std::size_t k = first; k < last; ++k)
      if (const double more = contacts[k].normal.dot(loose[i] - solved[i]); more > 0) loose[i] -= more * contacts[k].normal;
  });
}

void meeting_times(std::span<const double> before, std::span<const double> after, std::span<double> theta) {
  require(before.size() == after.size() && theta.size() == after.size(),
          "there must be as many distances at the start as at the end");
  nodes::each(static_cast<Index>(after.size()), [&](std::size_t k) {
    const double way = before[k] - after[k];
    theta[k] = before[k] > 0 && way > 0 ? std::min(before[k] / way, 1.0) : 0.0;
  });
}

void turn_at_contacts(std::span<const SolidContact> contacts, std::span<const double> theta, double dt, ConstPoints x0,
                      Points x1) {
  require(theta.size() == contacts.size(), "there must be one theta per contact");
  require(x0.size() == x1.size(), "there must be as many positions at the start as at the end");
  check(contacts, static_cast<Index>(x1.size()));
  each_node(contacts, [&](std::size_t first, std::size_t last) {
    const Index i = contacts[first].node;
    for (std::size_t k = first; k < last; ++k) {
      const mesh::Point way = x1[i] - x0[i];
      const mesh::Point after = after_contact(contacts[k], way / dt);
      x1[i] = x0[i] + theta[k] * way + ((1 - theta[k]) * dt) * after;
    }
  });
}

}  // namespace meniscus::solids
