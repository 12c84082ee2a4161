#include "meniscus/grid/extrapolate.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/masked_samples.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace meniscus::grid {
namespace {

enum Mark : std::uint8_t {
  unknown = 0,
  is_given = 1,
  found = 2,
  queued = 3,
  outside = 4,  ///< of the domain
};
MENISCUS_INLINE bool has_value(std::uint8_t mark) { return (mark == is_given) | (mark == found); }

/// The samples of a block with ghosts, and which of them the block owns.
template <int D>
struct Samples {
  explicit Samples(const FieldLayout<D>& layout)
      : extents(layout.extents()), strides(c_strides<D>(layout.padded())), size(layout.storage_size()), halo(layout.halo) {
    for (int d = 0; d < D; ++d) {
      first[d] = halo.first_owned(d);
      origin += ghost_width * strides[d];
    }
  }
  /// Calls visit(offset of the first sample, first coordinate along the row, its end) for rows [begin, end) of owned extents.
  template <class Visit>
  void for_each_row(Index begin, Index end, Visit&& visit) const {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = row_start<D>(extents, r);
      bool owned = true;
      for (std::size_t d = 0; d + 1 < D; ++d) owned = owned && c[d] >= first[d];
      if (owned) visit(origin + dot<D>(c, strides), first[D - 1], extents[D - 1]);
    }
  }
  Index rows() const { return product<D>(extents) / extents[D - 1]; }
  Index rows_per_piece() const { return std::max<Index>(1, (1 << 14) / extents[D - 1]); }
  bool owns(Index q) const {
    for (std::size_t d = 0; d < D; ++d) {
      const Index c = q / strides[d] - ghost_width;
      if (c < first[d] || c >= extents[d]) return false;
      q %= strides[d];
    }
    return true;
  }
  /// Calls visit(offset) for each neighbour across a face.
  template <class Visit>
  void for_each_beside(Index q, Visit&& visit) const {
    for (const Index s : strides) {
      visit(q - s);
      visit(q + s);
    }
  }

  Coord<D> extents, strides, first{};
  Index size;
  Index origin = 0;
  const parallel::HaloPlan<D>& halo;
};

/// Calls enqueue(offset) for unknown samples of the block beside those with values beyond a shared side.
template <int D, class Enqueue>
void enqueue_along_side(const Samples<D>& samples, int axis, int upper, const std::uint8_t* m, Enqueue&& enqueue) {
  const Index a = axis;
  Coord<D> begin = samples.first, end = samples.extents;
  (upper ? begin[a] : end[a]) = upper ? end[a] - 1 : begin[a] + 1;
  const Index beyond = upper ? samples.strides[a] : -samples.strides[a];
  for (Coord<D> c = begin; c[0] < end[0];) {
    const Index q = samples.origin + dot<D>(c, samples.strides);
    if (m[q] == unknown && has_value(m[q + beyond])) enqueue(q);
    for (std::size_t d = D; d-- > 0;) {
      if (++c[d] < end[d] || d == 0) break;
      c[d] = begin[d];
    }
  }
}

/// What is known of the samples while layers are found.
template <class T, int D>
struct KnownSamples {
  const Samples<D>& samples;
  const std::uint8_t* marks;
  const T* values;  ///< where given
  const T* found;   ///< where found

  T value(Index q) const { return marks[q] == is_given ? values[q] : found[q]; }
};

/// Exchanges the arrays of a rule and up to two more in one message for each side.
template <int D>
void exchange_with(const Samples<D>& samples, std::span<const parallel::HaloArray<D>> arrays,
                   std::initializer_list<parallel::HaloArray<D>> more) {
  std::array<parallel::HaloArray<D>, D + 2> all;
  const auto end = std::copy(more.begin(), more.end(), std::copy(arrays.begin(), arrays.end(), all.begin()));
  samples.halo.exchange_together({all.begin(), end});
}

/// The mean of the neighbours that have values.
template <class T, int D>
struct MeanRule {
  T operator()(const KnownSamples<T, D>& s, Index at) const {
    T sum = 0;
    int n = 0;
    s.samples.for_each_beside(at, [&](Index q) {
      if (!has_value(s.marks[q])) return;
      sum += s.value(q);
      ++n;
    });
    return sum / static_cast<T>(n);
  }
  std::span<const parallel::HaloArray<D>> arrays() const { return {}; }
};

/// Samples of a row that are looked at together.
constexpr Index run_length = 256;

