// Exchange of fields and particles between blocks.
#include "any_field.hpp"

#include "meniscus/grid/blocks/owned_samples.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/grid/particles/particle_numbering.hpp"
#include "meniscus/parallel/field_exchange.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <limits>

namespace meniscus::bindings {
namespace {

template <int D>
using Exchange = parallel::FieldExchange<D>;

template <int D>
std::vector<parallel::ArrayPlace<D>> places_of(const std::vector<std::pair<std::array<int, D>, std::size_t>>& given) {
  std::vector<parallel::ArrayPlace<D>> places;
  for (const auto& [on_side, bytes] : given) places.push_back({on_side, bytes});
  return places;
}

/// The samples of arrays of the own block, as NumPy has them.
template <int D>
std::vector<parallel::ArrayMemory<D>> memory_of(const std::vector<py::array>& arrays) {
  std::vector<parallel::ArrayMemory<D>> memory;
  for (const py::array& a : arrays) {
    require(a.ndim() == D, "an array of the block must have ", D, " axes, not ", a.ndim());
    parallel::ArrayMemory<D> m;
    m.origin = static_cast<std::byte*>(const_cast<py::array&>(a).mutable_data());
    std::copy_n(a.strides(), D, m.strides.begin());
    require(m.strides[D - 1] == static_cast<Index>(a.itemsize()), "the rows of an array of the block must be contiguous");
    memory.push_back(m);
  }
  return memory;
}

/// Collective: an array of the whole domain on one rank.
template <class T, int D>
void collect(const Field<T, D>& f, int root, const std::optional<py::array>& whole) {
  const grid::Grid<D>& grid = f.grid();
  parallel::IndexBox<D> window;
  Coord<D> strides{};
  T* to = nullptr;
  if (whole) {
    window.end = f.stagger().extents(grid.shape());
    strides = c_strides<D>(window.end);
    to = data_of<T>(*whole, "whole", product<D>(window.end), true);
  }
  require(root >= 0 && root < grid.communicator()->size(), "there is no rank ", root, " among ", grid.communicator()->size());
  interruptible([&] { grid::fetch_box<T, D>(f, window, to, strides); });
}

void bind_field_functions(py::module_& m) {
  def_fields(
      m, "collect",
      []<class T, int D>(const Field<T, D>& f, int root, const std::optional<py::array>& whole) { collect(f, root, whole); },
      py::arg("field"), py::arg("root"), py::arg("whole"));
  def_fields(
      m, "global_sum",
      []<class T, int D>(const Field<T, D>& f) {
        return interruptible([&] {
          numerics::ExactSum sum;
          grid::for_each_owned(f, [&](T v) { sum.add(static_cast<double>(v)); });
          return parallel::global_sum(*f.grid().communicator(), sum);
        });
      },
      py::arg("field"));
  def_fields(
      m, "global_range",
      []<class T, int D>(const Field<T, D>& f) {
        return interruptible([&] {
          double low = std::numeric_limits<double>::infinity(), high = -low;
          bool number = true;
          grid::for_each_owned(f, [&](T v) {
            number = number && v == v;
            low = std::min(low, static_cast<double>(v));
            high = std::max(high, static_cast<double>(v));
          });
          if (!number) low = high = std::numeric_limits<double>::quiet_NaN();
          return parallel::global_range(*f.grid().communicator(), low, high);
        });
      },
      py::arg("field"));
}

template <int D>
void bind_dimension(py::module_& m, const char* name) {
  py::class_<Exchange<D>>(m, name)
      .def_property_readonly("messages", &Exchange<D>::messages)
      .def_property_readonly("bytes", &Exchange<D>::bytes)
      .def(
          "start",
          [](Exchange<D>& e, const std::vector<py::array>& arrays) {
            const auto memory = memory_of<D>(arrays);
            interruptible([&] { e.start(memory); });
          },
          py::arg("arrays"))
      .def("wait", [](Exchange<D>& e) { interruptible([&] { e.wait(); }); });
}

}  // namespace

void bind_exchange(py::module_& m) {
  bind_dimension<2>(m, "FieldExchange2");
  bind_dimension<3>(m, "FieldExchange3");
  def_dimensions(
      m, "number_new_particles",
      []<int D>(grid::ParticleSet& p, Index first, const grid::Grid<D>& g) {
        interruptible([&] { grid::number_new_particles<D>(p, first, g); });
      },
      py::arg("particles"), py::arg("first"), py::arg("grid"));
  def_dimensions(
      m, "migrate_particles",
      []<int D>(grid::ParticleSet& p, const grid::Grid<D>& g, Workspace& w) {
        return interruptible([&] { return grid::migrate_particles<D>(p, g, w); });
      },
      py::arg("particles"), py::arg("grid"), py::arg("workspace"));
  def_dimensions(
      m, "new_field_exchange",
      []<int D>(const grid::Grid<D>& grid, const std::vector<std::pair<std::array<int, D>, std::size_t>>& places, int width) {
        return interruptible(
            [&] { return std::make_unique<Exchange<D>>(grid.communicator(), grid.block(), places_of<D>(places), width); });
      },
      py::arg("grid"), py::arg("places"), py::arg("width"));
  bind_field_functions(m);
}

}  // namespace meniscus::bindings
