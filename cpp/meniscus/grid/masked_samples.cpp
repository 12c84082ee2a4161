#include "meniscus/grid/masked_samples.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/simd.hpp"
#include "meniscus/grid/blocks/row_sums.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <cmath>
#include <limits>

namespace meniscus::grid {
namespace {

/// Combines body(row coordinate, index of its first sample) over the rows of `extents` in a fixed tree.
template <int D, class T, class Body, class Combine>
T reduce_rows(const Coord<D>& extents, T identity, Body&& body, Combine&& combine) {
  const Index length = extents[D - 1];
  return parallel_reduce(
      Index{0}, product<D>(extents) / length, std::max<Index>(1, 8192 / length), identity,
      [&](Index begin, Index end) {
        T result = identity;
        for (Index r = begin; r < end; ++r) result = combine(result, body(row_start<D>(extents, r), r * length));
        return result;
      },
      combine);
}

}  // namespace

template <class T, int D>
double sum_samples(const Field<T, D>& field, const std::uint8_t* mask) {
  const FieldView<const T, D> view = field.view();
  const Coord<D> strides = c_strides<D>(view.extents);
  // Samples on the side between two blocks count once, with the lower one.
  Coord<D> copies{};
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    if (field.grid().first_cell()[a] > 0) copies[a] = field.layout().halo.first_owned(d);
  }
  return sum_of_rows<D>(field.grid(), view.extents, [&](const Coord<D>& c, Index count, double* out) {
    const T* row = view.at(c);
    const std::uint8_t* where = mask ? mask + dot<D>(c, strides) : nullptr;
    bool copy = false;
    for (std::size_t d = 0; d + 1 < D; ++d) copy |= c[d] < copies[d];
    for (Index k = 0; k < count; ++k) out[k] = !copy && (!where || where[k]) ? static_cast<double>(row[k]) : 0.0;
    if (c[D - 1] < copies[D - 1]) out[0] = 0.0;
  });
}

template <class T, int D>
double largest_deviation(const Field<T, D>& field, double reference, const std::uint8_t* mask) {
  const FieldView<const T, D> view = field.view();
  const Index length = view.extents[D - 1];
  const T middle = static_cast<T>(reference);
  const double largest = reduce_rows<D>(
      view.extents, 0.0,
      [&](const Coord<D>& c, Index first) {
        const T* row = view.at(c);
        T most = 0;
        bool finite = true;
        simd_dispatch([&] {
          for (Index k = 0; k < length; ++k) {
            const bool counts = !mask || mask[first + k];
            const T deviation = counts ? std::abs(row[k] - middle) : T(0);
            finite &= deviation <= std::numeric_limits<T>::max();
            most = deviation > most ? deviation : most;
          }
        });
        return finite ? static_cast<double>(most) : std::numeric_limits<double>::infinity();
      },
      [](double a, double b) { return std::max(a, b); });
  return parallel::global_max(*field.grid().communicator(), largest);
}

template <class T, int D>
double max_component_speed(const MacField<T, D>& velocity, const std::array<const std::uint8_t*, D>& masks) {
  double speed = 0.0;
  for (int d = 0; d < D; ++d) speed = std::max(speed, largest_deviation(velocity.component(d), 0.0, masks[d]));
  return speed;
}

template <class T, int D>
Index mark_band(const Field<T, D>& field, double width, std::uint8_t* mask) {
  const FieldView<const T, D> view = field.view();
  const Index length = view.extents[D - 1];
  const T limit = static_cast<T>(width);
  const auto is_copy = [&](int d) {
    const Index a = d;
    return field.stagger().on_side[a] == 1 && field.grid().first_cell()[a] > 0;
  };
  const Index marked = reduce_rows<D>(
      view.extents, Index{0},
      [&](const Coord<D>& c, Index first) {
        const T* row = view.at(c);
        Index count = 0;
        for (Index k = 0; k < length; ++k) count += mask[first + k] = std::abs(row[k]) < limit;
        // Samples on the side between two blocks count once.
        bool copies = false;
        for (int d = 0; d < D - 1; ++d) copies |= c[d] == 0 && is_copy(d);
        if (copies) return Index{0};
        return is_copy(D - 1) ? count - mask[first] : count;
      },
      [](Index a, Index b) { return a + b; });
  return parallel::global_sum(*field.grid().communicator(), marked);
}

