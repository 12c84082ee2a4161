#include "meniscus/surface/extraction/level_set_components.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/numerics/graph/disjoint_sets.hpp"
#include "meniscus/surface/extraction/cell_sums.hpp"
#include "meniscus/surface/extraction/component_joining.hpp"
#include "meniscus/surface/extraction/cut_cell.hpp"
#include "meniscus/surface/extraction/film_labels.hpp"
#include "meniscus/surface/extraction/lattice_labels.hpp"
#include "meniscus/surface/extraction/open_cubes.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

namespace meniscus::surface {
namespace {

/// The runs of one sign: consecutive samples of a row. They are numbered row by row, and known by the bits where they start.
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
      for_words(r, [&](const Word& word) { n[r + 1] += std::popcount(word.starts); });
    });
    for (Index r = 0; r < signs_.rows(); ++r) n[r + 1] += n[r];
    const Index count = n[signs_.rows()];
    require(count <= std::numeric_limits<std::int32_t>::max(), "the level set has ", count,
            " runs of samples of one sign, at most ", std::numeric_limits<std::int32_t>::max(), " can be numbered");
    // One more in front: the run before the first of all.
    parent_ = workspace.take<std::int32_t>(count + 1);
    parent_.data()[0] = 0;
    parallel_for(0, count, 1 << 16,
                 [&](Index b, Index e) { std::iota(parents() + b, parents() + e, static_cast<std::int32_t>(b)); });
    for_rows([&](Index r, const Coord<D>& at, Index begin, Index end) {
      join(
          r, at, [&](Index q) { return q >= begin && q < end; },
          [&](Index i, Index j) { numerics::unite(parents(), static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)); });
    });
    for_rows([&](Index r, const Coord<D>& at, Index begin, Index end) {
      join(
          r, at, [&](Index q) { return q < begin || q >= end; },
          [&](Index i, Index j) {
            numerics::concurrent_unite(parents(), static_cast<std::int32_t>(i), static_cast<std::int32_t>(j));
          });
    });
  }

  /// Gives every run the number of its part instead of its parent; returns how many there are.
  Index number() {
    const Index count = start_.data()[signs_.rows()];
    std::int32_t* const p = parents();
    // Roots come before all runs of their part, so one sweep finds every number.
    Index parts = 0;
    for (Index i = 0; i < count; ++i) p[i] = p[i] == i ? static_cast<std::int32_t>(++parts) : p[p[i]];
    return parts;
  }

  /// Writes sign * number for the samples of all runs, and 0 for the others unless they are `kept`.
  template <bool kept>
  void write(std::int32_t* labels, const Coord<D>& strides, std::int32_t sign) const {
    constexpr int few_starts = 2;  // up to here, runs are filled one by one
    const Index shift = lattice_.on_nodes() ? 0 : 1;
    for_rows([&](Index r, const Coord<D>& at) {
      if (!own(at)) return;
      std::int32_t* row = labels - shift;
      for (int d = 0; d < D - 1; ++d) row += (at[d] - shift) * strides[d];
      const std::int32_t* number = parents() + start_.data()[r] - 1;
      for_words(r, [&](const Word& word) {
        const Index first = std::max(64 * word.index, lattice_.first(D - 1));
        const Index end = std::min(64 * word.index + 64, lattice_.end(D - 1));
        std::uint64_t samples = word.samples >> (first & 63);
        std::uint64_t starts = word.starts >> (first & 63);
        if (std::popcount(starts) <= few_starts) {
          for (Index k = first; k < end;) {
            const bool set = samples & 1;
            const Index n = std::min<Index>(set ? std::countr_one(samples) : std::countr_zero(samples), end - k);
            number += starts & 1;
            if (set || !kept) std::fill_n(row + k, n, set ? sign * *number : 0);
            k += n;
            samples = n < 64 ? samples >> n : 0;
            starts = n < 64 ? starts >> n : 0;
          }
          return;
        }
        // Without branches: what comes next is a coin toss.
        for (Index k = first; k < end; ++k, samples >>= 1, starts >>= 1) {
          number += starts & 1;
          const auto mask = -static_cast<std::int32_t>(samples & 1);
          row[k] = (sign * *number & mask) | (kept ? row[k] & ~mask : 0);
        }
      });
    });
  }

 private:
  /// 64 samples of a row: those of the field that have the sign asked for, and of these the first ones of runs.
  struct Word {
    Index index;
    std::uint64_t samples;
    std::uint64_t starts;
  };

  /// Calls f(row, its index), or with the first and the last row of its piece too: few pieces, so that most rows that touch are
  /// in one.
  template <class F>
  void for_rows(F&& f) const {
    constexpr Index pieces = 32;
    const Index rows = signs_.rows();
    parallel_for(0, rows, std::max(rows_per_piece<D>(signs_), (rows + pieces - 1) / pieces), [&](Index begin, Index end) {
      simd_dispatch([&] {
        for (Index r = begin; r < end; ++r)
          if constexpr (std::is_invocable_v<F, Index, Coord<D>, Index, Index>)
            f(r, lattice_row<D>(signs_.extents(), r), begin, end);
          else
            f(r, lattice_row<D>(signs_.extents(), r));
      });
    });
  }

  template <class F>
  MENISCUS_INLINE void for_words(Index r, F&& f) const {
    std::uint64_t before = 0;
    for (Index w = 0; w < signs_.words(); ++w) {
      const std::uint64_t s = samples(r, w);
      f(Word{w, s, s & ~(s << 1 | before)});
      before = s >> 63;
    }
  }

  bool own(const Coord<D>& at) const {
    for (int d = 0; d < D - 1; ++d)
      if (at[d] < lattice_.first(d) || at[d] >= lattice_.end(d)) return false;
    return true;
  }

  MENISCUS_INLINE std::uint64_t samples(Index r, Index w) const {
    const auto below = [&](Index k) {
      const Index n = k - 64 * w;
      return n >= 64 ? ~std::uint64_t{0} : n <= 0 ? 0 : (std::uint64_t{1} << n) - 1;
    };
    const std::uint64_t bits = inside_ ? signs_.word(r, w) : ~signs_.word(r, w);
    return bits & below(lattice_.end(D - 1)) & ~below(lattice_.first(D - 1));
  }

  /// Unites the runs of a row with those they touch in the chosen ones of the rows before it, and around the periods.
  template <class Chosen, class Unite>
  MENISCUS_INLINE void join(Index r, const Coord<D>& at, Chosen&& chosen, Unite&& unite_runs) const {
    if (!own(at)) return;
    for (int d = 0; d < D - 1; ++d) {
      Index q = r;
      if (at[d] > lattice_.first(d))
        q = r - signs_.stride(d);
      else if (lattice_.closes_in_block(d))
        q = r + (lattice_.end(d) - 1 - at[d]) * signs_.stride(d);
      if (q != r && chosen(q)) join_rows(r, q, unite_runs);
    }
    const Index begin = start_.data()[r];
    const Index end = start_.data()[r + 1];
    if (lattice_.closes_in_block(D - 1) && chosen(r) && end - begin > 1 && has(r, lattice_.first(D - 1)) &&
        has(r, lattice_.end(D - 1) - 1))
      unite_runs(begin, end - 1);
  }

  bool has(Index r, Index k) const { return samples(r, k >> 6) >> (k & 63) & 1; }

  template <class Unite>
  MENISCUS_INLINE void join_rows(Index r, Index q, Unite&& unite_runs) const {
    Index i = start_.data()[r] - 1;
    Index j = start_.data()[q] - 1;
    std::uint64_t before_r = 0;
    std::uint64_t before_q = 0;
    for (Index w = 0; w < signs_.words(); ++w) {
      const std::uint64_t a = samples(r, w);
      const std::uint64_t b = samples(q, w);
      const std::uint64_t starts_r = a & ~(a << 1 | before_r);
      const std::uint64_t starts_q = b & ~(b << 1 | before_q);
      // Where two runs begin to be side by side.
      for (std::uint64_t met = a & b & ~((a & b) << 1 | (before_r & before_q)); met; met &= met - 1) {
        const std::uint64_t up_to = met ^ (met - 1);
        unite_runs(i + std::popcount(starts_r & up_to), j + std::popcount(starts_q & up_to));
      }
      i += std::popcount(starts_r);
      j += std::popcount(starts_q);
      before_r = a >> 63;
      before_q = b >> 63;
    }
  }

  std::int32_t* parents() const { return parent_.data() + 1; }
  const LevelSetLattice<T, D>& lattice_;
  const SignBits<D>& signs_;
  bool inside_;
  Workspace::Lease<Index> start_;
  Workspace::Lease<std::int32_t> parent_;
};

