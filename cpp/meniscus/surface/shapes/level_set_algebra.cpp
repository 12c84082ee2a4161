#include "meniscus/surface/shapes/level_set_algebra.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/grid/rows.hpp"

#include <atomic>

namespace meniscus::surface {

namespace {

/// Calls use(result of the operation on two values).
template <class T, class Use>
void with_operation(SetOperation operation, Use&& use) {
  // Comparisons with NaN are false: written so, that of either one stays.
  const auto larger = [](T a, T b) { return a >= b || a != a ? a : b; };
  switch (operation) {
    case SetOperation::unite:
      return use([](T a, T b) { return a <= b || a != a ? a : b; });
    case SetOperation::intersect:
      return use(larger);
    case SetOperation::subtract:
      return use([larger](T a, T b) { return larger(a, -b); });
  }
  require(false, "unknown operation on level sets");
}

/// Calls body(rows of both level sets, their length), in parallel.
template <class Phi, class Other, class Body>
void for_rows_of_both(const Phi& view, const Other& from, Body&& body) {
  constexpr int D = static_cast<int>(std::tuple_size_v<std::decay_t<decltype(view.extents)>>);
  grid::parallel_rows<D>(view.extents, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const Coord<D> c = grid::row_start<D>(view.extents, r);
      body(view.at(c), from.at(c), view.extents[D - 1]);
    }
  });
}

}  // namespace

template <class T, int D>
void combine_level_sets(grid::Field<T, D>& phi, SetOperation operation, const grid::Field<T, D>& other) {
  require(phi.layout().same_place(other.layout()), "both level sets must have the same samples");
  with_operation<T>(operation, [&](auto&& result) {
    for_rows_of_both(phi.view(), other.view(), [&](T* row, const T* b, Index length) {
      for (Index k = 0; k < length; ++k) row[k] = result(row[k], b[k]);
    });
  });
}

template <class T, int D>
bool combining_moves_surface(const grid::Field<T, D>& phi, SetOperation operation, const grid::Field<T, D>& other, double near) {
  require(phi.layout().same_place(other.layout()), "both level sets must have the same samples");
  std::atomic<bool> moves{false};
  with_operation<T>(operation, [&](auto&& result) {
    for_rows_of_both(phi.view(), other.view(), [&](const T* row, const T* b, Index length) {
      bool found = false;
      for (Index k = 0; k < length; ++k) {
        const T now = result(row[k], b[k]);
        // Written so that NaN counts.
        const bool stays = now == row[k] || (now > near && row[k] > near) || (now < -near && row[k] < -near);
        found = found || !stays;
      }
      if (found) moves = true;
    });
  });
  return moves;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                    \
  template void combine_level_sets<T, D>(grid::Field<T, D>&, SetOperation, const grid::Field<T, D>&); \
  template bool combining_moves_surface<T, D>(const grid::Field<T, D>&, SetOperation, const grid::Field<T, D>&, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