/// The owned samples for which a condition holds, in index order: counted, then collected. `flag_run`(q, n, flags) sets the flags
/// of n samples from q on.
template <int D, class FlagRun>
Index collect(const Samples<D>& samples, Workspace& workspace, Workspace::Lease<Index>& found, FlagRun&& flag_run) {
  const auto for_each_run = [&](Index b, Index e, auto&& visit) {
    simd_dispatch([&] {
      std::array<std::uint8_t, run_length> flags;
      samples.for_each_row(b, e, [&](Index row, Index begin, Index end) {
        for (Index k = begin; k < end; k += run_length) {
          const Index n = std::min(run_length, end - k);
          flag_run(row + k, n, flags.data());
          visit(row + k, n, flags.data());
        }
      });
    });
  };
  const Index rows = samples.rows(), piece = samples.rows_per_piece(), pieces = (rows + piece - 1) / piece;
  auto starts = workspace.take<Index>(pieces + 1);
  starts.data()[0] = 0;
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    std::uint32_t sum = 0;
    for_each_run(b, e, [&](Index, Index n, const std::uint8_t* flags) {
      for (Index l = 0; l < n; ++l) sum += flags[l];
    });
    starts.data()[b / piece + 1] = sum;
  });
  for (Index p = 0; p < pieces; ++p) starts.data()[p + 1] += starts.data()[p];
  const Index count = starts.data()[pieces];
  found = workspace.take<Index>(count);
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    Index next = starts.data()[b / piece];
    for_each_run(b, e, [&](Index first, Index n, const std::uint8_t* flags) {
      constexpr Index few = 16;
      for (Index l = 0; l < n; l += few) {
        const Index end = std::min(l + few, n);
        // Most samples are far from any that is found.
        std::uint8_t any = 0;
        for (Index k = l; k < end; ++k) any |= flags[k];
        if (any == 0) continue;
        for (Index k = l; k < end; ++k)
          if (flags[k]) found.data()[next++] = first + k;
      }
    });
  });
  return count;
}

/// The mean of what the neighbours that have values predict with their slopes. Those of a given sample come from given samples
/// alone; those of a found one are the means of those that it was found with.
template <class T, int D>
class LinearRule {
 public:
  LinearRule(const KnownSamples<T, D>& s, T max_slope, parallel::Communicator& communicator, Workspace& workspace)
      : samples_(s.samples), max_slope_(max_slope) {
    for (std::size_t d = 0; d < D; ++d) {
      leases_[d] = workspace.take<T>(samples_.size);
      arrays_[d] = {samples_.halo, leases_[d].data()};
    }
    complete_slopes(s, communicator, workspace);
  }

  T operator()(const KnownSamples<T, D>& s, Index at) const {
    T sum = 0;
    std::array<T, D> mean{};
    int n = 0;
    for (std::size_t d = 0; d < D; ++d)
      for (const int side : {-1, 1}) {
        const Index q = at + side * samples_.strides[d];
        if (!has_value(s.marks[q])) continue;
        const std::array<T, D> g = slopes(s, q);
        sum += s.value(q) - static_cast<T>(side) * g[d];
        for (std::size_t e = 0; e < D; ++e) mean[e] += g[e];
        ++n;
      }
    store(at, mean, static_cast<T>(n));
    return sum / static_cast<T>(n);
  }
  /// What other blocks need of this one with every layer.
  std::span<const parallel::HaloArray<D>> arrays() const { return arrays_; }

 private:
  /// Differences to the next sample per axis; zero where nothing is known of them.
  std::array<T, D> slopes(const KnownSamples<T, D>& s, Index q) const {
    std::array<T, D> g{};
    if (s.marks[q] == is_given && !alone(s, q)) return differences(s, q);
    if (s.marks[q] == is_given && !completed_[q]) return g;
    for (std::size_t d = 0; d < D; ++d) g[d] = leases_[d].data()[q];
    return g;
  }

  /// Whether a sample has no given neighbour along some axis, as in the tip of a wedge.
  bool alone(const KnownSamples<T, D>& s, Index q) const {
    for (const Index step : samples_.strides)
      if (s.marks[q - step] != is_given && s.marks[q + step] != is_given) return true;
    return false;
  }

