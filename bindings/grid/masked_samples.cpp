// Sums, extrema and assignments over fields and masks.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/grid/masked_samples.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using grid::Where;

/// One mask per component of a velocity; none: all samples.
template <int D>
using FaceMasks = std::optional<std::array<py::array, D>>;

Where where_of(bool set) { return set ? Where::mask_set : Where::mask_clear; }

template <class T, int D>
const std::uint8_t* flags(const Field<T, D>& field, const Mask& mask) {
  return mask_of(mask, "mask", product<D>(field.extents()));
}

template <class T, int D>
std::array<const std::uint8_t*, D> face_flags(const MacField<T, D>& velocity, const std::type_identity_t<FaceMasks<D>>& masks) {
  return masks ? face_masks_of<D>(*masks, "masks", velocity.grid().local_shape()) : std::array<const std::uint8_t*, D>{};
}

void bind_samples(py::module_& m) {
  def_fields(
      m, "sum_samples",
      []<class T, int D>(const Field<T, D>& field, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        return interruptible([&] { return grid::sum_samples(field, where); });
      },
      py::arg("field"), py::arg("mask"));
  def_fields(
      m, "largest_deviation",
      []<class T, int D>(const Field<T, D>& field, double reference, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        return interruptible([&] { return grid::largest_deviation(field, reference, where); });
      },
      py::arg("field"), py::arg("reference"), py::arg("mask"));
  def_fields(
      m, "max_component_speed_in",
      []<class T, int D>(const MacField<T, D>& velocity, const std::array<py::array, D>& masks) {
        const auto where = face_masks_of<D>(masks, "masks", velocity.grid().local_shape());
        return interruptible([&] { return grid::max_component_speed<T, D>(velocity, where); });
      },
      py::arg("velocity"), py::arg("masks"));
  def_fields(
      m, "mark_band",
      []<class T, int D>(const Field<T, D>& field, double width, const py::array& mask) {
        std::uint8_t* to = mask_of(mask, "mask", product<D>(field.extents()), true);
        return interruptible([&] { return grid::mark_band(field, width, to); });
      },
      py::arg("field"), py::arg("width"), py::arg("mask"));
  def_fields(
      m, "assign",
      []<class T, int D>(Field<T, D>& field, double value, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        interruptible([&] { grid::assign(field, value, where); });
      },
      py::arg("field"), py::arg("value"), py::arg("mask"));
  def_fields(
      m, "assign_faces",
      []<class T, int D>(MacField<T, D>& velocity, double value, const FaceMasks<D>& masks, bool set) {
        const auto where = face_flags(velocity, masks);
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::assign(velocity.component(d), value, where[d], where_of(set));
        });
      },
      py::arg("velocity"), py::arg("value"), py::arg("masks"), py::arg("set"));
  def_fields(
      m, "copy_faces",
      []<class T, int D>(MacField<T, D>& velocity, const MacField<T, D>& source, const FaceMasks<D>& masks, bool set) {
        const auto where = face_flags(velocity, masks);
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::assign(velocity.component(d), source.component(d), where[d], where_of(set));
        });
      },
      py::arg("velocity"), py::arg("source"), py::arg("masks"), py::arg("set"));
  def_fields(
      m, "combine",
      []<class T, int D>(MacField<T, D>& velocity, double a, const MacField<T, D>& x, double b, const MacField<T, D>& y) {
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::combine(velocity.component(d), a, x.component(d), b, y.component(d));
        });
      },
      py::arg("velocity"), py::arg("a"), py::arg("x"), py::arg("b"), py::arg("y"));
  def_fields(
      m, "scale", []<class T, int D>(Field<T, D>& field, double factor) { interruptible([&] { grid::scale(field, factor); }); },
      py::arg("field"), py::arg("factor"));
}

}  // namespace

void bind_masked_samples(py::module_& m) {
  bind_samples(m);
  m.def(
      "select_masks",
      [](const std::vector<py::array>& a, const std::optional<std::vector<py::array>>& b, bool set,
         const std::vector<py::array>& out) {
        require(a.size() == out.size() && (!b || b->size() == out.size()), "a, b and out must hold as many masks");
        for (std::size_t k = 0; k < out.size(); ++k) {
          const std::uint8_t* first = mask_of(a[k], "a", out[k].size());
          const std::uint8_t* second = b ? mask_of((*b)[k], "b", out[k].size()) : nullptr;
          std::uint8_t* to = mask_of(out[k], "out", out[k].size(), true);
          interruptible([&] { grid::select_mask(out[k].size(), first, second, where_of(set), to); });
        }
      },
      py::arg("a"), py::arg("b"), py::arg("set"), py::arg("out"));
  m.def(
      "unite_masks",
      [](const std::vector<py::array>& a, const std::vector<py::array>& b, const std::vector<py::array>& out) {
        require(a.size() == out.size() && b.size() == out.size(), "a, b and out must hold as many masks");
        for (std::size_t k = 0; k < out.size(); ++k) {
          const std::uint8_t* first = mask_of(a[k], "a", out[k].size());
          const std::uint8_t* second = mask_of(b[k], "b", out[k].size());
          std::uint8_t* to = mask_of(out[k], "out", out[k].size(), true);
          interruptible([&] { grid::unite_masks(out[k].size(), first, second, to); });
        }
      },
      py::arg("a"), py::arg("b"), py::arg("out"));
}

}  // namespace meniscus::bindings
