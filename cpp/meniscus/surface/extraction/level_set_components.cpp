#include "meniscus/surface/extraction/level_set_components.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/extraction/cut_cell.hpp"

#include <atomic>
#include <limits>

namespace meniscus::surface {
namespace {

std::size_t z(Index i) { return static_cast<std::size_t>(i); }

using Run = std::array<std::int32_t, 2>;  // first sample and one past the last

/// The runs of one sign.
template <class T, int D>
class Runs {
 public:
  Runs(const LevelSetLattice<T, D>& lattice, const SignBits<D>& signs, bool inside, Workspace& workspace)
      : lattice_(lattice), signs_(signs), inside_(inside), start_(workspace.take<Index>(signs.rows() + 1)) {
    Index* const n = start_.data();
    n[0] = 0;
    for_rows([&](Index r, const Coord<D>& at) {
      n[r + 1] = 0;
      if (!own(at)) return;
      for (Index w = 0; w < signs_.words(); ++w) n[r + 1] += std::popcount(starts(r, w));
    });
    for (Index r = 0; r < signs_.rows(); ++r) n[r + 1] += n[r];
    const Index count = n[signs_.rows()];
    require(count <= std::numeric_limits<std::int32_t>::max(), "the level set has ", count,
            " runs of samples of one sign, at most ", std::numeric_limits<std::int32_t>::max(), " can be numbered");
    runs_ = workspace.take<Run>(count);
    parent_ = workspace.take<std::int32_t>(count);
    for_rows([&](Index r, const Coord<D>& at) {
      if (own(at)) find_runs(r);
    });
    for_rows([&](Index r, const Coord<D>& at) {
      if (own(at)) join(r, at);
    });
  }

  /// Gives every run the number of its part instead of its parent; returns how many there are.
  Index number() {
    const Index count = start_.data()[signs_.rows()];
    std::int32_t* const p = parent_.data();
    // Roots come before all runs of their part, so one sweep finds every number.
    Index parts = 0;
    for (Index i = 0; i < count; ++i) p[i] = p[i] == i ? static_cast<std::int32_t>(++parts) : p[p[i]];
    return parts;
  }

  /// Calls f(at, run, number) for all runs; `at` is the row.
  template <class F>
  void for_runs(F&& f) const {
    for_rows([&](Index r, const Coord<D>& at) {
      for (Index i = start_.data()[r]; i < start_.data()[r + 1]; ++i) f(at, runs_.data()[i], parent_.data()[i]);
    });
  }

 private:
  template <class F>
  void for_rows(F&& f) const {
    parallel_for(0, signs_.rows(), rows_per_piece<D>(signs_), [&](Index begin, Index end) {
      for (Index r = begin; r < end; ++r) f(r, lattice_row<D>(signs_.extents(), r));
    });
  }

  bool own(const Coord<D>& at) const {
    for (int d = 0; d < D - 1; ++d)
      if (at[z(d)] < lattice_.first(d) || at[z(d)] >= lattice_.end(d)) return false;
    return true;
  }

  /// The samples of the field in word w of row r that have the sign asked for.
  std::uint64_t samples(Index r, Index w) const {
    const auto below = [&](Index k) {
      const Index n = k - 64 * w;
      return n >= 64 ? ~std::uint64_t{0} : n <= 0 ? 0 : (std::uint64_t{1} << n) - 1;
    };
    const std::uint64_t bits = inside_ ? signs_.word(r, w) : ~signs_.word(r, w);
    return bits & below(lattice_.end(D - 1)) & ~below(lattice_.first(D - 1));
  }
  std::uint64_t starts(Index r, Index w) const {
    const std::uint64_t s = samples(r, w);
    return s & ~(s << 1 | (w > 0 ? samples(r, w - 1) >> 63 : 0));
  }
  std::uint64_t ends(Index r, Index w) const {
    const std::uint64_t s = samples(r, w);
    return s & ~(s >> 1 | (w + 1 < signs_.words() ? samples(r, w + 1) << 63 : 0));
  }

  void find_runs(Index r) {
    Index first = start_.data()[r];
    Index last = first;
    for (Index w = 0; w < signs_.words(); ++w) {
      for_each_bit(starts(r, w), [&](int bit) {
        parent_.data()[first] = static_cast<std::int32_t>(first);
        runs_.data()[first++][0] = static_cast<std::int32_t>(64 * w + bit);
      });
      for_each_bit(ends(r, w), [&](int bit) { runs_.data()[last++][1] = static_cast<std::int32_t>(64 * w + bit + 1); });
    }
  }

