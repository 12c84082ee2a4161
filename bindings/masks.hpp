// Conversion of masks: NumPy arrays of bool to and from the bytes of the core, without copies.
#pragma once

#include "bridge.hpp"

#include "meniscus/grid/grid.hpp"

#include <optional>

namespace meniscus::bindings {

static_assert(sizeof(bool) == 1);

/// The bytes of a C-contiguous array of bool with so many values.
inline std::uint8_t* mask_of(const py::array& a, const char* name, Index size, bool writable = false) {
  return reinterpret_cast<std::uint8_t*>(data_of<bool>(a, name, size, writable));
}

/// The same for a mask that may be left out; nullptr then.
inline const std::uint8_t* mask_of(const std::optional<py::array>& a, const char* name, Index size) {
  return a ? mask_of(*a, name, size) : nullptr;
}

/// The bytes of one mask per axis, over the faces of a block with so many cells.
template <int D>
std::array<const std::uint8_t*, D> face_masks_of(const std::array<py::array, D>& arrays, const char* name,
                                                 const Coord<D>& cells) {
  std::array<const std::uint8_t*, D> masks;
  for (int d = 0; d < D; ++d) masks[d] = mask_of(arrays[d], name, product<D>(grid::Stagger<D>::face(d).extents(cells)));
  return masks;
}

/// The same for masks that are written to.
template <int D>
std::array<std::uint8_t*, D> writable_face_masks_of(const std::array<py::array, D>& arrays, const char* name,
                                                    const Coord<D>& cells) {
  std::array<std::uint8_t*, D> masks;
  for (int d = 0; d < D; ++d) masks[d] = mask_of(arrays[d], name, product<D>(grid::Stagger<D>::face(d).extents(cells)), true);
  return masks;
}

/// A read-only view of C-ordered bytes, whose base shares the memory.
template <int D>
py::array mask_view(const Block<std::uint8_t>& mask, const Coord<D>& extents) {
  auto* first = reinterpret_cast<bool*>(const_cast<std::uint8_t*>(mask.data()));
  py::array a = view(first, extents, c_strides<D>(extents), mask.memory());
  a.attr("flags").attr("writeable") = false;
  return a;
}

}  // namespace meniscus::bindings
