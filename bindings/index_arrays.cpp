#include "index_arrays.hpp"

namespace meniscus::bindings {
namespace {

constexpr const char* seal = "meniscus sealed memory";

/// Objects of the core have no arrays of indices that change.
bool of_the_core(const py::handle& owner) {
  return py::cast<std::string>(py::type::of(owner).attr("__module__")).starts_with("meniscus._meniscus");
}

}  // namespace

py::capsule sealing(void* memory, void (*release)(void*)) {
  // The name is what tells such capsules from those of other libraries.
  return py::capsule(memory, seal, release);
}

py::array sealed(const py::array& a) {
  const py::capsule owner = sealing(new py::array(a), [](void* p) { delete static_cast<py::array*>(p); });
  const std::vector<py::ssize_t> shape(a.shape(), a.shape() + a.ndim()), strides(a.strides(), a.strides() + a.ndim());
  py::array result(a.dtype(), shape, strides, a.data(), owner);
  result.attr("flags").attr("writeable") = false;
  return result;
}

bool never_changes(const py::array& a) {
  if (a.writeable()) return false;
  const py::object owner = a.base();
  if (!owner) return false;
  if (py::isinstance<py::array>(owner)) return never_changes(py::reinterpret_borrow<py::array>(owner));
  if (PyCapsule_IsValid(owner.ptr(), seal) != 0) return true;
  return of_the_core(owner);
}

}  // namespace meniscus::bindings