  /// Unites the runs of a row with those they touch in the rows before it, and around the periods.
  void join(Index r, const Coord<D>& at) {
    for (int d = 0; d < D - 1; ++d) {
      if (at[z(d)] > lattice_.first(d))
        join(r, r - signs_.stride(d));
      else if (lattice_.closes(d) && lattice_.end(d) - lattice_.first(d) > 1)
        join(r, r + (lattice_.end(d) - 1 - at[z(d)]) * signs_.stride(d));
    }
    const Index begin = start_.data()[r];
    const Index end = start_.data()[r + 1];
    if (lattice_.closes(D - 1) && end - begin > 1 && runs_.data()[begin][0] == lattice_.first(D - 1) &&
        runs_.data()[end - 1][1] == lattice_.end(D - 1))
      unite(begin, end - 1);
  }

  void join(Index r, Index q) {
    Index i = start_.data()[r];
    Index j = start_.data()[q];
    const Run* const run = runs_.data();
    while (i < start_.data()[r + 1] && j < start_.data()[q + 1]) {
      if (run[i][0] < run[j][1] && run[j][0] < run[i][1]) unite(i, j);
      if (run[i][1] < run[j][1])
        ++i;
      else
        ++j;
    }
  }

  std::atomic_ref<std::int32_t> parent(std::int32_t i) const { return std::atomic_ref<std::int32_t>(parent_.data()[i]); }

  std::int32_t root(std::int32_t i) const {
    for (;;) {
      const std::int32_t p = parent(i).load(std::memory_order_relaxed);
      if (p == i) return i;
      // Whoever writes here writes an ancestor, so a lost write only makes the way longer.
      const std::int32_t above = parent(p).load(std::memory_order_relaxed);
      if (above != p) parent(i).store(above, std::memory_order_relaxed);
      i = p;
    }
  }

  void unite(Index i, Index j) const {
    auto a = static_cast<std::int32_t>(i);
    auto b = static_cast<std::int32_t>(j);
    for (;;) {
      a = root(a);
      b = root(b);
      if (a == b) return;
      if (a < b) std::swap(a, b);
      std::int32_t expected = a;
      if (parent(a).compare_exchange_strong(expected, b, std::memory_order_relaxed)) return;
    }
  }

  const LevelSetLattice<T, D>& lattice_;
  const SignBits<D>& signs_;
  bool inside_;
  Workspace::Lease<Index> start_;
  Workspace::Lease<Run> runs_;
  Workspace::Lease<std::int32_t> parent_;
};

/// The label of a sample of the lattice: of the first sample of the field that it is made of and that is on the same side.
template <class T, int D>
class LatticeLabels {
 public:
  LatticeLabels(const grid::Field<T, D>& phi, const LevelSetLattice<T, D>& lattice, const std::int32_t* labels)
      : lattice_(lattice), labels_(labels), strides_(c_strides<D>(phi.extents())) {}

  std::int32_t at(const Coord<D>& c, bool inside) const {
    std::array<std::array<Index, 2>, D> from;
    for (int d = 0; d < D; ++d) from[z(d)] = lattice_.sources(d, c[z(d)]);
    for (unsigned i = 0; i < 1U << D; ++i) {
      Index k = 0;
      for (unsigned d = 0; d < D; ++d) k += from[d][i >> d & 1] * strides_[d];
      if ((labels_[k] > 0) == inside) return labels_[k];
    }
    return 0;
  }