  /// Differences between given samples around a given one that is not alone.
  std::array<T, D> differences(const KnownSamples<T, D>& s, Index q) const {
    std::array<T, D> g{};
    T squared = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const Index step = samples_.strides[d];
      const bool below = s.marks[q - step] == is_given, above = s.marks[q + step] == is_given;
      const T lower = s.values[below ? q - step : q], upper = s.values[above ? q + step : q];
      g[d] = (upper - lower) / static_cast<T>(below + above);
      squared += g[d] * g[d];
    }
    if (squared > max_slope_ * max_slope_) {
      const T scale = max_slope_ / std::sqrt(squared);
      for (T& slope : g) slope *= scale;
    }
    return g;
  }

  /// Given samples that are alone get the mean slopes of the given samples beside them, in rounds; those that are farther away
  /// from any that is not alone have none. Rounds with an exchange give all blocks the same, however the domain is cut.
  void complete_slopes(const KnownSamples<T, D>& s, parallel::Communicator& communicator, Workspace& workspace) {
    Workspace::Lease<Index> lonely;
    const Index count = collect(samples_, workspace, lonely, [&](Index q, Index n, std::uint8_t* flags) {
      for (Index l = 0; l < n; ++l) flags[l] = s.marks[q + l] == is_given && alone(s, q + l);
    });
    if (!parallel::global_any(communicator, count > 0)) return;
    completed_lease_ = workspace.take<std::uint8_t>(samples_.size);
    completed_ = completed_lease_.data();
    parallel_for(0, samples_.size, 1 << 16,
                 [&](Index b, Index e) { std::fill(completed_ + b, completed_ + e, std::uint8_t{0}); });
    for (int round = 0; round < rounds; ++round) {
      for (Index i = 0; i < count; ++i) {
        const Index q = lonely.data()[i];
        if (completed_[q]) continue;
        std::array<T, D> sum{};
        int n = 0;
        samples_.for_each_beside(q, [&](Index r) {
          if (s.marks[r] != is_given || (alone(s, r) && completed_[r] != finished)) return;
          const std::array<T, D> g = slopes(s, r);
          for (std::size_t d = 0; d < D; ++d) sum[d] += g[d];
          ++n;
        });
        if (n == 0) continue;
        store(q, sum, static_cast<T>(n));
        completed_[q] = fresh;
      }
      for (Index i = 0; i < count; ++i)
        if (completed_[lonely.data()[i]] == fresh) completed_[lonely.data()[i]] = finished;
      exchange_with<D>(samples_, arrays_, {parallel::HaloArray<D>(samples_.halo, completed_)});
    }
  }

  void store(Index at, const std::array<T, D>& sum, T count) const {
    for (std::size_t d = 0; d < D; ++d) leases_[d].data()[at] = sum[d] / count;
  }

  /// As far as the tip of a sharp wedge may be from samples that have neighbours along every axis.
  static constexpr int rounds = 4;
  enum Completion : std::uint8_t { fresh = 1, finished = 2 };

  const Samples<D>& samples_;
  T max_slope_;
  std::array<Workspace::Lease<T>, D> leases_;
  std::array<parallel::HaloArray<D>, D> arrays_;
  Workspace::Lease<std::uint8_t> completed_lease_;
  std::uint8_t* completed_ = nullptr;
};