template <class T, int D>
void assign(Field<T, D>& field, double value, const std::uint8_t* mask, Where where) {
  const FieldView<T, D> view = field.view();
  const bool set = where == Where::mask_set;
  for_each_row<D>(view.extents, [&](const Coord<D>& c, Index first) {
    T* row = view.at(c);
    for (Index k = 0; k < view.extents[D - 1]; ++k)
      if (!mask || (mask[first + k] != 0) == set) row[k] = static_cast<T>(value);
  });
}

template <class T, int D>
void assign(Field<T, D>& field, const Field<T, D>& source, const std::uint8_t* mask, Where where) {
  require(field.layout().same_place(source.layout()), "the source must have the samples of the field");
  const FieldView<T, D> view = field.view();
  const FieldView<const T, D> from = source.view();
  const bool set = where == Where::mask_set;
  for_each_row<D>(view.extents, [&](const Coord<D>& c, Index first) {
    T* row = view.at(c);
    const T* other = from.at(c);
    for (Index k = 0; k < view.extents[D - 1]; ++k)
      if (!mask || (mask[first + k] != 0) == set) row[k] = other[k];
  });
}

template <class T, int D>
void combine(Field<T, D>& field, double a, const Field<T, D>& x, double b, const Field<T, D>& y) {
  require(field.layout().same_place(x.layout()) && field.layout().same_place(y.layout()),
          "x and y must have the samples of the field");
  const FieldView<T, D> view = field.view();
  for_each_row<D>(view.extents, [&](const Coord<D>& c, Index) {
    T* row = view.at(c);
    const T* first = x.view().at(c);
    const T* second = y.view().at(c);
    for (Index k = 0; k < view.extents[D - 1]; ++k) row[k] = static_cast<T>(a) * first[k] + static_cast<T>(b) * second[k];
  });
}

template <class T, int D>
void scale(Field<T, D>& field, double factor) {
  const FieldView<T, D> view = field.view();
  for_each_row<D>(view.extents, [&](const Coord<D>& c, Index) {
    T* row = view.at(c);
    for (Index k = 0; k < view.extents[D - 1]; ++k) row[k] *= static_cast<T>(factor);
  });
}

void select_mask(Index n, const std::uint8_t* a, const std::uint8_t* b, Where where, std::uint8_t* out) {
  const bool set = where == Where::mask_set;
  parallel_for(0, n, 1 << 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = a[i] != 0 && (!b || (b[i] != 0) == set);
  });
}

void unite_masks(Index n, const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out) {
  parallel_for(0, n, 1 << 16, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out[i] = (a[i] | b[i]) != 0;
  });
}

#define MENISCUS_INSTANTIATE(T, D)                                                                             \
  template double sum_samples<T, D>(const Field<T, D>&, const std::uint8_t*);                                  \
  template double largest_deviation<T, D>(const Field<T, D>&, double, const std::uint8_t*);                    \
  template double max_component_speed<T, D>(const MacField<T, D>&, const std::array<const std::uint8_t*, D>&); \
  template Index mark_band<T, D>(const Field<T, D>&, double, std::uint8_t*);                                   \
  template void assign<T, D>(Field<T, D>&, double, const std::uint8_t*, Where);                                \
  template void assign<T, D>(Field<T, D>&, const Field<T, D>&, const std::uint8_t*, Where);                    \
  template void combine<T, D>(Field<T, D>&, double, const Field<T, D>&, double, const Field<T, D>&);           \
  template void scale<T, D>(Field<T, D>&, double);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
