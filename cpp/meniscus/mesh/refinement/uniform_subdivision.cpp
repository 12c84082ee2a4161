#include "meniscus/mesh/refinement/uniform_subdivision.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/refinement/octahedron_cut.hpp"

#include <cstring>

namespace meniscus::mesh {
namespace {

constexpr Index child_chunk = 4096;

/// Sets middle[i] = f(j, k) for all rows (j, k) of parents, in parallel. Parents lie apart in memory, in an order that the
/// processor does not foresee: values at k are fetched ahead.
template <class T, class Value, class Middle>
void write_middles(std::span<const EdgeGraph::Edge> parents, const T* values, Value* middle, const Middle& f) {
  constexpr Index ahead = 24;
  parallel_for(0, static_cast<Index>(parents.size()), child_chunk, [&](Index first, Index last) {
    // Copies that stay in registers.
    const EdgeGraph::Edge* const p = parents.data();
    const T* const x = values;
    Value* const to = middle;
    const Middle g = f;
    for (Index i = first; i < last; ++i) {
      __builtin_prefetch(x + p[std::min(i + ahead, last - 1)][1]);
      to[i] = g(p[i][0], p[i][1]);
    }
  });
}

/// A vertex at the begin and at the end of a step, beside each other because both are needed together.
struct Ends {
  Point start, end;
};

/// Corners c and middles of the edges m of an element, to its children.
void cut(const Segment& c, const std::int32_t* m, std::size_t, Segment* child) {
  child[0] = {c[0], m[0]};
  child[1] = {m[0], c[1]};
}

void cut(const Triangle& c, const std::int32_t* m, std::size_t, Triangle* child) {
  child[0] = {c[0], m[2], m[1]};
  child[1] = {m[2], c[1], m[0]};
  child[2] = {m[1], m[0], c[2]};
  child[3] = {m[0], m[1], m[2]};
}

void cut(const Tet& c, const std::int32_t* m, std::size_t diagonal, Tet* child) { cut_into_eight(c, m, diagonal, child); }

}  // namespace

template <std::size_t N>
UniformSubdivision<N>::UniformSubdivision(std::span<const Point> rest, std::span<const Element> elements, Index levels) {
  constexpr std::size_t edges_of_element = N * (N - 1) / 2;
  constexpr Index most = 2147483647;
  require(levels >= 0, "levels must not be negative, but is ", levels);
  const auto n = static_cast<Index>(rest.size());
  if constexpr (N == 2)
    require_valid_elements(elements, n);
  else if constexpr (N == 3)
    require_valid_elements(elements, n, false);
  else
    require_valid_elements(elements, n);
  vertices_.push_back(n);
  elements_.emplace_back(elements.begin(), elements.end());
  std::vector<Point> positions(rest.begin(), rest.end());
  for (Index level = 0; level < levels; ++level) {
    const std::vector<Element>& coarse = elements_.back();
    require(static_cast<Index>(coarse.size()) <= most / static_cast<Index>(N * children), "level ", level + 1, " would have ",
            coarse.size() * children, " elements, which are too many");
    const EdgeGraph graph(VertexStars<N>(coarse, vertices_.back()));
    const auto old = vertices_.back();
    const Index now = old + static_cast<Index>(graph.edges().size());
    require(now <= most, "level ", level + 1, " would have ", now, " vertices, which are too many");
    std::vector<std::int32_t> middles(edges_of_element * coarse.size());
    find_element_edges<N>(coarse, graph, middles);
    std::vector<Element> fine(children * coarse.size());
    std::vector<std::uint8_t> diagonal(N == 4 ? coarse.size() : 0);
    parallel_for(0, static_cast<Index>(coarse.size()), child_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        std::int32_t* const m = middles.data() + edges_of_element * i;
        for (std::size_t k = 0; k < edges_of_element; ++k) m[k] += static_cast<std::int32_t>(old);
        std::size_t d = 0;
        if constexpr (N == 4) {
          d = shortest_diagonal(coarse[i], positions);
          diagonal[i] = static_cast<std::uint8_t>(d);
        }
        cut(coarse[i], m, d, fine.data() + children * i);
      }
    });
    vertices_.push_back(now);
    elements_.push_back(std::move(fine));
    diagonals_.push_back(std::move(diagonal));
    parents_.emplace_back(graph.edges().begin(), graph.edges().end());
    if (level + 1 < levels) {
      positions.resize(now);
      interpolate(rest, level + 1, positions);
    }
  }
}

