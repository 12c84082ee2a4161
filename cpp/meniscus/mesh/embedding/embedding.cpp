#include "meniscus/mesh/embedding/embedding.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <cmath>
#include <limits>

namespace meniscus::mesh {
namespace {
constexpr Index embedding_chunk = 4096;
}

template <std::size_t D, class W>
Embedding<D, W>::Embedding(std::span<const Parents> parents, std::span<const Weights> weights, Index nodes, double tolerance)
    : parents_(parents), weights_(weights), nodes_(nodes) {
  const auto n = static_cast<Index>(parents.size());
  require(weights.size() == parents.size(), "weights must be those of ", n, " points, not of ", weights.size());
  require(n <= 2147483647 / static_cast<Index>(D), "there are too many points: ", n);
  const auto sum_of = [&](Index i) {
    double sum = 0;
    for (const W w : weights[i]) sum += static_cast<double>(w);
    return sum;
  };
  const auto valid = [&](Index i) {
    bool inside = true;
    for (const std::int32_t p : parents[i]) inside &= p >= 0 && p < nodes;
    return inside && std::abs(sum_of(i) - 1) <= tolerance;
  };
  const Index bad = parallel_reduce(
      0, n, embedding_chunk, n,
      [&](Index b, Index e) {
        for (Index i = b; i < e; ++i)
          if (!valid(i)) return i;
        return n;
      },
      [](Index a, Index b) { return std::min(a, b); });
  if (bad == n) return;
  for (std::size_t k = 0; k < D; ++k) {
    const std::int32_t p = parents[bad][k];
    require(p >= 0 && p < nodes, "parents must hold indices of the ", nodes, " nodes, but [", bad, ", ", k, "] is ", p);
  }
  for (std::size_t k = 0; k < D; ++k) {
    const W w = weights[bad][k];
    require(std::isfinite(w), "weights must be finite, but [", bad, ", ", k, "] is ", w);
  }
  require(false, "the weights of a point must sum to 1, but those of point ", bad, " sum to ", sum_of(bad));
}

template <std::size_t D, class W>
void Embedding<D, W>::evaluate(std::span<const Point> node_values, std::span<Point> out) const {
  require(static_cast<Index>(node_values.size()) >= nodes_ && static_cast<Index>(out.size()) == size(), "an embedding of ",
          size(), " points in ", nodes_, " nodes cannot take ", out.size(), " points and ", node_values.size(), " nodes");
  parallel_for(0, size(), embedding_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const Parents& p = parents_[i];
      const Weights& w = weights_[i];
      Point sum = static_cast<double>(w[0]) * node_values[p[0]];
      for (std::size_t k = 1; k < D; ++k) sum += static_cast<double>(w[k]) * node_values[p[k]];
      out[i] = sum;
    }
  });
}

template <std::size_t D, class W>
template <class T>
void Embedding<D, W>::spread_values(std::span<const T> values, std::span<T> node_values) {
  require(static_cast<Index>(node_values.size()) >= nodes_ && static_cast<Index>(values.size()) == size(), "an embedding of ",
          size(), " points in ", nodes_, " nodes cannot take ", values.size(), " points and ", node_values.size(), " nodes");
  std::call_once(found_, [&] { stars_.emplace(parents_, nodes_); });
  parallel_for(0, nodes_, embedding_chunk, [&](Index b, Index e) {
    for (Index j = b; j < e; ++j) {
      T sum = node_values[j];
      for (const std::int32_t corner : stars_->at(j)) {
        const auto i = static_cast<std::size_t>(corner) / D;
        sum += static_cast<double>(weights_[i][static_cast<std::size_t>(corner) % D]) * values[i];
      }
      node_values[j] = sum;
    }
  });
}

template <std::size_t D, class W>
void Embedding<D, W>::spread(std::span<const Point> values, std::span<Point> node_values) {
  spread_values(values, node_values);
}

template <std::size_t D, class W>
void Embedding<D, W>::spread(std::span<const double> values, std::span<double> node_values) {
  spread_values(values, node_values);
}

template <std::size_t D, class W>
void Embedding<D, W>::effective_masses(std::span<const double> node_masses, std::span<double> out) const {
  require(static_cast<Index>(node_masses.size()) >= nodes_ && static_cast<Index>(out.size()) == size(), "an embedding of ",
          size(), " points in ", nodes_, " nodes cannot take ", out.size(), " points and ", node_masses.size(), " nodes");
  for (std::size_t j = 0; j < node_masses.size(); ++j)
    require(node_masses[j] >= 0, "masses must not be negative, but [", j, "] is ", node_masses[j]);
  parallel_for(0, size(), embedding_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      double inverse = 0;
      for (std::size_t k = 0; k < D; ++k) {
        // A node may come several times, where unused places repeat one.
        bool earlier = false;
        for (std::size_t l = 0; l < k; ++l) earlier |= parents_[i][l] == parents_[i][k];
        if (earlier) continue;
        double w = 0;
        for (std::size_t l = k; l < D; ++l)
          if (parents_[i][l] == parents_[i][k]) w += static_cast<double>(weights_[i][l]);
        if (w != 0) inverse += w * w / node_masses[parents_[i][k]];
      }
      out[i] = 1 / inverse;
    }
  });
}

#define MENISCUS_INSTANTIATE(D)       \
  template class Embedding<D, float>; \
  template class Embedding<D, double>;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
MENISCUS_INSTANTIATE(4)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::mesh