/// Collective: adds the sums of the other blocks.
void add_of_all_blocks(parallel::Communicator& communicator, CellSum* sums, Index count) {
  if (communicator.size() == 1 || count == 0) return;
  std::vector<CellSum> all(count * communicator.size());
  communicator.gather(sums, static_cast<std::size_t>(count) * sizeof(CellSum), all.data());
  std::fill_n(sums, count, CellSum());
  for (std::size_t i = 0; i < all.size(); ++i) sums[i % static_cast<std::size_t>(count)].add(all[i]);
}

}  // namespace

template <class T, int D>
ComponentCounts label_components(const grid::Field<T, D>& phi, bool both, std::int32_t* labels, Workspace& workspace) {
  const LevelSetLattice<T, D> lattice(phi, workspace);
  const SignBits<D> signs(phi, lattice, workspace);
  const Coord<D> strides = c_strides<D>(phi.extents());
  ComponentCounts counts;
  {
    Runs<T, D> runs(lattice, signs, true, workspace);
    counts.inside = runs.number();
    runs.template write<false>(labels, strides, 1);
    counts.inside = join_components<D>(phi.layout(), labels, counts.inside, 1, workspace);
  }
  if (both) {
    Runs<T, D> runs(lattice, signs, false, workspace);
    counts.outside = runs.number();
    runs.template write<true>(labels, strides, -1);
    counts.outside = join_components<D>(phi.layout(), labels, counts.outside, -1, workspace);
  }
  // Copies of nodes on shared sides follow their owners.
  phi.layout().copies().exchange(labels);
  return counts;
}

