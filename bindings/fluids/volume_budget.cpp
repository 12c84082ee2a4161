// Volumes of the connected components of a liquid.
#include "bridge.hpp"
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

template <class T, int D>
void bind_measure(py::module_& m) {
  using F = grid::Field<T, D>;
  m.def(
      "measure_components",
      [](F& levelset, std::optional<grid::Field<double, D>*> solid, F& scratch, const py::array& labels, Workspace& workspace) {
        auto* out = data_of<std::int32_t>(labels, "labels", product<D>(levelset.extents()), true);
        ComponentVolumes volumes;
        const fluids::MeasuredLiquid<T, D> liquid{levelset, solid.value_or(nullptr), scratch};
        interruptible([&] { fluids::measure_components(liquid, out, volumes, workspace); });
        return volumes_array(volumes);
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("labels"), py::arg("workspace"));
  m.def(
      "walled_fractions",
      [](const F& levelset, const grid::ThinWalls<D>& walls, F& fractions, Workspace& workspace) {
        interruptible([&] { fluids::walled_fractions(levelset, walls, fractions, workspace); });
      },
      py::arg("levelset"), py::arg("walls"), py::arg("fractions"), py::arg("workspace"));
  m.def(
      "measure_walled_components",
      [](F& levelset, const std::optional<grid::Field<double, D>*>& solid, F& scratch, const grid::ThinWalls<D>& walls,
         const py::array& labels, Workspace& workspace) {
        auto* out = data_of<std::int32_t>(labels, "labels", product<D>(levelset.extents()), true);
        ComponentVolumes volumes;
        const fluids::MeasuredLiquid<T, D> liquid{levelset, solid.value_or(nullptr), scratch};
        interruptible([&] { fluids::measure_walled_components(liquid, walls, out, volumes, workspace); });
        return volumes_array(volumes);
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("walls"), py::arg("labels"), py::arg("workspace"));
}

template <class T, int D>
void bind_budget_functions(py::class_<fluids::VolumeBudget<D>>& type) {
  using B = fluids::VolumeBudget<D>;
  using F = grid::Field<T, D>;
  using M = grid::MacField<T, D>;
  using Solid = std::optional<grid::Field<double, D>*>;
  using Liquid = fluids::MeasuredLiquid<T, D>;
  type.def(
      "reset",
      [](B& b, F& levelset, Solid solid, F& scratch, Workspace& workspace) {
        interruptible([&] { b.reset(Liquid{levelset, solid.value_or(nullptr), scratch}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("workspace"));
  type.def(
      "measure",
      [](B& b, F& levelset, Solid solid, F& scratch, Workspace& workspace) {
        interruptible([&] { b.measure(Liquid{levelset, solid.value_or(nullptr), scratch}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("workspace"));
  type.def(
      "update_after_motion",
      [](B& b, F& levelset, Solid solid, F& scratch, const M& velocity, double dt, const Sides& open_sides,
         Workspace& workspace) {
        const std::vector<fluids::Side> sides = sides_of<D>(open_sides);
        const Liquid liquid{levelset, solid.value_or(nullptr), scratch};
        return interruptible([&] { return b.update_after_motion(liquid, velocity, dt, sides, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("velocity"), py::arg("dt"), py::arg("open_sides"),
      py::arg("workspace"));
  type.def(
      "update_after_sources",
      [](B& b, F& levelset, Solid solid, F& scratch, Workspace& workspace) {
        return interruptible(
            [&] { return b.update_after_sources(Liquid{levelset, solid.value_or(nullptr), scratch}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("workspace"));
  type.def(
      "correct",
      [](B& b, F& levelset, Solid solid, F& scratch, Workspace& workspace) {
        return interruptible([&] { return b.correct(Liquid{levelset, solid.value_or(nullptr), scratch}, workspace); });
      },
      py::arg("levelset"), py::arg("solid"), py::arg("scratch"), py::arg("workspace"));
  type.def(
      "account_outflow",
      [](B& b, const M& velocity, const F& fractions, int axis, bool upper, double dt, Solid solid, Workspace& workspace) {
        const fluids::Side side = sides_of<D>({{axis, upper}}).front();
        return interruptible(
            [&] { return b.account_outflow(velocity, fractions, side, dt, solid.value_or(nullptr), workspace); });
      },
      py::arg("velocity"), py::arg("fractions"), py::arg("axis"), py::arg("upper"), py::arg("dt"), py::arg("solid"),
      py::arg("workspace"));
  type.def(
      "account_inflow",
      [](B& b, const M& velocity, const F& fractions, int axis, bool upper, double dt, Solid solid, Workspace& workspace) {
        const fluids::Side side = sides_of<D>({{axis, upper}}).front();
        return interruptible([&] { return b.account_inflow(velocity, fractions, side, dt, solid.value_or(nullptr), workspace); });
      },
      py::arg("velocity"), py::arg("fractions"), py::arg("axis"), py::arg("upper"), py::arg("dt"), py::arg("solid"),
      py::arg("workspace"));
  type.def(
      "subtract_drops",
      [](B& b, grid::ParticleSet& drops, const F& levelset, Index first, Solid solid, Workspace& workspace) {
        static_cast<void>(levelset);  // tells which overload is meant
        return interruptible([&] { return b.template subtract_drops<T>(drops, first, solid.value_or(nullptr), workspace); });
      },
      py::arg("drops"), py::arg("levelset"), py::arg("first"), py::arg("solid"), py::arg("workspace"));
  type.def(
      "add_joining_drops",
      [](B& b, grid::ParticleSet& drops, F& levelset, double time, Solid solid, Workspace& workspace) {
        return interruptible([&] { return b.add_joining_drops(drops, levelset, time, solid.value_or(nullptr), workspace); });
      },
      py::arg("drops"), py::arg("levelset"), py::arg("time"), py::arg("solid"), py::arg("workspace"));
}

template <int D>
void bind_component_counts(py::module_& m) {
  m.def(
      "count_component_cells",
      [](const grid::Grid<D>& grid, const py::array& labels, Index parts) {
        const auto* l = data_of<std::int32_t>(labels, "labels", product<D>(grid.local_shape()));
        const auto n = static_cast<std::size_t>(parts);
        std::vector<Index> cells(n), first(n);
        interruptible([&] { fluids::count_component_cells<D>(grid, l, cells, first); });
        return py::make_tuple(counts_array(cells), counts_array(first));
      },
      py::arg("grid"), py::arg("labels"), py::arg("parts"));
  m.def(
      "count_component_particles",
      [](grid::ParticleSet& particles, const grid::Grid<D>& grid, const py::array& labels, Index parts) {
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
void bind_volume_budget_type(py::module_& m, const char* name) {
  using B = fluids::VolumeBudget<D>;
  py::class_<B> type(m, name);
  type.def(py::init<const grid::Grid<D>&>(), py::arg("grid"))
      .def(
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
          [](B& b, const py::array& positions, const py::array& volumes, std::optional<grid::Field<double, D>*> solid,
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
  if constexpr (D == 3) bind_budget_functions<float, D>(type);
  bind_budget_functions<double, D>(type);
}

}  // namespace

void bind_volume_budget(py::module_& m) {
  bind_measure<double, 2>(m);
  bind_measure<float, 3>(m);
  bind_measure<double, 3>(m);
  bind_component_counts<2>(m);
  bind_component_counts<3>(m);
  bind_volume_budget_type<2>(m, "VolumeBudget2");
  bind_volume_budget_type<3>(m, "VolumeBudget3");
}

}  // namespace meniscus::bindings
