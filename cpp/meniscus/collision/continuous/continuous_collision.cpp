#include "meniscus/collision/continuous/continuous_collision.hpp"

#include "meniscus/collision/continuous/ccd_exact.hpp"
#include "meniscus/collision/continuous/ccd_isolation.hpp"
#include "meniscus/collision/continuous/root_parity.hpp"
#include "meniscus/core/floating_point.hpp"

#include <limits>

namespace meniscus::collision {
namespace {

std::array<mesh::Point, 4> corners(std::span<const mesh::Point> positions, const Stencil& pair) {
  std::array<mesh::Point, 4> x;
  for (std::size_t k = 0; k < 4; ++k) x[k] = positions[pair[k]];
  return x;
}

}  // namespace

void find_contacts(PairKind kind, ContactMode mode, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                   std::span<const Stencil> pairs, std::uint8_t* out) {
  const StandardArithmetic arithmetic;
  std::array<ccd::Candidate, ccd::block_size> candidates;
  std::fill_n(out, pairs.size(), std::uint8_t{0});
  const auto search = mode == ContactMode::any ? ccd::Search::any : ccd::Search::count;
  for (std::size_t first = 0; first < pairs.size(); first += ccd::block_size) {
    const auto block = pairs.subspan(first, std::min(ccd::block_size, pairs.size() - first));
    const std::size_t n = ccd::find_candidates(kind, start, end, block, candidates);
    for (std::size_t i = 0; i < n; ++i) {
      const ccd::Isolation found = ccd::isolate_contacts(kind, candidates[i], search);
      std::uint8_t& answer = out[first + candidates[i].pair];
      if (mode == ContactMode::any && found.contacts > 0) {
        answer = 1;
      } else if (found.complete) {
        answer = found.contacts % 2 == 1;
      } else {
        const Stencil& pair = block[candidates[i].pair];
        const auto from = corners(start, pair);
        const auto to = corners(end, pair);
        answer = mode == ContactMode::any ? contact_by_algebra(kind, mode, from, to) : root_parity(kind, from, to);
      }
    }
  }
}

void find_times_of_impact(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                          std::span<const Stencil> pairs, double tolerance, double latest, double* out) {
  const StandardArithmetic arithmetic;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::array<ccd::Candidate, ccd::block_size> candidates;
  std::fill_n(out, pairs.size(), infinity);
  for (std::size_t first = 0; first < pairs.size(); first += ccd::block_size) {
    const auto block = pairs.subspan(first, std::min(ccd::block_size, pairs.size() - first));
    const std::size_t n = ccd::find_candidates(kind, start, end, block, candidates);
    for (std::size_t i = 0; i < n; ++i) {
      const ccd::Candidate& candidate = candidates[i];
      if (ccd::earliest(candidate) > latest) continue;
      const ccd::Isolation found = ccd::isolate_contacts(kind, candidate, ccd::Search::first, tolerance);
      double t = infinity;
      if (!found.complete) {
        const Stencil& pair = block[candidate.pair];
        const int bits = std::clamp(1 - std::ilogb(tolerance), 1, 1074);
        t = first_contact_by_algebra(kind, corners(start, pair), corners(end, pair), bits);
      } else if (found.contacts > 0) {
        t = found.low;
      }
      if (t <= latest) out[first + candidate.pair] = t;
    }
  }
}

}  // namespace meniscus::collision