template <class T, int D>
LabelledParts label_outside(const grid::Field<T, D>& phi, const grid::Field<double, D>* solid, std::int32_t* labels,
                            Workspace& workspace) {
  require(phi.stagger() == grid::Stagger<D>::cell(), "the level set must be on cells");
  require(!solid || (solid->grid() == phi.grid() && solid->stagger() == grid::Stagger<D>::node()),
          "the level set of the solid must be on the nodes of the grid");
  const LevelSetLattice<T, D> lattice(phi, workspace);
  const OpenCubes<T, D> cubes(lattice, solid, workspace);
  SignBits<D> signs(phi, lattice, workspace);
  cubes.close(signs);
  Index parts = 0;
  {
    Runs<T, D> runs(lattice, signs, true, workspace);
    parts = runs.number();
    runs.template write<false>(labels, c_strides<D>(phi.extents()), 1);
  }
  parts = join_components<D>(phi.layout(), labels, parts, 1, workspace);
  return label_films<T, D>(phi.grid(), lattice, signs, cubes, labels, parts);
}

template <class T, int D>
void component_volumes(const grid::Field<T, D>& phi, const std::int32_t* labels, const ComponentCounts& counts, double* inside,
                       double* outside, Workspace& workspace, const grid::Field<double, D>* solid) {
  const LevelSetLattice<T, D> lattice(phi, workspace);
  const OpenCubes<T, D> cubes(lattice, solid, workspace);
  const SignBits<D> signs(phi, lattice, workspace);
  const LatticeLabels<T, D> label(phi.layout(), lattice, labels, workspace);
  const Index parts = counts.inside + counts.outside;
  const bool both = counts.outside > 0;
  require(!both || !solid, "outside of a solid only the volumes inside of the level set are measured");
  // Each piece of the loop has its own sums.
  const Index pieces = std::clamp<Index>((Index{1} << 19) / std::max<Index>(parts, 1), 1, 64);
  const Index chunk = std::max<Index>(1, (signs.rows() + pieces - 1) / pieces);
  const Workspace::Lease<CellSum> sums = workspace.take<CellSum>(pieces * parts);
  std::fill_n(sums.data(), pieces * parts, CellSum());
  parallel_for(0, signs.rows(), chunk, [&](Index begin, Index end) {
    CellSum* const sum = sums.data() + begin / chunk * parts;
    const auto add = [&](std::int32_t l, double volume) {
      if (l > 0) sum[l - 1].add(volume);
      if (l < 0) sum[counts.inside - l - 1].add(volume);
    };
    for (Index r = begin; r < end; ++r) {
      Coord<D> c = lattice_row<D>(signs.extents(), r);
      bool cells = true;
      double across = 1;
      for (int d = 0; d < D - 1; ++d) {
        cells = cells && c[d] >= lattice.first_cell(d) && c[d] + 1 < signs.extents()[d];
        if (cells) across *= lattice.step_in_cells(d, c[d]);
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
          for (int d = 0; d < D; ++d) own = own && lattice.is_sample(d, at[d]);
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
        std::uint64_t between = signs.has_next(w);
        if (w == 0 && lattice.first_cell(D - 1) == 1) between &= ~std::uint64_t{1};
        if (cubes.has_solid()) {
          const std::uint64_t reached = cubes.reached(c, w) & between;
          between &= ~reached;
          for_each_bit(reached & some, [&](int bit) {
            c[D - 1] = 64 * w + bit;
            cubes.visit_octants(c, [&](const Coord<D>& sample, double part) { add(label.around(sample, c), part); });
          });
        }
        const auto whole = [&](std::uint64_t bits, bool in) {
          while (bits) {
            const int first = std::countr_zero(bits);
            const int count = std::countr_one(bits >> first);
            double length = 0;
            for (int k = first; k < first + count; ++k) length += lattice.step_in_cells(D - 1, 64 * w + k);
            c[D - 1] = 64 * w + first;
            add(label_of([](unsigned) { return true; }, in), across * length);
            if (first + count == 64) break;
            bits &= ~std::uint64_t{0} << (first + count);
          }
        };
        whole(all & between, true);
        if (both) whole(~some & between, false);
        for_each_bit(some & ~all & between, [&](int bit) {
          c[D - 1] = 64 * w + bit;
          const CutCell<D> cut = cut_cell_at<T, D>(lattice, c);
          const double volume = across * lattice.step_in_cells(D - 1, c[D - 1]);
          for (int p = 0; p < cut.pieces; ++p)
            add(label_of([&](unsigned i) { return cut.corner_piece[i] == p; }, true), volume * cut.fraction[p]);
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
  for (Index p = 1; p < pieces; ++p)
    for (Index i = 0; i < parts; ++i) sums.data()[i].add(sums.data()[p * parts + i]);
  add_of_all_blocks(*phi.grid().communicator(), sums.data(), parts);
  const double cell = std::pow(phi.grid().spacing(), D);
  for (Index i = 0; i < counts.inside; ++i) inside[i] = cell * sums.data()[i].value();
  for (Index i = 0; i < counts.outside; ++i) outside[i] = cell * sums.data()[counts.inside + i].value();
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                               \
  template ComponentCounts label_components<T, D>(const grid::Field<T, D>&, bool, std::int32_t*, Workspace&);                    \
  template LabelledParts label_outside<T, D>(const grid::Field<T, D>&, const grid::Field<double, D>*, std::int32_t*,             \
                                             Workspace&);                                                                        \
  template void component_volumes<T, D>(const grid::Field<T, D>&, const std::int32_t*, const ComponentCounts&, double*, double*, \
                                        Workspace&, const grid::Field<double, D>*);
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