template <class T, int D, class MakeRule>
Index extrapolate_by(Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace, MakeRule&& make_rule) {
  require(layers >= 0, "layers must not be negative, got ", layers);
  const FieldLayout<D>& layout = field.layout();
  const Samples<D> samples(layout);
  const Index length = samples.extents[D - 1], rows = samples.rows(), piece = samples.rows_per_piece();
  T* values = field.storage().data();

  auto mark = workspace.take<std::uint8_t>(samples.size);
  std::uint8_t* m = mark.data();
  parallel_for(0, samples.size, 1 << 16, [&](Index b, Index e) { std::fill(m + b, m + e, std::uint8_t{outside}); });
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      std::uint8_t* row = m + samples.origin + dot<D>(row_start<D>(samples.extents, r), samples.strides);
      for (Index k = 0; k < length; ++k) row[k] = known[r * length + k] ? is_given : unknown;
    }
  });
  exchange_with<D>(samples, {}, {parallel::HaloArray<D>(samples.halo, values), parallel::HaloArray<D>(samples.halo, m)});
  // New values wait beside the field until all are known, so that an interruption leaves it as it was.
  auto fresh = workspace.take<T>(samples.size);
  T* news = fresh.data();
  const KnownSamples<T, D> known_samples{samples, m, values, news};
  const auto rule = make_rule(known_samples);
  const auto flag_reachable = [&samples, m](Index first, Index n, std::uint8_t* flags) {
    const std::uint8_t* const here = m + first;
    for (Index l = 0; l < n; ++l) flags[l] = 0;
    for (const Index s : samples.strides) {
#pragma GCC ivdep
      for (Index l = 0; l < n; ++l)
        flags[l] = static_cast<std::uint8_t>(flags[l] | has_value(here[l - s]) | has_value(here[l + s]));
    }
#pragma GCC ivdep
    for (Index l = 0; l < n; ++l) flags[l] = static_cast<std::uint8_t>(flags[l] & (here[l] == unknown));
  };

  Workspace::Lease<Index> front;
  Index count = collect(samples, workspace, front, flag_reachable);

  const parallel::DomainBlock<D>& block = layout.grid.block();
  parallel::Communicator& communicator = *layout.grid.communicator();
  bool shared = false;
  for (int d = 0; d < D; ++d) shared = shared || layout.halo.shared(d);
  Index reached = 0;
  for (Index layer = 0; layer < layers && parallel::global_any(communicator, count > 0); ++layer) {
    check_interrupt();
    parallel_for(0, count, 4096, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) news[front.data()[i]] = rule(known_samples, front.data()[i]);
    });
    for (Index i = 0; i < count; ++i) m[front.data()[i]] = found;
    reached += count;
    Index most = 2 * D * count;
    for (int d = 0; d < D; ++d)
      if (layout.halo.shared(d)) most += 2 * product<D>(samples.extents) / samples.extents[d];
    auto next = workspace.take<Index>(most);
    Index next_count = 0;
    const auto enqueue = [&](Index q) {
      m[q] = queued;
      next.data()[next_count++] = q;
    };
    for (Index i = 0; i < count; ++i)
      samples.for_each_beside(front.data()[i], [&](Index q) {
        if (m[q] == unknown && (!shared || samples.owns(q))) enqueue(q);
      });
    // What was found in a neighbouring block, or around a periodic axis.
    exchange_with<D>(samples, rule.arrays(),
                     {parallel::HaloArray<D>(samples.halo, news), parallel::HaloArray<D>(samples.halo, m)});
    for (int d = 0; d < D; ++d)
      for (const int upper : {0, 1})
        if (block.shared(d, upper)) enqueue_along_side(samples, d, upper, m, enqueue);
    std::swap(front, next);
    count = next_count;
  }
  const NoInterrupts commit;
  parallel_for(0, rows, piece, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      const Index row = samples.origin + dot<D>(row_start<D>(samples.extents, r), samples.strides);
      for (Index k = 0; k < length; ++k)
        if (m[row + k] == found) values[row + k] = news[row + k];
      // Copies on shared sides follow their owners.
      std::uint8_t* const is_known = known + r * length;
      const std::uint8_t* const marks = m + row;
      simd_dispatch([&] {
#pragma GCC ivdep
        for (Index k = 0; k < length; ++k) {
          const std::uint8_t before = is_known[k];
          is_known[k] = has_value(marks[k]) ? (before != 0 ? before : std::uint8_t{1}) : std::uint8_t{0};
        }
      });
    }
  });
  layout.halo.exchange(values);
  return parallel::global_sum(communicator, reached);
}

}  // namespace

template <class T, int D>
Index extrapolate(Field<T, D>& field, std::uint8_t* known, Index layers, Workspace& workspace) {
  return extrapolate_by(field, known, layers, workspace, [](const KnownSamples<T, D>&) { return MeanRule<T, D>(); });
}

template <class T, int D>
Index extrapolate_linearly(Field<T, D>& field, std::uint8_t* known, Index layers, double max_slope, Workspace& workspace) {
  require(max_slope >= 0, "max_slope must not be negative, got ", max_slope);
  const auto largest = static_cast<T>(max_slope * field.grid().spacing());
  return extrapolate_by(field, known, layers, workspace, [&](const KnownSamples<T, D>& s) {
    return LinearRule<T, D>(s, largest, *field.layout().grid.communicator(), workspace);
  });
}

template <class T, int D>
void fill_unknown_faces(MacField<T, D>& velocity, const std::array<std::uint8_t*, D>& known, Index layers, Workspace& workspace) {
  for (int d = 0; d < D; ++d) {
    if (layers > 0) extrapolate(velocity.component(d), known[d], layers, workspace);
    assign(velocity.component(d), 0.0, known[d], Where::mask_clear);
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                   \
  template Index extrapolate<T, D>(Field<T, D>&, std::uint8_t*, Index, Workspace&);                  \
  template Index extrapolate_linearly<T, D>(Field<T, D>&, std::uint8_t*, Index, double, Workspace&); \
  template void fill_unknown_faces<T, D>(MacField<T, D>&, const std::array<std::uint8_t*, D>&, Index, Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