template <std::size_t N>
void UniformSubdivision<N>::interpolate(std::span<const Point> coarse, Index level, std::span<Point> out) const {
  require(level >= 0 && level <= levels(), "level must be in [0, ", levels(), "], but is ", level);
  require(static_cast<Index>(coarse.size()) == vertices(0) && static_cast<Index>(out.size()) == vertices(level), "level ", level,
          " has ", vertices(level), " vertices and level 0 ", vertices(0), ", not ", out.size(), " and ", coarse.size());
  if (coarse.data() != out.data())
    parallel_for(0, vertices(0), child_chunk, [&](Index b, Index e) {
      std::memcpy(static_cast<void*>(out.data() + b), coarse.data() + b, static_cast<std::size_t>(e - b) * sizeof(Point));
    });
  const Point* const x = out.data();
  for (Index l = 1; l <= level; ++l)
    write_middles(parents(l), x, out.data() + vertices(l - 1),
                  [x](std::int32_t j, std::int32_t k) -> Point { return 0.5 * (x[j] + x[k]); });
}

template <std::size_t N>
void UniformSubdivision<N>::displace(std::span<const Point> start, std::span<const Point> end, Index level, double dt,
                                     std::span<Point> out, Workspace& workspace) const {
  require(level >= 0 && level <= levels(), "level must be in [0, ", levels(), "], but is ", level);
  require(static_cast<Index>(out.size()) == vertices(level), "level ", level, " has ", vertices(level), " vertices, not ",
          out.size());
  const Index coarse = vertices(0);
  const double rate = 1 / dt;
  require(static_cast<Index>(start.size()) == coarse && static_cast<Index>(end.size()) == coarse, "level 0 has ", coarse,
          " vertices, not ", start.size(), " and ", end.size());
  if (level == 0) {
    parallel_for(0, coarse, child_chunk, [&](Index first, Index last) {
      for (Index i = first; i < last; ++i) out[i] = (end[i] - start[i]) * rate;
    });
    return;
  }
  const Index known = vertices(level - 1);
  const auto lease = workspace.take<Ends>(known);
  Ends* const x = lease.data();
  parallel_for(0, coarse, child_chunk, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) x[i] = {start[i], end[i]};
  });
  for (Index l = 1; l < level; ++l)
    write_middles(parents(l), x, x + vertices(l - 1), [x](std::int32_t j, std::int32_t k) -> Ends {
      return {0.5 * (x[j].start + x[k].start), 0.5 * (x[j].end + x[k].end)};
    });
  parallel_for(0, known, child_chunk, [&](Index first, Index last) {
    for (Index i = first; i < last; ++i) out[i] = (x[i].end - x[i].start) * rate;
  });
  write_middles(parents(level), x, out.data() + known, [x, rate](std::int32_t j, std::int32_t k) -> Point {
    return (0.5 * (x[j].end + x[k].end) - 0.5 * (x[j].start + x[k].start)) * rate;
  });
}

template <std::size_t N>
void UniformSubdivision<N>::combinations(Index level, std::span<Element> nodes, std::span<std::array<double, N>> weights) const {
  require(level >= 0 && level <= levels(), "level must be in [0, ", levels(), "], but is ", level);
  parallel_for(0, vertices(0), child_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      nodes[i].fill(static_cast<std::int32_t>(i));
      weights[i] = {1.0};
    }
  });
  for (Index l = 1; l <= level; ++l) {
    const auto ends = parents(l);
    parallel_for(0, static_cast<Index>(ends.size()), child_chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        // Both ends lie in one coarse element, so that together they have at most N nodes.
        const Index at = vertices(l - 1) + i;
        Element& node = nodes[at];
        std::array<double, N>& weight = weights[at];
        std::size_t used = 0;
        for (const std::int32_t end : ends[i])
          for (std::size_t k = 0; k < N; ++k) {
            const double half = 0.5 * weights[end][k];
            if (half == 0) continue;
            const std::int32_t v = nodes[end][k];
            std::size_t place = 0;
            while (place < used && node[place] != v) ++place;
            if (place == used) {
              node[used] = v;
              weight[used++] = 0;
            }
            weight[place] += half;
          }
        for (; used < N; ++used) {
          node[used] = node[0];
          weight[used] = 0;
        }
      }
    });
  }
}

template <std::size_t N>
std::size_t UniformSubdivision<N>::nbytes() const {
  std::size_t bytes = 0;
  for (const auto& e : elements_) bytes += e.capacity() * sizeof(Element);
  for (const auto& p : parents_) bytes += p.capacity() * sizeof(Edge);
  for (const auto& d : diagonals_) bytes += d.capacity();
  return bytes;
}

template class UniformSubdivision<2>;
template class UniformSubdivision<3>;
template class UniformSubdivision<4>;

}  // namespace meniscus::mesh