 private:
  const LevelSetLattice<T, D>& lattice_;
  const std::int32_t* labels_;
  Coord<D> strides_;
};

}  // namespace

template <class T, int D>
ComponentCounts label_components(const grid::Field<T, D>& phi, bool both, std::int32_t* labels, Workspace& workspace) {
  const LevelSetLattice<T, D> lattice(phi);
  const SignBits<D> signs(phi, lattice, workspace);
  const Coord<D> strides = c_strides<D>(phi.extents());
  const Index shift = lattice.on_nodes() ? 0 : 1;
  const auto write = [&](Runs<T, D>& runs, std::int32_t sign) {
    const Index parts = runs.number();
    runs.for_runs([&](const Coord<D>& at, const Run& run, std::int32_t number) {
      Index first = run[0] - shift;
      for (int d = 0; d < D - 1; ++d) first += (at[z(d)] - shift) * strides[z(d)];
      std::fill_n(labels + first, run[1] - run[0], sign * number);
    });
    return parts;
  };
  ComponentCounts counts;
  if (!both) parallel_for(0, product<D>(phi.extents()), 1 << 16, [&](Index b, Index e) { std::fill(labels + b, labels + e, 0); });
  {
    Runs<T, D> runs(lattice, signs, true, workspace);
    counts.inside = write(runs, 1);
  }
  if (both) {
    Runs<T, D> runs(lattice, signs, false, workspace);
    counts.outside = write(runs, -1);
  }
  // Copies of nodes on shared sides follow their owners.
  phi.layout().copies().exchange(labels);
  return counts;
}

template <class T, int D>
void component_volumes(const grid::Field<T, D>& phi, const std::int32_t* labels, const ComponentCounts& counts, double* inside,
                       double* outside, Workspace& workspace) {
  const LevelSetLattice<T, D> lattice(phi);
  const SignBits<D> signs(phi, lattice, workspace);
  const LatticeLabels<T, D> label(phi, lattice, labels);
  const Index parts = counts.inside + counts.outside;
  const bool both = counts.outside > 0;
  std::fill_n(inside, counts.inside, 0.0);
  if (both) std::fill_n(outside, counts.outside, 0.0);
  // Each piece of the loop has its own sums; their number depends on the level set alone.
  const Index pieces = std::clamp<Index>((Index{1} << 20) / std::max<Index>(parts, 1), 1, 64);
  const Index chunk = std::max<Index>(1, (signs.rows() + pieces - 1) / pieces);
  const Workspace::Lease<double> sums = workspace.take<double>(pieces * parts);
  std::fill_n(sums.data(), pieces * parts, 0.0);
  parallel_for(0, signs.rows(), chunk, [&](Index begin, Index end) {
    double* const sum = sums.data() + begin / chunk * parts;
    const auto add = [&](std::int32_t l, double volume) {
      if (l > 0) sum[l - 1] += volume;
      if (l < 0) sum[counts.inside - l - 1] += volume;
    };
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = lattice_row<D>(signs.extents(), r);
      bool cells = true;
      double across = 1;
      for (int d = 0; d < D - 1; ++d) {
        cells = cells && c[z(d)] + 1 < signs.extents()[z(d)];
        if (cells) across *= lattice.step(d, c[z(d)]);
      }
      if (!cells) continue;
      const auto corner = [&](unsigned i) {
        Coord<D> at = c;
        for (unsigned d = 0; d < D; ++d) at[d] += i >> d & 1;
        return at;
      };
      /// Of corners that are connected, the label of one that is a sample of the field, if there is one.
      const auto label_of = [&](auto&& belongs, bool in) {
        std::int32_t found = 0;
        for (unsigned i = 0; i < 1U << D; ++i) {
          if (!belongs(i)) continue;
          const Coord<D> at = corner(i);
          bool own = true;
          for (int d = 0; d < D; ++d) own = own && at[z(d)] >= lattice.first(d) && at[z(d)] < lattice.end(d);
          if (own) return label.at(at, in);
          if (found == 0) found = label.at(at, in);
        }
        return found;
      };
      for (Index w = 0; w < signs.words(); ++w) {
        std::uint64_t some = 0;
        std::uint64_t all = ~std::uint64_t{0};
        for (unsigned i = 0; i < 1U << (D - 1); ++i) {
          Index row = r;
          for (int d = 0; d < D - 1; ++d)
            if (i >> d & 1) row += signs.stride(d);
          const std::uint64_t a = signs.word(row, w);
          const std::uint64_t b = signs.next(row, w);
          some |= a | b;
          all &= a & b;
        }
        const std::uint64_t cubes = signs.has_next(w);
        const auto whole = [&](std::uint64_t bits, bool in) {
          while (bits) {
            const int first = std::countr_zero(bits);
            const int count = std::countr_one(bits >> first);
            double length = 0;
            for (int k = first; k < first + count; ++k) length += lattice.step(D - 1, 64 * w + k);
            c[D - 1] = 64 * w + first;
            add(label_of([](unsigned) { return true; }, in), across * length);
            if (first + count == 64) break;
            bits &= ~std::uint64_t{0} << (first + count);
          }
        };
        whole(all & cubes, true);
        if (both) whole(~some & cubes, false);
        for_each_bit(some & ~all & cubes, [&](int bit) {
          c[D - 1] = 64 * w + bit;
          const CutCell<D> cut = cut_cell_at<T, D>(lattice, c);
          const double volume = across * lattice.step(D - 1, c[D - 1]);
          for (int p = 0; p < cut.pieces; ++p)
            add(label_of([&](unsigned i) { return cut.corner_piece[i] == p; }, true), volume * cut.fraction[z(p)]);
          if (!both) return;
          int corners = 0;
          for (const std::int8_t p : cut.corner_piece) corners += p < 0;
          const double share = volume * (1.0 - cut.inside()) / corners;
          for (unsigned i = 0; i < 1U << D; ++i)
            if (cut.corner_piece[i] < 0) add(label.at(corner(i), false), share);
        });
      }
    }
  });
  for (Index p = 0; p < pieces; ++p) {
    const double* const sum = sums.data() + p * parts;
    for (Index i = 0; i < counts.inside; ++i) inside[i] += sum[i];
    for (Index i = 0; i < counts.outside; ++i) outside[i] += sum[counts.inside + i];
  }
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template ComponentCounts label_components<T, D>(const grid::Field<T, D>&, bool, std::int32_t*, Workspace&);                    \
  template void component_volumes<T, D>(const grid::Field<T, D>&, const std::int32_t*, const ComponentCounts&, double*, double*, \
                                        Workspace&);
MENISCUS_INSTANTIATE(float, 2)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
