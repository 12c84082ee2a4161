/// Second stage of continuous collision detection: isolation of the contacts of one pair in floating point, with proof.
///
/// Pieces of the step are halved until each certainly has no contact, or has exactly one root of the cubic with
/// weights of certain sign around it. Cases that stay open (contact with a rim, at the ends of the step, or at a
/// double root) are left to exact arithmetic.
#pragma once

#include "meniscus/collision/continuous/ccd_filter.hpp"

namespace meniscus::collision::ccd {

/// Aim of the search, and when it may stop.
enum class Search {
  /// Counts all contacts; stops where something stays open.
  count,
  /// Stops at any contact.
  any,
  /// Stops at the first contact, or where an earlier piece stays open.
  first,
};

struct Isolation {
  /// Contacts found, all of them within both elements and at simple roots.
  int contacts = 0;
  /// Nothing stayed open.
  bool complete = true;
  /// The first contact lies between these times.
  double low = 0;
  double high = 0;
};

/// The contacts of a candidate, the first of them to within `tolerance` in t if the search is for that.
Isolation isolate_contacts(PairKind kind, const Candidate& candidate, Search search, double tolerance = 1);

}  // namespace meniscus::collision::ccd
