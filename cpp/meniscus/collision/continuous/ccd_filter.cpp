#include "meniscus/collision/continuous/ccd_filter.hpp"

#include <limits>

namespace meniscus::collision::ccd {
namespace {

/// One value per pair.
using Row = std::array<double, block_size>;

/// Differences of many pairs: a, b and c at the start, then at the end; x, y and z of each.
struct Block {
  std::array<Row, 18> row;
  std::array<Row, 3> extent;
  /// Nonzero where the pair never touches.
  Row apart;

  MENISCUS_INLINE Vector vector(std::size_t first, std::size_t lane) const {
    return {row[first][lane], row[first + 1][lane], row[first + 2][lane]};
  }
  MENISCUS_INLINE Differences start(std::size_t lane) const { return {vector(0, lane), vector(3, lane), vector(6, lane)}; }
  MENISCUS_INLINE Differences end(std::size_t lane) const { return {vector(9, lane), vector(12, lane), vector(15, lane)}; }
};

template <bool edges>
void gather(std::span<const mesh::Point> start, std::span<const mesh::Point> end, std::span<const Stencil> pairs, Block& block) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [p0, p1, p2, p3] = pairs[i];
    std::size_t row = 0;
    for (const auto& x : {start, end}) {
      const mesh::Point& x0 = x[p0];
      const mesh::Point& x1 = x[p1];
      const mesh::Point& x2 = x[p2];
      const mesh::Point& x3 = x[p3];
      for (int k = 0; k < 3; ++k) block.row[row++][i] = edges ? x1[k] - x0[k] : x0[k] - x1[k];
      for (int k = 0; k < 3; ++k) block.row[row++][i] = edges ? x3[k] - x2[k] : x0[k] - x2[k];
      for (int k = 0; k < 3; ++k) block.row[row++][i] = edges ? x2[k] - x0[k] : x0[k] - x3[k];
    }
  }
}

template <bool edges>
MENISCUS_INLINE void test_steps(Block& block, std::size_t n) {
  for (std::size_t l = 0; l < n; ++l) {
    const Differences start = block.start(l);
    const Differences end = block.end(l);
    const Vector extent = extents(start, end);
    const PieceSigns signs = piece_signs<edges>(start, end, extent);
    const int apart = static_cast<int>(within_range(extent)) &
                      (static_cast<int>(signs.never_coplanar()) | static_cast<int>(signs.never_inside()));
    block.extent[0][l] = extent.x;
    block.extent[1][l] = extent.y;
    block.extent[2][l] = extent.z;
    block.apart[l] = apart != 0 ? 1.0 : 0.0;
  }
}

/// Fills the lanes with the pieces of a few pairs, one pair after the other.
MENISCUS_INLINE void cut_steps(const Candidate* candidates, std::size_t n, Block& block) {
  constexpr auto count = static_cast<std::size_t>(pieces_per_step);
  for (std::size_t i = 0; i < n; ++i) {
    const double* const start = &candidates[i].start.a.x;
    const double* const end = &candidates[i].end.a.x;
    for (std::size_t k = 0; k < 9; ++k) {
      double* const from = block.row[k].data() + count * i;
      double* const to = block.row[k + 9].data() + count * i;
      // (Both ends of a piece are rounded alike, so that neighbours share them.)
      for (std::size_t j = 0; j <= count; ++j) {
        const double t = static_cast<double>(j) / pieces_per_step;
        const double x = (1 - t) * start[k] + t * end[k];
        if (j < count) from[j] = x;
        if (j > 0) to[j - 1] = x;
      }
    }
    for (std::size_t j = 0; j < count; ++j) {
      block.extent[0][count * i + j] = candidates[i].extent.x;
      block.extent[1][count * i + j] = candidates[i].extent.y;
      block.extent[2][count * i + j] = candidates[i].extent.z;
    }
  }
}

template <bool edges>
MENISCUS_INLINE void test_pieces(Block& block, std::size_t n) {
  for (std::size_t l = 0; l < n; ++l) {
    const Vector extent{block.extent[0][l], block.extent[1][l], block.extent[2][l]};
    const PieceSigns signs = piece_signs<edges>(block.start(l), block.end(l), extent);
    const int apart = static_cast<int>(signs.never_coplanar()) | static_cast<int>(signs.never_inside());
    block.apart[l] = apart != 0 ? 1.0 : 0.0;
  }
}

/// Scales the differences of a pair by a power of two, so that the greatest is about 1. What this loses of small differences does
/// not matter where the extents are then within range.
void rescale(Candidate& s) {
  const double greatest = std::max({s.extent.x, s.extent.y, s.extent.z});
  if (!(greatest > 0 && greatest <= std::numeric_limits<double>::max())) return;
  const int exponent = -std::ilogb(greatest);
  const auto scale = [exponent](Vector& v) {
    v = {std::ldexp(v.x, exponent), std::ldexp(v.y, exponent), std::ldexp(v.z, exponent)};
  };
  for (Differences* d : {&s.start, &s.end})
    for (Vector* v : {&d->a, &d->b, &d->c}) scale(*v);
  scale(s.extent);
}

template <bool edges>
std::size_t find(std::span<const mesh::Point> start, std::span<const mesh::Point> end, std::span<const Stencil> pairs,
                 std::array<Candidate, block_size>& candidates) {
  Block block;
  gather<edges>(start, end, pairs, block);
  const std::size_t n = pairs.size();
  simd_dispatch([&] { test_steps<edges>(block, n); });
  std::size_t found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (block.apart[i] != 0) continue;
    Candidate& s = candidates[found++];
    s.pair = static_cast<std::uint32_t>(i);
    s.pieces = (1u << pieces_per_step) - 1;
    s.start = block.start(i);
    s.end = block.end(i);
    s.extent = {block.extent[0][i], block.extent[1][i], block.extent[2][i]};
    if (!within_range(s.extent)) rescale(s);
  }
  constexpr std::size_t group = block_size / pieces_per_step;
  std::size_t kept = 0;
  for (std::size_t first = 0; first < found; first += group) {
    const std::size_t count = std::min(group, found - first);
    simd_dispatch([&] {
      cut_steps(candidates.data() + first, count, block);
      test_pieces<edges>(block, count * pieces_per_step);
    });
    for (std::size_t i = 0; i < count; ++i) {
      Candidate s = candidates[first + i];
      if (within_range(s.extent)) {
        s.pieces = 0;
        for (unsigned j = 0; j < pieces_per_step; ++j)
          if (block.apart[i * pieces_per_step + j] == 0) s.pieces |= 1u << j;
      }
      if (s.pieces != 0) candidates[kept++] = s;
    }
  }
  return kept;
}

}  // namespace

std::size_t find_candidates(PairKind kind, std::span<const mesh::Point> start, std::span<const mesh::Point> end,
                            std::span<const Stencil> pairs, std::array<Candidate, block_size>& candidates) {
  return kind == PairKind::edge_edge ? find<true>(start, end, pairs, candidates) : find<false>(start, end, pairs, candidates);
}

}  // namespace meniscus::collision::ccd
