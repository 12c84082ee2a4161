// Common parts of all binding files: NumPy views that keep their memory alive, calls that release the GIL
// and can be interrupted, and checked arrays.
#pragma once

#include "gil.hpp"

#include "meniscus/core/block.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/grid/boundary.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace meniscus::bindings {

namespace py = pybind11;

/// A Python object that owns a share of a block.
inline py::capsule keep_alive(const std::shared_ptr<std::byte>& memory) {
  return py::capsule(new std::shared_ptr<std::byte>(memory), [](void* p) { delete static_cast<std::shared_ptr<std::byte>*>(p); });
}

/// A writable view of `first` with the given extents and element strides, whose base shares `memory`.
template <class T, std::size_t N>
py::array view(T* first, const std::array<Index, N>& extents, const std::array<Index, N>& strides,
               const std::shared_ptr<std::byte>& memory) {
  std::vector<py::ssize_t> shape(extents.begin(), extents.end());
  std::vector<py::ssize_t> bytes(N);
  for (std::size_t d = 0; d < N; ++d) bytes[d] = static_cast<py::ssize_t>(strides[d]) * static_cast<py::ssize_t>(sizeof(T));
  return py::array(py::dtype::of<T>(), shape, bytes, first, keep_alive(memory));
}

/// What `interruptible` does, compiled once for all calls.
void run_interruptible(void (*call)(void*), void* argument);

/// Runs f without the GIL; Ctrl-C is noticed within a fraction of a second and raised once f has stopped.
template <class F>
auto interruptible(F&& f) {
  using Function = std::remove_reference_t<F>;
  using Result = std::decay_t<std::invoke_result_t<Function&>>;
  if constexpr (std::is_void_v<Result>) {
    run_interruptible([](void* function) { (*static_cast<Function*>(function))(); }, &f);
  } else {
    struct Call {
      Function& function;
      std::optional<Result> result;
    } call{f, {}};
    run_interruptible([](void* c) { static_cast<Call*>(c)->result.emplace(static_cast<Call*>(c)->function()); }, &call);
    return std::move(*call.result);
  }
}

/// The data of a C-contiguous array of exactly this type; TypeError otherwise. `size` < 0 accepts any length.
template <class T>
T* data_of(const py::array& a, const char* name, Index size = -1, bool writable = false) {
  if (!py::dtype::of<T>().is(a.dtype()) && !a.dtype().equal(py::dtype::of<T>()))
    throw WrongType(std::string(name) + " must be of dtype " + std::string(py::str(py::dtype::of<T>())) + ", not " +
                    std::string(py::str(a.dtype())));
  if (!(a.flags() & py::array::c_style)) throw WrongType(std::string(name) + " must be C-contiguous");
  // An array over a part of a buffer of bytes, which NumPy reads byte by byte.
  if (!(a.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_))
    throw WrongType(std::string(name) + " must be aligned in memory; pass a copy");
  require(size < 0 || a.size() == size, name, " must have ", size, " values, not ", a.size());
  if (writable) return static_cast<T*>(const_cast<py::array&>(a).mutable_data());
  return const_cast<T*>(static_cast<const T*>(a.data()));
}

/// A boundary condition as an opaque object (a bare std::variant would be taken for a union of registered types).
struct SideHandle {
  grid::SideCondition condition;
};

}  // namespace meniscus::bindings
