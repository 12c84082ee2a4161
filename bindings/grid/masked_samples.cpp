// Sums, extrema and assignments over fields and masks.
#include "masks.hpp"

#include "meniscus/grid/masked_samples.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using grid::Where;
using Mask = std::optional<py::array>;

/// One mask per component of a velocity; none: all samples.
template <int D>
using FaceMasks = std::optional<std::array<py::array, D>>;

Where where_of(bool set) { return set ? Where::mask_set : Where::mask_clear; }

template <class T, int D>
void bind_samples(py::module_& m) {
  using F = grid::Field<T, D>;
  using M = grid::MacField<T, D>;
  const auto flags = [](const F& field, const Mask& mask) { return mask_of(mask, "mask", product<D>(field.extents())); };
  const auto face_flags = [](const M& velocity, const FaceMasks<D>& masks) {
    std::array<const std::uint8_t*, D> where{};
    if (masks) {
      for (int d = 0; d < D; ++d) where[d] = mask_of((*masks)[d], "masks", product<D>(velocity.component(d).extents()));
    }
    return where;
  };
  m.def(
      "sum_samples",
      [=](const F& field, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        return interruptible([&] { return grid::sum_samples(field, where); });
      },
      py::arg("field"), py::arg("mask"));
  m.def(
      "largest_deviation",
      [=](const F& field, double reference, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        return interruptible([&] { return grid::largest_deviation(field, reference, where); });
      },
      py::arg("field"), py::arg("reference"), py::arg("mask"));
  m.def(
      "max_component_speed_in",
      [=](const M& velocity, const std::array<py::array, D>& masks) {
        const auto where = face_flags(velocity, masks);
        return interruptible([&] { return grid::max_component_speed<T, D>(velocity, where); });
      },
      py::arg("velocity"), py::arg("masks"));
  m.def(
      "mark_band",
      [](const F& field, double width, const py::array& mask) {
        std::uint8_t* to = mask_of(mask, "mask", product<D>(field.extents()), true);
        return interruptible([&] { return grid::mark_band(field, width, to); });
      },
      py::arg("field"), py::arg("width"), py::arg("mask"));
  m.def(
      "assign",
      [=](F& field, double value, const Mask& mask) {
        const std::uint8_t* where = flags(field, mask);
        interruptible([&] { grid::assign(field, value, where); });
      },
      py::arg("field"), py::arg("value"), py::arg("mask"));
  m.def(
      "assign_faces",
      [=](M& velocity, double value, const FaceMasks<D>& masks, bool set) {
        const auto where = face_flags(velocity, masks);
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::assign(velocity.component(d), value, where[d], where_of(set));
        });
      },
      py::arg("velocity"), py::arg("value"), py::arg("masks"), py::arg("set"));
  m.def(
      "assign_faces",
      [=](M& velocity, const M& source, const FaceMasks<D>& masks, bool set) {
        const auto where = face_flags(velocity, masks);
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::assign(velocity.component(d), source.component(d), where[d], where_of(set));
        });
      },
      py::arg("velocity"), py::arg("source"), py::arg("masks"), py::arg("set"));
  m.def(
      "combine",
      [](M& velocity, double a, const M& x, double b, const M& y) {
        interruptible([&] {
          for (int d = 0; d < D; ++d) grid::combine(velocity.component(d), a, x.component(d), b, y.component(d));
        });
      },
      py::arg("velocity"), py::arg("a"), py::arg("x"), py::arg("b"), py::arg("y"));
  m.def(
      "scale", [](F& field, double factor) { interruptible([&] { grid::scale(field, factor); }); }, py::arg("field"),
      py::arg("factor"));
}

}  // namespace

void bind_masked_samples(py::module_& m) {
  bind_samples<double, 2>(m);
  bind_samples<float, 3>(m);
  bind_samples<double, 3>(m);
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
