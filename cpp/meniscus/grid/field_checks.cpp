#include "meniscus/grid/field_checks.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/boundary_values.hpp"
#include "meniscus/grid/rows.hpp"
#include "meniscus/grid/transport/velocity_lanes.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cmath>
#include <limits>
#include <sstream>

namespace meniscus::grid {
namespace {

/// A maximum over lanes; comparisons with NaN are false, so it skips them.
template <class T>
struct LaneMaximum {
  Lanes<T> best{};
  /// Zero as long as all that has been taken was finite.
  Lanes<T> rest{};
  MENISCUS_INLINE void take(const T* values, int n) {
    const T* __restrict v = values;
    T* __restrict most = best.data();
    T* __restrict difference = rest.data();
    for (int l = 0; l < n; ++l) {
      const T a = std::abs(v[l]);
      most[l] = a > most[l] ? a : most[l];
      difference[l] += v[l] - v[l];
    }
  }
  bool finite() const {
    return std::all_of(rest.begin(), rest.end(), [](T x) { return x == T(0); });
  }
  double result() const { return static_cast<double>(*std::max_element(best.begin(), best.end())); }
};

/// Largest |v| of a view; infinite if any sample is not finite.
template <class T, int D>
double largest_magnitude(const FieldView<const T, D>& view) {
  const Index length = view.extents[D - 1];
  return parallel_reduce(
      0, product<D>(view.extents) / length, std::max<Index>(1, 16384 / length), 0.0,
      [&](Index begin, Index end) {
        LaneMaximum<T> largest;
        simd_dispatch([&] {
          for (Index r = begin; r < end; ++r) {
            const T* p = view.at(row_start<D>(view.extents, r));
            for (Index k = 0; k < length; k += row_block) {
              largest.take(p + k, static_cast<int>(std::min<Index>(row_block, length - k)));
            }
          }
        });
        return largest.finite() ? largest.result() : std::numeric_limits<double>::infinity();
      },
      [](double a, double b) { return std::max(a, b); });
}

template <class T, int D>
double own_speed(const MacField<T, D>& velocity) {
  double speed = 0.0;
  for (int d = 0; d < D; ++d) speed = std::max(speed, largest_magnitude(velocity.component(d).view()));
  return speed;
}

/// Largest |v| of the ghosts beyond a side, edges included.
template <class T, int D>
double largest_beyond(const Field<T, D>& field, int axis, int upper) {
  const SampleBox<D> box = box_beyond(field.layout(), axis, upper, ghost_width);
  const FieldView<const T, D> view = field.view();
  Coord<D> extents;
  for (std::size_t d = 0; d < D; ++d) extents[d] = box.end[d] - box.begin[d];
  const T* first = view.at(box.begin);
  const Index length = extents[D - 1];
  LaneMaximum<T> largest;
  for (Index r = 0; r < product<D>(extents) / length; ++r) {
    const T* p = first + dot<D>(row_start<D>(extents, r), view.strides);
    for (Index k = 0; k < length; k += row_block) largest.take(p + k, static_cast<int>(std::min<Index>(row_block, length - k)));
  }
  return largest.result();
}

}  // namespace

template <class T, int D>
void require_finite(const Field<T, D>& field, const char* name) {
  const FieldView<const T, D> view = field.view();
  if (std::isfinite(largest_magnitude(view))) return;
  const Index length = view.extents[D - 1];
  for (Index r = 0; r < product<D>(view.extents) / length; ++r) {
    Coord<D> c = row_start<D>(view.extents, r);
    const T* p = view.at(c);
    for (Index k = 0; k < length; ++k) {
      if (std::isfinite(p[k])) continue;
      c[D - 1] = k;
      std::ostringstream at;
      for (int d = 0; d < D; ++d) at << (d ? ", " : "") << c[d] + field.grid().first_cell()[d];
      throw InvalidArgument(std::string(name) + " must be finite, but sample [" + at.str() + "] is " +
                            (std::isnan(p[k]) ? "nan" : "infinite"));
    }
  }
}

template <class T, int D>
void require_finite(const MacField<T, D>& velocity) {
  for (int d = 0; d < D; ++d) require_finite(velocity.component(d), std::array{"velocity u", "velocity v", "velocity w"}[d]);
}

template <class T>
Index first_not_finite(const T* values, Index n) {
  const bool all = parallel_reduce(
      Index{0}, n, 1 << 15, true,
      [&](Index begin, Index end) {
        int bad = 0;
        simd_dispatch([&] {
          for (Index i = begin; i < end; ++i) bad |= !(std::abs(values[i]) <= std::numeric_limits<T>::max());
        });
        return bad == 0;
      },
      [](bool x, bool y) { return x && y; });
  return all ? n : std::find_if(values, values + n, [](T x) { return !std::isfinite(x); }) - values;
}

template <class T, int D>
double max_component_speed(const MacField<T, D>& velocity) {
  return parallel::global_max(*velocity.grid().communicator(), own_speed(velocity));
}

template <class T, int D>
SpeedRange max_component_speeds(const MacField<T, D>& velocity) {
  const double own = own_speed(velocity);
  double ghosts = 0.0;
  if (velocity.grid().block().cut())
    for (int d = 0; d < D; ++d)
      for (int axis = 0; axis < D; ++axis)
        for (const int upper : {0, 1})
          if (!velocity.grid().shared(axis, upper)) ghosts = std::max(ghosts, largest_beyond(velocity.component(d), axis, upper));
  // What is not finite is found in the faces.
  const auto [least, most] = parallel::global_range(*velocity.grid().communicator(), -own, std::max(own, ghosts));
  return {-least, most};
}

template <class T, int D>
double max_speed_sum(const MacField<T, D>& velocity, const Stagger<D>& stagger) {
  const VelocitySource<T, D> source(velocity, 0.0);
  const Coord<D> extents = stagger.extents(velocity.grid().local_shape());
  const Index length = extents[D - 1];
  const double local = parallel_reduce(
      0, product<D>(extents) / length, std::max<Index>(1, 16384 / length), 0.0,
      [&](Index begin, Index end) {
        LaneMaximum<T> largest;
        simd_dispatch([&] {
          for (Index r = begin; r < end; ++r) {
            RowRun<D> run{row_start<D>(extents, r), 0};
            for (Index k = 0; k < length; k += row_block) {
              run.base[D - 1] = k;
              run.count = static_cast<int>(std::min<Index>(row_block, length - k));
              LaneVectors<T, D> v;
              velocity_at_samples(source, stagger, run, v);
              Lanes<T> sum;
              for (int l = 0; l < run.count; ++l) sum[l] = std::abs(v[0][l]);
              for (int d = 1; d < D; ++d)
                for (int l = 0; l < run.count; ++l) sum[l] += std::abs(v[d][l]);
              largest.take(sum.data(), run.count);
            }
          }
        });
        return largest.result();
      },
      [](double a, double b) { return std::max(a, b); });
  return parallel::global_max(*velocity.grid().communicator(), local);
}

template Index first_not_finite<float>(const float*, Index);
template Index first_not_finite<double>(const double*, Index);
#define MENISCUS_INSTANTIATE(T, D)                                       \
  template void require_finite<T, D>(const Field<T, D>&, const char*);   \
  template void require_finite<T, D>(const MacField<T, D>&);             \
  template double max_component_speed<T, D>(const MacField<T, D>&);      \
  template SpeedRange max_component_speeds<T, D>(const MacField<T, D>&); \
  template double max_speed_sum<T, D>(const MacField<T, D>&, const Stagger<D>&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
