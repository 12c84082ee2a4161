#include "meniscus/collision/continuous/separate_pairs.hpp"

#include "meniscus/collision/continuous/cubic_ccd.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/finite_values.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <numeric>

namespace meniscus::collision {
namespace {

/// Pairs per piece of a parallel loop; the methods for comparison take a microsecond or more for one.
constexpr Index separate_chunk = 256, slow_chunk = 128;

/// `each`: points per pair.
template <class P>
void require_finite(std::span<const P> points, Index each, const char* name) {
  constexpr Index dimension = P::SizeAtCompileTime;
  if (points.empty()) return;
  const double* const values = points[0].data();
  const Index bad = first_not_finite(values, dimension * static_cast<Index>(points.size()));
  require(bad < 0, name, " must be finite, but [", bad / (each * dimension), ", ", bad / dimension % each, ", ", bad % dimension,
          "] is ", bad < 0 ? 0.0 : values[bad]);
}

template <class P>
void require_valid(std::span<const P> start, std::span<const P> end, Index each) {
  const auto count = [&](std::span<const P> points) { return static_cast<Index>(points.size()) / each; };
  require(start.size() == end.size(), "start and end must hold the same number of pairs, not ", count(start), " and ",
          count(end));
  require_finite(start, each, "start");
  require_finite(end, each, "end");
}

/// Calls body(start, end, stencils, number of the first pair) for pieces of the pairs, in parallel.
template <class Body>
void for_each_piece(const SeparatePairs& pairs, Body&& body) {
  require_valid(pairs.start, pairs.end, 4);
  static const auto stencils = [] {
    std::array<Stencil, separate_chunk> s;
    for (std::size_t i = 0; i < s.size(); ++i) std::iota(s[i].begin(), s[i].end(), static_cast<std::int32_t>(4 * i));
    return s;
  }();
  parallel_for(0, pairs.size(), separate_chunk, [&](Index b, Index e) {
    const auto first = static_cast<std::size_t>(4 * b), count = static_cast<std::size_t>(e - b);
    body(pairs.start.subspan(first, 4 * count), pairs.end.subspan(first, 4 * count), std::span(stencils).first(count),
         static_cast<std::size_t>(b));
  });
}

/// Calls body(i) for n pairs, in parallel.
template <class Body>
void for_each_pair(Index n, Body&& body) {
  parallel_for(0, n, slow_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) body(i);
  });
}

std::span<const mesh::Point, 4> four(std::span<const mesh::Point> points, std::size_t pair) {
  return std::span<const mesh::Point, 4>(points.data() + 4 * pair, 4);
}

std::array<mesh::Point, 3> three(std::span<const Vec<double, 2>> points, std::size_t pair) {
  std::array<mesh::Point, 3> p;
  for (std::size_t k = 0; k < 3; ++k) p[k] = mesh::Point(points[3 * pair + k][0], points[3 * pair + k][1], 0);
  return p;
}

template <std::size_t N>
std::array<std::int64_t, N> vertices_of(std::span<const std::array<std::int32_t, N>> indices, std::size_t pair) {
  std::array<std::int64_t, N> v;
  if (indices.empty())
    std::iota(v.begin(), v.end(), std::int64_t{0});
  else
    std::copy(indices[pair].begin(), indices[pair].end(), v.begin());
  return v;
}

void store(const SpaceTimeContact& contact, std::size_t pair, std::size_t dimension, const SpaceTimeColumns& out) {
  out.time[pair] = contact.time;
  std::copy_n(contact.normal.data(), dimension, out.normal + dimension * pair);
  out.displacement[pair] = contact.displacement;
}

}  // namespace

void find_contacts(PairKind kind, ContactMode mode, const SeparatePairs& pairs, std::span<std::uint8_t> out) {
  for_each_piece(pairs, [&](auto start, auto end, std::span<const Stencil> stencils, std::size_t first) {
    find_contacts(kind, mode, start, end, stencils, out.data() + first);
  });
}

void find_times_of_impact(PairKind kind, const SeparatePairs& pairs, double tolerance, std::span<double> out) {
  for_each_piece(pairs, [&](auto start, auto end, std::span<const Stencil> stencils, std::size_t first) {
    find_times_of_impact(kind, start, end, stencils, tolerance, 1, out.data() + first);
  });
}

void find_cubic_contacts(PairKind kind, const SeparatePairs& pairs, double tolerance, std::span<double> out) {
  require_valid(pairs.start, pairs.end, 4);
  for_each_pair(pairs.size(),
                [&](std::size_t i) { out[i] = cubic_contact(kind, four(pairs.start, i), four(pairs.end, i), tolerance); });
}

void find_space_time_contacts(PairKind kind, SimplexMethod method, const SeparatePairs& pairs,
                              std::span<const std::array<std::int32_t, 4>> indices, const SpaceTimeColumns& out) {
  require_valid(pairs.start, pairs.end, 4);
  for_each_pair(pairs.size(), [&](std::size_t i) {
    store(space_time_contact(kind, method, four(pairs.start, i), four(pairs.end, i), vertices_of(indices, i)), i, 3, out);
  });
}

void find_space_time_contacts(SimplexMethod method, std::span<const Vec<double, 2>> start, std::span<const Vec<double, 2>> end,
                              std::span<const std::array<std::int32_t, 3>> indices, const SpaceTimeColumns& out) {
  require_valid(start, end, 3);
  for_each_pair(static_cast<Index>(start.size() / 3), [&](std::size_t i) {
    store(space_time_point_segment(method, three(start, i), three(end, i), vertices_of(indices, i)), i, 2, out);
  });
}

}  // namespace meniscus::collision
