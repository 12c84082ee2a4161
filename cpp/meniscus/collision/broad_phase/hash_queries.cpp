#include "meniscus/collision/broad_phase/hash_queries.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"
#include "meniscus/numerics/graph/item_rows.hpp"

namespace meniscus::collision {
namespace {

constexpr Index query_chunk = 1024;

}  // namespace

template <class Find>
void PairLists::collect(Index n, Find&& find) {
  const auto count = static_cast<std::size_t>((n + query_chunk - 1) / query_chunk);
  if (parts_.size() < count) parts_.resize(count);
  parallel_for(0, n, query_chunk, [&](Index b, Index e) {
    auto& list = parts_[b / query_chunk];
    list.clear();
    for (Index i = b; i < e; ++i) {
      const auto first = static_cast<Index>(list.size());
      find(static_cast<std::int32_t>(i), list);
      std::sort(list.begin() + first, list.end());
    }
  });
  pairs_.clear();
  for (std::size_t k = 0; k < count; ++k) pairs_.insert(pairs_.end(), parts_[k].begin(), parts_[k].end());
}

void PairLists::sort() {
  if (std::is_sorted(pairs_.begin(), pairs_.end())) return;
  const auto n = static_cast<Index>(pairs_.size());
  keys_.resize(pairs_.size());
  order_.resize(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    keys_[i] = static_cast<std::uint64_t>(pairs_[i][0]) << 31 | static_cast<std::uint64_t>(pairs_[i][1]);
  radix_sort(keys_.data(), order_.data(), n, std::uint64_t{1} << 62, workspace_);
  for (std::size_t i = 0; i < pairs_.size(); ++i)
    pairs_[i] = {static_cast<std::int32_t>(keys_[i] >> 31), static_cast<std::int32_t>(keys_[i] & 0x7fffffff)};
}

std::span<const IndexPair> VertexTetPairs::find(std::span<const mesh::Point> vertices, std::span<const mesh::Tet> tets,
                                                const std::span<const std::int32_t>* points, double cell_size, CellHash hash) {
  if (points)
    for (std::size_t i = 0; i < points->size(); ++i) {
      const std::int32_t p = (*points)[i];
      require(p >= 0 && static_cast<std::size_t>(p) < vertices.size(), "points must hold indices of the ", vertices.size(),
              " vertices, but [", i, "] is ", p);
    }
  const auto corners = [&](std::size_t t) {
    TetCorners c;
    for (std::size_t k = 0; k < 4; ++k) c[k] = vertices[tets[t][k]];
    return c;
  };
  boxes_.resize(tets.size());
  orientation_.resize(tets.size());
  parallel_for(0, static_cast<Index>(tets.size()), query_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) {
      const TetCorners c = corners(t);
      orientation_[t] = static_cast<std::int8_t>(tet_orientation(c));
      boxes_[t] = mesh::Box();
      if (orientation_[t] != 0)
        for (const mesh::Point& x : c) boxes_[t].add(x);
    }
  });
  hash_.build(boxes_, cell_size, hash);
  const auto n = static_cast<Index>(points ? points->size() : vertices.size());
  lists_.collect(n, [&](std::int32_t i, std::vector<IndexPair>& list) {
    const std::int32_t v = points ? (*points)[i] : i;
    const mesh::Point& p = vertices[v];
    hash_.containing(p, [&](std::int32_t t) {
      const Index slot = t;
      if (std::find(tets[slot].begin(), tets[slot].end(), v) != tets[slot].end()) return;
      if (side_of_tet(p, corners(slot), orientation_[slot]) != TetSide::outside) list.push_back({v, t});
    });
  });
  lists_.sort();
  return lists_.pairs();
}

std::span<const IndexPair> BoxPairs::find(std::span<const mesh::Box> boxes, double cell_size, CellHash hash) {
  hash_.build(boxes, cell_size, hash);
  lists_.collect(static_cast<Index>(boxes.size()), [&](std::int32_t i, std::vector<IndexPair>& list) {
    hash_.overlapping(i, [&](std::int32_t j) { list.push_back({std::min(i, j), std::max(i, j)}); });
  });
  lists_.sort();
  return lists_.pairs();
}

void BodyPartition::build(std::span<const mesh::Box> bodies, std::span<const mesh::Point> points) {
  require(points.size() <= 2147483647, "a partition can hold at most 2147483647 points, not ", points.size());
  hash_.build(bodies, 0, CellHash::corrected);
  lists_.collect(static_cast<Index>(points.size()), [&](std::int32_t i, std::vector<IndexPair>& list) {
    hash_.containing(points[i], [&](std::int32_t body) { list.push_back({body, i}); });
  });
  numerics::list_by_rows(std::ssize(bodies), starts_, points_, [&](auto&& add) {
    for (const IndexPair& p : lists_.pairs()) add(p[0], p[1]);
  });
}

void require_finite(std::span<const mesh::Box> boxes, const char* name) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    require(boxes[i].low.allFinite() && boxes[i].high.allFinite(), name, " must be finite, but box ", i, " is not");
}

void hash_cells(std::span<const Coord<3>> cells, CellHash hash, std::span<std::uint32_t> out) {
  for (std::size_t i = 0; i < cells.size(); ++i) out[i] = hash_of_cell(cells[i], hash);
}

}  // namespace meniscus::collision
