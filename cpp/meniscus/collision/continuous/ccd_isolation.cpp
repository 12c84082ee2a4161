#include "meniscus/collision/continuous/ccd_isolation.hpp"

namespace meniscus::collision::ccd {
namespace {

/// Halvings of a run of pieces before it is left open. Contacts close to a rim, or roots close together, that take more are rare.
constexpr int max_depth = 8;

template <bool edges>
class Isolator {
 public:
  Isolator(const Candidate& candidate, Search search, double tolerance)
      : candidate_(candidate), search_(search), tolerance_(tolerance) {}

  Isolation run() {
    // Neighbouring pieces together, so that a root between them does no harm.
    for (unsigned j = 0; j < pieces_per_step && !done_;) {
      if ((candidate_.pieces >> j & 1u) == 0) {
        ++j;
        continue;
      }
      unsigned end = j + 1;
      while (end < pieces_per_step && (candidate_.pieces >> end & 1u) != 0) ++end;
      scan(static_cast<double>(j) / pieces_per_step, static_cast<double>(end) / pieces_per_step, max_depth);
      j = end;
    }
    return result_;
  }

 private:
  enum class Contact { none, inside, open };

  Differences at(double t) const {
    if (t == 0) return candidate_.start;
    if (t == 1) return candidate_.end;
    const auto mix = [t](const Vector& x, const Vector& y) { return (1 - t) * x + t * y; };
    return {mix(candidate_.start.a, candidate_.end.a), mix(candidate_.start.b, candidate_.end.b),
            mix(candidate_.start.c, candidate_.end.c)};
  }
  PieceSigns signs(double low, double high) const { return piece_signs<edges>(at(low), at(high), candidate_.extent); }

  /// True if all coefficients have a certain sign that changes once along them: there is one root, and it is simple.
  static bool one_root(const PieceSigns& s) {
    const auto sign = [&](double k) { return static_cast<int>(k > s.cubic_error) - static_cast<int>(k < -s.cubic_error); };
    const int a = sign(s.k0);
    const int b = sign(s.k1);
    const int c = sign(s.k2);
    const int d = sign(s.k3);
    return a * d < 0 && b != 0 && c != 0 && !(b == d && c == a);
  }

  void scan(double low, double high, int depth) {
    const PieceSigns s = signs(low, high);
    if (s.never_coplanar() || s.never_inside()) return;
    if (one_root(s)) {
      const Contact contact = contact_at_root(s, low, high);
      if (contact == Contact::none) return;
      if (contact == Contact::inside) {
        ++result_.contacts;
        done_ = search_ != Search::count;
        return;
      }
    }
    const double middle = low + 0.5 * (high - low);
    if (depth == 0) {
      result_.complete = false;
      done_ = search_ != Search::any;
      return;
    }
    scan(low, middle, depth - 1);
    if (!done_) scan(middle, high, depth - 1);
  }

  /// Whether the elements touch at the only root in a piece.
  Contact contact_at_root(const PieceSigns& s, double low, double high) {
    // The cubic in u = (t - low) / (high - low).
    const double c3 = s.k3 - s.k2 + s.k1 - s.k0;
    const double c2 = s.k2 - 2 * s.k1 + 3 * s.k0;
    const double c1 = s.k1 - 3 * s.k0;
    const bool rising = s.k0 < 0;
    double below = 0;
    double above = 1;
    double u = s.k0 / (s.k0 - s.k3);
    double slope = 0;
    for (int i = 0; i < 12; ++i) {
      const double value = ((c3 * u + c2) * u + c1) * u + s.k0;
      slope = (3 * c3 * u + 2 * c2) * u + c1;
      ((value < 0) == rising ? below : above) = u;
      double next = u - value / slope;
      if (!(next > below && next < above)) next = 0.5 * (below + above);
      const double change = std::abs(next - u);
      u = next;
      if (change < 1e-9) break;
    }
    const double width = high - low;
    const double noise = 8 * s.cubic_error / std::abs(slope);
    const double wanted = search_ == Search::first ? 0.25 * tolerance_ / width : 1.0;
    for (const double coarse : {1e-6, 1e-13}) {
      const double radius = std::max(std::min(coarse, wanted), noise);
      if (!(radius < 0.5)) return Contact::open;
      const double from = std::max(low, low + width * (u - radius));
      const double to = std::min(high, low + width * (u + radius));
      const PieceSigns around = signs(from, to);
      const bool holds_root = rising ? around.k0 < -around.cubic_error && around.k3 > around.cubic_error
                                     : around.k0 > around.cubic_error && around.k3 < -around.cubic_error;
      if (!holds_root) continue;
      if (around.never_inside()) return Contact::none;
      if (around.always_inside() && (search_ != Search::first || to - from <= tolerance_)) {
        result_.low = from;
        result_.high = to;
        return Contact::inside;
      }
    }
    return Contact::open;
  }

  const Candidate& candidate_;
  Search search_;
  double tolerance_;
  bool done_ = false;
  Isolation result_;
};

}  // namespace

Isolation isolate_contacts(PairKind kind, const Candidate& candidate, Search search, double tolerance) {
  Isolation open;
  open.complete = false;
  if (!within_range(candidate.extent)) return open;
  return kind == PairKind::edge_edge ? Isolator<true>(candidate, search, tolerance).run()
                                     : Isolator<false>(candidate, search, tolerance).run();
}

}  // namespace meniscus::collision::ccd
