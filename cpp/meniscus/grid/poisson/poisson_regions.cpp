#include "meniscus/grid/poisson/poisson_regions.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/parallel/binned_reductions.hpp"

#include <cmath>
#include <cstring>

namespace meniscus::grid {
namespace {

constexpr Index intervals_per_task = 64;

/// Calls found(begin, count) for the connected runs of unknowns of a row.
template <int D, class Found>
void for_each_run_of_row(const FaceMatrix<double, D>& a, Index first, Found&& found) {
  const Index length = a.layout.cells[D - 1];
  const std::uint8_t *active = a.active.data() + first, *rough = a.rough.data() + first;
  constexpr int along = 1 << (D - 1);
  for (Index k = 0; k < length;) {
    if (!active[k]) {
      ++k;
      continue;
    }
    const void* gap = std::memchr(active + k, 0, static_cast<std::size_t>(length - k));
    const Index end = gap ? static_cast<const std::uint8_t*>(gap) - active : length;
    int any = a.open_coupling[D - 1] > 0 ? 0 : along;
    for (Index l = k + 1; l < end; ++l) any |= rough[l];
    Index begin = k;
    if (any & along)
      for (Index l = k + 1; l < end; ++l)
        if (!(a.face(D - 1, first + l) > 0)) {
          found(first + begin, l - begin);
          begin = l;
        }
    found(first + begin, end - begin);
    k = end;
  }
}

/// Whether a value is given beside one of the cells of a run, or one of them has mass.
template <int D>
bool is_open(const FaceMatrix<double, D>& a, Index begin, Index count) {
  if (a.mass > 0) return true;
  constexpr Index piece = 64;
  const double* diagonal = a.diagonal.data();
  const std::uint8_t *active = a.active.data(), *rough = a.rough.data();
  const double inner = a.open_diagonal();
  for (Index from = begin; from < begin + count; from += piece) {
    const Index to = std::min(from + piece, begin + count);
    // Nothing is given around a cell between unknowns whose diagonal is that of the open medium.
    int special = a.masses.size() > 0;
    for (Index i = from; i < to; ++i) {
      int here = rough[i] | static_cast<int>(diagonal[i] != inner);
      for (std::size_t d = 0; d < D; ++d) {
        const Index s = a.layout.strides[d];
        here |= ((active[i - s] & active[i + s]) ^ 1) | (rough[i + s] >> d & 1);
      }
      special |= here;
    }
    if (!special) continue;
    for (Index i = from; i < to; ++i)
      if (a.mass_of(i) > 0 || dirichlet_coupling<double, D>(a, i) > 0) return true;
  }
  return false;
}

}  // namespace

template <int D>
void PoissonRegions<D>::find(const FaceMatrix<double, D>& a) {
  const CellLayout<D>& layout = a.layout;
  const Index rows = layout.rows(), length = layout.cells[D - 1];
  const Index rows_per_task = std::max<Index>(1, 16384 / length);
  const RowChanges<D>& changed = a.derived();
  intervals_before_.swap(intervals_);
  row_begin_before_.swap(row_begin_);
  open_before_.swap(open_);
  row_begin_.assign(static_cast<std::size_t>(rows) + 1, 0);
  parallel_for(0, rows, rows_per_task, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      Index n = 0;
      if (!changed[r]) {
        const Index* before = row_begin_before_.data() + r;
        row_begin_[static_cast<std::size_t>(r) + 1] = before[1] - before[0];
        continue;
      }
      for_each_run_of_row<D>(a, layout.row(r), [&](Index, Index) { ++n; });
      row_begin_[static_cast<std::size_t>(r) + 1] = n;
    }
  });
  for (Index r = 0; r < rows; ++r) row_begin_[r + 1] += row_begin_[r];
  const auto count = static_cast<std::size_t>(row_begin_.back());
  intervals_.resize(count);
  open_.resize(count);
  sets_.reset(static_cast<Index>(count));
  parallel_for(0, rows, rows_per_task, [&](Index b, Index e) {
    for (Index r = b; r < e; ++r) {
      auto n = static_cast<std::size_t>(row_begin_[r]);
      if (!changed[r]) {
        auto before = static_cast<std::size_t>(row_begin_before_[r]);
        for (; n < static_cast<std::size_t>(row_begin_[static_cast<std::size_t>(r) + 1]); ++n, ++before) {
          intervals_[n] = intervals_before_[before];
          open_[n] = open_before_[before];
        }
        continue;
      }
      for_each_run_of_row<D>(a, layout.row(r), [&](Index begin, Index cells) {
        intervals_[n] = {begin, cells, 0};
        open_[n] = is_open<D>(a, begin, cells);
        ++n;
      });
    }
  });

  // Intervals of two rows that lie side by side along `axis`; `face_row` is the upper one, whose lower faces count.
  const auto join_rows = [&](Index lower_row, Index upper_row, int axis) {
    Index i = row_begin_[lower_row], j = row_begin_[upper_row];
    const Index i_end = row_begin_[static_cast<std::size_t>(lower_row) + 1],
                j_end = row_begin_[static_cast<std::size_t>(upper_row) + 1];
    const Index from_lower = layout.row(lower_row), from_upper = layout.row(upper_row);
    while (i < i_end && j < j_end) {
      const Interval& u = intervals_[i];
      const Interval& v = intervals_[j];
      const Index begin = std::max(u.index - from_lower, v.index - from_upper);
      const Index u_end = u.index + u.count - from_lower, v_end = v.index + v.count - from_upper;
      const Index end = std::min(u_end, v_end);
      for (Index k = begin; k < end; ++k)
        if (a.face(axis, from_upper + k) > 0) {
          sets_.join(i, j);
          break;
        }
      (u_end < v_end ? i : j)++;
    }
  };
  for (Index r = 0; r < rows; ++r) {
    const Coord<D> c = layout.row_coordinate(r);
    Index stride = 1;
    for (int d = D - 2; d >= 0; --d) {
      const Index axis = d;
      if (c[axis] > 0)
        join_rows(r - stride, r, d);
      else if (layout.halo.block().own_neighbour(d))
        join_rows(r + (layout.cells[axis] - 1) * stride, r, d);
      stride *= layout.cells[axis];
    }
    const Index begin = row_begin_[r], end = row_begin_[static_cast<std::size_t>(r) + 1];
    if (layout.halo.block().own_neighbour(D - 1) && end > begin) {
      const Interval& u = intervals_[begin];
      const Interval& v = intervals_[static_cast<std::size_t>(end) - 1];
      if (u.index == layout.row(r) && v.index + v.count == layout.row(r) + length && a.face(D - 1, u.index) > 0)
        sets_.join(begin, end - 1);
    }
  }

  regions_.clear();
  for (std::size_t n = 0; n < count; ++n) {
    Interval& u = intervals_[n];
    const Index first = sets_.root(static_cast<Index>(n));  // interval of the region
    if (first == static_cast<Index>(n)) {
      u.region = static_cast<Index>(regions_.size());
      PoissonRegion<D> region;
      Index rest = u.index - layout.origin;
      for (std::size_t d = 0; d < D; ++d) {
        region.first_cell[d] = rest / layout.strides[d];
        rest %= layout.strides[d];
        region.first_cell[d] += layout.first[d];
      }
      regions_.push_back(region);
    } else {
      u.region = intervals_[first].region;
    }
    PoissonRegion<D>& region = regions_[u.region];
    region.cells += u.count;
    region.closed &= !open_[n];
  }
  communicator_ = &layout.halo.communicator();
  if (layout.halo.block().cut()) join_blocks(a);
  any_closed_ = false;
  for (const PoissonRegion<D>& region : regions_) any_closed_ |= region.closed;
  partial_.resize(count);
  partial_sums_.resize(count);
}

