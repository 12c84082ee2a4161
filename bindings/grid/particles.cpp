// Particle storage.
#include "any_field.hpp"
#include "masks.hpp"

#include "meniscus/grid/particles/particle_boundary.hpp"
#include "meniscus/grid/particles/particle_migration.hpp"
#include "meniscus/grid/particles/particles.hpp"

namespace meniscus::bindings {
namespace {

py::array column_view(const grid::ParticleSet& p, grid::ParticleColumn& c) {
  const auto with = [&]<class T>(T*) {
    auto* first = reinterpret_cast<T*>(c.data.data());
    if (c.width == 1) return view(first, std::array{p.size()}, std::array{Index{1}}, c.data.memory());
    return view(first, std::array{p.size(), c.width}, std::array{c.width, Index{1}}, c.data.memory());
  };
  switch (c.type) {
    case grid::ColumnType::float32:
      return with(static_cast<float*>(nullptr));
    case grid::ColumnType::float64:
      return with(static_cast<double*>(nullptr));
    case grid::ColumnType::int8:
      return with(static_cast<std::int8_t*>(nullptr));
    case grid::ColumnType::int32:
      return with(static_cast<std::int32_t*>(nullptr));
    case grid::ColumnType::int64:
      return with(static_cast<std::int64_t*>(nullptr));
    case grid::ColumnType::uint8:
      break;
  }
  return with(static_cast<std::uint8_t*>(nullptr));
}

}  // namespace

void bind_particles(py::module_& m) {
  py::native_enum<grid::ColumnType>(m, "ColumnType", "enum.Enum")
      .value("float32", grid::ColumnType::float32)
      .value("float64", grid::ColumnType::float64)
      .value("int8", grid::ColumnType::int8)
      .value("int32", grid::ColumnType::int32)
      .value("int64", grid::ColumnType::int64)
      .value("uint8", grid::ColumnType::uint8)
      .finalize();
  py::native_enum<grid::InSolid>(m, "InSolid", "enum.Enum")
      .value("remove", grid::InSolid::remove)
      .value("push_out", grid::InSolid::push_out)
      .finalize();
  def_fields(
      m, "points_in_block",
      []<class T, int D>(const grid::Grid<D>& g, const py::array_t<T>& points) {
        const std::vector<Index> own = grid::points_in_block<T, D>(g, data_of<T>(points, "points"), points.size() / D);
        return py::array_t<Index>(static_cast<py::ssize_t>(own.size()), own.data());
      },
      py::arg("grid"), py::arg("points").noconvert());
  py::class_<grid::ParticleSet> particles(m, "ParticleSet");
  particles.def(py::init<int, grid::ColumnType>(), py::arg("dimension"), py::arg("position_type"))
      .def_property_readonly("dimension", &grid::ParticleSet::dimension)
      .def_property_readonly("size", &grid::ParticleSet::size)
      .def_property_readonly("capacity", &grid::ParticleSet::capacity)
      .def_property_readonly("generation", &grid::ParticleSet::generation)
      .def_property("next_id", &grid::ParticleSet::next_id, &grid::ParticleSet::set_next_id)
      .def("column_names",
           [](const grid::ParticleSet& p) {
             std::vector<std::string> names;
             for (const grid::ParticleColumn& c : p.columns()) names.push_back(c.name);
             return names;
           })
      .def(
          "column", [](grid::ParticleSet& p, const std::string& name) { return column_view(p, p.column(name)); }, py::arg("name"))
      .def("add_column", &grid::ParticleSet::add_column, py::arg("name"), py::arg("type"), py::arg("width"))
      .def("append", &grid::ParticleSet::append, py::arg("n"))
      .def(
          "append_shared",
          [](grid::ParticleSet& p, const py::array& numbers, Index total) {
            return p.append_shared(data_of<Index>(numbers, "numbers"), numbers.size(), total);
          },
          py::arg("numbers"), py::arg("total"))
      .def(
          "append_back",
          [](grid::ParticleSet& p, const py::array& ids) { return p.append_back(data_of<Index>(ids, "ids"), ids.size()); },
          py::arg("ids"))
      .def("reserve", &grid::ParticleSet::reserve, py::arg("capacity"))
      .def(
          "remove",
          [](grid::ParticleSet& p, const py::array& flags, Workspace& w) {
            const auto* f = mask_of(flags, "flags", p.size());
            return interruptible([&] { return p.remove(f, w); });
          },
          py::arg("flags"), py::arg("workspace"))
      .def("cell_keys",
           [](const grid::ParticleSet& p) {
             const auto& k = p.cell_runs().keys;
             return py::array_t<Index>(static_cast<py::ssize_t>(k.size()), k.data());
           })
      .def("cell_starts", [](const grid::ParticleSet& p) {
        const auto& s = p.cell_runs().starts;
        return py::array_t<Index>(static_cast<py::ssize_t>(s.size()), s.data());
      });
  def_dimensions(
      particles, "sort_by_cell",
      []<int D>(grid::ParticleSet& p, const grid::Grid<D>& g, Workspace& w) { interruptible([&] { p.sort_by_cell(g, w); }); },
      py::arg("grid"), py::arg("workspace"));
  m.def(
      "assign_particles",
      [](const std::vector<grid::ParticleSet*>& targets, const std::vector<const grid::ParticleSet*>& sources) {
        require(targets.size() == sources.size(), "there must be as many sources as targets");
        for (std::size_t i = 0; i < targets.size(); ++i) targets[i]->assign(*sources[i]);
      },
      py::arg("targets"), py::arg("sources"));
}

}  // namespace meniscus::bindings
