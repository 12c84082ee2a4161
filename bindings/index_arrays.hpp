// Vertex, node and element numbers of callers, in memory that nobody else writes to.
#pragma once

#include "bridge.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace meniscus::bindings {

/// Owns the memory of arrays that nobody writes to; read-only arrays over such a capsule never change.
py::capsule sealing(void* memory, void (*release)(void*));

/// A read-only array over the memory of an array that nobody else has.
py::array sealed(const py::array& a);

/// Whether nobody can write to the array: it is sealed, or belongs to an immutable object of the core. That an array of a caller
/// is read-only is no promise, because its owner can make it writable again.
bool never_changes(const py::array& a);

/// Numbers of rows or of elements, of which a call checks that they are in range.
///
/// Another Python thread may write to an array while a call works without the GIL. A wrong position makes a wrong result, but a
/// wrong index leads outside of memory; so what is checked here is a copy, unless nobody can write to the array.
template <class Row>
class Indices {
 public:
  Indices(const py::array& a, const std::int32_t* first, std::size_t rows) : rows_(reinterpret_cast<const Row*>(first), rows) {
    static_assert(sizeof(Row) % sizeof(std::int32_t) == 0);
    if (never_changes(a)) return;
    copy_.assign(rows_.begin(), rows_.end());
    rows_ = copy_;
  }
  Indices(const Indices&) = delete;
  Indices& operator=(const Indices&) = delete;
  Indices(Indices&&) = default;

  std::size_t size() const { return rows_.size(); }
  // The memory is gone with the object.
  operator std::span<const Row>() const& { return rows_; }
  operator std::span<const Row>() const&& = delete;

 private:
  std::vector<Row> copy_;
  std::span<const Row> rows_;
};

/// Numbers in an array of any shape.
inline Indices<std::int32_t> indices_of(const py::array& a, const char* name) {
  const std::int32_t* first = data_of<std::int32_t>(a, name);
  return {a, first, static_cast<std::size_t>(a.size())};
}

/// The same for an array that may be left out; empty then.
inline Indices<std::int32_t> indices_of(const std::optional<py::array>& a, const char* name) {
  return a ? indices_of(*a, name) : indices_of(py::array_t<std::int32_t>(0), name);
}

/// Rows of N numbers.
template <std::size_t N>
Indices<std::array<std::int32_t, N>> elements_of(const py::array& a, const char* name) {
  const std::int32_t* first = data_of<std::int32_t>(a, name);
  require(a.ndim() == 2 && a.shape(1) == static_cast<py::ssize_t>(N), name, " must have shape (m, ", N, ")");
  return {a, first, static_cast<std::size_t>(a.shape(0))};
}

inline auto triangles_of(const py::array& a) { return elements_of<3>(a, "triangles"); }

}  // namespace meniscus::bindings
