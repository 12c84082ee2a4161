// Volumes of the connected components of a liquid.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/fluids/liquid/component_counts.hpp"
#include "meniscus/fluids/liquid/volume_budget.hpp"
#include "meniscus/grid/particles/particle_columns.hpp"

#include <optional>

namespace meniscus::bindings {
namespace {

using ComponentVolumes = std::vector<double>;

py::array_t<double> volumes_array(const ComponentVolumes& values) {
  return py::array_t<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::array_t<Index> counts_array(const std::vector<Index>& values) {
  return py::array_t<Index>(static_cast<py::ssize_t>(values.size()), values.data());
}

/// Sides of the domain: axis, and whether it is the upper one.
using Sides = std::vector<std::pair<int, bool>>;

template <int D>
std::vector<fluids::Side> sides_of(const Sides& sides) {
  std::vector<fluids::Side> result;
  for (const auto& [axis, upper] : sides) {
    require(axis >= 0 && axis < D, "the axis of a side must be from 0 to ", D - 1, ", not ", axis);
    result.push_back({axis, upper});
  }
  return result;
}

void bind_measure(py::module_& m) {
  def_fields(
      m, "measure_components",
      []<class T, int D>(Field<T, D>& levelset, Field<double, D>* solid, const py::array& labels, Workspace& workspace) {
        auto* out = data_of<std::int32_t>(labels, "labels", product<D>(levelset.extents()), true);
        ComponentVolumes volumes;
        const fluids::MeasuredLiquid<T, D> liquid{levelset, solid};
        interruptible([&] { fluids::measure_components(liquid, out, volumes, workspace); });
        return volumes_array(volumes);
      },
      py::arg("levelset"), py::arg("solid"), py::arg("labels"), py::arg("workspace"));
  def_fields(
      m, "walled_fractions",
      []<class T, int D>(Field<T, D>& levelset, const grid::ThinWalls<D>& walls, Field<T, D>& fractions, Workspace& workspace) {
        interruptible([&] { fluids::walled_fractions(levelset, walls, fractions, workspace); });
      },
      py::arg("levelset"), py::arg("walls"), py::arg("fractions"), py::arg("workspace"));
  def_fields(
      m, "measure_walled_components",
      []<class T, int D>(Field<T, D>& levelset, Field<double, D>* solid, const grid::ThinWalls<D>& walls, const py::array& labels,
                         Workspace& workspace) {
        auto* out = data_of<std::int32_t>(labels, "labels", product<D>(levelset.extents()), true);
        ComponentVolumes volumes;
        interruptible([&] { fluids::measure_walled_components<T, D>(levelset, walls, solid, out, volumes, workspace); });
        return volumes_array(volumes);
      },
      py::arg("levelset"), py::arg("solid"), py::arg("walls"), py::arg("labels"), py::arg("workspace"));
}

void bind_component_counts(py::module_& m) {
  def_dimensions(
      m, "count_component_cells",
      []<int D>(const grid::Grid<D>& grid, const py::array& labels, Index parts) {
        const auto* l = data_of<std::int32_t>(labels, "labels", product<D>(grid.local_shape()));
        const auto n = static_cast<std::size_t>(parts);
        std::vector<Index> cells(n), first(n);
        interruptible([&] { fluids::count_component_cells<D>(grid, l, cells, first); });
        return py::make_tuple(counts_array(cells), counts_array(first));
      },
      py::arg("grid"), py::arg("labels"), py::arg("parts"));
  def_dimensions(
      m, "count_component_particles",
      []<int D>(grid::ParticleSet& particles, const grid::Grid<D>& grid, const py::array& labels, Index parts) {
        const auto* l = data_of<std::int32_t>(labels, "labels", product<D>(grid.local_shape()));
        std::vector<Index> to(static_cast<std::size_t>(parts));
        interruptible([&] {
          grid::with_scalar<D>(particles, [&]<class T>(T) { fluids::count_component_particles<T, D>(particles, grid, l, to); });
        });
        return counts_array(to);
      },
      py::arg("particles"), py::arg("grid"), py::arg("labels"), py::arg("parts"));
}

template <int D>
py::class_<fluids::VolumeBudget<D>> bind_volume_budget_type(py::module_& m, const char* name) {
  using B = fluids::VolumeBudget<D>;
  py::class_<B> type(m, name);
  type.def(
          "labels",
          [](B& b, const grid::Grid<D>& grid) {
            const Coord<D>& cells = grid.local_shape();
            return view(b.labels().data(), cells, c_strides<D>(cells), b.labels().memory());
          },
          py::arg("grid"))
      .def("volumes", [](const B& b) { return volumes_array(b.volumes()); })
      .def("expected", [](const B& b) { return volumes_array(b.expected()); })
      .def_property_readonly("total", &B::total_volume)
      .def(
          "state",
          [](const B& b) {
            const std::vector<std::int32_t>& families = b.families().of_parts();
            py::dict d;
            d["volumes"] = volumes_array(b.volumes());
            d["expected"] = volumes_array(b.expected());
            d["families"] = py::array_t<std::int32_t>(static_cast<py::ssize_t>(families.size()), families.data());
            d["unassigned"] = volumes_array(b.families().unassigned());
            d["sprayed"] = volumes_array(b.families().sprayed());
            return d;
          },
          "Copies of everything that `set` takes.")
      .def_property_readonly("nbytes", &B::bytes)
      .def(
          "set",
          [](B& b, const ComponentVolumes& volumes, const ComponentVolumes& expected, const std::vector<std::int32_t>& families,
             const ComponentVolumes& unassigned,
             const ComponentVolumes& sprayed) { b.set(volumes, expected, families, unassigned, sprayed); },
          py::arg("volumes"), py::arg("expected"), py::arg("families"), py::arg("unassigned"), py::arg("sprayed"))
      .def(
          "add_volumes",
          [](B& b, const py::array& positions, const py::array& volumes, std::optional<Field<double, D>*> solid,
             Workspace& workspace) {
            const double* v = data_of<double>(volumes, "volumes");
            const double* x = data_of<double>(positions, "positions", volumes.size() * D);
            return interruptible([&] { return b.add_volumes(x, v, volumes.size(), solid.value_or(nullptr), workspace); });
          },
          py::arg("positions"), py::arg("volumes"), py::arg("solid"), py::arg("workspace"))
      .def(
          "see_walls",
          [](B& b, const grid::ThinWalls<D>* walls, const grid::ThinWalls<D>* start, const std::optional<py::array>& swept) {
            b.see_walls(walls, {start, mask_of(swept, "swept", b.labels().size())});
          },
          py::arg("walls"), py::arg("start"), py::arg("swept"))
      .def("distribute_unassigned", &B::distribute_unassigned);
  return type;
}

}  // namespace

void bind_volume_budget(py::module_& m) {
  bind_measure(m);
  bind_component_counts(m);
  const auto type2 = bind_volume_budget_type<2>(m, "VolumeBudget2");
  const auto type3 = bind_volume_budget_type<3>(m, "VolumeBudget3");
  def_dimensions(
      m, "new_volume_budget", []<int D>(const grid::Grid<D>& grid) { return std::make_unique<fluids::VolumeBudget<D>>(grid); },
      py::arg("grid"));
  def_field_methods(
      {type2, type3}, "reset",
      []<class T, int D>(fluids::VolumeBudget<D>& b, Field<T, D>& levelset, Field<double, D>* solid, Workspace& workspace) {
        interruptible([&] { b.reset(fluids::MeasuredLiquid<T, D>{levelset, solid}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "measure",
      []<class T, int D>(fluids::VolumeBudget<D>& b, Field<T, D>& levelset, Field<double, D>* solid, Workspace& workspace) {
        interruptible([&] { b.measure(fluids::MeasuredLiquid<T, D>{levelset, solid}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "update_after_motion",
      []<class T, int D>(fluids::VolumeBudget<D>& b, Field<T, D>& levelset, Field<double, D>* solid,
                         const MacField<T, D>& velocity, double dt, const Sides& open_sides, Workspace& workspace) {
        const std::vector<fluids::Side> sides = sides_of<D>(open_sides);
        const fluids::MeasuredLiquid<T, D> liquid{levelset, solid};
        return interruptible([&] { return b.update_after_motion(liquid, velocity, dt, sides, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("velocity"), py::arg("dt"), py::arg("open_sides"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "update_after_sources",
      []<class T, int D>(fluids::VolumeBudget<D>& b, Field<T, D>& levelset, Field<double, D>* solid, Workspace& workspace) {
        return interruptible([&] { return b.update_after_sources(fluids::MeasuredLiquid<T, D>{levelset, solid}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "correct",
      []<class T, int D>(fluids::VolumeBudget<D>& b, Field<T, D>& levelset, Field<double, D>* solid, Workspace& workspace) {
        return interruptible([&] {
          const double given_up = b.distribute_unassigned();
          return std::pair(given_up, b.correct(fluids::MeasuredLiquid<T, D>{levelset, solid}, workspace));
        });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "account_outflow",
      []<class T, int D>(fluids::VolumeBudget<D>& b, const MacField<T, D>& velocity, const Field<T, D>& fractions, int axis,
                         bool upper, double dt, Field<double, D>* solid, Workspace& workspace) {
        const fluids::Side side = sides_of<D>({{axis, upper}}).front();
        return interruptible([&] { return b.account_outflow(velocity, fractions, side, dt, solid, workspace); });
      },
      py::arg("velocity"), py::arg("fractions"), py::arg("axis"), py::arg("upper"), py::arg("dt"), py::arg("solid"),
      py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "account_inflow",
      []<class T, int D>(fluids::VolumeBudget<D>& b, const MacField<T, D>& velocity, const Field<T, D>& fractions, int axis,
                         bool upper, double dt, Field<double, D>* solid, Workspace& workspace) {
        const fluids::Side side = sides_of<D>({{axis, upper}}).front();
        return interruptible([&] { return b.account_inflow(velocity, fractions, side, dt, solid, workspace); });
      },
      py::arg("velocity"), py::arg("fractions"), py::arg("axis"), py::arg("upper"), py::arg("dt"), py::arg("solid"),
      py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "subtract_drops",
      []<class T, int D>(fluids::VolumeBudget<D>& b, grid::ParticleSet& drops, const Field<T, D>& levelset, Index first,
                         Field<double, D>* solid, Workspace& workspace) {
        static_cast<void>(levelset);  // tells which overload is meant
        return interruptible([&] { return b.template subtract_drops<T>(drops, first, solid, workspace); });
      },
      py::arg("drops"), py::arg("levelset"), py::arg("first"), py::arg("solid"), py::arg("workspace"));
  def_field_methods(
      {type2, type3}, "add_joining_drops",
      []<class T, int D>(fluids::VolumeBudget<D>& b, grid::ParticleSet& drops, Field<T, D>& levelset, double time,
                         Field<double, D>* solid, Workspace& workspace) {
        return interruptible([&] { return b.add_joining_drops(drops, levelset, time, solid, workspace); });
      },
      py::arg("drops"), py::arg("levelset"), py::arg("time"), py::arg("solid"), py::arg("workspace"));
}

}  // namespace meniscus::bindings