template <int D>
template <class Term>
void PoissonRegions<D>::accumulate_in_order(Term&& term, std::vector<double>& sums) const {
  parallel_for(0, static_cast<Index>(intervals_.size()), intervals_per_task, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      const Interval& u = intervals_[n];
      // Eight sums, so that the additions do not wait for each other.
      std::array<double, 8> part{};
      Index k = 0;
      for (; k + 8 <= u.count; k += 8)
        for (Index l = 0; l < 8; ++l) part[l] += term(u.index + k + l);
      for (; k < u.count; ++k) part[0] += term(u.index + k);
      partial_sums_[n] = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    }
  });
  sums.assign(regions_.size(), 0.0);
  for (std::size_t n = 0; n < intervals_.size(); ++n) sums[intervals_[n].region] += partial_sums_[n];
}

template <int D>
template <class Term>
void PoissonRegions<D>::accumulate(Term&& term, std::vector<double>& sums) const {
  if (!order_free_ && communicator_->size() == 1) {
    accumulate_in_order(term, sums);
    return;
  }
  constexpr Index lanes = 64;
  parallel_for(0, static_cast<Index>(intervals_.size()), intervals_per_task, [&](Index b, Index e) {
    // One sum for each run of intervals of one region, where it begins.
    for (auto n = static_cast<std::size_t>(b), end = static_cast<std::size_t>(e); n < end;) {
      numerics::BinnedLanes<static_cast<int>(lanes)> sum;
      const std::size_t first = n;
      for (; n < end && intervals_[n].region == intervals_[first].region; ++n) {
        const Interval& u = intervals_[n];
        partial_[n] = {};
        for (Index k = 0; k < u.count; k += lanes) {
          double terms[lanes];
          const Index count = std::min(lanes, u.count - k);
          for (Index l = 0; l < count; ++l) terms[l] = term(u.index + k + l);
          sum.add(terms, static_cast<int>(count));
        }
      }
      partial_[first] = sum.total();
    }
  });
  totals_.assign(regions_.size(), {});
  for (std::size_t n = 0; n < intervals_.size(); ++n)
    if (n % intervals_per_task == 0 || intervals_[n].region != intervals_[n - 1].region)
      totals_[intervals_[n].region].add(partial_[n]);
  parallel::global_sums(*communicator_, totals_.data(), static_cast<Index>(totals_.size()));
  sums.resize(regions_.size());
  for (std::size_t r = 0; r < sums.size(); ++r) sums[r] = totals_[r].value();
}

