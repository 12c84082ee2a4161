#include "meniscus/surface/extraction/extraction.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/surface/extraction/element_writers.hpp"

#include <cmath>
#include <limits>

namespace meniscus::surface {
namespace {

using extraction_detail::z;

/// Runs a kernel that counts bits: the copy for AVX2 has the instruction for that, and wider registers add nothing.
template <class F>
void dispatch_bits(F&& f) {
#if defined(MENISCUS_SIMD_CLONES)
  if (simd_level() != SimdLevel::baseline) return core::detail::run_avx2(f);
#endif
  core::detail::run_baseline(f);
}

}  // namespace

template <class T, int D>
struct SurfaceExtraction<T, D>::Counter {
  Index elements;
  const SurfaceExtraction* self;

  void cube(const std::array<Row, 4>&, Index, unsigned mask) { elements += cube_cases()[mask].triangle_count; }
  void square(const std::array<const Row*, 4>&, const std::array<Index, 4>&, int, int, unsigned mask, bool) {
    elements += D == 3 ? square_cases()[mask].triangle_count : square_cases()[mask].segment_count;
  }
  void side(const Row& low, Index k, const Row& high, Index l, int, bool) {
    elements += self->signs_.inside(low.number, k) || self->signs_.inside(high.number, l);
  }
};

template <class T, int D>
SurfaceExtraction<T, D>::SurfaceExtraction(const grid::Field<T, D>& phi, const ExtractionOptions& options, Workspace& workspace)
    : lattice_(phi, workspace), options_(options), signs_(phi, lattice_, workspace) {
  for (std::size_t d = 0; d < D; ++d)
    capped_[d] = lattice_.closes(static_cast<int>(d)) ? options.close_periods : options.close_sides;
  if (phi.grid().block().cut()) {
    weld_blocks(*phi.grid().communicator());
  } else {
    row_start_ = workspace.take<Index>(2 * (signs_.rows() + 1));
    first_ = workspace.take<std::int32_t>(signs_.rows() * signs_.words());
    count();
  }
}

template <class T, int D>
void SurfaceExtraction<T, D>::count() {
  const Index rows = signs_.rows();
  Index* const v = row_start_.data();
  Index* const e = v + rows + 1;
  parallel_for(0, rows, rows_per_piece(signs_), [&](Index begin, Index end) {
    dispatch_bits([&] {
      for (Index r = begin; r < end; ++r) {
        const Row here = row(r, lattice_row<D>(signs_.extents(), r));
        v[r + 1] = count_vertices(here);
        Counter counter{0, this};
        visit(here, counter);
        e[r + 1] = counter.elements;
      }
    });
  });
  v[0] = e[0] = 0;
  for (Index r = 0; r < rows; ++r) {
    v[r + 1] += v[r];
    e[r + 1] += e[r];
  }
  vertices_ = v[rows];
  elements_ = e[rows];
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  require(vertices_ <= most && elements_ <= most, "the surface has ", vertices_, " vertices and ", elements_,
          " elements; at most ", most, " can be numbered");
}

template <class T, int D>
auto SurfaceExtraction<T, D>::row(Index number, const Coord<D>& at) const -> Row {
  Row result{number, at, false};
  for (int d = 0; d < D - 1; ++d) {
    const bool on_side = lattice_.at_lower(d, at[z(d)]) || lattice_.at_upper(d, at[z(d)]);
    result.on_capped_side = result.on_capped_side || (on_side && capped_[z(d)]);
  }
  return result;
}

template <class T, int D>
bool SurfaceExtraction<T, D>::owns(const Row& row) const {
  for (int d = 0; d < D - 1; ++d) {
    const Index i = row.at[z(d)];
    if (i < lattice_.first_cell(d) || (i == signs_.extents()[z(d)] - 1 && !lattice_.at_upper(d, i))) return false;
  }
  return true;
}

template <class T, int D>
MENISCUS_INLINE std::uint64_t SurfaceExtraction<T, D>::own_cells(Index w) const {
  const std::uint64_t all = signs_.has_next(w);
  return w == 0 && lattice_.first_cell(D - 1) == 1 ? all & ~std::uint64_t{1} : all;
}

template <class T, int D>
MENISCUS_INLINE std::uint64_t SurfaceExtraction<T, D>::own_starts(Index w) const {
  const Index last = signs_.extents()[D - 1] - 1;
  const bool ends = last >> 6 == w && lattice_.at_upper(D - 1, last);
  return own_cells(w) | (ends ? std::uint64_t{1} << (last & 63) : 0);
}

template <class T, int D>
auto SurfaceExtraction<T, D>::neighbour(const Row& from, int d) const -> Row {
  Coord<D> at = from.at;
  ++at[z(d)];
  return row(from.number + signs_.stride(d), at);
}

template <class T, int D>
MENISCUS_INLINE std::uint64_t SurfaceExtraction<T, D>::starts(const Row& row, Index w, int group) const {
  const std::uint64_t own = signs_.word(row.number, w);
  if (group == D - 1) return (own ^ signs_.next(row.number, w)) & signs_.has_next(w);
  if (group < D) {
    if (row.at[z(group)] + 1 == signs_.extents()[z(group)]) return 0;
    return own ^ signs_.word(row.number + signs_.stride(group), w);
  }
  if (row.on_capped_side) return own;
  if (!capped_[D - 1]) return 0;
  std::uint64_t ends = w == 0 && lattice_.at_lower(D - 1, 0) ? 1 : 0;
  const Index last = signs_.extents()[D - 1] - 1;
  if (last >> 6 == w && lattice_.at_upper(D - 1, last)) ends |= std::uint64_t{1} << (last & 63);
  return own & ends;
}

template <class T, int D>
MENISCUS_INLINE std::int32_t SurfaceExtraction<T, D>::vertex(const Row& row, int group, Index k) const {
  const Index w = k >> 6;
  const std::uint64_t below = (std::uint64_t{1} << (k & 63)) - 1;
  int n = std::popcount(starts(row, w, group) & below);
  for (int g = 0; g < group; ++g) n += std::popcount(starts(row, w, g));
  return first_.data()[row.number * signs_.words() + w] + n;
}

template <class T, int D>
Index SurfaceExtraction<T, D>::count_vertices(const Row& row) const {
  Index n = 0;
  for (Index w = 0; w < signs_.words(); ++w)
    for (int group = 0; group <= D; ++group) n += std::popcount(starts(row, w, group));
  return n;
}

template <class T, int D>
template <class Visitor>
MENISCUS_INLINE void SurfaceExtraction<T, D>::visit(const Row& here, Visitor&& visitor) const {
  const Coord<D>& n = signs_.extents();
  const Coord<D>& at = here.at;
  const auto at_lower = [&](int d) { return lattice_.at_lower(d, at[z(d)]); };
  const auto at_side = [&](int d) { return capped_[z(d)] && (at_lower(d) || lattice_.at_upper(d, at[z(d)])); };
  if constexpr (D == 3) {
    if (at[0] + 1 < n[0] && at[1] + 1 < n[1]) visit_cubes(here, visitor);
    if (at_side(0) && at[1] + 1 < n[1]) visit_squares(here, neighbour(here, 1), 1, 2, at_lower(0), visitor);
    if (at_side(1) && at[0] + 1 < n[0]) visit_squares(here, neighbour(here, 0), 0, 2, !at_lower(1), visitor);
  } else {
    if (at[0] + 1 < n[0]) {
      const Row next = neighbour(here, 0);
      visit_squares(here, next, 0, 1, false, visitor);
      if (capped_[1])
        for (const Index k : {Index{0}, n[1] - 1})
          if (lattice_.at_lower(1, k) || lattice_.at_upper(1, k)) visitor.side(here, k, next, k, 0, k != 0);
    }
    if (at_side(0))
      for (Index k = lattice_.first_cell(1); k + 1 < n[1]; ++k) visitor.side(here, k, here, k + 1, 1, at_lower(0));
  }
}

template <class T, int D>
template <class Visitor>
MENISCUS_INLINE void SurfaceExtraction<T, D>::visit_cubes(const Row& here, Visitor& visitor) const {
  const Row x = neighbour(here, 0);
  const Row y = neighbour(here, 1);
  const std::array<Row, 4> rows{here, x, y, neighbour(x, 1)};
  for (Index w = 0; w < signs_.words(); ++w) {
    std::array<std::uint64_t, 8> s;
    std::uint64_t some = 0;
    std::uint64_t all = ~std::uint64_t{0};
    for (std::size_t i = 0; i < 4; ++i) {
      s[i] = signs_.word(rows[i].number, w);
      s[i + 4] = signs_.next(rows[i].number, w);
      some |= s[i] | s[i + 4];
      all &= s[i] & s[i + 4];
    }
    for_each_bit(some & ~all & own_cells(w), [&](int bit) {
      unsigned mask = 0;
      for (std::size_t i = 0; i < 8; ++i) mask |= static_cast<unsigned>(s[i] >> bit & 1) << i;
      visitor.cube(rows, 64 * w + bit, mask);
    });
  }
  if (!capped_[2]) return;
  for (const Index k : {Index{0}, signs_.extents()[2] - 1}) {
    if (!lattice_.at_lower(2, k) && !lattice_.at_upper(2, k)) continue;
    unsigned mask = 0;
    for (std::size_t i = 0; i < 4; ++i) mask |= static_cast<unsigned>(signs_.inside(rows[i].number, k)) << i;
    if (mask) visitor.square({&rows[0], &rows[1], &rows[2], &rows[3]}, {k, k, k, k}, 0, 1, mask, k == 0);
  }
}

/// The squares between two rows that are neighbours along axis u; v is the last axis.
template <class T, int D>
template <class Visitor>
MENISCUS_INLINE void SurfaceExtraction<T, D>::visit_squares(const Row& low, const Row& high, int u, int v, bool reversed,
                                                            Visitor& visitor) const {
  for (Index w = 0; w < signs_.words(); ++w) {
    const std::array<std::uint64_t, 4> s{signs_.word(low.number, w), signs_.word(high.number, w), signs_.next(low.number, w),
                                         signs_.next(high.number, w)};
    std::uint64_t shown = s[0] | s[1] | s[2] | s[3];
    if (D == 2) shown &= ~(s[0] & s[1] & s[2] & s[3]);
    for_each_bit(shown & own_cells(w), [&](int bit) {
      unsigned mask = 0;
      for (std::size_t i = 0; i < 4; ++i) mask |= static_cast<unsigned>(s[i] >> bit & 1) << i;
      const Index k = 64 * w + bit;
      visitor.square({&low, &high, &low, &high}, {k, k, k + 1, k + 1}, u, v, mask, reversed);
    });
  }
}

template <class T, int D>
double SurfaceExtraction<T, D>::fraction(const Coord<D>& at, int axis) const {
  Coord<D> c = at;
  const double a = lattice_.value(c);
  ++c[z(axis)];
  const double b = lattice_.value(c);
  // Four samples at equal distances; those on the sides of a cell lattice are nearer.
  const Index from = lattice_.on_nodes() ? 0 : 1;
  const Index end = lattice_.last(axis) + 1 - from, start = lattice_.global(axis, at[z(axis)]);
  if (!options_.cubic || start - 1 < from || start + 2 >= end) return crossing(a, b);
  std::array<double, 4> v{0.0, a, b, 0.0};
  ++c[z(axis)];
  v[3] = lattice_.value(c);
  c[z(axis)] -= 3;
  v[0] = lattice_.value(c);
  return cubic_crossing(v);
}

/// By central differences, one-sided on the sides.
template <class T, int D>
Vec<double, D> SurfaceExtraction<T, D>::gradient(const Coord<D>& at) const {
  Vec<double, D> g;
  for (int d = 0; d < D; ++d) {
    Coord<D> low = at;
    Coord<D> high = at;
    low[z(d)] -= lattice_.at_lower(d, at[z(d)]) ? 0 : 1;
    high[z(d)] += lattice_.at_upper(d, at[z(d)]) ? 0 : 1;
    g[d] =
        (lattice_.value(high) - lattice_.value(low)) / (lattice_.coordinate(d, high[z(d)]) - lattice_.coordinate(d, low[z(d)]));
  }
  return g;
}

template <class T, int D>
template <class Put>
void SurfaceExtraction<T, D>::for_each_vertex(const Row& row, bool with_normals, Put&& put) const {
  Coord<D> at = row.at;
  for (Index w = 0; w < signs_.words(); ++w)
    for (int group = 0; group <= D; ++group)
      for_each_bit(starts(row, w, group) & own_starts(w), [&](int bit) {
        at[D - 1] = 64 * w + bit;
        Vec<double, D> x;
        Vec<double, D> normal = Vec<double, D>::Zero();
        for (int d = 0; d < D; ++d) x[d] = lattice_.coordinate(d, at[z(d)]);
        if (group < D) {
          const double t = fraction(at, group);
          x[group] += t * lattice_.step(group, at[z(group)]);
          if (with_normals) {
            Coord<D> next = at;
            ++next[z(group)];
            normal = (1.0 - t) * gradient(at) + t * gradient(next);
            const double length = normal.stableNorm();
            if (length > 0.0 && std::isfinite(length))
              normal /= length;
            else
              normal = Vec<double, D>::Unit(group) * (signs_.inside(row.number, at[D - 1]) ? 1.0 : -1.0);
          }
        } else if (with_normals) {
          for (int d = 0; d < D; ++d)
            if (capped_[z(d)]) {
              if (lattice_.at_lower(d, at[z(d)])) normal[d] = -1.0;
              if (lattice_.at_upper(d, at[z(d)])) normal[d] = 1.0;
            }
          normal.normalize();
        }
        put(w, group, at[D - 1], x, normal);
      });
}

/// Number of a row in the lattice of the domain.
template <class T, int D>
std::uint64_t SurfaceExtraction<T, D>::row_key(const Row& row) const {
  std::uint64_t n = 0;
  for (int d = 0; d < D - 1; ++d)
    n = n * static_cast<std::uint64_t>(lattice_.last(d) + 1) + static_cast<std::uint64_t>(lattice_.global(d, row.at[z(d)]));
  return n;
}

/// The order in which the vertices of one block are numbered: by row, word of 64 samples, group and sample.
template <class T, int D>
std::uint64_t SurfaceExtraction<T, D>::vertex_key(const Row& row, int group, Index k) const {
  const auto words = static_cast<std::uint64_t>(lattice_.last(D - 1) / 64 + 1);
  const auto at = static_cast<std::uint64_t>(lattice_.global(D - 1, k));
  return ((row_key(row) * words + at / 64) * (D + 1) + static_cast<std::uint64_t>(group)) * 64 + at % 64;
}

template <class T, int D>
void SurfaceExtraction<T, D>::weld_blocks(parallel::Communicator& communicator) {
  std::vector<WeldedVertex<D>> vertices;
  std::vector<WeldedElement<D>> elements;
  for (Index r = 0; r < signs_.rows(); ++r) {
    const Row here = row(r, lattice_row<D>(signs_.extents(), r));
    if (!owns(here)) continue;
    for_each_vertex(here, true, [&](Index, int group, Index k, const Vec<double, D>& x, const Vec<double, D>& normal) {
      WeldedVertex<D>& v = vertices.emplace_back();
      v.key = vertex_key(here, group, k);
      std::copy_n(x.data(), D, v.position.begin());
      std::copy_n(normal.data(), D, v.normal.begin());
    });
    visit(here, Writer<Keys>{this, Keys{this, &elements}});
  }
  welded_ = weld<D>(communicator, vertices, elements);
  vertices_ = static_cast<Index>(welded_->vertices.size());
  elements_ = static_cast<Index>(welded_->elements.size());
}

template <class T, int D>
void SurfaceExtraction<T, D>::fill(double* positions, std::int32_t* elements, double* normals) const {
  if (welded_) {
    for (const WeldedVertex<D>& v : welded_->vertices) {
      positions = std::copy(v.position.begin(), v.position.end(), positions);
      if (normals) normals = std::copy(v.normal.begin(), v.normal.end(), normals);
    }
    for (const auto& e : welded_->elements) elements = std::copy(e.begin(), e.end(), elements);
    return;
  }
  const Index rows = signs_.rows();
  const Index* const v = row_start_.data();
  const Index* const e = v + rows + 1;
  const auto for_rows = [&](auto&& body) {
    parallel_for(0, rows, rows_per_piece(signs_), [&](Index begin, Index end) {
      dispatch_bits([&] {
        for (Index r = begin; r < end; ++r) body(r, row(r, lattice_row<D>(signs_.extents(), r)));
      });
    });
  };
  for_rows([&](Index r, const Row& here) {
    std::int32_t* const first = first_.data() + r * signs_.words();
    Index start = v[r];
    Index word = 0;
    if (v[r + 1] > start)
      for_each_vertex(here, normals != nullptr, [&](Index w, int, Index, const Vec<double, D>& x, const Vec<double, D>& normal) {
        for (; word <= w; ++word) first[word] = static_cast<std::int32_t>(start);
        std::copy_n(x.data(), D, positions + start * D);
        if (normals) std::copy_n(normal.data(), D, normals + start * D);
        ++start;
      });
    for (; word < signs_.words(); ++word) first[word] = static_cast<std::int32_t>(start);
  });
  for_rows([&](Index r, const Row& here) {
    if (e[r + 1] > e[r]) visit(here, Writer<Numbers>{this, Numbers{this, elements + D * e[r]}});
  });
}

template class SurfaceExtraction<double, 2>;
template class SurfaceExtraction<float, 3>;
template class SurfaceExtraction<double, 3>;

}  // namespace meniscus::surface