template <int D>
void PoissonRegions<D>::sum(const double* values, std::vector<double>& sums) const {
  accumulate([=](Index i) { return values[i]; }, sums);
}

template <int D>
void PoissonRegions<D>::sum_terms(const std::function<double(Index)>& term, std::vector<double>& sums) const {
  accumulate(term, sums);
}

template <int D>
void PoissonRegions<D>::sum_squares(const double* values, std::vector<double>& sums) const {
  accumulate([=](Index i) { return values[i] * values[i]; }, sums);
}

template <int D>
void PoissonRegions<D>::add(const std::vector<double>& offsets, double* values) const {
  parallel_for(0, static_cast<Index>(intervals_.size()), intervals_per_task, [&](Index b, Index e) {
    for (Index n = b; n < e; ++n) {
      const Interval& u = intervals_[n];
      const double offset = offsets[u.region];
      if (offset != 0)
        for (Index i = u.index; i < u.index + u.count; ++i) values[i] += offset;
    }
  });
}

template <int D>
double PoissonRegions<D>::remove_means(double* values) const {
  if (!any_closed_) return 0.0;
  sum(values, means_);
  double squares = 0.0;
  for (std::size_t k = 0; k < regions_.size(); ++k) {
    const double cells = static_cast<double>(regions_[k].cells);
    means_[k] = regions_[k].closed ? -means_[k] / cells : 0.0;
    squares += cells * means_[k] * means_[k];
  }
  add(means_, values);
  return std::sqrt(squares);
}

template class PoissonRegions<2>;
template class PoissonRegions<3>;

}  // namespace meniscus::grid
